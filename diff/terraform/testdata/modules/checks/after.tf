variable "token" {
  sensitive = true
  default   = "planted-check-token"

  validation {
    condition     = length(var.token) > 3
    error_message = "The token is too short."
  }
}

resource "terraform_data" "policy" {
  input = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = ["s3:GetObject", "s3:PutObject"], Resource = "*" }]
  })

  lifecycle {
    postcondition {
      condition     = self.output != ""
      error_message = "The policy is empty."
    }
  }
}

resource "terraform_data" "config" {
  input = base64encode(<<-EOT
    server:
      port: 8080
      hosts: [a, b]
    log: info
  EOT
  )
}

resource "terraform_data" "rules" {
  input = toset([
    { port = 22, cidr = "10.1.0.0/16", note = "ssh" },
    { port = 80, cidr = "192.168.0.0/16", note = "web" },
    { port = 443, cidr = "10.0.0.0/8", note = "tls" },
    { port = 53, cidr = "10.0.0.2/32", note = "dns" },
  ])
}

check "health" {
  assert {
    condition     = terraform_data.policy.id == "never"
    error_message = "The service does not answer."
  }
}

check "fine" {
  assert {
    condition     = length(var.token) > 3
    error_message = "This never fails."
  }
}
