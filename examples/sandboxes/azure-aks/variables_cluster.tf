variable "cluster_version" {
  description = "Kubernetes version of the cluster."
  type        = string
  default     = "1.33"
}

variable "cluster_endpoint_public_access" {
  description = "Whether the API server can be reached from outside the network."
  type        = bool
  default     = false
}

variable "cluster_endpoint_public_access_cidrs" {
  description = "Address ranges from which a public API server can be reached. All, if empty."
  type        = list(string)
  default     = []
}

variable "vm_size" {
  description = "Size of the nodes."
  type        = string
  default     = "Standard_D2s_v3"
}

variable "node_count" {
  description = "Number of nodes, unless node_pool_node_count is set."
  type        = number
  default     = 2
}

variable "node_pool_node_count" {
  description = "Number of nodes to start with. node_count if null."
  type        = number
  default     = null
}

variable "node_pool_min_count" {
  description = "Smallest number of nodes. With node_pool_max_count, AKS scales the nodes."
  type        = number
  default     = null
}

variable "node_pool_max_count" {
  description = "Largest number of nodes. With node_pool_min_count, AKS scales the nodes."
  type        = number
  default     = null

  validation {
    condition     = (var.node_pool_max_count == null) == (var.node_pool_min_count == null)
    error_message = "Set both node_pool_min_count and node_pool_max_count, or none of them."
  }
}

variable "enable_nap" {
  description = "Whether AKS makes nodes by itself as pods need them (node auto provisioning), besides the first pool."
  type        = bool
  default     = false

  validation {
    condition     = !var.enable_nap || var.node_pool_max_count == null
    error_message = "Node auto provisioning and a node pool that scales exclude each other: leave out node_pool_min_count and node_pool_max_count."
  }
}

# Access.

variable "kubelogin_mode" {
  description = "How kubelogin gets the token of who runs Terraform and deploys: msi, azurecli, workloadidentity or spn."
  type        = string
  default     = "msi"
}

variable "admin_principal_ids" {
  description = "Object IDs of principals that are administrators of the cluster. The one that provisions it, if empty."
  type        = list(string)
  default     = []
}

variable "maintenance_principal_id" {
  description = "Object ID of the principal that deploys components. It gets azure_rbac_roles and the cluster role maintenance."
  type        = string
  default     = ""
}

variable "azure_rbac_roles" {
  description = "Azure roles on the cluster for the principal that deploys components."
  type        = list(string)
  default     = []
}

variable "maintenance_cluster_role_rules_override" {
  description = "Rules of the cluster role maintenance, in place of those of the sandbox (access.tf)."
  type = list(object({
    apiGroups     = list(string)
    resources     = list(string)
    verbs         = list(string)
    resourceNames = optional(list(string))
  }))
  default = []
}
