# What nuon passes.

variable "nuon_id" {
  description = "ID of the install. Names and tags are made from it."
  type        = string
}

variable "location" {
  description = "Azure location of the install."
  type        = string
}

variable "subscription_id" {
  description = "ID of the subscription. That of the runner's environment (ARM_SUBSCRIPTION_ID) if empty."
  type        = string
  default     = ""
}

variable "resource_group_name" {
  description = "Name of the resource group of the install stack. Everything is made in it."
  type        = string
}

variable "tags" {
  description = "Tags of the install, added to every resource. Names may have no slashes in Azure: they become dashes."
  type        = map(string)
  default     = {}
}

variable "additional_tags" {
  description = "More tags for every resource. Tags of the install win over these."
  type        = map(string)
  default     = {}
}

# What the app sets.

variable "additional_namespaces" {
  description = "Namespaces to create, besides the one with the ID of the install."
  type        = list(string)
  default     = []
}
