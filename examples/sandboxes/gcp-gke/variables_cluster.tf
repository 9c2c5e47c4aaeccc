variable "cluster_name" {
  description = "Name of the cluster: n- and the ID of the install if empty."
  type        = string
  default     = ""
}

variable "release_channel" {
  description = "Release channel of GKE: RAPID, REGULAR or STABLE."
  type        = string
  default     = "REGULAR"

  validation {
    condition     = contains(["RAPID", "REGULAR", "STABLE"], var.release_channel)
    error_message = "release_channel must be RAPID, REGULAR or STABLE."
  }
}

variable "cluster_endpoint_public_access" {
  description = "Whether the API server can be reached from outside the network."
  type        = bool
  default     = false
}

variable "master_authorized_networks" {
  description = "Address ranges from which the API server can be reached. If empty: all private addresses, or with public access all addresses."
  type = list(object({
    cidr_block   = string
    display_name = string
  }))
  default = []
}

variable "deletion_protection" {
  description = "Whether Terraform refuses to destroy the cluster. It would block the teardown of the install."
  type        = bool
  default     = false
}

variable "kms_key_name" {
  description = "KMS key for the cluster's secrets, the disks of nodes and the registry. Google's own keys encrypt them if it is empty."
  type        = string
  default     = ""
}

variable "node_machine_type" {
  description = "Machine type of the nodes."
  type        = string
  default     = "e2-standard-4"
}

variable "node_min_count" {
  description = "Smallest number of nodes per zone."
  type        = number
  default     = 1
}

variable "node_max_count" {
  description = "Largest number of nodes per zone."
  type        = number
  default     = 10
}
