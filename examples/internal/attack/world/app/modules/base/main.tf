variable "install" {
  type = string
}

resource "terraform_data" "base" {
  input = var.install
}

output "name" {
  value = terraform_data.base.output
}
