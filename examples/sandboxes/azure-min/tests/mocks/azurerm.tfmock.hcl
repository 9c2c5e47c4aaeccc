mock_data "azurerm_client_config" {
  defaults = {
    client_id       = "11111111-1111-4111-8111-111111111111"
    object_id       = "22222222-2222-4222-8222-222222222222"
    subscription_id = "33333333-3333-4333-8333-333333333333"
    tenant_id       = "44444444-4444-4444-8444-444444444444"
  }
}

mock_data "azurerm_virtual_network" {
  defaults = {
    id = "/subscriptions/33333333-3333-4333-8333-333333333333/resourceGroups/example/providers/Microsoft.Network/virtualNetworks/example"
  }
}

mock_data "azurerm_subnet" {
  defaults = {
    id = "/subscriptions/33333333-3333-4333-8333-333333333333/resourceGroups/example/providers/Microsoft.Network/virtualNetworks/example/subnets/example"
  }
}

mock_resource "azurerm_dns_zone" {
  defaults = {
    id           = "/subscriptions/33333333-3333-4333-8333-333333333333/resourceGroups/example/providers/Microsoft.Network/dnsZones/example"
    name_servers = ["ns2.example.com.", "ns1.example.com."]
  }
}

mock_resource "azurerm_private_dns_zone" {
  defaults = {
    id = "/subscriptions/33333333-3333-4333-8333-333333333333/resourceGroups/example/providers/Microsoft.Network/privateDnsZones/example"
  }
}

mock_resource "azurerm_container_registry" {
  defaults = {
    id           = "/subscriptions/33333333-3333-4333-8333-333333333333/resourceGroups/example/providers/Microsoft.ContainerRegistry/registries/inexample"
    login_server = "inexample.azurecr.io"
  }
}
