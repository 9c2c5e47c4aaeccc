# Roles that service accounts of the cluster assume (IRSA): those of the sandbox's controllers, and additional_irsas.

locals {
  irsa          = contains(["1", "true"], var.enable_irsa)
  oidc_provider = replace(local.cluster.oidc_issuer_url, "https://", "")

  oidc_provider_arn = (
    var.create_cluster && local.irsa ? aws_iam_openid_connect_provider.cluster[0].arn
    : local.irsa ? data.aws_iam_openid_connect_provider.existing[0].arn : ""
  )

  controllers = {
    "ebs-csi"      = { enabled = local.ebs_csi, namespace = "kube-system", service_account = "ebs-csi-controller-sa" }
    "alb"          = { enabled = local.dns_enabled, namespace = "kube-system", service_account = "aws-load-balancer-controller" }
    "external-dns" = { enabled = local.dns_enabled, namespace = "external-dns", service_account = "external-dns" }
    "cert-manager" = { enabled = local.dns_enabled, namespace = "cert-manager", service_account = "cert-manager" }
    "karpenter"    = { enabled = local.karpenter, namespace = "karpenter", service_account = "karpenter" }
  }

  irsas = merge(
    { for name, c in local.controllers : name => {
      role_name       = "${substr(local.cluster_name, 0, 48)}-${name}"
      namespace       = c.namespace
      service_account = c.service_account
    } if c.enabled },
    { for i in var.additional_irsas : "additional/${i.role_name}" => i },
  )
}

resource "aws_iam_openid_connect_provider" "cluster" {
  count = var.create_cluster && local.irsa ? 1 : 0

  url            = local.cluster.oidc_issuer_url
  client_id_list = ["sts.amazonaws.com"]
}

data "aws_iam_openid_connect_provider" "existing" {
  count = !var.create_cluster && local.irsa ? 1 : 0

  url = local.cluster.oidc_issuer_url
}

resource "aws_iam_role" "irsa" {
  for_each = local.irsas

  name = each.value.role_name

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Federated = local.oidc_provider_arn }
      Action    = ["sts:AssumeRoleWithWebIdentity"]
      Condition = {
        StringEquals = {
          "${local.oidc_provider}:aud" = "sts.amazonaws.com"
          "${local.oidc_provider}:sub" = "system:serviceaccount:${each.value.namespace}:${each.value.service_account}"
        }
      }
    }]
  })

  lifecycle {
    precondition {
      condition     = local.irsa
      error_message = "Service account ${each.value.namespace}/${each.value.service_account} needs an IAM role: set enable_irsa to \"true\"."
    }
  }
}
