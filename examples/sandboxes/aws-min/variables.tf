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

variable "maintenance_iam_role_arn" {
  description = "ARN of the maintenance role. Accepted because nuon passes it; nothing here needs it."
  type        = string
  default     = ""
}

variable "provision_iam_role_arn" {
  description = "ARN of the provision role. Accepted because nuon passes it; nothing here needs it."
  type        = string
  default     = ""
}

variable "deprovision_iam_role_arn" {
  description = "ARN of the deprovision role. Accepted because nuon passes it; nothing here needs it."
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

variable "kyverno_policy_dir" {
  description = "Directory of Kyverno policies. Accepted because apps share their settings; there is no cluster here."
  type        = string
  default     = "./kyverno-policies"
}
