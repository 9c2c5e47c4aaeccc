provider "azurerm" {
  subscription_id = var.subscription_id != "" ? var.subscription_id : null

  features {}
}

provider "azapi" {}

# Who runs Terraform logs in to the cluster by Entra ID: there is no certificate of an administrator.
locals {
  cluster_login = {
    api_version = "client.authentication.k8s.io/v1beta1"
    command     = "kubelogin"

    # The ID of AKS itself, the same in all tenants.
    args = ["get-token", "--login", var.kubelogin_mode, "--server-id", "6dae42f8-4368-4678-94ff-3960e28e3630"]
  }
}

provider "kubernetes" {
  host                   = azurerm_kubernetes_cluster.install.kube_config[0].host
  cluster_ca_certificate = base64decode(azurerm_kubernetes_cluster.install.kube_config[0].cluster_ca_certificate)

  exec {
    api_version = local.cluster_login.api_version
    command     = local.cluster_login.command
    args        = local.cluster_login.args
  }
}
