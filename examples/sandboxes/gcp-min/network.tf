# The network: the one of the install stack, or a new one without subnetworks, which components make.

locals {
  # Of a self link, projects/P/global/networks/N, the name is the last part.
  network_name   = reverse(split("/", var.network != "" ? var.network : var.network_name))[0]
  create_network = local.network_name == ""
  network        = local.create_network ? google_compute_network.new[0] : data.google_compute_network.existing[0]
}

data "google_compute_network" "existing" {
  count = local.create_network ? 0 : 1

  name    = local.network_name
  project = var.project_id
}

resource "google_compute_network" "new" {
  count = local.create_network ? 1 : 0

  name                    = local.prefix
  project                 = var.project_id
  auto_create_subnetworks = false
  description             = "Network of install ${var.nuon_id}"

  depends_on = [google_project_service.api]
}
