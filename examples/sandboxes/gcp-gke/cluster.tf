# A regional, VPC-native cluster with private nodes. Workload Identity gives pods identities; nodes have none for them.

locals {
  cluster_name = var.cluster_name != "" ? var.cluster_name : "n-${lower(var.nuon_id)}"

  # A private API server is reached by private addresses only; these are all of them.
  private_ranges = [
    for range in ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"] : { cidr_block = range, display_name = "private" }
  ]

  default_networks    = var.cluster_endpoint_public_access ? [] : local.private_ranges
  authorized_networks = length(var.master_authorized_networks) > 0 ? var.master_authorized_networks : local.default_networks
}

resource "google_container_cluster" "install" {
  name                = local.cluster_name
  project             = var.project_id
  location            = var.region
  network             = local.network.id
  subnetwork          = local.subnetwork
  networking_mode     = "VPC_NATIVE"
  datapath_provider   = "ADVANCED_DATAPATH"
  deletion_protection = var.deletion_protection

  # The nodes are in nodes.tf: this one only lives until the cluster is made.
  remove_default_node_pool = true
  initial_node_count       = 1

  node_config {
    service_account = var.gke_node_pool_sa_email

    shielded_instance_config {
      enable_secure_boot          = true
      enable_integrity_monitoring = true
    }
  }

  release_channel {
    channel = var.release_channel
  }

  ip_allocation_policy {
    cluster_secondary_range_name  = local.pods.name
    services_secondary_range_name = local.services.name
    cluster_ipv4_cidr_block       = local.pods.range
    services_ipv4_cidr_block      = local.services.range
  }

  private_cluster_config {
    enable_private_nodes    = true
    enable_private_endpoint = !var.cluster_endpoint_public_access

    master_global_access_config {
      enabled = false
    }
  }

  dynamic "master_authorized_networks_config" {
    for_each = length(local.authorized_networks) > 0 ? [local.authorized_networks] : []

    content {
      dynamic "cidr_blocks" {
        for_each = master_authorized_networks_config.value

        content {
          cidr_block   = cidr_blocks.value.cidr_block
          display_name = cidr_blocks.value.display_name
        }
      }
    }
  }

  workload_identity_config {
    workload_pool = "${var.project_id}.svc.id.goog"
  }

  master_auth {
    client_certificate_config {
      issue_client_certificate = false
    }
  }

  dynamic "database_encryption" {
    for_each = var.kms_key_name != "" ? [var.kms_key_name] : []

    content {
      state    = "ENCRYPTED"
      key_name = database_encryption.value
    }
  }

  lifecycle {
    # Of the node pool that is removed: changes to it would replace the cluster.
    ignore_changes = [node_config]
  }

  depends_on = [google_project_service.api]
}
