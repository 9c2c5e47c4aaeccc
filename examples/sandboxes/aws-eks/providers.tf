provider "aws" {
  region = var.region

  default_tags {
    tags = local.tags
  }
}

# The role that runs Terraform logs in to the cluster by its access entry (access.tf).
locals {
  cluster_login = {
    api_version = "client.authentication.k8s.io/v1beta1"
    command     = "aws"
    args        = ["eks", "get-token", "--cluster-name", local.cluster.name, "--region", var.region]
  }
}

provider "kubernetes" {
  host                   = local.cluster.endpoint
  cluster_ca_certificate = base64decode(local.cluster.certificate_authority_data)

  exec {
    api_version = local.cluster_login.api_version
    command     = local.cluster_login.command
    args        = local.cluster_login.args
  }
}

provider "helm" {
  helm_driver = var.helm_driver

  kubernetes = {
    host                   = local.cluster.endpoint
    cluster_ca_certificate = base64decode(local.cluster.certificate_authority_data)
    exec                   = local.cluster_login
  }
}
