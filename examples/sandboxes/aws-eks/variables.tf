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

variable "provision_iam_role_arn" {
  description = "ARN of the role that provisions the install. It gets an access entry of the cluster."
  type        = string
  default     = ""
}

variable "maintenance_iam_role_arn" {
  description = "ARN of the role that deploys components. It gets an access entry of the cluster."
  type        = string
}

variable "deprovision_iam_role_arn" {
  description = "ARN of the role that tears the install down. It gets an access entry of the cluster."
  type        = string
  default     = ""
}

# What the app sets.

variable "additional_tags" {
  description = "More tags for every resource. Tags of the install win over these."
  type        = map(string)
  default     = {}
}

variable "additional_namespaces" {
  description = "Namespaces to create, besides the one with the ID of the install."
  type        = list(string)
  default     = []
}

variable "helm_driver" {
  description = "Where Helm stores the releases of the sandbox: secret or configmap."
  type        = string
  default     = "secret"

  validation {
    condition     = contains(["secret", "configmap"], var.helm_driver)
    error_message = "helm_driver must be secret or configmap."
  }
}

variable "enable_ingress_nginx" {
  description = "\"true\" to install ingress-nginx where DNS is enabled."
  type        = string
  default     = "true"
}

variable "enable_kyverno" {
  description = "\"true\" to install Kyverno even if there are no policies for it. Policies install it, too."
  type        = string
  default     = "false"
}

variable "kyverno_policy_dir" {
  description = "Directory of Kyverno policies (*.yaml, *.yml), relative to this module. It may be missing."
  type        = string
  default     = "./kyverno-policies"
}

variable "additional_irsas" {
  description = "IAM roles that service accounts of the cluster may assume, without policies: attach them in a component."
  type = list(object({
    role_name       = string
    namespace       = string
    service_account = string
  }))
  default = []
}
