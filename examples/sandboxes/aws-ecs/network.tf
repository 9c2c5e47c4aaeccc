# The VPC: the one of the install stack, or a new one. Everything else reads local.network.

locals {
  create_vpc = var.vpc_id == ""

  network = local.create_vpc ? {
    vpc_id                    = aws_vpc.new[0].id
    vpc_arn                   = aws_vpc.new[0].arn
    vpc_cidr                  = aws_vpc.new[0].cidr_block
    default_security_group_id = aws_vpc.new[0].default_security_group_id
    public = [for s in values(aws_subnet.public) : {
      id   = s.id
      cidr = s.cidr_block
      az   = s.availability_zone
    }]
    private = [for s in values(aws_subnet.private) : {
      id   = s.id
      cidr = s.cidr_block
      az   = s.availability_zone
    }]
    runner = [for s in aws_subnet.runner : {
      id   = s.id
      cidr = s.cidr_block
      az   = s.availability_zone
    }]
    } : {
    vpc_id                    = data.aws_vpc.existing[0].id
    vpc_arn                   = data.aws_vpc.existing[0].arn
    vpc_cidr                  = data.aws_vpc.existing[0].cidr_block
    default_security_group_id = data.aws_security_group.existing_default[0].id
    public                    = local.existing_subnets.public
    private                   = local.existing_subnets.private
    runner                    = local.existing_subnets.runner
  }
}

data "aws_availability_zones" "available" {
  state = "available"

  filter {
    name   = "opt-in-status"
    values = ["opt-in-not-required"]
  }
}
