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

run "dns_without_domains" {
  command = plan

  variables {
    enable_nuon_dns      = "true"
    public_root_domain   = ""
    internal_root_domain = ""
  }

  expect_failures = [var.public_root_domain, var.internal_root_domain]
}

run "existing_cluster_without_a_name" {
  command = plan

  variables {
    create_cluster = false
  }

  expect_failures = [var.create_cluster]
}

run "karpenter_in_auto_mode" {
  command = plan

  variables {
    enable_karpenter   = "true"
    eks_compute_config = { enabled = true }
  }

  expect_failures = [var.enable_karpenter]
}

run "controllers_without_roles" {
  command = plan

  variables {
    enable_irsa     = "false"
    enable_ebs_csi  = "false"
    enable_nuon_dns = "true"
  }

  expect_failures = [aws_iam_role.irsa]
}

run "unknown_helm_driver" {
  command = plan

  variables {
    helm_driver = "file"
  }

  expect_failures = [var.helm_driver]
}
