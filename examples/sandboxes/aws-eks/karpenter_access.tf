# What Karpenter's controller may do: start instances that carry the cluster's tags, and end those only.

locals {
  karpenter_tag = "kubernetes.io/cluster/${local.cluster_name}"

  karpenter_new = [
    "fleet", "instance", "launch-template", "network-interface", "spot-instances-request", "volume",
  ]
  karpenter_input_arns = [
    "${local.ec2_any}:image/*", "${local.ec2_any}:snapshot/*", "${local.ec2}:security-group/*",
    "${local.ec2}:subnet/*", "${local.ec2}:capacity-reservation/*",
  ]
  ec2_any = "arn:${local.partition}:ec2:${var.region}:*"
}

resource "aws_iam_role_policy" "karpenter" {
  count = local.karpenter ? 1 : 0

  name = "nodes"
  role = aws_iam_role.irsa["karpenter"].id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        # AWS knows no resources for these.
        Sid    = "Read"
        Effect = "Allow"
        Action = [
          "ec2:DescribeAvailabilityZones", "ec2:DescribeCapacityReservations", "ec2:DescribeImages",
          "ec2:DescribeInstances", "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeInstanceTypes",
          "ec2:DescribeLaunchTemplates", "ec2:DescribeSecurityGroups", "ec2:DescribeSpotPriceHistory",
          "ec2:DescribeSubnets", "pricing:GetProducts",
        ]
        Resource = "*"
      },
      {
        Sid      = "ReadImages"
        Effect   = "Allow"
        Action   = ["ssm:GetParameter"]
        Resource = "arn:${local.partition}:ssm:${var.region}::parameter/aws/service/*"
      },
      {
        Sid      = "UseForInstances"
        Effect   = "Allow"
        Action   = ["ec2:CreateFleet", "ec2:RunInstances"]
        Resource = local.karpenter_input_arns
      },
      {
        Sid       = "UseOwnLaunchTemplates"
        Effect    = "Allow"
        Action    = ["ec2:CreateFleet", "ec2:RunInstances"]
        Resource  = "${local.ec2}:launch-template/*"
        Condition = { StringEquals = { "aws:ResourceTag/${local.karpenter_tag}" = "owned" } }
      },
      {
        Sid       = "Create"
        Effect    = "Allow"
        Action    = ["ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:RunInstances"]
        Resource  = [for kind in local.karpenter_new : "${local.ec2}:${kind}/*"]
        Condition = { StringEquals = { "aws:RequestTag/${local.karpenter_tag}" = "owned" } }
      },
      {
        Sid      = "TagNew"
        Effect   = "Allow"
        Action   = ["ec2:CreateTags"]
        Resource = [for kind in local.karpenter_new : "${local.ec2}:${kind}/*"]
        Condition = {
          StringEquals = {
            "aws:RequestTag/${local.karpenter_tag}" = "owned"
            "ec2:CreateAction"                      = ["RunInstances", "CreateFleet", "CreateLaunchTemplate"]
          }
        }
      },
      {
        Sid       = "OwnInstances"
        Effect    = "Allow"
        Action    = ["ec2:CreateTags", "ec2:DeleteLaunchTemplate", "ec2:TerminateInstances"]
        Resource  = ["${local.ec2}:instance/*", "${local.ec2}:launch-template/*"]
        Condition = { StringEquals = { "aws:ResourceTag/${local.karpenter_tag}" = "owned" } }
      },
      {
        Sid       = "PassNodeRole"
        Effect    = "Allow"
        Action    = ["iam:PassRole"]
        Resource  = aws_iam_role.node["node"].arn
        Condition = { StringEquals = { "iam:PassedToService" = "ec2.amazonaws.com" } }
      },
      {
        Sid      = "ReadInstanceProfile"
        Effect   = "Allow"
        Action   = ["iam:GetInstanceProfile"]
        Resource = aws_iam_instance_profile.karpenter[0].arn
      },
      {
        Sid      = "ReadCluster"
        Effect   = "Allow"
        Action   = ["eks:DescribeCluster"]
        Resource = local.cluster.arn
      },
      {
        Sid      = "Interruptions"
        Effect   = "Allow"
        Action   = ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]
        Resource = aws_sqs_queue.karpenter[0].arn
      },
    ]
  })
}
