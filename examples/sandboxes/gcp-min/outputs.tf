output "account" {
  description = "The GCP project and region."
  value = {
    project_id = var.project_id
    region     = var.region
  }
}

output "vpc" {
  description = "The network: its name and self link."
  value = {
    network           = local.network.name
    network_self_link = local.network.self_link
  }
}

output "gar" {
  description = "The Artifact Registry repository of the install, and the address of its registry."
  value = {
    repository_id  = google_artifact_registry_repository.install.repository_id
    repository_url = join("/", [local.registry, var.project_id, google_artifact_registry_repository.install.repository_id])
    registry_url   = local.registry
  }
}

output "nuon_dns" {
  description = "The DNS zones; zone_id is the name of the managed zone. Without DNS, the names are empty."
  value = {
    enabled         = local.dns_enabled
    public_domain   = local.public_domain
    internal_domain = local.internal_domain
  }
}

output "public_domain" {
  description = "The public DNS zone again, where older apps read it."
  value       = local.public_domain
}

output "internal_domain" {
  description = "The internal DNS zone again, where older apps read it."
  value       = local.internal_domain
}
