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

mock_data "google_project" {
  defaults = {
    number = "123456789012"
  }
}

mock_resource "google_container_cluster" {
  defaults = {
    endpoint  = "203.0.113.10"
    self_link = "https://container.googleapis.com/v1/projects/example/locations/europe-west1/clusters/n-inexample"
  }
}

mock_resource "google_container_node_pool" {
  defaults = {
    node_locations = ["europe-west1-c", "europe-west1-b"]
  }
}
