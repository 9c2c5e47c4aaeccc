variable "token" {
  sensitive = true
  default   = "planted-old-token"
}

resource "terraform_data" "site" {
  input = {
    greeting = "hello"
    token    = var.token
    replicas = 2
    debug    = true
    ports = [
      { name = "http", port = 80 },
      { name = "https", port = 443 },
    ]
    script = <<-EOT
      #!/bin/sh
      set -eu
      echo one
      echo two
      echo three
      echo four
      echo five
      echo six
      exec serve --port 80
    EOT
  }
}

resource "terraform_data" "page" {
  triggers_replace = ["v1", "stable"]
  input            = "page"
}

resource "terraform_data" "gapless" {
  triggers_replace = { version = "1" }
  lifecycle {
    create_before_destroy = true
  }
}

resource "terraform_data" "old" {
  input = "no longer needed"
}

resource "terraform_data" "here" {
  input = "moved"
}

resource "terraform_data" "orphan" {
  input = "left alone"
}

resource "terraform_data" "each" {
  for_each = toset(["one", "two words"])
  input    = each.key
}

resource "terraform_data" "same" {
  count = 3
}

output "url" {
  value = "http://${terraform_data.page.output}"
}

output "token" {
  sensitive = true
  value     = var.token
}

output "gone" {
  value = { a = 1, b = ["x"] }
}

output "same" {
  value = "same"
}
