resource "terraform_data" "same" {
  count = 12
}

output "same" {
  value = "same"
}
