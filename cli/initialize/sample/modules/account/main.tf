# What a cloud account would be: here only facts that components read. It is made first, and removed last.

variable "install_id" {
  type = string
}

resource "terraform_data" "account" {
  input = "account-${var.install_id}"
}

output "account_id" {
  value = terraform_data.account.output
}
