resource "terraform_data" "same" {}

output "colour" {
  value = "green"
}

output "shape" {
  value = { sides = 4, name = "square" }
}
