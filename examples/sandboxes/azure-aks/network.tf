# The virtual network of the install stack, and its subnets by their names.

locals {
  subnet_names = {
    private = regexall("[A-Za-z0-9_.-]+", var.private_subnet_names)
    public  = regexall("[A-Za-z0-9_.-]+", var.public_subnet_names)
  }

  subnet_ids = {
    for kind, names in local.subnet_names : kind => tolist([for name in names : data.azurerm_subnet.install[name].id])
  }
}

data "azurerm_virtual_network" "install" {
  name                = var.vnet_name
  resource_group_name = var.resource_group_name
}

data "azurerm_subnet" "install" {
  for_each = toset(concat(local.subnet_names.private, local.subnet_names.public))

  name                 = each.value
  virtual_network_name = var.vnet_name
  resource_group_name  = var.resource_group_name
}
