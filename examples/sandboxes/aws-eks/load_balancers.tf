# The AWS load balancer controller: load balancers for ingresses and services. Installed with DNS.

resource "helm_release" "alb" {
  count = local.dns_enabled ? 1 : 0

  name       = "aws-load-balancer-controller"
  namespace  = local.controllers["alb"].namespace
  repository = "https://aws.github.io/eks-charts"
  chart      = "aws-load-balancer-controller"
  version    = "1.13.0"

  values = [yamlencode({
    clusterName  = local.cluster.name
    region       = var.region
    vpcId        = local.network.vpc_id
    enableShield = false
    enableWaf    = false
    enableWafv2  = false
    defaultTags  = local.tags
    serviceAccount = {
      name        = local.controllers["alb"].service_account
      annotations = { "eks.amazonaws.com/role-arn" = aws_iam_role.irsa["alb"].arn }
    }
  })]

  depends_on = [time_sleep.access, aws_iam_role_policy.alb]
}

resource "aws_iam_role_policy" "alb" {
  count = local.dns_enabled ? 1 : 0

  name = "load-balancers"
  role = aws_iam_role.irsa["alb"].id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        # AWS knows no resources for these.
        Sid    = "Read"
        Effect = "Allow"
        Action = [
          "acm:DescribeCertificate", "acm:ListCertificates",
          "ec2:DescribeAccountAttributes", "ec2:DescribeAddresses", "ec2:DescribeAvailabilityZones",
          "ec2:DescribeInstances", "ec2:DescribeInternetGateways", "ec2:DescribeNetworkInterfaces",
          "ec2:DescribeRouteTables", "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeTags",
          "ec2:DescribeVpcPeeringConnections", "ec2:DescribeVpcs", "ec2:GetSecurityGroupsForVpc",
          "elasticloadbalancing:DescribeCapacityReservation", "elasticloadbalancing:DescribeListenerAttributes",
          "elasticloadbalancing:DescribeListenerCertificates", "elasticloadbalancing:DescribeListeners",
          "elasticloadbalancing:DescribeLoadBalancerAttributes", "elasticloadbalancing:DescribeLoadBalancers",
          "elasticloadbalancing:DescribeRules", "elasticloadbalancing:DescribeSSLPolicies",
          "elasticloadbalancing:DescribeTags", "elasticloadbalancing:DescribeTargetGroupAttributes",
          "elasticloadbalancing:DescribeTargetGroups", "elasticloadbalancing:DescribeTargetHealth",
          "elasticloadbalancing:DescribeTrustStores",
        ]
        Resource = "*"
      },
      {
        Sid       = "ServiceLinkedRole"
        Effect    = "Allow"
        Action    = ["iam:CreateServiceLinkedRole"]
        Resource  = "*"
        Condition = { StringEquals = { "iam:AWSServiceName" = "elasticloadbalancing.amazonaws.com" } }
      },
      {
        Sid      = "CreateSecurityGroups"
        Effect   = "Allow"
        Action   = ["ec2:CreateSecurityGroup"]
        Resource = [local.network.vpc_arn, "${local.ec2}:security-group/*"]
      },
      {
        Sid      = "TagNewSecurityGroups"
        Effect   = "Allow"
        Action   = ["ec2:CreateTags"]
        Resource = "${local.ec2}:security-group/*"
        Condition = {
          StringEquals = {
            "ec2:CreateAction"                     = "CreateSecurityGroup"
            "aws:RequestTag/elbv2.k8s.aws/cluster" = local.cluster.name
          }
        }
      },
      {
        Sid    = "OwnSecurityGroups"
        Effect = "Allow"
        Action = [
          "ec2:AuthorizeSecurityGroupIngress", "ec2:CreateTags", "ec2:DeleteSecurityGroup", "ec2:DeleteTags",
          "ec2:RevokeSecurityGroupIngress",
        ]
        Resource  = "${local.ec2}:security-group/*"
        Condition = { StringEquals = { "aws:ResourceTag/elbv2.k8s.aws/cluster" = local.cluster.name } }
      },
      {
        # Load balancers to pods and nodes.
        Sid    = "ClusterSecurityGroups"
        Effect = "Allow"
        Action = ["ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress"]
        Resource = [
          for id in concat([local.cluster.primary_security_group_id], aws_security_group.node[*].id) :
          "${local.ec2}:security-group/${id}"
        ]
      },
      {
        Sid       = "CreateLoadBalancers"
        Effect    = "Allow"
        Action    = ["elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:CreateTargetGroup"]
        Resource  = "*"
        Condition = { StringEquals = { "aws:RequestTag/elbv2.k8s.aws/cluster" = local.cluster.name } }
      },
      {
        Sid       = "TagNewLoadBalancers"
        Effect    = "Allow"
        Action    = ["elasticloadbalancing:AddTags"]
        Resource  = ["${local.elb}:loadbalancer/*", "${local.elb}:targetgroup/*"]
        Condition = { StringEquals = { "aws:RequestTag/elbv2.k8s.aws/cluster" = local.cluster.name } }
      },
      {
        Sid    = "OwnLoadBalancers"
        Effect = "Allow"
        Action = [
          "elasticloadbalancing:AddListenerCertificates", "elasticloadbalancing:AddTags",
          "elasticloadbalancing:CreateListener", "elasticloadbalancing:CreateRule",
          "elasticloadbalancing:DeleteListener", "elasticloadbalancing:DeleteLoadBalancer",
          "elasticloadbalancing:DeleteRule", "elasticloadbalancing:DeleteTargetGroup",
          "elasticloadbalancing:DeregisterTargets", "elasticloadbalancing:ModifyListener",
          "elasticloadbalancing:ModifyListenerAttributes", "elasticloadbalancing:ModifyLoadBalancerAttributes",
          "elasticloadbalancing:ModifyRule", "elasticloadbalancing:ModifyTargetGroup",
          "elasticloadbalancing:ModifyTargetGroupAttributes", "elasticloadbalancing:RegisterTargets",
          "elasticloadbalancing:RemoveListenerCertificates", "elasticloadbalancing:RemoveTags",
          "elasticloadbalancing:SetIpAddressType", "elasticloadbalancing:SetRulePriorities",
          "elasticloadbalancing:SetSecurityGroups", "elasticloadbalancing:SetSubnets",
        ]
        Resource  = [for kind in ["loadbalancer", "targetgroup", "listener", "listener-rule"] : "${local.elb}:${kind}/*"]
        Condition = { StringEquals = { "aws:ResourceTag/elbv2.k8s.aws/cluster" = local.cluster.name } }
      },
    ]
  })
}

locals {
  ec2 = "arn:${local.partition}:ec2:${var.region}:${local.account_id}"
  elb = "arn:${local.partition}:elasticloadbalancing:${var.region}:${local.account_id}"
}

# The controller finds subnets by these tags. New subnets have them (network_new.tf).
resource "aws_ec2_tag" "elb" {
  for_each = local.dns_enabled && !local.create_vpc ? { for id in local.existing_subnet_ids.public : id => id } : {}

  resource_id = each.value
  key         = "kubernetes.io/role/elb"
  value       = "1"
}

resource "aws_ec2_tag" "internal_elb" {
  for_each = local.dns_enabled && !local.create_vpc ? { for id in local.existing_subnet_ids.private : id => id } : {}

  resource_id = each.value
  key         = "kubernetes.io/role/internal-elb"
  value       = "1"
}
