# A page, made of what Terraform has built in: it runs offline and costs nothing. Replace it by what you ship.

variable "greeting" {
  type = string
}

variable "account_id" {
  type = string
}

resource "terraform_data" "page" {
  input = "${var.greeting} from ${var.account_id}"
}

output "page" {
  value = terraform_data.page.output
}
