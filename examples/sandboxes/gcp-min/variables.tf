# What nuon passes.

variable "nuon_id" {
  description = "ID of the install. Names and labels are made from it."
  type        = string
}

variable "project_id" {
  description = "ID of the GCP project of the install."
  type        = string
}

variable "region" {
  description = "GCP region of the install."
  type        = string
}

variable "labels" {
  description = "Labels of the install, added to every resource that has labels."
  type        = map(string)
  default     = {}
}

variable "tags" {
  description = "Tags of the install. Their names become labels: lower case, with _ for what labels do not allow."
  type        = map(string)
  default     = {}
}

variable "additional_tags" {
  description = "More tags, as labels. Labels and tags of the install win over these."
  type        = map(string)
  default     = {}
}

variable "gcp_credentials_base64" {
  description = "Key of a service account in base64. The runner's own identity is used if it is empty, and is better."
  type        = string
  default     = ""
  sensitive   = true
}
