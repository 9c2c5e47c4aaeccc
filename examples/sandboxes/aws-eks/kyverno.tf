# Kyverno and the app's policies of type kubernetes_cluster, which nuon writes to kyverno_policy_dir.

locals {
  kyverno_dir = "${startswith(var.kyverno_policy_dir, "/") ? "" : "${path.module}/"}${var.kyverno_policy_dir}"
  kyverno_policies = [
    for name in sort(fileset(local.kyverno_dir, "*.{yaml,yml}")) : file("${local.kyverno_dir}/${name}")
  ]
  kyverno = length(local.kyverno_policies) > 0 || contains(["1", "true"], var.enable_kyverno)
}

resource "helm_release" "kyverno" {
  count = local.kyverno ? 1 : 0

  name             = "kyverno"
  namespace        = "kyverno"
  create_namespace = true
  repository       = "https://kyverno.github.io/kyverno"
  chart            = "kyverno"
  version          = "3.3.7"

  depends_on = [time_sleep.access]
}

resource "helm_release" "kyverno_policies" {
  count = length(local.kyverno_policies) > 0 ? 1 : 0

  name      = "kyverno-policies"
  namespace = "kyverno"
  chart     = "${path.module}/charts/objects"
  values    = [yamlencode({ objects = local.kyverno_policies })]

  depends_on = [helm_release.kyverno]
}
