# The DNS zones. Delegate the public one by the name servers in the outputs.

locals {
  dns_enabled = contains(["1", "true"], var.enable_nuon_dns)
  no_domain   = { zone_id = "", name = "", nameservers = tolist([""]) }

  public_domain = local.dns_enabled ? {
    zone_id     = google_dns_managed_zone.public[0].name
    name        = trimsuffix(google_dns_managed_zone.public[0].dns_name, ".")
    nameservers = google_dns_managed_zone.public[0].name_servers
  } : local.no_domain

  internal_domain = local.dns_enabled ? {
    zone_id     = google_dns_managed_zone.internal[0].name
    name        = trimsuffix(google_dns_managed_zone.internal[0].dns_name, ".")
    nameservers = google_dns_managed_zone.internal[0].name_servers
  } : local.no_domain
}

# force_destroy: components that are gone may leave records, which would block the teardown.
resource "google_dns_managed_zone" "public" {
  count = local.dns_enabled ? 1 : 0

  name          = "${local.prefix}-public"
  project       = var.project_id
  dns_name      = "${trimsuffix(var.public_root_domain, ".")}."
  description   = "Public zone of install ${var.nuon_id}"
  visibility    = "public"
  force_destroy = true

  depends_on = [google_project_service.api]
}

resource "google_dns_managed_zone" "internal" {
  count = local.dns_enabled ? 1 : 0

  name          = "${local.prefix}-internal"
  project       = var.project_id
  dns_name      = "${trimsuffix(var.internal_root_domain, ".")}."
  description   = "Internal zone of install ${var.nuon_id}"
  visibility    = "private"
  force_destroy = true

  private_visibility_config {
    networks {
      network_url = local.network.id
    }
  }

  depends_on = [google_project_service.api]
}
