variable "token" {
  sensitive = true
  default   = "planted-new-token"
}

resource "terraform_data" "site" {
  input = {
    greeting = "howdy \u001b[31m"
    token    = var.token
    replicas = 3
    ports = [
      { name = "metrics", port = 9090 },
      { name = "http", port = 8080 },
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
      exec serve --port 8080
    EOT
  }
}

resource "terraform_data" "page" {
  triggers_replace = ["v2", "stable"]
  input            = "page"
}

resource "terraform_data" "gapless" {
  triggers_replace = { version = "2" }
  lifecycle {
    create_before_destroy = true
  }
}

moved {
  from = terraform_data.here
  to   = terraform_data.there
}

resource "terraform_data" "there" {
  input = "moved"
}

removed {
  from = terraform_data.orphan
  lifecycle {
    destroy = false
  }
}

import {
  to = terraform_data.taken
  id = "an-existing-id"
}

resource "terraform_data" "taken" {}

resource "terraform_data" "each" {
  for_each = toset(["one", "three"])
  input    = each.key
}

resource "terraform_data" "same" {
  count = 3
}

module "extra" {
  source = "./extra"
  token  = var.token
}

data "terraform_remote_state" "later" {
  backend    = "local"
  config     = { path = "other.tfstate" }
  depends_on = [module.extra]
}

output "url" {
  value = "http://${terraform_data.page.output}"
}

output "token" {
  sensitive = true
  value     = var.token
}

output "fresh" {
  value = ["a", 1, true]
}

output "same" {
  value = "same"
}
