output "account" {
  description = "The GCP project and region."
  value = {
    project_id = var.project_id
    region     = var.region
  }
}

output "vpc" {
  description = "The network and the subnetwork of the nodes."
  value = {
    network           = local.network.name
    network_self_link = local.network.self_link
    subnetwork        = local.subnetwork
  }
}

output "cluster" {
  description = "The cluster: its name, API and location."
  value = {
    name                       = google_container_cluster.install.name
    endpoint                   = "https://${google_container_cluster.install.endpoint}"
    certificate_authority_data = google_container_cluster.install.master_auth[0].cluster_ca_certificate
    location                   = google_container_cluster.install.location
    self_link                  = google_container_cluster.install.self_link
  }
}

output "namespaces" {
  description = "The namespaces that the sandbox made."
  value       = sort([for namespace in kubernetes_namespace_v1.install : namespace.metadata[0].name])
}

output "availability_zones" {
  description = "The zones of the nodes, separated by commas."
  value       = join(",", sort(google_container_node_pool.default.node_locations))
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

    external_dns = local.releases.external_dns
    cert_manager = local.releases.cert_manager
  }
}

locals {
  # Helm releases of controllers by name, with empty strings for what is not installed.
  releases = { for name, releases in {
    external_dns = helm_release.external_dns
    cert_manager = helm_release.cert_manager
    } : name => {
    enabled  = length(releases) > 0
    id       = join("", releases[*].id)
    chart    = join("", releases[*].metadata.chart)
    revision = join("", releases[*].metadata.revision)
  } }
}

output "public_domain" {
  description = "The public DNS zone again, where older apps read it."
  value       = local.public_domain
}

output "internal_domain" {
  description = "The internal DNS zone again, where older apps read it."
  value       = local.internal_domain
}
