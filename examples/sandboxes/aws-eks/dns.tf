# What keeps the zones (zones.tf) up to date from inside the cluster: external-dns writes records for ingresses and
# services, cert-manager gets certificates.

resource "helm_release" "external_dns" {
  count = local.dns_enabled ? 1 : 0

  name             = "external-dns"
  namespace        = local.controllers["external-dns"].namespace
  create_namespace = true
  repository       = "https://kubernetes-sigs.github.io/external-dns"
  chart            = "external-dns"
  version          = "1.16.1"

  values = [yamlencode({
    provider      = { name = "aws" }
    env           = [{ name = "AWS_DEFAULT_REGION", value = var.region }]
    domainFilters = [var.public_root_domain, var.internal_root_domain]
    policy        = "sync"
    registry      = "txt"
    txtOwnerId    = var.nuon_id
    serviceAccount = {
      name        = local.controllers["external-dns"].service_account
      annotations = { "eks.amazonaws.com/role-arn" = aws_iam_role.irsa["external-dns"].arn }
    }
  })]

  depends_on = [time_sleep.access, aws_iam_role_policy.external_dns, helm_release.alb]
}

resource "aws_iam_role_policy" "external_dns" {
  count = local.dns_enabled ? 1 : 0

  name = "records"
  role = aws_iam_role.irsa["external-dns"].id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect   = "Allow"
        Action   = ["route53:ChangeResourceRecordSets", "route53:ListResourceRecordSets", "route53:ListTagsForResources"]
        Resource = local.zone_arns
      },
      {
        # AWS knows no resource for this.
        Effect   = "Allow"
        Action   = ["route53:ListHostedZones"]
        Resource = "*"
      },
    ]
  })
}

resource "helm_release" "cert_manager" {
  count = local.dns_enabled ? 1 : 0

  name             = "cert-manager"
  namespace        = local.controllers["cert-manager"].namespace
  create_namespace = true
  repository       = "https://charts.jetstack.io"
  chart            = "cert-manager"
  version          = "v1.17.2"

  values = [yamlencode({
    crds = { enabled = true, keep = false }
    serviceAccount = {
      name        = local.controllers["cert-manager"].service_account
      annotations = { "eks.amazonaws.com/role-arn" = aws_iam_role.irsa["cert-manager"].arn }
    }
  })]

  depends_on = [time_sleep.access, aws_iam_role_policy.cert_manager, helm_release.alb]
}

# It proves that the public zone is its own by TXT records, and may write no others.
resource "aws_iam_role_policy" "cert_manager" {
  count = local.dns_enabled ? 1 : 0

  name = "certificates"
  role = aws_iam_role.irsa["cert-manager"].id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect    = "Allow"
        Action    = ["route53:ChangeResourceRecordSets"]
        Resource  = local.zone_arns[0]
        Condition = { "ForAllValues:StringEquals" = { "route53:ChangeResourceRecordSetsRecordTypes" = ["TXT"] } }
      },
      {
        Effect   = "Allow"
        Action   = ["route53:ListResourceRecordSets"]
        Resource = local.zone_arns[0]
      },
      {
        Effect   = "Allow"
        Action   = ["route53:GetChange"]
        Resource = "arn:${local.partition}:route53:::change/*"
      },
    ]
  })
}

resource "helm_release" "cert_manager_issuer" {
  count = local.dns_enabled ? 1 : 0

  name      = "cert-manager-issuer"
  namespace = local.controllers["cert-manager"].namespace
  chart     = "${path.module}/charts/objects"

  values = [yamlencode({
    objects = [yamlencode({
      apiVersion = "cert-manager.io/v1"
      kind       = "ClusterIssuer"
      metadata   = { name = "public-issuer" }
      spec = {
        acme = {
          server              = "https://acme-v02.api.letsencrypt.org/directory"
          privateKeySecretRef = { name = "public-issuer-account" }
          solvers = [{
            selector = { dnsZones = [var.public_root_domain] }
            dns01    = { route53 = { region = var.region, hostedZoneID = local.public_domain.zone_id } }
          }]
        }
      }
    })]
  })]

  depends_on = [helm_release.cert_manager]
}

resource "helm_release" "ingress_nginx" {
  count = local.ingress_nginx ? 1 : 0

  name             = "ingress-nginx"
  namespace        = "ingress-nginx"
  create_namespace = true
  repository       = "https://kubernetes.github.io/ingress-nginx"
  chart            = "ingress-nginx"
  version          = "4.12.2"

  # Its load balancer is internal: what is to be public names the load balancer controller's class (alb).
  values = [yamlencode({
    controller = {
      service = {
        annotations = {
          "service.beta.kubernetes.io/aws-load-balancer-type"            = "external"
          "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type" = "ip"
          "service.beta.kubernetes.io/aws-load-balancer-scheme"          = "internal"
        }
      }
    }
  })]

  depends_on = [helm_release.alb]
}

locals {
  ingress_nginx = local.dns_enabled && contains(["1", "true"], var.enable_ingress_nginx)
  zone_arns     = local.dns_enabled ? [aws_route53_zone.public[0].arn, aws_route53_zone.internal[0].arn] : []
}
