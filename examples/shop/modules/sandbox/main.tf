# What a cloud account would be: here only the name of the namespace that all of an install lives in. A sandbox that makes a
# cluster has an output `cluster`; without one the runner uses the cluster that it was started with (runnerd run --kubeconfig).

variable "install" {
  type = string
}

resource "terraform_data" "account" {
  input = {
    namespace = "shop-${var.install}"
  }
}

output "namespace" {
  value = terraform_data.account.output.namespace
}
