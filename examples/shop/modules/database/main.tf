# Stands for a managed database.

variable "size" {
  type = string
}

variable "password" {
  type      = string
  sensitive = true
}

resource "terraform_data" "instance" {
  input = {
    host = "db-${var.size}.internal.example"
    port = 5432
  }
}

output "host" {
  value = terraform_data.instance.output.host
}

output "port" {
  value = terraform_data.instance.output.port
}

output "url" {
  value     = "postgres://shop:${var.password}@${terraform_data.instance.output.host}:${terraform_data.instance.output.port}/shop"
  sensitive = true
}
