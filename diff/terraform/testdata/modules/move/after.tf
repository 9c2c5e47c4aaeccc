moved {
  from = terraform_data.here
  to   = terraform_data.there
}

resource "terraform_data" "there" {
  input = "x"
}
