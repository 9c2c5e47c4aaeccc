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

variable "gcp_credentials_base64" {
  description = "Key of a service account in base64. The runner's own identity is used if it is empty, and is better."
  type        = string
  default     = ""
  sensitive   = true
}

variable "gke_node_pool_sa_email" {
  description = "E-mail address of the service account of the nodes, which the install stack makes."
  type        = string
}

variable "maintenance_sa_email" {
  description = "E-mail address of the service account that deploys components. It gets the cluster role maintenance."
  type        = string
  default     = ""
}

# What the app sets.

variable "additional_namespaces" {
  description = "Namespaces to create, besides the one with the ID of the install."
  type        = list(string)
  default     = []
}

variable "maintenance_cluster_role_rules_override" {
  description = "Rules of the maintenance account's cluster role, in place of those of the sandbox (access.tf)."
  type = list(object({
    apiGroups     = list(string)
    resources     = list(string)
    verbs         = list(string)
    resourceNames = optional(list(string))
  }))
  default = []
}
