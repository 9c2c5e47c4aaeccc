mock_data "aws_caller_identity" {
  defaults = {
    account_id = "123456789012"
  }
}

mock_data "aws_partition" {
  defaults = {
    partition = "aws"
  }
}

mock_data "aws_availability_zones" {
  defaults = {
    names = ["eu-west-1a", "eu-west-1b", "eu-west-1c"]
  }
}

mock_data "aws_vpc" {
  defaults = {
    arn        = "arn:aws:ec2:eu-west-1:123456789012:vpc/vpc-existing"
    cidr_block = "10.20.0.0/16"
  }
}

mock_data "aws_security_group" {
  defaults = {
    id = "sg-default"
  }
}

mock_data "aws_subnet" {
  defaults = {
    cidr_block        = "10.20.1.0/24"
    availability_zone = "eu-west-1a"
  }
}

mock_resource "aws_vpc" {
  defaults = {
    id                        = "vpc-new"
    arn                       = "arn:aws:ec2:eu-west-1:123456789012:vpc/vpc-new"
    default_security_group_id = "sg-default"
  }
}

mock_resource "aws_kms_key" {
  defaults = {
    arn = "arn:aws:kms:eu-west-1:123456789012:key/11111111-1111-4111-8111-111111111111"
  }
}

mock_resource "aws_ecr_repository" {
  defaults = {
    arn            = "arn:aws:ecr:eu-west-1:123456789012:repository/inexample"
    registry_id    = "123456789012"
    repository_url = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/inexample"
  }
}

mock_resource "aws_route53_zone" {
  defaults = {
    zone_id      = "Z0123456789"
    arn          = "arn:aws:route53:::hostedzone/Z0123456789"
    name_servers = ["ns-1.example.com", "ns-2.example.com"]
  }
}

mock_resource "aws_iam_role" {
  defaults = {
    arn = "arn:aws:iam::123456789012:role/example"
  }
}

mock_resource "aws_ecs_cluster" {
  defaults = {
    arn = "arn:aws:ecs:eu-west-1:123456789012:cluster/inexample"
  }
}

mock_resource "aws_cloudwatch_log_group" {
  defaults = {
    arn = "arn:aws:logs:eu-west-1:123456789012:log-group:/ecs/inexample"
  }
}
