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

variable "subnetwork" {
  description = "Name or self link of an existing subnetwork for the nodes. private_subnet_name if empty."
  type        = string
  default     = ""
}

variable "private_subnet_name" {
  description = "Name of the private subnetwork of the install stack, which nuon passes. A new one is made if both are empty."
  type        = string
  default     = ""
}

variable "subnet_cidr" {
  description = "Address range of a new subnetwork."
  type        = string
  default     = "10.0.0.0/20"
}

variable "pods_cidr_range" {
  description = "Address range of pods, a secondary range of the subnetwork."
  type        = string
  default     = "10.1.0.0/16"
}

variable "services_cidr_range" {
  description = "Address range of services, a secondary range of the subnetwork."
  type        = string
  default     = "10.2.0.0/20"
}
