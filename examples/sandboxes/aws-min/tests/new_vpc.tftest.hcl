# A new VPC, without DNS and then with it.

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  nuon_id              = "inexample"
  region               = "eu-west-1"
  tags                 = { "app.nuon.co/id" = "appexample" }
  public_root_domain   = "inexample.example.com"
  internal_root_domain = "internal.inexample.example.com"
}

run "without_dns" {
  assert {
    condition     = aws_vpc.new[0].cidr_block == "10.128.0.0/16" && length(data.aws_vpc.existing) == 0
    error_message = "There must be a new VPC."
  }

  assert {
    condition     = output.vpc.private_subnet_cidr_blocks == tolist(["10.128.130.0/23", "10.128.132.0/23", "10.128.134.0/23"])
    error_message = "One private subnet per zone."
  }

  assert {
    condition     = output.vpc.public_subnet_cidr_blocks == tolist(["10.128.0.0/26", "10.128.0.64/26", "10.128.0.128/26"])
    error_message = "One public subnet per zone."
  }

  assert {
    condition     = output.vpc.runner_subnet_cidr == "10.128.128.0/24" && output.vpc.azs == tolist(["eu-west-1a", "eu-west-1b", "eu-west-1c"])
    error_message = "The runner has a subnet of its own."
  }

  assert {
    condition     = length(aws_default_security_group.new[0].ingress) == 0
    error_message = "The default security group must let nothing in."
  }

  assert {
    condition     = aws_route.private[0].nat_gateway_id == aws_nat_gateway.new[0].id && aws_route.private[0].gateway_id == null
    error_message = "Private subnets reach the internet by the NAT gateway only."
  }

  assert {
    condition     = one(aws_ecr_repository.install.encryption_configuration).kms_key == aws_kms_key.install.arn && aws_kms_key.install.enable_key_rotation
    error_message = "The registry must be encrypted with the sandbox's key, which rotates."
  }

  assert {
    condition     = output.ecr.registry_url == "123456789012.dkr.ecr.eu-west-1.amazonaws.com" && output.ecr.repository_name == "inexample"
    error_message = "The repository is named by the install."
  }

  assert {
    condition     = output.nuon_dns == { enabled = false, public_domain = output.public_domain, internal_domain = output.internal_domain }
    error_message = "DNS must be off."
  }

  assert {
    condition     = output.public_domain == { zone_id = "", name = "", nameservers = tolist([""]) }
    error_message = "Without DNS, the names are empty."
  }
}

run "with_dns" {
  variables {
    enable_nuon_dns = "true"
  }

  assert {
    condition     = output.nuon_dns.enabled && output.nuon_dns.public_domain.name == "inexample.example.com" && output.nuon_dns.public_domain.zone_id == "Z0123456789"
    error_message = "The public zone must be in the outputs."
  }

  assert {
    condition     = one(aws_route53_zone.internal[0].vpc).vpc_id == aws_vpc.new[0].id && length(aws_route53_zone.public[0].vpc) == 0
    error_message = "The internal zone is visible in the VPC only."
  }

  assert {
    condition     = output.internal_domain.name == "internal.inexample.example.com" && output.public_domain == output.nuon_dns.public_domain
    error_message = "The zones must be where older apps read them."
  }
}

run "with_a_prefix" {
  variables {
    prefix_override = "acme"
  }

  assert {
    condition     = aws_ecr_repository.install.name == "acme" && aws_kms_alias.install.name == "alias/acme"
    error_message = "prefix_override must name everything."
  }
}
