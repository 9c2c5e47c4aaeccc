# What keeps the zones (zones.tf) up to date from inside the cluster: external-dns writes records for ingresses and
# services, cert-manager gets certificates. Both have access by Workload Identity, to these zones only.

locals {
  dns_controllers = local.dns_enabled ? toset(["cert-manager", "external-dns"]) : toset([])

  dns_principals = { for name in local.dns_controllers : name => join("", [
    "principal://iam.googleapis.com/projects/${data.google_project.install[0].number}/locations/global/workloadIdentityPools/",
    "${var.project_id}.svc.id.goog/subject/ns/${name}/sa/${name}",
  ]) }

  # external-dns writes both zones; cert-manager proves the public one.
  dns_writers = local.dns_enabled ? {
    "external-dns/public"   = { controller = "external-dns", zone = google_dns_managed_zone.public[0].name }
    "external-dns/internal" = { controller = "external-dns", zone = google_dns_managed_zone.internal[0].name }
    "cert-manager/public"   = { controller = "cert-manager", zone = google_dns_managed_zone.public[0].name }
  } : {}
}

data "google_project" "install" {
  count = local.dns_enabled ? 1 : 0

  project_id = var.project_id
}

# Cloud DNS lists zones by project only.
resource "google_project_iam_member" "dns_reader" {
  for_each = local.dns_controllers

  project = var.project_id
  role    = "roles/dns.reader"
  member  = local.dns_principals[each.value]
}

resource "google_dns_managed_zone_iam_member" "dns_writer" {
  for_each = local.dns_writers

  project      = var.project_id
  managed_zone = each.value.zone
  role         = "roles/dns.admin"
  member       = local.dns_principals[each.value.controller]
}

resource "helm_release" "external_dns" {
  count = local.dns_enabled ? 1 : 0

  name             = "external-dns"
  namespace        = "external-dns"
  create_namespace = true
  repository       = "https://kubernetes-sigs.github.io/external-dns"
  chart            = "external-dns"
  version          = "1.16.1"

  values = [yamlencode({
    provider       = { name = "google" }
    extraArgs      = ["--google-project=${var.project_id}"]
    domainFilters  = [local.public_domain.name, local.internal_domain.name]
    policy         = "sync"
    registry       = "txt"
    txtOwnerId     = var.nuon_id
    serviceAccount = { name = "external-dns" }
  })]

  depends_on = [google_container_node_pool.default, google_dns_managed_zone_iam_member.dns_writer]
}

resource "helm_release" "cert_manager" {
  count = local.dns_enabled ? 1 : 0

  name             = "cert-manager"
  namespace        = "cert-manager"
  create_namespace = true
  repository       = "https://charts.jetstack.io"
  chart            = "cert-manager"
  version          = "v1.17.2"

  values = [yamlencode({
    crds           = { enabled = true, keep = false }
    serviceAccount = { name = "cert-manager" }
    global         = { leaderElection = { namespace = "cert-manager" } }
  })]

  depends_on = [google_container_node_pool.default, google_dns_managed_zone_iam_member.dns_writer]
}

resource "helm_release" "cert_manager_issuer" {
  count = local.dns_enabled ? 1 : 0

  name      = "cert-manager-issuer"
  namespace = "cert-manager"
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
            selector = { dnsZones = [local.public_domain.name] }
            dns01    = { cloudDNS = { project = var.project_id, hostedZoneName = local.public_domain.zone_id } }
          }]
        }
      }
    })]
  })]

  depends_on = [helm_release.cert_manager]
}
