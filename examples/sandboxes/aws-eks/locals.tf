data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

locals {
  sandbox = "aws-eks"
  prefix  = var.nuon_id

  account_id = data.aws_caller_identity.current.account_id
  partition  = data.aws_partition.current.partition

  tags = merge(var.additional_tags, var.tags, {
    "install.nuon.co/id"   = var.nuon_id
    "sandbox.nuon.co/name" = local.sandbox
  })

  # What AWS runs the nodes of the cluster.
  auto_mode     = var.create_cluster && var.eks_compute_config.enabled
  managed_nodes = var.create_cluster && !local.auto_mode
  karpenter     = local.managed_nodes && contains(["1", "true"], var.enable_karpenter)
}
