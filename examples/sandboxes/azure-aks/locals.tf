data "azurerm_client_config" "current" {}

data "azurerm_resource_group" "install" {
  name = var.resource_group_name
}

locals {
  sandbox = "azure-aks"
  prefix  = "n-${lower(var.nuon_id)}"

  # Names of tags may not have < > % & \ ? or /. Of names that become the same, one stays.
  renamed_tags = {
    for name, value in merge(var.additional_tags, var.tags) : replace(name, "/[<>%&\\\\?\\/]/", "-") => value...
  }

  tags = merge({ for name, values in local.renamed_tags : name => values[0] }, {
    "install.nuon.co-id"   = var.nuon_id
    "sandbox.nuon.co-name" = local.sandbox
  })
}
