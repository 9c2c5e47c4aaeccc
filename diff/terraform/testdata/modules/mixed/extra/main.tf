variable "token" {
  sensitive = true
}

resource "terraform_data" "new" {
  input = {
    name  = "extra"
    token = var.token
    copy  = base64encode(nonsensitive("token=${var.token}"))
  }
}
