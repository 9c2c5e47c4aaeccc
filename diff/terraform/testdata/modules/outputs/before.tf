resource "terraform_data" "same" {}

output "colour" {
  value = "red"
}
