variable "vpc_id" {
  description = "ID of an existing VPC, usually that of the install stack. A new VPC is made if it is empty."
  type        = string
  default     = ""
}

variable "public_subnet_ids" {
  description = "IDs of the public subnets of the existing VPC, separated by commas or spaces. Found by their tags if empty."
  type        = string
  default     = ""
}

variable "private_subnet_ids" {
  description = "IDs of the private subnets of the existing VPC, separated by commas or spaces. Found by their tags if empty."
  type        = string
  default     = ""
}

variable "runner_subnet_id" {
  description = "ID of the runner's subnet in the existing VPC. Found by its tags if empty."
  type        = string
  default     = ""
}

variable "vpc_cidr" {
  description = "Address range of a new VPC: a /16."
  type        = string
  default     = "10.128.0.0/16"

  validation {
    condition     = can(cidrhost(var.vpc_cidr, 0)) && endswith(var.vpc_cidr, "/16")
    error_message = "vpc_cidr must be a /16, such as 10.128.0.0/16."
  }
}
