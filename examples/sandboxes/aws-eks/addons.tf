# Add-ons that EKS maintains. Auto Mode has them built in.

locals {
  addon_settings = { for name, settings in var.cluster_addons : name => settings if try(settings.enabled, true) }
  addons_off     = [for name, settings in var.cluster_addons : name if !try(settings.enabled, true)]

  addons_before_nodes = setsubtract(
    toset(local.managed_nodes ? ["vpc-cni", "kube-proxy", "eks-pod-identity-agent"] : []), toset(local.addons_off),
  )

  addons_after_nodes = setsubtract(toset(concat(
    local.managed_nodes && !contains(local.addons_off, "coredns") ? ["coredns"] : [],
    local.ebs_csi && !contains(local.addons_off, "aws-ebs-csi-driver") ? ["aws-ebs-csi-driver"] : [],
    var.create_cluster ? keys(local.addon_settings) : [],
  )), local.addons_before_nodes)

  addon_roles = local.ebs_csi ? { "aws-ebs-csi-driver" = aws_iam_role.irsa["ebs-csi"].arn } : {}

  ebs_csi         = local.managed_nodes && contains(["1", "true"], var.enable_ebs_csi)
  ebs_provisioner = local.auto_mode ? "ebs.csi.eks.amazonaws.com" : "ebs.csi.aws.com"
}

resource "aws_eks_addon" "before_nodes" {
  for_each = local.addons_before_nodes

  cluster_name                = local.cluster.name
  addon_name                  = each.key
  addon_version               = try(local.addon_settings[each.key].addon_version, null)
  configuration_values        = try(local.addon_settings[each.key].configuration_values, null)
  service_account_role_arn    = try(local.addon_settings[each.key].service_account_role_arn, null)
  resolve_conflicts_on_create = "OVERWRITE"
  resolve_conflicts_on_update = "OVERWRITE"
}

resource "aws_eks_addon" "after_nodes" {
  for_each = local.addons_after_nodes

  cluster_name                = local.cluster.name
  addon_name                  = each.key
  addon_version               = try(local.addon_settings[each.key].addon_version, null)
  configuration_values        = try(local.addon_settings[each.key].configuration_values, null)
  service_account_role_arn    = try(local.addon_settings[each.key].service_account_role_arn, local.addon_roles[each.key], null)
  resolve_conflicts_on_create = "OVERWRITE"
  resolve_conflicts_on_update = "OVERWRITE"

  depends_on = [aws_eks_node_group.default]
}

# AWS maintains this policy. The key's policy lets EC2 encrypt for the driver (encryption.tf).
resource "aws_iam_role_policy_attachment" "ebs_csi" {
  count = local.ebs_csi ? 1 : 0

  role       = aws_iam_role.irsa["ebs-csi"].name
  policy_arn = "arn:${local.partition}:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy"
}

resource "kubernetes_storage_class_v1" "ebs" {
  count = (local.ebs_csi || local.auto_mode) && var.ebs_storage_class.enabled ? 1 : 0

  metadata {
    name = var.ebs_storage_class.name
    annotations = {
      "storageclass.kubernetes.io/is-default-class" = tostring(var.ebs_storage_class.is_default_class)
    }
  }

  storage_provisioner    = coalesce(var.ebs_storage_class.provisioner, local.ebs_provisioner)
  volume_binding_mode    = var.ebs_storage_class.volume_binding_mode
  reclaim_policy         = var.ebs_storage_class.reclaim_policy
  allow_volume_expansion = var.ebs_storage_class.allow_volume_expansion
  parameters             = merge({ kmsKeyId = aws_kms_key.install.arn }, var.ebs_storage_class.parameters)

  depends_on = [time_sleep.access]
}
