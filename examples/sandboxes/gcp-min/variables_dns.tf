variable "enable_nuon_dns" {
  description = "\"true\" to make a public and an internal DNS zone. A string, because apps set it from templates."
  type        = string
  default     = "false"

  validation {
    condition     = contains(["0", "1", "false", "true"], var.enable_nuon_dns)
    error_message = "enable_nuon_dns must be \"true\" or \"false\"."
  }
}

variable "public_root_domain" {
  description = "Name of the public DNS zone. Required if enable_nuon_dns is \"true\"."
  type        = string
  default     = ""

  validation {
    condition     = !contains(["1", "true"], var.enable_nuon_dns) || var.public_root_domain != ""
    error_message = "Set public_root_domain, or set enable_nuon_dns to \"false\"."
  }
}

variable "internal_root_domain" {
  description = "Name of the internal DNS zone, visible in the network only. Required if enable_nuon_dns is \"true\"."
  type        = string
  default     = ""

  validation {
    condition     = !contains(["1", "true"], var.enable_nuon_dns) || var.internal_root_domain != ""
    error_message = "Set internal_root_domain, or set enable_nuon_dns to \"false\"."
  }
}
