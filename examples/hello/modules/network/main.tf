variable "name" {
  type = string
}

variable "region" {
  type = string
}

variable "api_token" {
  type      = string
  sensitive = true
}

resource "terraform_data" "network" {
  input = {
    name   = var.name
    region = var.region
    cidr   = cidrsubnet("10.0.0.0/8", 8, 42)
  }
}

# A credential that the module makes, and that the page needs.
resource "terraform_data" "join_token" {
  input = "join-${sha256("${var.name}/${var.api_token}")}"
}

output "cidr" {
  value = terraform_data.network.output.cidr
}

output "name" {
  value = terraform_data.network.output.name
}

output "join_token" {
  value     = terraform_data.join_token.output
  sensitive = true
}
