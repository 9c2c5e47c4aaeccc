# The zones and what maintains their records and certificates: on, then off again.

mock_provider "helm" {
  override_during = plan
}

mock_provider "kubernetes" {
  override_during = plan
}

mock_provider "time" {
  override_during = plan
}

mock_provider "aws" {
  override_during = plan

  source = "./tests/mocks"
}

variables {
  nuon_id                  = "inexample"
  region                   = "eu-west-1"
  tags                     = { "app.nuon.co/id" = "appexample" }
  provision_iam_role_arn   = "arn:aws:iam::123456789012:role/inexample-provision"
  maintenance_iam_role_arn = "arn:aws:iam::123456789012:role/inexample-maintenance"
  deprovision_iam_role_arn = "arn:aws:iam::123456789012:role/inexample-deprovision"
  public_root_domain       = "inexample.example.com"
  internal_root_domain     = "internal.inexample.example.com"
}

run "on" {
  command = plan

  variables {
    enable_nuon_dns = "true"
  }

  assert {
    condition     = output.nuon_dns.enabled && output.nuon_dns.public_domain.name == "inexample.example.com" && output.nuon_dns.internal_domain.name == "internal.inexample.example.com"
    error_message = "Both zones must be in the outputs."
  }

  assert {
    condition     = output.public_domain == output.nuon_dns.public_domain && output.internal_domain == output.nuon_dns.internal_domain
    error_message = "The zones must be where older apps read them."
  }

  assert {
    condition     = alltrue([for name in ["alb_ingress_controller", "external_dns", "cert_manager", "ingress_nginx"] : output.nuon_dns[name].enabled])
    error_message = "All controllers must be installed."
  }

  assert {
    condition     = yamldecode(helm_release.external_dns[0].values[0]).domainFilters == ["inexample.example.com", "internal.inexample.example.com"]
    error_message = "external-dns must keep to the zones."
  }

  assert {
    condition     = yamldecode(yamldecode(helm_release.cert_manager_issuer[0].values[0]).objects[0]).spec.acme.solvers[0].dns01.route53.hostedZoneID == "Z0123456789"
    error_message = "The issuer must prove the public zone."
  }

  assert {
    condition     = jsondecode(aws_iam_role_policy.cert_manager[0].policy).Statement[0].Condition["ForAllValues:StringEquals"]["route53:ChangeResourceRecordSetsRecordTypes"] == ["TXT"]
    error_message = "cert-manager may write TXT records only."
  }
}

run "without_ingress_nginx" {
  command = plan

  variables {
    enable_nuon_dns      = "1"
    enable_ingress_nginx = "false"
  }

  assert {
    condition     = output.nuon_dns.enabled && !output.nuon_dns.ingress_nginx.enabled && output.nuon_dns.ingress_nginx.chart == ""
    error_message = "ingress-nginx must be off."
  }
}

run "off" {
  command = plan

  assert {
    condition     = length(aws_route53_zone.public) + length(helm_release.alb) + length(helm_release.external_dns) + length(helm_release.cert_manager) + length(helm_release.ingress_nginx) == 0
    error_message = "Nothing of DNS may be left."
  }

  assert {
    condition     = output.nuon_dns.public_domain == { zone_id = "", name = "", nameservers = tolist([""]) } && output.nuon_dns.internal_domain == output.nuon_dns.public_domain
    error_message = "Without DNS, the names are empty."
  }

  assert {
    condition     = output.nuon_dns.cert_manager == { enabled = false, id = "", chart = "", revision = "" } && output.nuon_dns.cert_manager == output.nuon_dns.alb_ingress_controller
    error_message = "Without DNS, the controllers have the same shape."
  }
}
