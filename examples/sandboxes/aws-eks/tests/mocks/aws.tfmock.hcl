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

mock_data "aws_eks_cluster" {
  defaults = {
    arn                   = "arn:aws:eks:eu-west-1:123456789012:cluster/existing"
    endpoint              = "https://EXISTING.eks.example.com"
    version               = "1.34"
    platform_version      = "eks.1"
    status                = "ACTIVE"
    certificate_authority = [{ data = "Y2VydGlmaWNhdGU=" }]
    identity              = [{ oidc = [{ issuer = "https://oidc.eks.eu-west-1.amazonaws.com/id/EXISTING" }] }]
    vpc_config = [{
      cluster_security_group_id = "sg-primary"
      endpoint_private_access   = true
      endpoint_public_access    = false
      public_access_cidrs       = []
      security_group_ids        = ["sg-cluster"]
      subnet_ids                = []
      vpc_id                    = "vpc-existing"
    }]
  }
}

mock_data "aws_iam_openid_connect_provider" {
  defaults = {
    arn = "arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/EXISTING"
  }
}

mock_resource "aws_eks_cluster" {
  defaults = {
    arn                   = "arn:aws:eks:eu-west-1:123456789012:cluster/n-inexample"
    endpoint              = "https://NEW.eks.example.com"
    platform_version      = "eks.1"
    status                = "ACTIVE"
    certificate_authority = [{ data = "Y2VydGlmaWNhdGU=" }]
    identity              = [{ oidc = [{ issuer = "https://oidc.eks.eu-west-1.amazonaws.com/id/NEW" }] }]
  }
}

mock_resource "aws_eks_node_group" {
  defaults = {
    arn    = "arn:aws:eks:eu-west-1:123456789012:nodegroup/n-inexample/default/1"
    status = "ACTIVE"
  }
}

mock_resource "aws_iam_role" {
  defaults = {
    arn = "arn:aws:iam::123456789012:role/example"
  }
}

mock_resource "aws_iam_openid_connect_provider" {
  defaults = {
    arn = "arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/NEW"
  }
}

mock_resource "aws_iam_instance_profile" {
  defaults = {
    arn = "arn:aws:iam::123456789012:instance-profile/n-inexample-karpenter"
  }
}

mock_resource "aws_launch_template" {
  defaults = {
    id             = "lt-0123456789abcdef0"
    latest_version = 1
  }
}

mock_resource "aws_sqs_queue" {
  defaults = {
    arn = "arn:aws:sqs:eu-west-1:123456789012:n-inexample-karpenter"
    url = "https://sqs.eu-west-1.amazonaws.com/123456789012/n-inexample-karpenter"
  }
}

mock_resource "aws_cloudwatch_event_rule" {
  defaults = {
    arn = "arn:aws:events:eu-west-1:123456789012:rule/example"
  }
}
