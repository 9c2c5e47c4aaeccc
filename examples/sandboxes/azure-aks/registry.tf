# The registry of the install, to which nuon copies artifacts and images. Nobody gets in without Entra ID: there is no
# administrator with a password, and no anonymous pull. Azure encrypts it with its own keys.

resource "azurerm_container_registry" "install" {
  # Letters and digits only, and unique in all of Azure.
  name                   = substr(replace(lower(var.nuon_id), "/[^a-z0-9]/", ""), 0, 50)
  resource_group_name    = var.resource_group_name
  location               = var.location
  sku                    = "Premium"
  admin_enabled          = false
  anonymous_pull_enabled = false
  tags                   = local.tags

  # What has lost its tag is no longer referred to by a component.
  retention_policy_in_days = 30
}
