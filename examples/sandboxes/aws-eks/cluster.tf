# The cluster: a new one, or one that exists. Everything else reads local.cluster.

locals {
  cluster_name = var.cluster_name != "" ? var.cluster_name : "n-${var.nuon_id}"

  cluster = var.create_cluster ? {
    arn                        = aws_eks_cluster.install[0].arn
    name                       = aws_eks_cluster.install[0].name
    endpoint                   = aws_eks_cluster.install[0].endpoint
    certificate_authority_data = aws_eks_cluster.install[0].certificate_authority[0].data
    version                    = aws_eks_cluster.install[0].version
    platform_version           = aws_eks_cluster.install[0].platform_version
    status                     = aws_eks_cluster.install[0].status
    oidc_issuer_url            = aws_eks_cluster.install[0].identity[0].oidc[0].issuer
    primary_security_group_id  = aws_eks_cluster.install[0].vpc_config[0].cluster_security_group_id
    security_group_id          = aws_security_group.cluster[0].id
    } : {
    arn                        = data.aws_eks_cluster.existing[0].arn
    name                       = data.aws_eks_cluster.existing[0].name
    endpoint                   = data.aws_eks_cluster.existing[0].endpoint
    certificate_authority_data = data.aws_eks_cluster.existing[0].certificate_authority[0].data
    version                    = data.aws_eks_cluster.existing[0].version
    platform_version           = data.aws_eks_cluster.existing[0].platform_version
    status                     = data.aws_eks_cluster.existing[0].status
    oidc_issuer_url            = data.aws_eks_cluster.existing[0].identity[0].oidc[0].issuer
    primary_security_group_id  = data.aws_eks_cluster.existing[0].vpc_config[0].cluster_security_group_id
    security_group_id          = try(sort(data.aws_eks_cluster.existing[0].vpc_config[0].security_group_ids)[0], "")
  }
}

data "aws_eks_cluster" "existing" {
  count = var.create_cluster ? 0 : 1

  name = var.cluster_name
}

resource "aws_eks_cluster" "install" {
  count = var.create_cluster ? 1 : 0

  name                          = local.cluster_name
  version                       = var.cluster_version
  role_arn                      = aws_iam_role.cluster[0].arn
  enabled_cluster_log_types     = ["api", "audit", "authenticator"]
  bootstrap_self_managed_addons = false

  access_config {
    authentication_mode                         = "API"
    bootstrap_cluster_creator_admin_permissions = false
  }

  encryption_config {
    resources = ["secrets"]

    provider {
      key_arn = aws_kms_key.install.arn
    }
  }

  vpc_config {
    subnet_ids              = local.network.private[*].id
    security_group_ids      = [aws_security_group.cluster[0].id]
    endpoint_private_access = true
    endpoint_public_access  = var.cluster_endpoint_public_access
    public_access_cidrs     = var.cluster_endpoint_public_access ? var.cluster_endpoint_public_access_cidrs : null
  }

  compute_config {
    enabled       = local.auto_mode
    node_pools    = local.auto_mode ? var.eks_compute_config.node_pools : null
    node_role_arn = local.auto_mode ? local.auto_node_role_arn : null
  }

  kubernetes_network_config {
    elastic_load_balancing {
      enabled = local.auto_mode
    }
  }

  storage_config {
    block_storage {
      enabled = local.auto_mode
    }
  }

  depends_on = [
    aws_cloudwatch_log_group.cluster, aws_iam_role_policy.cluster_key, aws_iam_role_policy_attachment.cluster,
  ]
}

# EKS would make this group itself, without a key and forever.
resource "aws_cloudwatch_log_group" "cluster" {
  count = var.create_cluster ? 1 : 0

  name              = "/aws/eks/${local.cluster_name}/cluster"
  retention_in_days = 30
  kms_key_id        = aws_kms_key.install.arn
}

# The role of the control plane.

resource "aws_iam_role" "cluster" {
  count = var.create_cluster ? 1 : 0

  name = "${substr(local.cluster_name, 0, 48)}-cluster"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "eks.amazonaws.com" }
      Action    = local.auto_mode ? ["sts:AssumeRole", "sts:TagSession"] : ["sts:AssumeRole"]
    }]
  })
}

resource "aws_iam_role_policy_attachment" "cluster" {
  for_each = toset(!var.create_cluster ? [] : local.auto_mode ? [
    "AmazonEKSClusterPolicy", "AmazonEKSComputePolicy", "AmazonEKSBlockStoragePolicy",
    "AmazonEKSLoadBalancingPolicy", "AmazonEKSNetworkingPolicy",
  ] : ["AmazonEKSClusterPolicy"])

  role       = aws_iam_role.cluster[0].name
  policy_arn = "arn:${local.partition}:iam::aws:policy/${each.value}"
}

resource "aws_iam_role_policy" "cluster_key" {
  count = var.create_cluster ? 1 : 0

  name = "secrets-key"
  role = aws_iam_role.cluster[0].id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Action   = ["kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:ListGrants"]
      Resource = aws_kms_key.install.arn
    }]
  })
}

# Who reaches the API server in the VPC: the runner, here; the nodes, by the security group that EKS makes.

resource "aws_security_group" "cluster" {
  count = var.create_cluster ? 1 : 0

  name        = "${local.cluster_name}-cluster"
  description = "API server of ${local.cluster_name}"
  vpc_id      = local.network.vpc_id
  tags        = { Name = "${local.cluster_name}-cluster" }
}

resource "aws_vpc_security_group_ingress_rule" "cluster_runner" {
  count = var.create_cluster ? 1 : 0

  security_group_id = aws_security_group.cluster[0].id
  description       = "The runner to the API server"
  cidr_ipv4         = local.network.runner[0].cidr
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}
