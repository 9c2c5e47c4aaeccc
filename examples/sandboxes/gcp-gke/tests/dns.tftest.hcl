# The zones and what maintains their records and certificates: on, then off again.

mock_provider "helm" {
  override_during = plan
}

mock_provider "kubernetes" {
  override_during = plan
}

mock_provider "google" {
  override_during = plan

  source = "./tests/mocks"
}

variables {
  nuon_id                = "inexample"
  project_id             = "example"
  region                 = "europe-west1"
  labels                 = { app = "example" }
  gke_node_pool_sa_email = "nodes@example.iam.gserviceaccount.com"
  maintenance_sa_email   = "maintenance@example.iam.gserviceaccount.com"
  public_root_domain     = "inexample.example.com"
  internal_root_domain   = "internal.inexample.example.com"
}

run "on" {
  command = plan

  variables {
    enable_nuon_dns = "true"
  }

  assert {
    condition     = output.nuon_dns.external_dns.enabled && output.nuon_dns.cert_manager.enabled
    error_message = "Both controllers must be installed."
  }

  assert {
    condition     = google_dns_managed_zone_iam_member.dns_writer["cert-manager/public"].member == "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/example.svc.id.goog/subject/ns/cert-manager/sa/cert-manager"
    error_message = "Only cert-manager's service account may write."
  }

  assert {
    condition     = keys(google_dns_managed_zone_iam_member.dns_writer) == ["cert-manager/public", "external-dns/internal", "external-dns/public"] && alltrue([for m in google_project_iam_member.dns_reader : m.role == "roles/dns.reader"])
    error_message = "In the project, both may only read."
  }

  assert {
    condition     = yamldecode(helm_release.external_dns[0].values[0]).domainFilters == ["inexample.example.com", "internal.inexample.example.com"]
    error_message = "external-dns must keep to the zones."
  }
}

run "off" {
  command = plan

  assert {
    condition     = length(google_dns_managed_zone.public) + length(helm_release.external_dns) + length(helm_release.cert_manager) + length(google_project_iam_member.dns_reader) == 0
    error_message = "Nothing of DNS may be left."
  }
}
