# Deploys the template beside this file into a resource group. Azure makes the resources; Terraform passes on the variables.

terraform {
  required_version = ">= 1.5"

  required_providers {
    azurerm = {
      source  = "hashicorp/azurerm"
      version = ">= 4.0, < 5.0"
    }
    random = {
      source  = "hashicorp/random"
      version = ">= 3.5, < 4.0"
    }
  }
}

provider "azurerm" {
  # Without one, it is that of ARM_SUBSCRIPTION_ID.
  subscription_id = var.subscription

  features {
    template_deployment {
      # Terraform replaces a deployment that failed. It keeps the vault, whose name would be taken, and the runner's disk.
      delete_nested_items_during_deletion = false
    }
  }
}

variable "resource_group_name" {
  type        = string
  description = "Name of the resource group of the stack, which exists."
}

resource "azurerm_resource_group_template_deployment" "this" {
  name                = local.name
  resource_group_name = var.resource_group_name
  deployment_mode     = "Incremental"
  template_content    = file("${path.module}/azuredeploy.json")
  parameters_content  = local.content
}

output "outputs" {
  description = "The outputs of the stack, which the runner itself reports to the vendor."
  value       = azurerm_resource_group_template_deployment.this.output_content
}

# The defaults of the template for generated secrets are new at each deployment.
resource "random_password" "generated" {
  for_each = local.generated
  length   = 63
  special  = false
}

# A parameter without a value has the default of the template.
locals {
  content = jsonencode(merge(
    { for name, made in random_password.generated : name => { value = made.result } },
    { for name, value in local.parameters : name => { value = value } if value != null },
  ))
}
