mock_data "google_compute_network" {
  defaults = {
    id        = "projects/example/global/networks/existing"
    self_link = "https://www.googleapis.com/compute/v1/projects/example/global/networks/existing"
  }
}

mock_resource "google_compute_network" {
  defaults = {
    id        = "projects/example/global/networks/n-inexample"
    self_link = "https://www.googleapis.com/compute/v1/projects/example/global/networks/n-inexample"
  }
}

mock_resource "google_dns_managed_zone" {
  defaults = {
    name_servers = ["ns-1.example.com.", "ns-2.example.com."]
  }
}
