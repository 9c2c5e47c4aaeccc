# Kyverno and the policies of the app.

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

run "no_policies" {
  command = plan

  assert {
    condition     = length(helm_release.kyverno) == 0 && length(helm_release.kyverno_policies) == 0
    error_message = "Without policies, there is no Kyverno."
  }
}

run "policies" {
  command = plan

  variables {
    kyverno_policy_dir = "./tests/policies"
  }

  assert {
    condition     = length(helm_release.kyverno) == 1 && length(yamldecode(helm_release.kyverno_policies[0].values[0]).objects) == 2
    error_message = "Both policies must be installed."
  }

  assert {
    condition     = strcontains(yamldecode(helm_release.kyverno_policies[0].values[0]).objects[1], "{{request.object.metadata.name}}")
    error_message = "Expressions of Kyverno must stay as they are."
  }
}

run "kyverno_alone" {
  command = plan

  variables {
    enable_kyverno = "true"
  }

  assert {
    condition     = length(helm_release.kyverno) == 1 && length(helm_release.kyverno_policies) == 0
    error_message = "Kyverno without policies."
  }
}
