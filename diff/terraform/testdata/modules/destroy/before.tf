resource "terraform_data" "a" {
  input = { secret = sensitive("planted-gone-secret"), plain = "x" }
}

resource "terraform_data" "b" {}
