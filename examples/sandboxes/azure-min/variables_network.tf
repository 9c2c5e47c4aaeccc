variable "vnet_name" {
  description = "Name of the virtual network of the install stack."
  type        = string
}

variable "private_subnet_names" {
  description = "Names of the private subnets, separated by commas or spaces."
  type        = string
}

variable "public_subnet_names" {
  description = "Names of the public subnets, separated by commas or spaces."
  type        = string
}
