locals {
  # The tags that the install stack gives the subnets of the VPC that it makes.
  subnet_tags = {
    public  = { visibility = "public", domain = "public", ids = var.public_subnet_ids }
    private = { visibility = "private", domain = "internal", ids = var.private_subnet_ids }
    runner  = { visibility = "private", domain = "runner", ids = var.runner_subnet_id }
  }

  existing_subnet_ids = local.create_vpc ? {} : {
    for kind, by in local.subnet_tags : kind => (
      by.ids != "" ? regexall("[a-z0-9-]+", by.ids) : sort(data.aws_subnets.tagged[kind].ids)
    )
  }

  existing_subnets = local.create_vpc ? {} : {
    for kind, ids in local.existing_subnet_ids : kind => [
      for id in ids : {
        id   = id
        cidr = data.aws_subnet.existing[id].cidr_block
        az   = data.aws_subnet.existing[id].availability_zone
      }
    ]
  }
}

data "aws_vpc" "existing" {
  count = local.create_vpc ? 0 : 1

  id = var.vpc_id
}

data "aws_security_group" "existing_default" {
  count = local.create_vpc ? 0 : 1

  name   = "default"
  vpc_id = var.vpc_id
}

data "aws_subnets" "tagged" {
  for_each = { for kind, by in local.subnet_tags : kind => by if !local.create_vpc && by.ids == "" }

  filter {
    name   = "vpc-id"
    values = [var.vpc_id]
  }

  tags = {
    "install.nuon.co/id"     = var.nuon_id
    "visibility"             = each.value.visibility
    "network.nuon.co/domain" = each.value.domain
  }

  lifecycle {
    postcondition {
      condition = length(self.ids) > 0
      error_message = join("", [
        "VPC ${var.vpc_id} has no ${each.key} subnet with the tags install.nuon.co/id=${var.nuon_id}, ",
        "visibility=${each.value.visibility} and network.nuon.co/domain=${each.value.domain}. ",
        "Tag a subnet, or name the subnets in ${each.key == "runner" ? "runner_subnet_id" : "${each.key}_subnet_ids"}.",
      ])
    }
  }
}

# A subnet of another VPC is not found.
data "aws_subnet" "existing" {
  for_each = toset(flatten(values(local.existing_subnet_ids)))

  id     = each.value
  vpc_id = var.vpc_id
}
