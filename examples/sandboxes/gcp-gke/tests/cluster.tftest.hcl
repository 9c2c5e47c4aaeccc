# The cluster: private by default, with nodes that have no more than their service account.

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

run "defaults" {
  command = plan

  assert {
    condition     = google_container_cluster.install.private_cluster_config[0].enable_private_nodes && google_container_cluster.install.private_cluster_config[0].enable_private_endpoint
    error_message = "Nodes and API server must be private."
  }

  assert {
    condition     = toset(google_container_cluster.install.master_authorized_networks_config[0].cidr_blocks[*].cidr_block) == toset(["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"])
    error_message = "The runner must reach the API server from any subnetwork."
  }

  assert {
    condition     = google_container_node_pool.default.node_config[0].workload_metadata_config[0].mode == "GKE_METADATA" && google_container_cluster.install.workload_identity_config[0].workload_pool == "example.svc.id.goog"
    error_message = "Pods must not act as their node."
  }

  assert {
    condition     = google_container_node_pool.default.node_config[0].service_account == "nodes@example.iam.gserviceaccount.com" && google_container_node_pool.default.node_config[0].shielded_instance_config[0].enable_secure_boot
    error_message = "The nodes have the service account of the stack, and boot signed code only."
  }

  assert {
    condition     = google_container_cluster.install.ip_allocation_policy[0].cluster_secondary_range_name == "pods" && google_compute_subnetwork.new[0].secondary_ip_range[1].ip_cidr_range == "10.2.0.0/20"
    error_message = "Pods and services have ranges of the new subnetwork."
  }

  assert {
    condition     = length(google_compute_router_nat.new) == 1 && output.vpc.subnetwork == "n-inexample-nodes"
    error_message = "Private nodes need a way out."
  }

  assert {
    condition     = output.cluster.name == "n-inexample" && output.cluster.endpoint == "https://203.0.113.10" && output.availability_zones == "europe-west1-b,europe-west1-c" && output.namespaces == tolist(["inexample"])
    error_message = "The outputs must describe the cluster."
  }

  assert {
    condition     = length(setintersection(toset(flatten(kubernetes_cluster_role_v1.maintenance.rule[*].verbs)), toset(["*", "escalate", "bind", "impersonate"]))) == 0 && kubernetes_cluster_role_binding_v1.maintenance[0].subject[0].name == "maintenance@example.iam.gserviceaccount.com"
    error_message = "The maintenance account must not raise its own permissions."
  }

  assert {
    condition     = output.nuon_dns.external_dns == { enabled = false, id = "", chart = "", revision = "" } && output.nuon_dns.public_domain.name == ""
    error_message = "Without DNS, the names are empty."
  }
}

run "settings" {
  command = plan

  variables {
    cluster_name                            = "n-other"
    cluster_endpoint_public_access          = true
    additional_namespaces                   = ["nginx-demo"]
    release_channel                         = "STABLE"
    node_max_count                          = 3
    kms_key_name                            = "projects/example/locations/europe-west1/keyRings/a/cryptoKeys/b"
    maintenance_cluster_role_rules_override = [{ apiGroups = [""], resources = ["pods"], verbs = ["get"] }]
  }

  assert {
    condition     = !google_container_cluster.install.private_cluster_config[0].enable_private_endpoint && length(google_container_cluster.install.master_authorized_networks_config) == 0
    error_message = "The API server must be open."
  }

  assert {
    condition     = google_container_cluster.install.database_encryption[0].state == "ENCRYPTED" && google_container_node_pool.default.node_config[0].boot_disk_kms_key == google_artifact_registry_repository.install.kms_key_name
    error_message = "The key must encrypt secrets, disks and the registry."
  }

  assert {
    condition     = output.namespaces == tolist(["inexample", "nginx-demo"]) && google_container_node_pool.default.autoscaling[0].max_node_count == 3 && kubernetes_cluster_role_v1.maintenance.rule[0].verbs == tolist(["get"])
    error_message = "Namespaces, nodes and rules must be as set."
  }
}

run "unknown_channel" {
  command = plan

  variables {
    release_channel = "DAILY"
  }

  expect_failures = [var.release_channel]
}
