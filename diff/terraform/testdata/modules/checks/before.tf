resource "terraform_data" "policy" {
  input = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = ["s3:GetObject"], Resource = "*" }]
  })
}

resource "terraform_data" "config" {
  input = base64encode(<<-EOT
    server:
      port: 80
      hosts: [a, b]
    log: info
  EOT
  )
}

resource "terraform_data" "rules" {
  input = toset([
    { port = 80, cidr = "10.0.0.0/8", note = "web" },
    { port = 443, cidr = "10.0.0.0/8", note = "tls" },
    { port = 53, cidr = "10.0.0.2/32", note = "dns" },
  ])
}
