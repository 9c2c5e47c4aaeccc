variable "create_cluster" {
  description = "false to use the existing cluster cluster_name instead of making one."
  type        = bool
  default     = true

  validation {
    condition     = var.create_cluster || var.cluster_name != ""
    error_message = "Set cluster_name to the name of the existing cluster."
  }
}

variable "cluster_name" {
  description = "Name of the cluster: n- and the ID of the install if empty."
  type        = string
  default     = ""
}

variable "cluster_version" {
  description = "Kubernetes version of a new cluster."
  type        = string
  default     = "1.34"
}

variable "cluster_endpoint_public_access" {
  description = "Whether the API server of a new cluster can be reached from the internet, besides from the VPC."
  type        = bool
  default     = false
}

variable "cluster_endpoint_public_access_cidrs" {
  description = "Address ranges from which a public API server can be reached."
  type        = list(string)
  default     = ["0.0.0.0/0"]
}

variable "min_size" {
  description = "Smallest number of nodes of the node group."
  type        = number
  default     = 2
}

variable "max_size" {
  description = "Largest number of nodes of the node group."
  type        = number
  default     = 5
}

variable "desired_size" {
  description = "Number of nodes of the node group."
  type        = number
  default     = 3
}

variable "default_instance_type" {
  description = "Instance type of the node group. Types with Graviton processors get an Arm image."
  type        = string
  default     = "t3a.medium"
}

variable "eks_compute_config" {
  description = "EKS Auto Mode: with enabled = true, EKS runs the nodes from these pools, and there is no node group."
  type = object({
    enabled       = optional(bool, false)
    node_pools    = optional(list(string), ["general-purpose", "system"])
    node_role_arn = optional(string)
  })
  default  = {}
  nullable = false
}

variable "cluster_addons" {
  description = "Settings of EKS add-ons by name: addon_version, configuration_values (JSON), service_account_role_arn. Names that the sandbox does not install are installed, too; enabled = false leaves one out."
  type        = any
  default     = {}
}

variable "enable_ebs_csi" {
  description = "\"true\" to install the EBS CSI driver. Auto Mode has a driver of its own."
  type        = string
  default     = "true"
}

variable "ebs_storage_class" {
  description = "The storage class for encrypted EBS volumes. The provisioner is that of the cluster's driver if null."
  type = object({
    enabled                = optional(bool, true)
    name                   = optional(string, "ebs-auto")
    is_default_class       = optional(bool, true)
    provisioner            = optional(string)
    volume_binding_mode    = optional(string, "WaitForFirstConsumer")
    reclaim_policy         = optional(string, "Delete")
    allow_volume_expansion = optional(bool, true)
    parameters             = optional(map(string), { type = "gp3", encrypted = "true" })
  })
  default  = {}
  nullable = false
}

variable "enable_irsa" {
  description = "\"true\" to let service accounts assume IAM roles, by an OIDC provider of a new cluster. DNS, Karpenter and the EBS CSI driver need it."
  type        = string
  default     = "true"
}

# Karpenter.

variable "enable_karpenter" {
  description = "\"true\" to install Karpenter beside the node group."
  type        = string
  default     = "false"

  validation {
    condition     = !contains(["1", "true"], var.enable_karpenter) || !var.eks_compute_config.enabled
    error_message = "Auto Mode runs Karpenter itself: enable one of enable_karpenter and eks_compute_config."
  }
}

variable "karpenter_version" {
  description = "Version of Karpenter's chart."
  type        = string
  default     = "1.4.0"
}

variable "karpenter_replica_count" {
  description = "Number of Karpenter's controllers."
  type        = number
  default     = 2
}

variable "karpenter_default_nodeclass_ami_selector_terms" {
  description = "amiSelectorTerms of the default EC2NodeClass. The newest Amazon Linux 2023 if null."
  type        = any
  default     = null
}

variable "karpenter_default_nodeclass_block_device_mappings" {
  description = "blockDeviceMappings of the default EC2NodeClass. One encrypted volume of 50 GiB if null."
  type        = any
  default     = null
}

variable "karpenter_default_nodepool_spec" {
  description = "Spec of the default NodePool. On-demand instances of default_instance_type if null."
  type        = any
  default     = null
}

variable "karpenter_ec2nodeclass_default_metadata_options" {
  description = "metadataOptions of the default EC2NodeClass."
  type        = any
  default = {
    httpEndpoint            = "enabled"
    httpProtocolIPv6        = "disabled"
    httpPutResponseHopLimit = 1
    httpTokens              = "required"
  }
}
