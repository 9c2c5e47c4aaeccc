# A private bucket, and the permission to read it.

terraform {
  required_version = ">= 1.11"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.0"
    }
  }
}

variable "install_id" {
  description = "ID of the install: the bucket is named after it."
  type        = string
}

variable "region" {
  description = "AWS region of the install."
  type        = string
}

variable "reader" {
  description = "Name of the role that may read the bucket."
  type        = string
}

provider "aws" {
  region = var.region
}

resource "aws_s3_bucket" "files" {
  bucket        = "${var.install_id}-files"
  force_destroy = true
  tags          = { "install.nuon.co/id" = var.install_id }
}

resource "aws_s3_bucket_public_access_block" "files" {
  bucket                  = aws_s3_bucket.files.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

data "aws_iam_policy_document" "read" {
  statement {
    actions   = ["s3:GetObject"]
    resources = ["${aws_s3_bucket.files.arn}/*"]
  }

  statement {
    actions   = ["s3:ListBucket"]
    resources = [aws_s3_bucket.files.arn]
  }
}

resource "aws_iam_role_policy" "read" {
  name   = "read-files"
  role   = var.reader
  policy = data.aws_iam_policy_document.read.json
}

output "bucket" {
  description = "Name of the bucket."
  value       = aws_s3_bucket.files.bucket
}
