# A cluster that exists: nothing of it is changed but its access entries.

mock_provider "helm" {
  override_during = plan
}

mock_provider "kubernetes" {
  override_during = plan
}

mock_provider "time" {
  override_during = plan
}

mock_provider "aws" {
  override_during = plan

  source = "./tests/mocks"
}

variables {
  nuon_id                  = "inexample"
  region                   = "eu-west-1"
  vpc_id                   = "vpc-existing"
  create_cluster           = false
  cluster_name             = "existing"
  private_subnet_ids       = "subnet-1,subnet-2"
  public_subnet_ids        = "subnet-3"
  runner_subnet_id         = "subnet-4"
  tags                     = { "app.nuon.co/id" = "appexample" }
  provision_iam_role_arn   = "arn:aws:iam::123456789012:role/inexample-provision"
  maintenance_iam_role_arn = "arn:aws:iam::123456789012:role/inexample-maintenance"
  deprovision_iam_role_arn = "arn:aws:iam::123456789012:role/inexample-deprovision"
  public_root_domain       = "inexample.example.com"
  internal_root_domain     = "internal.inexample.example.com"
}

run "without_dns" {
  command = plan

  assert {
    condition     = length(aws_eks_cluster.install) + length(aws_eks_node_group.default) + length(aws_iam_role.cluster) + length(aws_iam_role.node) + length(aws_security_group.node) + length(aws_eks_addon.after_nodes) == 0
    error_message = "No cluster may be made."
  }

  assert {
    condition     = output.cluster.name == "existing" && output.cluster.oidc_provider == "oidc.eks.eu-west-1.amazonaws.com/id/EXISTING" && output.cluster.cluster_security_group_id == "sg-cluster"
    error_message = "The outputs must describe the existing cluster."
  }

  assert {
    condition     = output.cluster.node_security_group_id == "" && length(output.cluster.node_groups) == 0 && length(kubernetes_storage_class_v1.ebs) == 0
    error_message = "What is not there is empty."
  }

  assert {
    condition     = keys(aws_eks_access_entry.role) == ["deprovision", "maintenance", "provision"]
    error_message = "The roles of the install must be let in."
  }

  assert {
    condition     = output.vpc.private_subnet_ids == tolist(["subnet-1", "subnet-2"]) && output.vpc.runner_subnet_id == "subnet-4"
    error_message = "The subnets must be the named ones."
  }
}

run "with_dns" {
  command = plan

  variables {
    enable_nuon_dns = "true"
  }

  assert {
    condition     = jsondecode(aws_iam_role.irsa["alb"].assume_role_policy).Statement[0].Principal.Federated == data.aws_iam_openid_connect_provider.existing[0].arn
    error_message = "The OIDC provider must be that of the existing cluster."
  }

  assert {
    condition     = [for s in jsondecode(aws_iam_role_policy.alb[0].policy).Statement : s.Resource if s.Sid == "ClusterSecurityGroups"][0] == ["arn:aws:ec2:eu-west-1:123456789012:security-group/sg-primary"]
    error_message = "The controller may open the cluster's security group only."
  }
}
