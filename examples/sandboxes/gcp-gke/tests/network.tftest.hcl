# The network of the install stack.

mock_provider "helm" {
  override_during = plan
}

mock_provider "kubernetes" {
  override_during = plan
}

mock_provider "google" {
  override_during = plan

  source = "./tests/mocks"
}

variables {
  nuon_id                = "inexample"
  project_id             = "example"
  region                 = "europe-west1"
  labels                 = { app = "example" }
  gke_node_pool_sa_email = "nodes@example.iam.gserviceaccount.com"
  maintenance_sa_email   = "maintenance@example.iam.gserviceaccount.com"
  public_root_domain     = "inexample.example.com"
  internal_root_domain   = "internal.inexample.example.com"
}

run "network_of_the_stack" {
  command = plan

  variables {
    network_name        = "existing"
    private_subnet_name = "existing-private"
  }

  assert {
    condition     = length(google_compute_network.new) + length(google_compute_subnetwork.new) + length(google_compute_router_nat.new) == 0 && output.vpc.network == "existing" && output.vpc.subnetwork == "existing-private"
    error_message = "No network may be made."
  }

  assert {
    condition     = google_container_cluster.install.ip_allocation_policy[0].cluster_ipv4_cidr_block == "10.1.0.0/16" && local.pods.name == null && local.services.name == null
    error_message = "GKE makes the ranges in an existing subnetwork."
  }
}
