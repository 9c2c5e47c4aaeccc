# One key for what the sandbox stores.

resource "aws_kms_key" "install" {
  description             = "Data of install ${var.nuon_id}"
  enable_key_rotation     = true
  deletion_window_in_days = 7

  # A key whose policy does not let its account manage it cannot be managed by anybody: the one wildcard here.
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "Account"
      Effect    = "Allow"
      Principal = { AWS = "arn:${local.partition}:iam::${local.account_id}:root" }
      Action    = "kms:*"
      Resource  = "*"
    }]
  })
}

resource "aws_kms_alias" "install" {
  name          = "alias/${local.prefix}"
  target_key_id = aws_kms_key.install.key_id
}
