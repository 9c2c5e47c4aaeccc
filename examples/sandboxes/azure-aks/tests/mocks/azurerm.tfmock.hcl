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

mock_resource "azurerm_user_assigned_identity" {
  defaults = {
    id           = "/subscriptions/33333333-3333-4333-8333-333333333333/resourceGroups/example/providers/Microsoft.ManagedIdentity/userAssignedIdentities/example"
    principal_id = "55555555-5555-4555-8555-555555555555"
  }
}

mock_resource "azurerm_kubernetes_cluster" {
  defaults = {
    id              = "/subscriptions/33333333-3333-4333-8333-333333333333/resourceGroups/example/providers/Microsoft.ContainerService/managedClusters/n-inexample"
    fqdn            = "n-inexample.example.com"
    private_fqdn    = "n-inexample.private.example.com"
    oidc_issuer_url = "https://oidc.example.com/"
    kube_config = [{
      client_certificate     = ""
      client_key             = ""
      cluster_ca_certificate = "Y2VydGlmaWNhdGU="
      host                   = "https://n-inexample.private.example.com:443"
      password               = ""
      username               = ""
    }]
  }
}
