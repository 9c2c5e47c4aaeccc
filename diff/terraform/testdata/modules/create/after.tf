resource "terraform_data" "first" {
  input = {
    name   = "first"
    nested = { list = [], empty = {}, nothing = null }
    script = "line one\nline two\n"
  }
}

output "name" {
  value = terraform_data.first.output.name
}
