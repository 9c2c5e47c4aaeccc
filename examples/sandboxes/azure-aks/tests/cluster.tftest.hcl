# The cluster: private by default, without accounts of its own.

mock_provider "kubernetes" {
  override_during = plan
}

mock_provider "azapi" {
  override_during = plan
}

mock_provider "azurerm" {
  override_during = plan

  source = "./tests/mocks"
}

variables {
  nuon_id              = "inexample"
  location             = "westeurope"
  resource_group_name  = "example"
  vnet_name            = "example"
  private_subnet_names = "private-1, private-2"
  public_subnet_names  = "public-1"
  tags                 = { "app.nuon.co/id" = "appexample", "install.nuon.co/id" = "inexample" }
  public_root_domain   = "inexample.example.com"
  internal_root_domain = "internal.inexample.example.com"
}

run "defaults" {
  command = plan

  assert {
    condition     = azurerm_kubernetes_cluster.install.private_cluster_enabled && azurerm_kubernetes_cluster.install.local_account_disabled && !azurerm_kubernetes_cluster.install.run_command_enabled
    error_message = "The API server must be private, and know nobody but by Entra ID."
  }

  assert {
    condition     = azurerm_kubernetes_cluster.install.azure_active_directory_role_based_access_control[0].azure_rbac_enabled && azurerm_kubernetes_cluster.install.workload_identity_enabled
    error_message = "Azure roles rule the cluster."
  }

  assert {
    condition     = azurerm_kubernetes_cluster.install.default_node_pool[0].node_count == 2 && !azurerm_kubernetes_cluster.install.default_node_pool[0].auto_scaling_enabled && !azurerm_kubernetes_cluster.install.default_node_pool[0].node_public_ip_enabled
    error_message = "Two nodes without public addresses."
  }

  assert {
    condition     = azurerm_role_assignment.cluster_network.scope == data.azurerm_subnet.install["private-1"].id && azurerm_role_assignment.provisioner[0].principal_id == "22222222-2222-4222-8222-222222222222"
    error_message = "The cluster may change the subnet of its nodes; who provisions it is its administrator."
  }

  assert {
    condition     = output.cluster.exec.command == "kubelogin" && output.cluster.host == "https://n-inexample.private.example.com:443" && output.cluster.cluster_fqdn == "n-inexample.private.example.com"
    error_message = "The outputs must describe the cluster."
  }

  assert {
    condition     = length(setintersection(toset(keys(output.cluster)), toset(["client_key", "client_certificate", "kube_config_raw", "kube_admin_config_raw", "token"]))) == 0
    error_message = "No credentials may be in the outputs."
  }

  assert {
    condition     = output.nuon_dns.enabled && output.public_domain.name == "inexample.example.com" && output.nuon_dns.cert_manager == { enabled = false, id = "", chart = "", revision = "" }
    error_message = "Zones are made; apps install the controllers."
  }

  assert {
    condition     = length(setintersection(toset(flatten(kubernetes_cluster_role_v1.maintenance.rule[*].verbs)), toset(["*", "escalate", "bind", "impersonate"]))) == 0 && length(kubernetes_cluster_role_binding_v1.maintenance) == 0
    error_message = "The maintenance role must not raise its own permissions."
  }
}

# What aks-simple sets, and a principal for its roles.
run "settings" {
  command = plan

  variables {
    enable_nuon_dns                         = "false"
    cluster_endpoint_public_access          = true
    cluster_endpoint_public_access_cidrs    = ["203.0.113.0/24"]
    node_pool_min_count                     = 2
    node_pool_max_count                     = 3
    node_pool_node_count                    = 2
    additional_namespaces                   = ["whoami"]
    maintenance_cluster_role_rules_override = [{ "apiGroups" = ["*"], "resources" = ["*"], "verbs" = ["*"] }]
    azure_rbac_roles                        = ["Azure Kubernetes Service Cluster Admin Role"]
    maintenance_principal_id                = "66666666-6666-4666-8666-666666666666"
    admin_principal_ids                     = ["77777777-7777-4777-8777-777777777777"]
  }

  assert {
    condition     = azurerm_kubernetes_cluster.install.default_node_pool[0].auto_scaling_enabled && azurerm_kubernetes_cluster.install.default_node_pool[0].max_count == 3
    error_message = "The nodes must scale."
  }

  assert {
    condition     = azurerm_kubernetes_cluster.install.api_server_access_profile[0].authorized_ip_ranges == toset(["203.0.113.0/24"]) && output.cluster.cluster_fqdn == "n-inexample.example.com"
    error_message = "The API server must be open to these addresses only."
  }

  assert {
    condition     = keys(azurerm_role_assignment.maintenance) == ["Azure Kubernetes Service Cluster Admin Role", "Azure Kubernetes Service Cluster User Role"] && length(azurerm_role_assignment.provisioner) == 0 && length(azurerm_role_assignment.admin) == 1
    error_message = "Roles must be as set."
  }

  assert {
    condition     = output.namespaces == tolist(["inexample", "whoami"]) && kubernetes_cluster_role_v1.maintenance.rule[0].verbs == tolist(["*"]) && output.public_domain.name == ""
    error_message = "Namespaces, rules and DNS must be as set."
  }
}

run "node_auto_provisioning" {
  command = plan

  variables {
    enable_nap = true
  }

  assert {
    condition     = azapi_update_resource.node_auto_provisioning[0].body.properties.nodeProvisioningProfile.mode == "Auto"
    error_message = "Node auto provisioning must be on."
  }
}

run "half_a_range_of_nodes" {
  command = plan

  variables {
    node_pool_max_count = 3
  }

  expect_failures = [var.node_pool_max_count]
}

run "two_ways_to_scale" {
  command = plan

  variables {
    enable_nap          = true
    node_pool_min_count = 1
    node_pool_max_count = 3
  }

  expect_failures = [var.enable_nap]
}
