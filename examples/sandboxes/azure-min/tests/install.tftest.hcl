# The registry, the network of the stack, and the zones: off, then on.

mock_provider "azapi" {
  override_during = plan
}

mock_provider "azurerm" {
  override_during = plan

  source = "./tests/mocks"
}

variables {
  nuon_id              = "inexample"
  location             = "westeurope"
  resource_group_name  = "example"
  vnet_name            = "example"
  private_subnet_names = "private-1, private-2"
  public_subnet_names  = "public-1"
  tags                 = { "app.nuon.co/id" = "appexample", "install.nuon.co/id" = "inexample", "a/b" = "1", "a?b" = "2" }
  public_root_domain   = "inexample.example.com"
  internal_root_domain = "internal.inexample.example.com"
}

run "without_dns" {
  command = plan

  assert {
    condition     = !azurerm_container_registry.install.admin_enabled && !azurerm_container_registry.install.anonymous_pull_enabled && output.acr.login_server == "inexample.azurecr.io"
    error_message = "The registry must be closed."
  }

  assert {
    condition     = keys(data.azurerm_subnet.install) == ["private-1", "private-2", "public-1"] && length(output.vnet.subnet_ids) == 3 && length(output.vnet.private_subnet_ids) == 2
    error_message = "The subnets must be found by their names."
  }

  assert {
    condition     = azurerm_container_registry.install.tags == tomap({ "a-b" = "1", "app.nuon.co-id" = "appexample", "install.nuon.co-id" = "inexample", "sandbox.nuon.co-name" = "azure-min" })
    error_message = "Names of tags may have no slashes."
  }

  assert {
    condition     = !output.nuon_dns.enabled && output.public_domain == { id = "", zone_id = "", name = "", nameservers = tolist([""]) } && output.internal_domain == output.public_domain
    error_message = "Without DNS, the names are empty."
  }

  assert {
    condition     = output.account.subscription_id == "33333333-3333-4333-8333-333333333333" && output.account.resource_group_name == "example"
    error_message = "The account must be in the outputs."
  }
}

run "with_dns" {
  command = plan

  variables {
    enable_nuon_dns = "true"
  }

  assert {
    condition     = output.nuon_dns.public_domain.name == "inexample.example.com" && output.public_domain.nameservers == tolist(["ns1.example.com.", "ns2.example.com."])
    error_message = "The zones must be in the outputs."
  }

  assert {
    condition     = azapi_resource.internal_link[0].parent_id == azurerm_private_dns_zone.internal[0].id && azapi_resource.internal_link[0].body.properties.virtualNetwork.id == data.azurerm_virtual_network.install.id
    error_message = "The internal zone must be visible in the network."
  }
}

run "dns_without_domains" {
  command = plan

  variables {
    enable_nuon_dns      = "true"
    public_root_domain   = ""
    internal_root_domain = ""
  }

  expect_failures = [var.public_root_domain, var.internal_root_domain]
}
