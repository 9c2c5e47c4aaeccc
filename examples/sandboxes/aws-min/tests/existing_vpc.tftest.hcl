# The VPC of the install stack: subnets by their tags, then by their IDs.

mock_provider "aws" {
  override_during = plan

  source = "./tests/mocks"

  override_data {
    target = data.aws_subnets.tagged["public"]
    values = { ids = ["subnet-public-b", "subnet-public-a"] }
  }

  override_data {
    target = data.aws_subnets.tagged["private"]
    values = { ids = ["subnet-private-a"] }
  }

  override_data {
    target = data.aws_subnets.tagged["runner"]
    values = { ids = ["subnet-runner"] }
  }
}

variables {
  nuon_id = "inexample"
  region  = "eu-west-1"
  vpc_id  = "vpc-existing"
}

run "by_tags" {
  command = plan

  assert {
    condition     = length(aws_vpc.new) == 0 && length(aws_nat_gateway.new) == 0 && length(aws_subnet.private) == 0
    error_message = "Nothing may be made in an existing VPC."
  }

  assert {
    condition     = output.vpc.id == "vpc-existing" && output.vpc.public_subnet_ids == tolist(["subnet-public-a", "subnet-public-b"]) && output.vpc.runner_subnet_id == "subnet-runner"
    error_message = "The subnets with the tags of the install, in order."
  }

  assert {
    condition     = data.aws_subnets.tagged["private"].tags == tomap({ "install.nuon.co/id" = "inexample", visibility = "private", "network.nuon.co/domain" = "internal" })
    error_message = "The tags are those of the install stack."
  }
}

run "by_ids" {
  command = plan

  variables {
    public_subnet_ids  = "[subnet-1 subnet-2]"
    private_subnet_ids = "subnet-3"
    runner_subnet_id   = "subnet-4"
  }

  assert {
    condition     = output.vpc.public_subnet_ids == tolist(["subnet-1", "subnet-2"]) && output.vpc.private_subnet_ids == tolist(["subnet-3"]) && output.vpc.runner_subnet_id == "subnet-4"
    error_message = "Subnets that are named are not looked for."
  }

  assert {
    condition     = length(data.aws_subnets.tagged) == 0
    error_message = "No subnet may be found by its tags."
  }
}
