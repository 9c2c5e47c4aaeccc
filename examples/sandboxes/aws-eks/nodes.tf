# The nodes: one managed node group. In Auto Mode, EKS makes nodes itself, and only a role for them is here.

locals {
  graviton = length(regexall("^[a-z]+[0-9]+g", var.default_instance_type)) > 0

  auto_role  = local.auto_mode && var.eks_compute_config.node_role_arn == null
  node_roles = toset(concat(local.managed_nodes ? ["node"] : [], local.auto_role ? ["auto"] : []))

  auto_node_role_arn = local.auto_role ? aws_iam_role.node["auto"].arn : var.eks_compute_config.node_role_arn

  node_policies = {
    node = ["AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly"]
    auto = ["AmazonEKSWorkerNodeMinimalPolicy", "AmazonEC2ContainerRegistryPullOnly"]
  }
}

resource "aws_iam_role" "node" {
  for_each = local.node_roles

  name = "${substr(local.cluster_name, 0, 48)}-${each.key}"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "ec2.amazonaws.com" }
      Action    = ["sts:AssumeRole"]
    }]
  })
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each = merge([
    for role in local.node_roles : {
      for policy in local.node_policies[role] : "${role}/${policy}" => { role = role, policy = policy }
    }
  ]...)

  role       = aws_iam_role.node[each.value.role].name
  policy_arn = "arn:${local.partition}:iam::aws:policy/${each.value.policy}"
}

resource "aws_security_group" "node" {
  count = local.managed_nodes ? 1 : 0

  name        = "${local.cluster_name}-node"
  description = "Nodes of ${local.cluster_name}"
  vpc_id      = local.network.vpc_id

  tags = {
    Name                     = "${local.cluster_name}-node"
    "karpenter.sh/discovery" = local.cluster_name
  }
}

# Nodes and control plane talk by the security group that EKS makes for the cluster. The nodes carry it, too; nodes
# of Karpenter carry only the group of the nodes, so both let each other in.

resource "aws_vpc_security_group_ingress_rule" "node_self" {
  count = local.managed_nodes ? 1 : 0

  security_group_id            = aws_security_group.node[0].id
  description                  = "Nodes to nodes"
  referenced_security_group_id = aws_security_group.node[0].id
  ip_protocol                  = "-1"
}

resource "aws_vpc_security_group_ingress_rule" "node_cluster" {
  count = local.managed_nodes ? 1 : 0

  security_group_id            = aws_security_group.node[0].id
  description                  = "Control plane and managed nodes to nodes"
  referenced_security_group_id = local.cluster.primary_security_group_id
  ip_protocol                  = "-1"
}

resource "aws_vpc_security_group_ingress_rule" "cluster_node" {
  count = local.managed_nodes ? 1 : 0

  security_group_id            = local.cluster.primary_security_group_id
  description                  = "Nodes to control plane and managed nodes"
  referenced_security_group_id = aws_security_group.node[0].id
  ip_protocol                  = "-1"
}

resource "aws_vpc_security_group_egress_rule" "node" {
  count = local.managed_nodes ? 1 : 0

  security_group_id = aws_security_group.node[0].id
  description       = "Nodes to everywhere: images, AWS, what the app calls"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
}

resource "aws_launch_template" "node" {
  count = local.managed_nodes ? 1 : 0

  name                   = "${local.cluster_name}-node"
  description            = "Nodes of ${local.cluster_name}"
  update_default_version = true
  vpc_security_group_ids = [local.cluster.primary_security_group_id, aws_security_group.node[0].id]

  block_device_mappings {
    device_name = "/dev/xvda"

    ebs {
      volume_size           = 50
      volume_type           = "gp3"
      encrypted             = "true"
      kms_key_id            = aws_kms_key.install.arn
      delete_on_termination = "true"
    }
  }

  # Pods do not reach the credentials of the node: one hop ends at the node.
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  tag_specifications {
    resource_type = "instance"
    tags          = merge(local.tags, { Name = "${local.cluster_name}-node" })
  }

  tag_specifications {
    resource_type = "volume"
    tags          = merge(local.tags, { Name = "${local.cluster_name}-node" })
  }
}

resource "aws_eks_node_group" "default" {
  count = local.managed_nodes ? 1 : 0

  cluster_name    = local.cluster.name
  node_group_name = "default"
  node_role_arn   = aws_iam_role.node["node"].arn
  subnet_ids      = local.network.private[*].id
  instance_types  = [var.default_instance_type]
  ami_type        = local.graviton ? "AL2023_ARM_64_STANDARD" : "AL2023_x86_64_STANDARD"

  launch_template {
    id      = aws_launch_template.node[0].id
    version = aws_launch_template.node[0].latest_version
  }

  scaling_config {
    min_size     = var.min_size
    max_size     = var.max_size
    desired_size = var.desired_size
  }

  update_config {
    max_unavailable_percentage = 33
  }

  # A node without the network add-on never becomes ready.
  depends_on = [aws_eks_addon.before_nodes, aws_iam_role_policy_attachment.node]
}
