# Deploys the template beside this file into a resource group. Azure makes the resources; Terraform passes on the variables.

terraform {
  required_version = ">= 1.5"

  required_providers {
    azurerm = {
      source  = "hashicorp/azurerm"
      version = ">= 4.0"
    }
  }
}

provider "azurerm" {
  features {}
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

# A parameter without a value has the default of the template.
locals {
  content = jsonencode({ for name, value in local.parameters : name => { value = value } if value != null })
}
