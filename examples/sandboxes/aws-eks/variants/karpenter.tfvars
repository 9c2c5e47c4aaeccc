# A managed node group, and Karpenter beside it.
enable_karpenter = "true"
