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
    subnet_ids         = tolist([for name in concat(local.subnet_names.private, local.subnet_names.public) : data.azurerm_subnet.install[name].id])
    private_subnet_ids = tolist([for name in local.subnet_names.private : data.azurerm_subnet.install[name].id])
    public_subnet_ids  = tolist([for name in local.subnet_names.public : data.azurerm_subnet.install[name].id])
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
