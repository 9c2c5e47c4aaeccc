# The DNS zones. Delegate the public one by the name servers in the outputs.

locals {
  dns_enabled = contains(["1", "true"], var.enable_nuon_dns)
  no_domain   = { id = "", zone_id = "", name = "", nameservers = tolist([""]) }

  public_domain = local.dns_enabled ? {
    id          = azurerm_dns_zone.public[0].id
    zone_id     = azurerm_dns_zone.public[0].id
    name        = azurerm_dns_zone.public[0].name
    nameservers = sort(azurerm_dns_zone.public[0].name_servers)
  } : local.no_domain

  # Azure answers private zones itself: they have no name servers.
  internal_domain = local.dns_enabled ? {
    id          = azurerm_private_dns_zone.internal[0].id
    zone_id     = azurerm_private_dns_zone.internal[0].id
    name        = azurerm_private_dns_zone.internal[0].name
    nameservers = tolist([""])
  } : local.no_domain
}

resource "azurerm_dns_zone" "public" {
  count = local.dns_enabled ? 1 : 0

  name                = var.public_root_domain
  resource_group_name = var.resource_group_name
  tags                = local.tags
}

resource "azurerm_private_dns_zone" "internal" {
  count = local.dns_enabled ? 1 : 0

  name                = var.internal_root_domain
  resource_group_name = var.resource_group_name
  tags                = local.tags
}

# Makes the internal zone visible in the network.
resource "azapi_resource" "internal_link" {
  count = local.dns_enabled ? 1 : 0

  type      = "Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01"
  name      = local.prefix
  parent_id = azurerm_private_dns_zone.internal[0].id
  location  = "global"

  body = {
    properties = {
      registrationEnabled = false
      virtualNetwork      = { id = data.azurerm_virtual_network.install.id }
    }
  }
}
