mock_provider "aws" {
  override_during = plan

  source = "./tests/mocks"
}

variables {
  nuon_id = "inexample"
  region  = "eu-west-1"
}

run "dns_without_domains" {
  command = plan

  variables {
    enable_nuon_dns = "true"
  }

  expect_failures = [var.public_root_domain, var.internal_root_domain]
}

run "dns_neither_on_nor_off" {
  command = plan

  variables {
    enable_nuon_dns = "maybe"
  }

  expect_failures = [var.enable_nuon_dns]
}

run "small_vpc" {
  command = plan

  variables {
    vpc_cidr = "10.0.0.0/24"
  }

  expect_failures = [var.vpc_cidr]
}

run "subnets_without_tags" {
  command = plan

  variables {
    vpc_id = "vpc-untagged"
  }

  override_data {
    target = data.aws_subnets.tagged
    values = { ids = [] }
  }

  expect_failures = [data.aws_subnets.tagged]
}
