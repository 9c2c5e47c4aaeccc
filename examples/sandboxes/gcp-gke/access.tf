# The maintenance account deploys components. The accounts that provision and deprovision are administrators of the
# cluster by their roles in the project (roles/container.admin), which the install stack grants.

locals {
  # What deploying charts and manifests takes: everything, but not to raise its own permissions (escalate, bind), or to
  # act as others (impersonate).
  default_rules = [{
    apiGroups     = ["*"]
    resources     = ["*"]
    verbs         = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
    resourceNames = null
  }]

  override_rules    = var.maintenance_cluster_role_rules_override
  maintenance_rules = length(local.override_rules) > 0 ? local.override_rules : local.default_rules
}

resource "kubernetes_cluster_role_v1" "maintenance" {
  metadata {
    name = "maintenance"
  }

  dynamic "rule" {
    for_each = local.maintenance_rules

    content {
      api_groups     = rule.value.apiGroups
      resources      = rule.value.resources
      verbs          = rule.value.verbs
      resource_names = rule.value.resourceNames
    }
  }

  depends_on = [google_container_node_pool.default]
}

resource "kubernetes_cluster_role_binding_v1" "maintenance" {
  count = var.maintenance_sa_email != "" ? 1 : 0

  metadata {
    name = "maintenance"
  }

  role_ref {
    api_group = "rbac.authorization.k8s.io"
    kind      = "ClusterRole"
    name      = kubernetes_cluster_role_v1.maintenance.metadata[0].name
  }

  subject {
    api_group = "rbac.authorization.k8s.io"
    kind      = "User"
    name      = var.maintenance_sa_email
  }
}

# Nodes pull what nuon copies to the registry of the install.
resource "google_artifact_registry_repository_iam_member" "nodes" {
  project    = var.project_id
  location   = google_artifact_registry_repository.install.location
  repository = google_artifact_registry_repository.install.name
  role       = "roles/artifactregistry.reader"
  member     = "serviceAccount:${var.gke_node_pool_sa_email}"
}
