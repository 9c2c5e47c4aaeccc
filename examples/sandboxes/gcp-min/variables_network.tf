variable "network" {
  description = "Name or self link of an existing network. network_name if empty."
  type        = string
  default     = ""
}

variable "network_name" {
  description = "Name of the network of the install stack, which nuon passes. A new network is made if both are empty."
  type        = string
  default     = ""
}
