terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.0"
    }
    kubernetes = {
      source = "hashicorp/kubernetes"
    }
    random = {
      source = "hashicorp/random"
    }
  }
}

variable "region" {
  type = string
}

variable "name" {
  type = string
}

provider "aws" {
  region = var.region
}

module "network" {
  source     = "acme/network/aws"
  version    = "~> 1.0"
  cidr_block = "10.0.0.0/16"
}

data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["eks.amazonaws.com"]
    }
  }
}

resource "random_pet" "suffix" {}

resource "aws_iam_role" "cluster" {
  name               = "${var.name}-${random_pet.suffix.id}"
  assume_role_policy = data.aws_iam_policy_document.assume.json
}

resource "aws_eks_cluster" "main" {
  name     = var.name
  role_arn = aws_iam_role.cluster.arn

  vpc_config {
    subnet_ids = module.network.subnet_ids
  }
}

provider "kubernetes" {
  host                   = aws_eks_cluster.main.endpoint
  cluster_ca_certificate = base64decode(aws_eks_cluster.main.certificate_authority[0].data)
}

resource "kubernetes_namespace_v1" "main" {
  metadata {
    name   = var.name
    labels = { purpose = "test" }
  }
}

output "cluster" {
  value = {
    name                       = aws_eks_cluster.main.name
    endpoint                   = aws_eks_cluster.main.endpoint
    certificate_authority_data = aws_eks_cluster.main.certificate_authority[0].data
  }
}

output "vpc" {
  value = {
    id = module.network.vpc_id
  }
}
