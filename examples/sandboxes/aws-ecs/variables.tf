# What nuon passes.

variable "nuon_id" {
  description = "ID of the install. Names and tags are made from it."
  type        = string
}

variable "region" {
  description = "AWS region of the install."
  type        = string
}

variable "tags" {
  description = "Tags of the install, added to every resource."
  type        = map(string)
  default     = {}
}

variable "runner_install_role" {
  description = "ARN of the role with which the runner works. It is passed on in the outputs, where older apps read it."
  type        = string
  default     = ""
}

# What the app sets.

variable "additional_tags" {
  description = "More tags for every resource. Tags of the install win over these."
  type        = map(string)
  default     = {}
}

variable "prefix_override" {
  description = "Prefix of names in place of the ID of the install."
  type        = string
  default     = ""
}

variable "cluster_name" {
  description = "Name of the ECS cluster: the prefix if empty."
  type        = string
  default     = ""
}

variable "enable_public_route53_zone" {
  description = "\"true\" to make the public zone. \"false\" leaves it out where DNS is enabled."
  type        = string
  default     = "true"
}
