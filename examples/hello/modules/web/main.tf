variable "greeting" {
  type = string
}

variable "install_name" {
  type = string
}

variable "replicas" {
  type = number
}

variable "settle_seconds" {
  type    = number
  default = 0
}

variable "cidr" {
  type = string
}

variable "join_token" {
  type      = string
  sensitive = true
}

module "text" {
  source = "../shared"

  greeting = var.greeting
  name     = var.install_name
}

resource "terraform_data" "page" {
  input = {
    text     = module.text.line
    replicas = var.replicas
    address  = cidrhost(var.cidr, 10)
  }
}

resource "terraform_data" "membership" {
  input = sha256(var.join_token)
}

# Stands for a rollout that takes its time. A number is all that reaches the
# shell.
resource "terraform_data" "rollout" {
  triggers_replace = [terraform_data.page.output]

  provisioner "local-exec" {
    command = "sleep ${var.settle_seconds}"
  }
}

output "page" {
  value = terraform_data.page.output.text
}

output "address" {
  value = terraform_data.page.output.address
}

output "replicas" {
  value = terraform_data.page.output.replicas
}
