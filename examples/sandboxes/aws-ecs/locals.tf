data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

locals {
  sandbox = "aws-ecs"
  prefix  = var.prefix_override != "" ? var.prefix_override : var.nuon_id

  account_id = data.aws_caller_identity.current.account_id
  partition  = data.aws_partition.current.partition

  tags = merge(var.additional_tags, var.tags, {
    "install.nuon.co/id"   = var.nuon_id
    "sandbox.nuon.co/name" = local.sandbox
  })
}
