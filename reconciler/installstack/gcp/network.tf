# The network: one that exists, or a new one with public, private and runner subnets.

locals {
  create_network = var.network_name == ""
  network_name   = local.create_network ? google_compute_network.this[0].name : var.network_name
  network_id     = local.create_network ? google_compute_network.this[0].id : "projects/${var.project_id}/global/networks/${var.network_name}"
  public_subnet  = local.create_network ? google_compute_subnetwork.public[0].name : var.public_subnet_name
  private_subnet = local.create_network ? google_compute_subnetwork.private[0].name : var.private_subnet_name
  runner_subnet  = local.create_network ? google_compute_subnetwork.runner[0].name : var.runner_subnet_name
}

resource "google_compute_network" "this" {
  count                   = local.create_network ? 1 : 0
  name                    = local.name
  auto_create_subnetworks = false
  depends_on              = [google_project_service.this]
}

resource "google_compute_subnetwork" "public" {
  count         = local.create_network ? 1 : 0
  name          = "${local.name}-public"
  network       = google_compute_network.this[0].id
  region        = var.region
  ip_cidr_range = "10.128.0.0/24"
}

resource "google_compute_subnetwork" "private" {
  count                    = local.create_network ? 1 : 0
  name                     = "${local.name}-private"
  network                  = google_compute_network.this[0].id
  region                   = var.region
  ip_cidr_range            = "10.128.16.0/20"
  private_ip_google_access = true
}

resource "google_compute_subnetwork" "runner" {
  count                    = local.create_network ? 1 : 0
  name                     = "${local.name}-runner"
  network                  = google_compute_network.this[0].id
  region                   = var.region
  ip_cidr_range            = "10.128.3.0/24"
  private_ip_google_access = true
}

resource "google_compute_router" "this" {
  count   = local.create_network ? 1 : 0
  name    = local.name
  network = google_compute_network.this[0].id
  region  = var.region
}

resource "google_compute_router_nat" "this" {
  count                              = local.create_network ? 1 : 0
  name                               = local.name
  router                             = google_compute_router.this[0].name
  region                             = var.region
  nat_ip_allocate_option             = "AUTO_ONLY"
  source_subnetwork_ip_ranges_to_nat = "ALL_SUBNETWORKS_ALL_IP_RANGES"
}

output "network_name" {
  value = local.network_name
}

output "network_id" {
  value = local.network_id
}

output "public_subnet_name" {
  value = local.public_subnet
}

output "private_subnet_name" {
  value = local.private_subnet
}

output "public_subnet_names" {
  value = [local.public_subnet]
}

output "private_subnet_names" {
  value = [local.private_subnet]
}

output "runner_subnet_name" {
  value = local.runner_subnet
}
