# Who may use the cluster's API: an access entry per role of the install, and additional_access_entry.

locals {
  role_entries = {
    provision = {
      principal_arn       = var.provision_iam_role_arn
      kubernetes_groups   = concat(["provision"], var.provision_role_eks_kubernetes_groups)
      policy_associations = var.provision_role_eks_access_entry_policy_associations
    }
    maintenance = {
      principal_arn       = var.maintenance_iam_role_arn
      kubernetes_groups   = concat(["maintenance"], var.maintenance_role_eks_kubernetes_groups)
      policy_associations = var.maintenance_role_eks_access_entry_policy_associations
    }
    deprovision = {
      principal_arn       = var.deprovision_iam_role_arn
      kubernetes_groups   = concat(["deprovision"], var.deprovision_role_eks_kubernetes_groups)
      policy_associations = var.deprovision_role_eks_access_entry_policy_associations
    }
    break_glass = {
      principal_arn       = var.break_glass_iam_role_arn
      kubernetes_groups   = concat(["break-glass"], var.break_glass_role_eks_kubernetes_groups)
      policy_associations = var.break_glass_role_eks_access_entry_policy_associations
    }
  }

  access_entries = merge(
    { for name, entry in local.role_entries : name => entry if entry.principal_arn != "" },
    { for name, entry in var.additional_access_entry : "additional/${name}" => entry },
  )

  access_policies = merge([
    for name, entry in local.access_entries : {
      for policy, association in entry.policy_associations : "${name}/${policy}" => merge(association, { entry = name })
    }
  ]...)

  # What deploying charts and manifests takes: everything, but not to raise its own permissions (escalate, bind), to
  # act as others (impersonate), or to run commands in the nodes' names.
  default_rules = [{
    apiGroups     = ["*"]
    resources     = ["*"]
    verbs         = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
    resourceNames = null
  }]

  override_rules    = var.maintenance_cluster_role_rules_override
  maintenance_rules = length(local.override_rules) > 0 ? local.override_rules : local.default_rules
}

resource "aws_eks_access_entry" "role" {
  for_each = local.access_entries

  cluster_name      = local.cluster.name
  principal_arn     = each.value.principal_arn
  kubernetes_groups = each.value.kubernetes_groups
  type              = "STANDARD"
}

resource "aws_eks_access_policy_association" "role" {
  for_each = local.access_policies

  cluster_name  = local.cluster.name
  principal_arn = aws_eks_access_entry.role[each.value.entry].principal_arn
  policy_arn    = each.value.policy_arn

  access_scope {
    type       = each.value.access_scope.type
    namespaces = length(each.value.access_scope.namespaces) > 0 ? each.value.access_scope.namespaces : null
  }
}

# A new access policy takes some seconds to work. Everything inside the cluster waits for it, and for nodes to run on.
resource "time_sleep" "access" {
  create_duration = "30s"

  depends_on = [
    aws_eks_access_policy_association.role, aws_eks_addon.after_nodes, aws_eks_node_group.default,
    aws_vpc_security_group_ingress_rule.cluster_runner,
  ]
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

  depends_on = [time_sleep.access]
}

resource "kubernetes_cluster_role_binding_v1" "maintenance" {
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
    kind      = "Group"
    name      = "maintenance"
  }
}
