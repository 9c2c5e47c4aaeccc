# A new cluster in a new VPC: closed and encrypted.

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

run "defaults" {
  command = plan

  assert {
    condition     = aws_eks_cluster.install[0].name == "n-inexample" && aws_eks_cluster.install[0].version == "1.34"
    error_message = "The cluster is named by the install."
  }

  assert {
    condition     = aws_eks_cluster.install[0].vpc_config[0].endpoint_private_access && !aws_eks_cluster.install[0].vpc_config[0].endpoint_public_access
    error_message = "The API server must be private."
  }

  assert {
    condition     = aws_eks_cluster.install[0].access_config[0].authentication_mode == "API" && !aws_eks_cluster.install[0].access_config[0].bootstrap_cluster_creator_admin_permissions
    error_message = "Only access entries may let roles in."
  }

  assert {
    condition     = aws_eks_cluster.install[0].encryption_config[0].provider[0].key_arn == aws_kms_key.install.arn && one(aws_eks_cluster.install[0].encryption_config[0].resources) == "secrets"
    error_message = "Secrets must be encrypted with the sandbox's key."
  }

  assert {
    condition     = aws_launch_template.node[0].block_device_mappings[0].ebs[0].encrypted == "true" && aws_launch_template.node[0].block_device_mappings[0].ebs[0].kms_key_id == aws_kms_key.install.arn
    error_message = "Volumes of nodes must be encrypted with the sandbox's key."
  }

  assert {
    condition     = aws_launch_template.node[0].metadata_options[0].http_tokens == "required" && aws_launch_template.node[0].metadata_options[0].http_put_response_hop_limit == 1
    error_message = "Pods must not reach the credentials of the node."
  }

  assert {
    condition     = one(aws_ecr_repository.install.encryption_configuration).kms_key == aws_kms_key.install.arn && aws_cloudwatch_log_group.cluster[0].kms_key_id == aws_kms_key.install.arn
    error_message = "The registry and the logs must be encrypted with the sandbox's key."
  }

  assert {
    condition     = kubernetes_storage_class_v1.ebs[0].parameters["encrypted"] == "true" && kubernetes_storage_class_v1.ebs[0].parameters["kmsKeyId"] == aws_kms_key.install.arn && kubernetes_storage_class_v1.ebs[0].storage_provisioner == "ebs.csi.aws.com"
    error_message = "Volumes must be encrypted with the sandbox's key."
  }

  assert {
    condition     = aws_vpc_security_group_ingress_rule.cluster_runner[0].cidr_ipv4 == "10.128.128.0/24" && aws_vpc_security_group_ingress_rule.cluster_runner[0].from_port == 443
    error_message = "The runner's subnet, and only its port 443, reaches the API server."
  }

  assert {
    condition     = keys(aws_eks_addon.before_nodes) == ["eks-pod-identity-agent", "kube-proxy", "vpc-cni"] && keys(aws_eks_addon.after_nodes) == ["aws-ebs-csi-driver", "coredns"]
    error_message = "The network must be there before nodes, and what runs on them after."
  }

  assert {
    condition     = aws_eks_node_group.default[0].instance_types == tolist(["t3a.medium"]) && aws_eks_node_group.default[0].ami_type == "AL2023_x86_64_STANDARD" && aws_eks_node_group.default[0].scaling_config[0].desired_size == 3
    error_message = "Three nodes by default."
  }

  assert {
    condition     = output.namespaces == tolist(["inexample"]) && output.cluster.oidc_provider == "oidc.eks.eu-west-1.amazonaws.com/id/NEW" && output.cluster.node_groups["default"].node_group_status == "ACTIVE"
    error_message = "The outputs must describe the cluster."
  }

  assert {
    condition     = output.karpenter == { instance_profile = { id = "", arn = "", name = "" }, discovery_key = "", discovery_value = "" }
    error_message = "Without Karpenter, its outputs are empty."
  }
}

# What the apps of the corpus set.
run "settings" {
  command = plan

  variables {
    cluster_name                   = "n-other"
    cluster_version                = "1.35"
    cluster_endpoint_public_access = "true"
    default_instance_type          = "m7g.large"
    min_size                       = 1
    max_size                       = 4
    desired_size                   = 2
    additional_namespaces          = ["whoami"]
    additional_tags                = { "app.nuon.co/name" = "example", "install.nuon.co/id" = "not this" }
    additional_irsas               = [{ role_name = "backup", namespace = "whoami", service_account = "backup" }]
    cluster_addons                 = { "aws-ebs-csi-driver" = { enabled = false }, "metrics-server" = {}, "vpc-cni" = { configuration_values = "{}" } }
    ebs_storage_class = {
      name        = "fast"
      provisioner = "ebs.example.com"
    }
  }

  assert {
    condition     = aws_eks_cluster.install[0].name == "n-other" && aws_eks_cluster.install[0].vpc_config[0].endpoint_public_access && aws_eks_cluster.install[0].version == "1.35"
    error_message = "The settings of the cluster must be used."
  }

  assert {
    condition     = aws_eks_node_group.default[0].ami_type == "AL2023_ARM_64_STANDARD" && aws_eks_node_group.default[0].scaling_config[0].max_size == 4
    error_message = "Graviton nodes need an Arm image."
  }

  assert {
    condition     = keys(aws_eks_addon.after_nodes) == ["coredns", "metrics-server"] && aws_eks_addon.before_nodes["vpc-cni"].configuration_values == "{}"
    error_message = "Add-ons must be as set."
  }

  assert {
    condition     = kubernetes_storage_class_v1.ebs[0].metadata[0].name == "fast" && kubernetes_storage_class_v1.ebs[0].storage_provisioner == "ebs.example.com"
    error_message = "The storage class must be as set."
  }

  assert {
    condition     = output.namespaces == tolist(["inexample", "whoami"]) && output.additional_irsa["backup"].iam_role_arn == aws_iam_role.irsa["additional/backup"].arn
    error_message = "Namespaces and roles must be in the outputs."
  }

  assert {
    condition     = jsondecode(aws_iam_role.irsa["additional/backup"].assume_role_policy).Statement[0].Condition.StringEquals["oidc.eks.eu-west-1.amazonaws.com/id/NEW:sub"] == "system:serviceaccount:whoami:backup"
    error_message = "Only the named service account may assume the role."
  }

  assert {
    condition     = local.tags == { "app.nuon.co/id" = "appexample", "app.nuon.co/name" = "example", "install.nuon.co/id" = "inexample", "sandbox.nuon.co/name" = "aws-eks" }
    error_message = "No tag may replace those by which the install is found."
  }
}
