# What nuon passes.

variable "nuon_id" {
  description = "ID of the install. Its namespace has this name."
  type        = string
}

variable "public_root_domain" {
  description = "Name under which the install is reached from outside. It is passed on in the outputs; no zone is made."
  type        = string
  default     = ""
}

variable "internal_root_domain" {
  description = "Name under which the install is reached from inside. It is passed on in the outputs; no zone is made."
  type        = string
  default     = ""
}

variable "tags" {
  description = "Tags of the install, as annotations of the namespaces."
  type        = map(string)
  default     = {}
}

# What the app sets.

variable "additional_tags" {
  description = "More annotations. Tags of the install win over these."
  type        = map(string)
  default     = {}
}

variable "additional_namespaces" {
  description = "Namespaces to create, besides the one with the ID of the install."
  type        = list(string)
  default     = []
}

variable "pod_security" {
  description = "Pod security standard that the namespaces enforce: privileged, baseline or restricted."
  type        = string
  default     = "baseline"

  validation {
    condition     = contains(["privileged", "baseline", "restricted"], var.pod_security)
    error_message = "pod_security must be privileged, baseline or restricted."
  }
}

variable "kubeconfig_path" {
  description = "Path of a kubeconfig on the runner's machine. KUBE_CONFIG_PATH, or the runner's pod, if empty."
  type        = string
  default     = ""
}

variable "kubeconfig_context" {
  description = "Context in the kubeconfig. The current one if empty."
  type        = string
  default     = ""
}
