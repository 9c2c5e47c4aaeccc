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

output "nuon_dns" {
  description = "The DNS zones. Without DNS, enabled is false and the names are empty."
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
