# One key for what services store: images, logs, the disks of Fargate.

locals {
  log_groups = "arn:${local.partition}:logs:${var.region}:${local.account_id}:log-group:${local.log_group}*"

  # Fargate uses the key for disks of tasks of this cluster only.
  of_cluster = {
    "kms:EncryptionContext:aws:ecs:clusterAccount" = local.account_id
    "kms:EncryptionContext:aws:ecs:clusterName"    = local.cluster_name
  }
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
      {
        Sid       = "FargateKey"
        Effect    = "Allow"
        Principal = { Service = "fargate.amazonaws.com" }
        Action    = ["kms:GenerateDataKeyWithoutPlaintext"]
        Resource  = "*"
        Condition = { StringEquals = local.of_cluster }
      },
      {
        Sid       = "FargateGrant"
        Effect    = "Allow"
        Principal = { Service = "fargate.amazonaws.com" }
        Action    = ["kms:CreateGrant"]
        Resource  = "*"
        Condition = {
          StringEquals                = local.of_cluster
          "ForAllValues:StringEquals" = { "kms:GrantOperations" = ["Decrypt"] }
        }
      },
    ]
  })
}

resource "aws_kms_alias" "install" {
  name          = "alias/${local.prefix}"
  target_key_id = aws_kms_key.install.key_id
}
