# The cluster and what services share: encrypted, reached through load balancers only.

mock_provider "aws" {
  override_during = plan

  source = "./tests/mocks"
}

variables {
  nuon_id              = "inexample"
  region               = "eu-west-1"
  runner_install_role  = "arn:aws:iam::123456789012:role/runner"
  public_root_domain   = "inexample.example.com"
  internal_root_domain = "internal.inexample.example.com"
}

run "defaults" {
  command = plan

  assert {
    condition     = output.ecs_cluster.name == "inexample" && output.ecs_cluster.arn == "arn:aws:ecs:eu-west-1:123456789012:cluster/inexample" && output.runner.install_iam_role_arn == "arn:aws:iam::123456789012:role/runner"
    error_message = "The outputs must describe the cluster."
  }

  assert {
    condition     = aws_ecs_cluster.install.configuration[0].managed_storage_configuration[0].fargate_ephemeral_storage_kms_key_id == aws_kms_key.install.arn && aws_cloudwatch_log_group.services.kms_key_id == aws_kms_key.install.arn
    error_message = "Disks and logs must be encrypted with the sandbox's key."
  }

  assert {
    condition     = alltrue([for rule in aws_vpc_security_group_ingress_rule.service : rule.cidr_ipv4 == null])
    error_message = "Services must not be reached by addresses, only from load balancers and services."
  }

  assert {
    condition = alltrue(flatten([
      for statement in jsondecode(aws_iam_role_policy.execution.policy).Statement : [for action in statement.Action : !strcontains(action, "*")]
    ])) && [for s in jsondecode(aws_kms_key.install.policy).Statement : s.Sid if strcontains(jsonencode(s.Action), "*")] == ["Account"]
    error_message = "An action must be named in full."
  }

  assert {
    condition     = output.vpc.private_subnet_cidr_blocks == tolist(["10.128.130.0/23", "10.128.132.0/23", "10.128.134.0/23"]) && output.vpc.db_subnet_group_name == "inexample-private"
    error_message = "There must be a new VPC with subnets for databases."
  }

  assert {
    condition     = output.public_domain == { zone_id = "", name = "", nameservers = tolist([""]) } && !output.nuon_dns.enabled
    error_message = "Without DNS, the names are empty."
  }
}

run "dns" {
  command = plan

  variables {
    enable_nuon_dns = "true"
    cluster_name    = "other"
  }

  assert {
    condition     = output.public_domain.name == "inexample.example.com" && output.nuon_dns.internal_domain.name == "internal.inexample.example.com" && output.ecs_cluster.name == "other"
    error_message = "Both zones must be in the outputs."
  }
}

run "internal_zone_only" {
  command = plan

  variables {
    enable_nuon_dns            = "true"
    enable_public_route53_zone = "false"
  }

  assert {
    condition     = output.public_domain.name == "" && output.internal_domain.name == "internal.inexample.example.com"
    error_message = "There must be no public zone."
  }
}

run "dns_without_domains" {
  command = plan

  variables {
    enable_nuon_dns      = "true"
    public_root_domain   = ""
    internal_root_domain = ""
  }

  expect_failures = [var.public_root_domain, var.internal_root_domain]
}
