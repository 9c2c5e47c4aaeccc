# What a cloud account would be: here only facts that components read.

variable "install_id" {
  type = string
}

variable "region" {
  type = string
}

resource "terraform_data" "account" {
  input = {
    id     = "account-${var.install_id}"
    region = var.region
  }
}

output "region" {
  value = terraform_data.account.output.region
}

output "account_id" {
  value = terraform_data.account.output.id
}
