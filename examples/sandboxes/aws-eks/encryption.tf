# One key for the cluster's secrets and logs, the volumes and the registry.

locals {
  log_groups = "arn:${local.partition}:logs:${var.region}:${local.account_id}:log-group:/aws/eks/${local.cluster_name}/*"
}

resource "aws_kms_key" "install" {
  description             = "Data of install ${var.nuon_id}"
  enable_key_rotation     = true
  deletion_window_in_days = 7

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        # A key whose policy does not let its account manage it cannot be managed by anybody: the one wildcard here.
        Sid       = "Account"
        Effect    = "Allow"
        Principal = { AWS = "arn:${local.partition}:iam::${local.account_id}:root" }
        Action    = "kms:*"
        Resource  = "*"
      },
      {
        # EC2 encrypts volumes for whoever starts instances in this account: auto scaling, Karpenter, the CSI driver.
        Sid       = "Volumes"
        Effect    = "Allow"
        Principal = { AWS = "*" }
        Action = [
          "kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey",
          "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo",
        ]
        Resource = "*"
        Condition = {
          StringEquals = {
            "kms:CallerAccount" = local.account_id
            "kms:ViaService"    = "ec2.${var.region}.amazonaws.com"
          }
        }
      },
      {
        Sid       = "Logs"
        Effect    = "Allow"
        Principal = { Service = "logs.${var.region}.amazonaws.com" }
        Action = [
          "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey",
          "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo",
        ]
        Resource  = "*"
        Condition = { ArnLike = { "kms:EncryptionContext:aws:logs:arn" = local.log_groups } }
      },
    ]
  })
}

resource "aws_kms_alias" "install" {
  name          = "alias/${local.prefix}"
  target_key_id = aws_kms_key.install.key_id
}
