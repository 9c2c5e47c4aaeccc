# A private cluster in the network of the install stack. Entra ID says who is who, Azure roles who may do what.

locals {
  cluster_name = local.prefix
  autoscaled   = var.node_pool_max_count != null
}

resource "azurerm_user_assigned_identity" "cluster" {
  name                = "${local.cluster_name}-cluster"
  resource_group_name = var.resource_group_name
  location            = var.location
  tags                = local.tags
}

# Nodes pull images with it (access.tf).
resource "azurerm_user_assigned_identity" "nodes" {
  name                = "${local.cluster_name}-nodes"
  resource_group_name = var.resource_group_name
  location            = var.location
  tags                = local.tags
}

resource "azurerm_role_assignment" "cluster_nodes" {
  scope                = azurerm_user_assigned_identity.nodes.id
  role_definition_name = "Managed Identity Operator"
  principal_id         = azurerm_user_assigned_identity.cluster.principal_id
}

# The cluster attaches load balancers to the subnet of its nodes, and to no other.
resource "azurerm_role_assignment" "cluster_network" {
  scope                = data.azurerm_subnet.install[local.subnet_names.private[0]].id
  role_definition_name = "Network Contributor"
  principal_id         = azurerm_user_assigned_identity.cluster.principal_id
}

resource "azurerm_kubernetes_cluster" "install" {
  name                = local.cluster_name
  resource_group_name = var.resource_group_name
  location            = var.location
  kubernetes_version  = var.cluster_version
  dns_prefix          = local.cluster_name
  tags                = local.tags

  private_cluster_enabled           = !var.cluster_endpoint_public_access
  role_based_access_control_enabled = true
  local_account_disabled            = true
  run_command_enabled               = false
  oidc_issuer_enabled               = true
  workload_identity_enabled         = true
  node_os_upgrade_channel           = "NodeImage"

  azure_active_directory_role_based_access_control {
    azure_rbac_enabled = true
    tenant_id          = data.azurerm_client_config.current.tenant_id
  }

  dynamic "api_server_access_profile" {
    for_each = var.cluster_endpoint_public_access && length(var.cluster_endpoint_public_access_cidrs) > 0 ? [1] : []

    content {
      authorized_ip_ranges = var.cluster_endpoint_public_access_cidrs
    }
  }

  default_node_pool {
    name                        = "default"
    vm_size                     = var.vm_size
    vnet_subnet_id              = data.azurerm_subnet.install[local.subnet_names.private[0]].id
    auto_scaling_enabled        = local.autoscaled
    node_count                  = var.node_pool_node_count != null ? var.node_pool_node_count : var.node_count
    min_count                   = var.node_pool_min_count
    max_count                   = var.node_pool_max_count
    node_public_ip_enabled      = false
    temporary_name_for_rotation = "rotation"
    tags                        = local.tags

    upgrade_settings {
      max_surge = "10%"
    }
  }

  identity {
    type         = "UserAssigned"
    identity_ids = [azurerm_user_assigned_identity.cluster.id]
  }

  kubelet_identity {
    client_id                 = azurerm_user_assigned_identity.nodes.client_id
    object_id                 = azurerm_user_assigned_identity.nodes.principal_id
    user_assigned_identity_id = azurerm_user_assigned_identity.nodes.id
  }

  network_profile {
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
    network_data_plane  = "cilium"
    network_policy      = "cilium"
    load_balancer_sku   = "standard"
  }

  depends_on = [azurerm_role_assignment.cluster_network, azurerm_role_assignment.cluster_nodes]
}

# The azurerm provider of version 4.34 has no argument for it.
resource "azapi_update_resource" "node_auto_provisioning" {
  count = var.enable_nap ? 1 : 0

  type        = "Microsoft.ContainerService/managedClusters@2025-05-01"
  resource_id = azurerm_kubernetes_cluster.install.id

  body = {
    properties = { nodeProvisioningProfile = { mode = "Auto" } }
  }
}
