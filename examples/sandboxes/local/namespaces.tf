locals {
  tags = merge(var.additional_tags, var.tags, {
    "install.nuon.co/id"   = var.nuon_id
    "sandbox.nuon.co/name" = "local"
  })
}

resource "kubernetes_namespace_v1" "install" {
  for_each = toset(concat([var.nuon_id], var.additional_namespaces))

  metadata {
    name        = each.value
    annotations = local.tags

    labels = {
      "install.nuon.co/id"                 = var.nuon_id
      "pod-security.kubernetes.io/enforce" = var.pod_security
    }
  }
}
