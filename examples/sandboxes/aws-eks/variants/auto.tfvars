# EKS Auto Mode.
eks_compute_config = {
  enabled    = true
  node_pools = ["general-purpose", "system"]
}
