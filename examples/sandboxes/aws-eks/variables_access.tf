variable "break_glass_iam_role_arn" {
  description = "ARN of a role for emergencies. It gets an access entry if it is set."
  type        = string
  default     = ""
}

# Groups of Kubernetes, besides provision, maintenance, deprovision and break-glass.

variable "provision_role_eks_kubernetes_groups" {
  description = "More Kubernetes groups of the provision role."
  type        = list(string)
  default     = []
}

variable "maintenance_role_eks_kubernetes_groups" {
  description = "More Kubernetes groups of the maintenance role."
  type        = list(string)
  default     = []
}

variable "deprovision_role_eks_kubernetes_groups" {
  description = "More Kubernetes groups of the deprovision role."
  type        = list(string)
  default     = []
}

variable "break_glass_role_eks_kubernetes_groups" {
  description = "More Kubernetes groups of the break-glass role."
  type        = list(string)
  default     = []
}

# Access policies of EKS.

variable "provision_role_eks_access_entry_policy_associations" {
  description = "Access policies of the provision role, which installs what needs all permissions, such as CRDs."
  type = map(object({
    policy_arn   = string
    access_scope = object({ type = string, namespaces = optional(list(string), []) })
  }))
  default = {
    cluster_admin = {
      policy_arn   = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
      access_scope = { type = "cluster" }
    }
  }
}

variable "maintenance_role_eks_access_entry_policy_associations" {
  description = "Access policies of the maintenance role, besides the cluster role of its group."
  type = map(object({
    policy_arn   = string
    access_scope = object({ type = string, namespaces = optional(list(string), []) })
  }))
  default = {}
}

variable "deprovision_role_eks_access_entry_policy_associations" {
  description = "Access policies of the deprovision role, which deletes what the provision role installed."
  type = map(object({
    policy_arn   = string
    access_scope = object({ type = string, namespaces = optional(list(string), []) })
  }))
  default = {
    cluster_admin = {
      policy_arn   = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
      access_scope = { type = "cluster" }
    }
  }
}

variable "break_glass_role_eks_access_entry_policy_associations" {
  description = "Access policies of the break-glass role."
  type = map(object({
    policy_arn   = string
    access_scope = object({ type = string, namespaces = optional(list(string), []) })
  }))
  default = {
    cluster_admin = {
      policy_arn   = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
      access_scope = { type = "cluster" }
    }
  }
}

variable "additional_access_entry" {
  description = "More access entries by name, for instance of custom roles."
  type = map(object({
    principal_arn     = string
    kubernetes_groups = optional(list(string), [])
    policy_associations = optional(map(object({
      policy_arn   = string
      access_scope = object({ type = string, namespaces = optional(list(string), []) })
    })), {})
  }))
  default = {}
}

variable "maintenance_cluster_role_rules_override" {
  description = "Rules of the maintenance role's cluster role, in place of those of the sandbox (access.tf)."
  type = list(object({
    apiGroups     = list(string)
    resources     = list(string)
    verbs         = list(string)
    resourceNames = optional(list(string))
  }))
  default = []
}
