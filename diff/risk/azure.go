package risk

import (
	"net/netip"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// azureAdmin matches the names, and the ends of the ids, of built-in roles that allow everything or
// that allow to obtain all other rights.
// https://learn.microsoft.com/azure/role-based-access-control/built-in-roles
var azureAdmin = lazyregexp.New(
	`(?i)^(Owner|Contributor|User Access Administrator|Role Based Access Control Administrator|` +
		`Azure Kubernetes Service (RBAC )?Cluster Admin.*|Key Vault Administrator|` +
		`.*/(8e3af657-a8ff-443c-a75c-2fe8c4bcb635|b24988ac-6180-42a0-ab88-20f7382dd24c|18d7d88d-d35e-4fb5-a5c3-7773c20a72d9|` +
		`f58310d9-a9f6-439a-9e8d-f62e7b41a168))$`)

// azureAttributes returns the rules for attributes of the Azure provider.
func azureAttributes() []attribute {
	var out []attribute
	for _, group := range [][]attribute{
		azureIdentity(), azureReach(), azureFirewalls(), azureTransport(), azureAudit(), azureRetention(),
	} {
		out = append(out, group...)
	}
	return out
}

func azureIdentity() []attribute {
	return []attribute{
		{
			name:    "azure-admin-grant",
			source:  azureDocs + "role-based-access-control/built-in-roles",
			kinds:   []string{"azurerm_role_assignment"},
			paths:   []string{"role_definition_name", "role_definition_id"},
			test:    like(azureAdmin, "Owner", "it is Owner, Contributor or an administrator"),
			message: "a principal gets the rights of an administrator",
		},
		{
			name:    "azure-cluster-admins",
			source:  azureDocs + "aks/manage-azure-rbac",
			kinds:   []string{"azurerm_kubernetes_cluster"},
			paths:   []string{"azure_active_directory_role_based_access_control[*].admin_group_object_ids"},
			test:    adds(),
			message: "members of one more group may do everything in the cluster",
		},
		{
			name:   "azure-cluster-login",
			source: azureDocs + "aks/manage-local-accounts-managed-azure-ad",
			kinds:  []string{"azurerm_kubernetes_cluster", "azurerm_cosmosdb_account"},
			paths: []string{
				"local_account_disabled", "role_based_access_control_enabled", "local_authentication_disabled",
			},
			test:    turnsOff(),
			message: "shared keys or accounts give access again, which no role limits",
		},
		{
			name:   "azure-key-access",
			source: azureDocs + "storage/common/shared-key-authorization-prevent",
			kinds:  []string{"azurerm_storage_account", "azurerm_container_registry", "azurerm_kubernetes_cluster"},
			paths: []string{
				"shared_access_key_enabled", "admin_enabled", "anonymous_pull_enabled", "run_command_enabled",
			},
			test:    onChange(turnsOn()),
			message: "keys, an admin login or commands give access, which no role limits",
		},
		{
			name:    "azure-vault-access",
			source:  azureDocs + "key-vault/general/assign-access-policy",
			test:    creates(),
			risk:    diff.RiskAdditive,
			kinds:   []string{"azurerm_key_vault_access_policy", "azurerm_federated_identity_credential"},
			message: "a principal can read or change secrets and keys, or tokens of another issuer are accepted",
		},
		{
			name:   "azure-vault-rights",
			source: azureDocs + "key-vault/general/assign-access-policy",
			paths: []string{"secret_permissions", "key_permissions",
				"certificate_permissions", "storage_permissions"}, kinds: []string{"azurerm_key_vault_access_policy"},
			test:    adds(),
			message: "a principal may do more with secrets, keys or certificates",
		},
		{
			name:    "azure-password-login",
			source:  azureDocs + "virtual-machines/linux/create-ssh-keys-detailed",
			kinds:   []string{"azurerm_linux_virtual_machine", "azurerm_linux_virtual_machine_scale_set"},
			paths:   []string{"disable_password_authentication"},
			test:    turnsOff(),
			message: "people can log in to the machine with a password",
		},
		{
			name:   "azure-guardrail-gone",
			source: azureDocs + "governance/policy/overview",
			test:   destroys(),
			kinds: []string{
				"azurerm_management_lock", "azurerm_subscription_policy_assignment",
				"azurerm_resource_group_policy_assignment", "azurerm_management_group_policy_assignment",
				"azurerm_resource_policy_assignment", "azurerm_policy_definition",
			},
			message: "a lock or a policy that limits what can happen ends",
		},
	}
}

func azureReach() []attribute {
	return []attribute{
		{
			name:    "azure-endpoint-open",
			source:  azureDocs + "aks/api-server-authorized-ip-ranges",
			kinds:   []string{"azurerm_kubernetes_cluster"},
			paths:   []string{"api_server_access_profile[*].authorized_ip_ranges"},
			test:    opensUp(),
			message: "most of the internet can reach the API of the cluster",
		},
		{
			name:   "azure-endpoint-ranges",
			source: azureDocs + "storage/common/storage-network-security",
			kinds: []string{
				"azurerm_kubernetes_cluster", "azurerm_storage_account", "azurerm_storage_account_network_rules",
				"azurerm_key_vault",
			},
			paths: []string{
				"api_server_access_profile[*].authorized_ip_ranges", "network_rules[*].ip_rules", "ip_rules",
				"network_acls[*].ip_rules",
			},
			test:    adds(),
			risk:    diff.RiskAdditive,
			message: "it can be reached from more addresses",
		},
		{
			name:    "azure-private-off",
			source:  azureDocs + "aks/private-clusters",
			kinds:   []string{"azurerm_kubernetes_cluster", "azurerm_cosmosdb_account"},
			paths:   []string{"private_cluster_enabled", "is_virtual_network_filter_enabled"},
			test:    turnsOff(),
			message: "it gets a public address, or answers on one",
		},
		{
			name:   "azure-network-default-allow",
			source: azureDocs + "storage/common/storage-network-security-set-default-access",
			kinds: []string{
				"azurerm_storage_account", "azurerm_storage_account_network_rules", "azurerm_key_vault",
				"azurerm_container_registry",
			},
			paths: []string{
				"network_rules[*].default_action", "default_action", "network_acls[*].default_action",
				"network_rule_set[*].default_action",
			},
			test:    becomes("Allow"),
			message: "everyone on the internet can reach it, and only keys and roles limit who gets in",
		},
		{
			name:    "azure-container-public",
			source:  azureDocs + "storage/blobs/anonymous-read-access-configure",
			kinds:   []string{"azurerm_storage_container"},
			paths:   []string{"container_access_type"},
			test:    becomes("blob", "container"),
			message: "everyone on the internet can read what is in the container",
		},
		{
			name:   "azure-database-firewall",
			source: azureDocs + "azure-sql/database/firewall-configure",
			kinds: []string{
				"azurerm_mssql_firewall_rule", "azurerm_postgresql_flexible_server_firewall_rule",
				"azurerm_postgresql_firewall_rule", "azurerm_mysql_flexible_server_firewall_rule",
				"azurerm_redis_firewall_rule",
			},
			paths: []string{"start_ip_address", "end_ip_address", "start_ip", "end_ip"},
			test: wholeTest("it admits most of the internet, or every Azure customer", isWideRange,
				`{"start_ip_address":"10.0.0.1","end_ip_address":"10.0.0.9"}`,
				`{"start_ip_address":"0.0.0.0","end_ip_address":"255.255.255.255"}`),
			message: "most of the internet, or every customer of Azure, can reach the database",
		},
		{
			name:   "azure-firewall-detached",
			source: azureDocs + "virtual-network/network-security-groups-overview",
			test:   destroys(),
			kinds: []string{
				"azurerm_subnet_network_security_group_association",
				"azurerm_network_interface_security_group_association", "azurerm_web_application_firewall_policy",
			},
			message: "no firewall limits what reaches the network, the machine or the application",
		},
		{
			name:    "azure-firewall-deny-gone",
			source:  azureDocs + "virtual-network/network-security-groups-overview#security-rules",
			kinds:   []string{"azurerm_network_security_rule", "azurerm_network_security_group"},
			paths:   []string{"access", "security_rule[*].access"},
			test:    onLoss(leaves("Deny")),
			message: "a firewall no longer denies what it denied",
		},
	}
}

func azureFirewalls() []attribute {
	return []attribute{
		{
			name:    "azure-public-address",
			source:  azureDocs + "virtual-network/ip-services/associate-public-ip-address-vm",
			kinds:   []string{"azurerm_network_interface"},
			paths:   []string{"ip_configuration[*].public_ip_address_id"},
			test:    becomesSet(),
			message: "the machine gets an address on the internet",
		},
		{
			name:    "azure-network-joined",
			source:  azureDocs + "virtual-network/virtual-network-peering-overview",
			test:    creates(),
			risk:    diff.RiskAdditive,
			kinds:   []string{"azurerm_virtual_network_peering", "azurerm_virtual_network_gateway_connection"},
			message: "the network is connected to another one",
		},
		{
			name:   "azure-dns-target",
			source: azureDocs + "dns/dns-zones-records",
			kinds: []string{
				"azurerm_dns_a_record", "azurerm_dns_aaaa_record", "azurerm_dns_cname_record",
				"azurerm_dns_ns_record", "azurerm_dns_txt_record", "azurerm_private_dns_a_record",
				"azurerm_private_dns_cname_record",
			},
			paths:   []string{"records", "record", "record[*].value", "target_resource_id"},
			test:    differ(),
			message: "the name resolves to another target: traffic follows, and so do certificates that DNS validates",
		},
	}
}

func azureTransport() []attribute {
	return []attribute{
		{
			name:   "azure-plain",
			source: azureDocs + "app-service/configure-ssl-bindings",
			kinds: []string{
				"azurerm_linux_web_app", "azurerm_windows_web_app", "azurerm_linux_function_app",
				"azurerm_windows_function_app",
			},
			paths:   []string{"https_only"},
			test:    turnsOff(),
			message: "clients can connect without encryption",
		},
		{
			name:    "azure-plain-port",
			source:  azureDocs + "azure-cache-for-redis/cache-configure#access-ports",
			kinds:   []string{"azurerm_redis_cache"},
			paths:   []string{"non_ssl_port_enabled"},
			test:    turnsOn(),
			message: "clients can connect without encryption",
		},
		{
			name:    "azure-listener-plain",
			source:  azureDocs + "application-gateway/ssl-overview",
			kinds:   []string{"azurerm_application_gateway"},
			paths:   []string{"http_listener[*].protocol", "backend_http_settings[*].protocol"},
			test:    leaves("Https"),
			message: "clients connect without encryption",
		},
		{
			name:   "azure-tls-weaker",
			source: azureDocs + "storage/common/transport-layer-security-configure-minimum-version",
			kinds: []string{
				"azurerm_storage_account", "azurerm_mssql_server", "azurerm_redis_cache", "azurerm_linux_web_app",
				"azurerm_windows_web_app", "azurerm_cosmosdb_account", "azurerm_eventhub_namespace",
				"azurerm_servicebus_namespace", "azurerm_application_gateway",
			},
			paths: []string{
				"min_tls_version", "minimum_tls_version", "minimal_tls_version",
				"site_config[*].minimum_tls_version", "ssl_policy[*].min_protocol_version",
			},
			test:    lowersTLS(),
			message: "clients may connect with an older version of TLS",
		},
		{
			name:   "azure-encryption-off",
			source: azureDocs + "virtual-machines/disk-encryption",
			kinds: []string{
				"azurerm_linux_virtual_machine", "azurerm_windows_virtual_machine",
				"azurerm_kubernetes_cluster_node_pool", "azurerm_mssql_database",
			},
			paths: []string{
				"encryption_at_host_enabled", "host_encryption_enabled", "transparent_data_encryption_enabled",
			},
			test:    turnsOff(),
			message: "data is no longer encrypted where it is stored",
		},
		{
			name:   "azure-cluster-protection-gone",
			source: azureDocs + "aks/concepts-security",
			kinds:  []string{"azurerm_kubernetes_cluster"},
			paths: []string{
				"microsoft_defender", "oms_agent", "key_management_service",
				"azure_active_directory_role_based_access_control",
			},
			test:    becomesEmpty(),
			message: "logs, the watch, the encryption of Secrets or the login of the cluster by Entra ID end",
		},
	}
}

func azureAudit() []attribute {
	return []attribute{
		{
			name:   "azure-watch-gone",
			source: azureDocs + "azure-monitor/essentials/diagnostic-settings",
			test:   destroys(),
			kinds: []string{
				"azurerm_monitor_diagnostic_setting", "azurerm_network_watcher_flow_log",
				"azurerm_monitor_activity_log_alert", "azurerm_security_center_subscription_pricing",
				"azurerm_security_center_contact", "azurerm_mssql_server_extended_auditing_policy",
				"azurerm_mssql_database_extended_auditing_policy", "azurerm_mssql_server_security_alert_policy",
				"azurerm_sentinel_log_analytics_workspace_onboarding", "azurerm_monitor_data_collection_rule",
			},
			message: "something that records, watches or filters what happens in the subscription ends",
		},
		{
			name:   "azure-audit-off",
			source: azureDocs + "network-watcher/nsg-flow-logs-overview",
			kinds: []string{
				"azurerm_network_watcher_flow_log", "azurerm_mssql_server_extended_auditing_policy",
				"azurerm_kubernetes_cluster", "azurerm_application_gateway",
				"azurerm_web_application_firewall_policy",
			},
			paths: []string{
				"enabled", "azure_policy_enabled", "waf_configuration[*].enabled", "policy_settings[*].enabled",
			},
			test:    turnsOff(),
			message: "what happens is no longer recorded, checked or filtered",
		},
		{
			name:    "azure-firewall-only-detects",
			source:  azureDocs + "web-application-firewall/ag/ag-overview#waf-modes",
			kinds:   []string{"azurerm_application_gateway", "azurerm_web_application_firewall_policy"},
			paths:   []string{"waf_configuration[*].firewall_mode", "policy_settings[*].mode"},
			test:    leaves("Prevention"),
			message: "the web application firewall reports attacks and no longer stops them",
		},
		{
			name:    "azure-firewall-policy-gone",
			source:  azureDocs + "web-application-firewall/ag/ag-overview",
			kinds:   []string{"azurerm_application_gateway"},
			paths:   []string{"firewall_policy_id", "waf_configuration"},
			test:    becomesEmpty(),
			message: "requests are no longer filtered",
		},
		{
			name:   "azure-retention-cut",
			source: azureDocs + "azure-monitor/logs/data-retention-configure",
			kinds: []string{
				"azurerm_log_analytics_workspace", "azurerm_mssql_server_extended_auditing_policy",
				"azurerm_network_watcher_flow_log",
			},
			paths:   []string{"retention_in_days", "retention_policy[*].days"},
			test:    lowers("0"),
			message: "logs are retained for a shorter time; older ones are deleted",
		},
	}
}

func azureRetention() []attribute {
	return []attribute{
		{
			name:   "azure-recovery-off",
			source: azureDocs + "storage/blobs/data-protection-overview",
			kinds: []string{
				"azurerm_storage_account", "azurerm_postgresql_flexible_server", "azurerm_mysql_flexible_server",
				"azurerm_cosmosdb_account",
			},
			paths: []string{
				"blob_properties[*].versioning_enabled", "blob_properties[*].change_feed_enabled",
				"geo_redundant_backup_enabled", "backup[*].type",
			},
			test:    leaves("true", "Continuous").described("it was on or continuous", `"true"`, `"false"`),
			message: "data that is overwritten or deleted from now on cannot be restored, or not to a point in time",
		},
		{
			name:   "azure-deleted-kept-shorter",
			source: azureDocs + "storage/blobs/soft-delete-blob-overview",
			kinds:  []string{"azurerm_storage_account"},
			paths: []string{
				"blob_properties[*].delete_retention_policy[*].days",
				"blob_properties[*].container_delete_retention_policy[*].days",
				"blob_properties[*].restore_policy[*].days",
			},
			test:    lowers(""),
			plain:   true,
			message: "what is deleted can be had back for a shorter time",
		},
		{
			name:   "azure-lifecycle-deletes",
			source: azureDocs + "storage/blobs/lifecycle-management-overview",
			kinds:  []string{"azurerm_storage_management_policy"},
			paths: []string{
				"rule[*].actions[*].base_blob[*].delete_after_days_since_modification_greater_than",
				"rule[*].actions[*].version[*].delete_after_days_since_creation",
				"rule[*].actions[*].snapshot[*].delete_after_days_since_creation_greater_than",
			},
			test:    expires(),
			plain:   true,
			message: "objects are deleted after a shorter time, including existing ones",
		},
	}
}

// isWideRange reports whether a range covers at least a sixteenth of all addresses, or is the special
// range that stands for every Azure customer.
func isWideRange(v raw.Value) bool {
	address := func(keys ...string) (netip.Addr, bool) {
		for _, k := range keys {
			if a, err := netip.ParseAddr(text(get(v, k))); err == nil && a.Is4() {
				return a, true
			}
		}
		return netip.Addr{}, false
	}
	start, ok := address("start_ip_address", "start_ip")
	end, alsoOK := address("end_ip_address", "end_ip")
	if !ok || !alsoOK {
		return false
	}
	number := func(a netip.Addr) uint64 {
		n := uint64(0)
		for _, b := range a.As4() {
			n = n<<8 | uint64(b)
		}
		return n
	}
	if start == end {
		return start == netip.IPv4Unspecified()
	}
	return number(end) >= number(start) && number(end)-number(start) >= 1<<28-1
}
