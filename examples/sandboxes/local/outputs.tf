# There is no output cluster: the runner's owner names the cluster (runnerd run --kubeconfig), or the runner is in it.

output "nuon_id" {
  description = "ID of the install."
  value       = var.nuon_id
}

output "cluster_type" {
  description = "Kind of the cluster: one that exists."
  value       = "existing"
}

output "namespaces" {
  description = "The namespaces that the sandbox made."
  value       = sort([for namespace in kubernetes_namespace_v1.install : namespace.metadata[0].name])
}

output "tags" {
  description = "The annotations of the namespaces."
  value       = local.tags
}

output "domains" {
  description = "The names under which the install is reached."
  value = {
    public_root_domain   = var.public_root_domain
    internal_root_domain = var.internal_root_domain
  }
}

output "account" {
  description = "Where other sandboxes have their account and region."
  value       = { id = "local", region = "local" }
}

output "nuon_dns" {
  description = "The names in the shape of other sandboxes. There are no zones."
  value = {
    enabled         = false
    public_domain   = { zone_id = "", name = var.public_root_domain, nameservers = tolist([""]) }
    internal_domain = { zone_id = "", name = var.internal_root_domain, nameservers = tolist([""]) }
  }
}
