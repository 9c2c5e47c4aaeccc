mock_provider "kubernetes" {
  override_during = plan
}

variables {
  nuon_id            = "inexample"
  tags               = { "app.nuon.co/id" = "appexample" }
  public_root_domain = "inexample.example.com"
}

run "defaults" {
  command = plan

  assert {
    condition     = output.namespaces == tolist(["inexample"]) && kubernetes_namespace_v1.install["inexample"].metadata[0].labels["pod-security.kubernetes.io/enforce"] == "baseline"
    error_message = "One namespace, in which pods have no power over their node."
  }

  assert {
    condition     = kubernetes_namespace_v1.install["inexample"].metadata[0].annotations["app.nuon.co/id"] == "appexample" && output.tags["install.nuon.co/id"] == "inexample"
    error_message = "The namespace must carry the tags of the install."
  }

  assert {
    condition     = output.nuon_dns.public_domain.name == "inexample.example.com" && !output.nuon_dns.enabled && output.domains.internal_root_domain == ""
    error_message = "The names must be passed on."
  }
}

run "more_namespaces" {
  command = plan

  variables {
    additional_namespaces = ["data", "inexample"]
    pod_security          = "restricted"
  }

  assert {
    condition     = output.namespaces == tolist(["data", "inexample"]) && kubernetes_namespace_v1.install["data"].metadata[0].labels["pod-security.kubernetes.io/enforce"] == "restricted"
    error_message = "Each namespace is made once, and all enforce the standard."
  }
}

run "unknown_standard" {
  command = plan

  variables {
    pod_security = "none"
  }

  expect_failures = [var.pod_security]
}
