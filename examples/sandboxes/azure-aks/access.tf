# Who may use the cluster's API: administrators, and who deploys components.

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

# It stays with who provisioned the cluster, when others run Terraform later.
resource "azurerm_role_assignment" "provisioner" {
  count = length(var.admin_principal_ids) == 0 ? 1 : 0

  scope                = azurerm_kubernetes_cluster.install.id
  role_definition_name = "Azure Kubernetes Service RBAC Cluster Admin"
  principal_id         = data.azurerm_client_config.current.object_id

  lifecycle {
    ignore_changes = [principal_id]
  }
}

resource "azurerm_role_assignment" "admin" {
  for_each = toset(var.admin_principal_ids)

  scope                = azurerm_kubernetes_cluster.install.id
  role_definition_name = "Azure Kubernetes Service RBAC Cluster Admin"
  principal_id         = each.value
}

resource "azurerm_role_assignment" "maintenance" {
  for_each = var.maintenance_principal_id == "" ? [] : toset(concat(
    ["Azure Kubernetes Service Cluster User Role"], var.azure_rbac_roles,
  ))

  scope                = azurerm_kubernetes_cluster.install.id
  role_definition_name = each.value
  principal_id         = var.maintenance_principal_id
}

# Nodes pull what nuon copies to the registry of the install.
resource "azurerm_role_assignment" "pull" {
  scope                = azurerm_container_registry.install.id
  role_definition_name = "AcrPull"
  principal_id         = azurerm_user_assigned_identity.nodes.principal_id
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

  depends_on = [azurerm_role_assignment.provisioner, azurerm_role_assignment.admin]
}

resource "kubernetes_cluster_role_binding_v1" "maintenance" {
  count = var.maintenance_principal_id != "" ? 1 : 0

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
    name      = var.maintenance_principal_id
  }
}
