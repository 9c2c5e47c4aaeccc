output "account" {
  description = "The Azure subscription, client, location and resource group."
  value = {
    location            = var.location
    subscription_id     = data.azurerm_client_config.current.subscription_id
    client_id           = data.azurerm_client_config.current.client_id
    resource_group_name = data.azurerm_resource_group.install.name
  }
}

output "vnet" {
  description = "The virtual network and the IDs of its private and public subnets."
  value = {
    id                 = data.azurerm_virtual_network.install.id
    name               = data.azurerm_virtual_network.install.name
    subnet_ids         = concat(local.subnet_ids.private, local.subnet_ids.public)
    private_subnet_ids = local.subnet_ids.private
    public_subnet_ids  = local.subnet_ids.public
  }
}

output "acr" {
  description = "The container registry of the install."
  value = {
    id           = azurerm_container_registry.install.id
    name         = azurerm_container_registry.install.name
    login_server = azurerm_container_registry.install.login_server
  }
}

output "cluster" {
  description = "The cluster: its API and how to log in. There are no credentials in it: exec names the program that gets a token by Entra ID, which the runner file must list."
  value = {
    id                     = azurerm_kubernetes_cluster.install.id
    name                   = azurerm_kubernetes_cluster.install.name
    host                   = nonsensitive(azurerm_kubernetes_cluster.install.kube_config[0].host)
    cluster_ca_certificate = nonsensitive(azurerm_kubernetes_cluster.install.kube_config[0].cluster_ca_certificate)
    cluster_fqdn = (
      var.cluster_endpoint_public_access
      ? azurerm_kubernetes_cluster.install.fqdn
      : azurerm_kubernetes_cluster.install.private_fqdn
    )
    oidc_issuer_url = azurerm_kubernetes_cluster.install.oidc_issuer_url
    location        = azurerm_kubernetes_cluster.install.location
    exec            = local.cluster_login
  }
}

output "namespaces" {
  description = "The namespaces that the sandbox made."
  value       = sort([for namespace in kubernetes_namespace_v1.install : namespace.metadata[0].name])
}

output "nuon_dns" {
  description = "The DNS zones. Without DNS, enabled is false and the names are empty."
  value = {
    enabled         = local.dns_enabled
    public_domain   = local.public_domain
    internal_domain = local.internal_domain

    # Apps install these themselves here.
    alb_ingress_controller = local.not_installed
    external_dns           = local.not_installed
    cert_manager           = local.not_installed
    ingress_nginx          = local.not_installed
  }
}

locals {
  not_installed = { enabled = false, id = "", chart = "", revision = "" }
}

output "public_domain" {
  description = "The public DNS zone again, where older apps read it."
  value       = local.public_domain
}

output "internal_domain" {
  description = "The internal DNS zone again, where older apps read it."
  value       = local.internal_domain
}
