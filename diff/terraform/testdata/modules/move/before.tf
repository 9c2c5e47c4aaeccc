resource "terraform_data" "here" {
  input = "x"
}
