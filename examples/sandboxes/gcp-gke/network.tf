# The network and the nodes' subnetwork: those of the install stack, or new ones.

locals {
  # Of a self link, projects/P/global/networks/N, the name is the last part.
  network_name      = reverse(split("/", var.network != "" ? var.network : var.network_name))[0]
  subnetwork_name   = reverse(split("/", var.subnetwork != "" ? var.subnetwork : var.private_subnet_name))[0]
  create_network    = local.network_name == ""
  create_subnetwork = local.subnetwork_name == ""

  network    = local.create_network ? google_compute_network.new[0] : data.google_compute_network.existing[0]
  subnetwork = local.create_subnetwork ? google_compute_subnetwork.new[0].name : local.subnetwork_name

  # Secondary ranges of a new subnetwork have names. In an existing one, GKE makes ranges with these addresses.
  pods     = local.create_subnetwork ? { name = "pods", range = null } : { name = null, range = var.pods_cidr_range }
  services = local.create_subnetwork ? { name = "services", range = null } : { name = null, range = var.services_cidr_range }
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

resource "google_compute_subnetwork" "new" {
  count = local.create_subnetwork ? 1 : 0

  name                     = "${local.prefix}-nodes"
  project                  = var.project_id
  region                   = var.region
  network                  = local.network.id
  ip_cidr_range            = var.subnet_cidr
  private_ip_google_access = true

  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = var.pods_cidr_range
  }

  secondary_ip_range {
    range_name    = "services"
    ip_cidr_range = var.services_cidr_range
  }
}

# Nodes have no public addresses: this is their way out. A network of the stack has its own.
resource "google_compute_router" "new" {
  count = local.create_network ? 1 : 0

  name    = local.prefix
  project = var.project_id
  region  = var.region
  network = local.network.id
}

resource "google_compute_router_nat" "new" {
  count = local.create_network ? 1 : 0

  name                               = local.prefix
  project                            = var.project_id
  region                             = var.region
  router                             = google_compute_router.new[0].name
  nat_ip_allocate_option             = "AUTO_ONLY"
  source_subnetwork_ip_ranges_to_nat = "ALL_SUBNETWORKS_ALL_IP_RANGES"
}
