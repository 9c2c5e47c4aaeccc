# The DNS zones. Delegate the public one by the name servers in the outputs.

locals {
  dns_enabled = contains(["1", "true"], var.enable_nuon_dns)
  no_domain   = { zone_id = "", name = "", nameservers = tolist([""]) }

  public_zone = local.dns_enabled && contains(["1", "true"], var.enable_public_route53_zone)

  public_domain = local.public_zone ? {
    zone_id     = aws_route53_zone.public[0].zone_id
    name        = aws_route53_zone.public[0].name
    nameservers = aws_route53_zone.public[0].name_servers
  } : local.no_domain

  internal_domain = local.dns_enabled ? {
    zone_id     = aws_route53_zone.internal[0].zone_id
    name        = aws_route53_zone.internal[0].name
    nameservers = aws_route53_zone.internal[0].name_servers
  } : local.no_domain
}

# force_destroy: components that are gone may leave records, which would block the teardown.
resource "aws_route53_zone" "public" {
  count = local.public_zone ? 1 : 0

  name          = var.public_root_domain
  comment       = "Public zone of install ${var.nuon_id}"
  force_destroy = true
}

resource "aws_route53_zone" "internal" {
  count = local.dns_enabled ? 1 : 0

  name          = var.internal_root_domain
  comment       = "Internal zone of install ${var.nuon_id}"
  force_destroy = true

  vpc {
    vpc_id = local.network.vpc_id
  }
}
