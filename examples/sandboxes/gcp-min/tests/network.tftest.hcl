# A new network, or that of the install stack, and the zones in it.

mock_provider "google" {
  override_during = plan

  source = "./tests/mocks"
}

variables {
  nuon_id              = "inExample"
  project_id           = "example"
  region               = "europe-west1"
  tags                 = { "app.nuon.co/id" = "appExample", "install.nuon.co/id" = "inExample", "a/b" = "1", "a.b" = "2" }
  additional_tags      = { "team" = "storage", "app.nuon.co/id" = "not this" }
  public_root_domain   = "inexample.example.com"
  internal_root_domain = "internal.inexample.example.com"
}

run "new" {
  command = plan

  assert {
    condition     = google_compute_network.new[0].name == "n-inexample" && !google_compute_network.new[0].auto_create_subnetworks
    error_message = "There must be a new network without subnetworks."
  }

  assert {
    condition     = output.vpc.network == "n-inexample" && endswith(output.vpc.network_self_link, "/networks/n-inexample")
    error_message = "The network must be in the outputs."
  }

  assert {
    condition     = output.gar.repository_url == "europe-west1-docker.pkg.dev/example/n-inexample" && output.gar.registry_url == "europe-west1-docker.pkg.dev"
    error_message = "The repository is named by the install."
  }

  assert {
    condition     = output.nuon_dns.public_domain == { zone_id = "", name = "", nameservers = tolist([""]) } && output.public_domain == output.nuon_dns.public_domain
    error_message = "Without DNS, the names are empty."
  }

  assert {
    condition     = local.labels["app_nuon_co_id"] == "appexample" && local.labels["team"] == "storage" && local.labels["a_b"] == "2" && local.labels["install_nuon_co_id"] == "inexample"
    error_message = "Tags become labels."
  }
}

run "zones" {
  command = plan

  variables {
    enable_nuon_dns = "true"
  }

  assert {
    condition     = output.nuon_dns.public_domain.name == "inexample.example.com" && google_dns_managed_zone.public[0].dns_name == "inexample.example.com."
    error_message = "Zones end with a dot, outputs do not."
  }

  assert {
    condition     = one(google_dns_managed_zone.internal[0].private_visibility_config[0].networks).network_url == google_compute_network.new[0].id && google_dns_managed_zone.internal[0].visibility == "private"
    error_message = "The internal zone is visible in the network only."
  }
}

run "existing_by_name" {
  command = plan

  variables {
    network_name = "existing"
  }

  assert {
    condition     = length(google_compute_network.new) == 0 && output.vpc.network == "existing"
    error_message = "No network may be made."
  }
}

run "existing_by_self_link" {
  command = plan

  variables {
    network_name = "other"
    network      = "projects/example/global/networks/existing"
  }

  assert {
    condition     = data.google_compute_network.existing[0].name == "existing"
    error_message = "What the app sets wins, and may be a self link."
  }
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
