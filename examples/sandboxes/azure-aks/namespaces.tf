resource "kubernetes_namespace_v1" "install" {
  for_each = toset(concat([var.nuon_id], var.additional_namespaces))

  metadata {
    name   = each.value
    labels = { "install.nuon.co/id" = var.nuon_id }
  }

  depends_on = [azurerm_role_assignment.provisioner, azurerm_role_assignment.admin]
}
