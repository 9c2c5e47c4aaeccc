# Who runs the nodes: the node group, Karpenter beside it, or EKS (Auto Mode).

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
  tags                     = { "app.nuon.co/id" = "appexample" }
  provision_iam_role_arn   = "arn:aws:iam::123456789012:role/inexample-provision"
  maintenance_iam_role_arn = "arn:aws:iam::123456789012:role/inexample-maintenance"
  deprovision_iam_role_arn = "arn:aws:iam::123456789012:role/inexample-deprovision"
  public_root_domain       = "inexample.example.com"
  internal_root_domain     = "internal.inexample.example.com"
}

run "karpenter" {
  command = plan

  variables {
    enable_karpenter = "true"
  }

  assert {
    condition     = output.karpenter.discovery_key == "karpenter.sh/discovery" && output.karpenter.discovery_value == "n-inexample" && output.karpenter.instance_profile.name == "n-inexample-karpenter"
    error_message = "Node classes of apps read these."
  }

  assert {
    condition     = length(aws_ec2_tag.karpenter) == 3 && aws_security_group.node[0].tags["karpenter.sh/discovery"] == "n-inexample"
    error_message = "Karpenter finds subnets and the security group by this tag."
  }

  assert {
    condition     = yamldecode(yamldecode(helm_release.karpenter_defaults[0].values[0]).objects[0]).spec.blockDeviceMappings[0].ebs.kmsKeyID == aws_kms_key.install.arn
    error_message = "Volumes of Karpenter's nodes must be encrypted with the sandbox's key."
  }

  assert {
    condition     = alltrue([for s in jsondecode(aws_iam_role_policy.karpenter[0].policy).Statement : s.Resource != "*" || s.Sid == "Read"])
    error_message = "Karpenter may only read everything."
  }
}

run "karpenter_as_the_app_sets_it" {
  command = plan

  variables {
    enable_karpenter                                = "true"
    karpenter_version                               = "1.5.0"
    karpenter_replica_count                         = 1
    karpenter_default_nodeclass_ami_selector_terms  = [{ alias = "bottlerocket@latest" }]
    karpenter_default_nodepool_spec                 = { limits = { cpu = "8" } }
    karpenter_ec2nodeclass_default_metadata_options = { httpTokens = "required" }
  }

  assert {
    condition     = helm_release.karpenter[0].version == "1.5.0" && yamldecode(helm_release.karpenter[0].values[0]).replicas == 1
    error_message = "Version and replicas must be as set."
  }

  assert {
    condition     = yamldecode(yamldecode(helm_release.karpenter_defaults[0].values[0]).objects[1]).spec == { limits = { cpu = "8" } }
    error_message = "The spec of the node pool must be as set."
  }
}

run "auto_mode" {
  command = plan

  variables {
    eks_compute_config = { enabled = true, node_pools = ["general-purpose"] }
  }

  assert {
    condition     = aws_eks_cluster.install[0].compute_config[0].enabled && aws_eks_cluster.install[0].storage_config[0].block_storage[0].enabled && aws_eks_cluster.install[0].kubernetes_network_config[0].elastic_load_balancing[0].enabled
    error_message = "EKS requires all three at once."
  }

  assert {
    condition     = length(aws_eks_node_group.default) == 0 && length(aws_eks_addon.before_nodes) == 0 && length(aws_eks_addon.after_nodes) == 0
    error_message = "EKS runs nodes and add-ons itself."
  }

  assert {
    condition     = kubernetes_storage_class_v1.ebs[0].storage_provisioner == "ebs.csi.eks.amazonaws.com" && output.cluster.node_security_group_id == "" && length(output.cluster.node_groups) == 0
    error_message = "There is no node group, and the driver is the built-in one."
  }

  assert {
    condition     = keys(aws_iam_role.node) == ["auto"] && length(aws_iam_role_policy_attachment.cluster) == 5
    error_message = "The control plane makes nodes, volumes and load balancers."
  }
}

run "auto_mode_with_a_role" {
  command = plan

  variables {
    eks_compute_config = { enabled = true, node_role_arn = "arn:aws:iam::123456789012:role/nodes" }
  }

  assert {
    condition     = aws_eks_cluster.install[0].compute_config[0].node_role_arn == "arn:aws:iam::123456789012:role/nodes" && length(aws_iam_role.node) == 0
    error_message = "The role of the app must be used."
  }
}
