package risk

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

var googleAdmin = lazyregexp.New(`^roles/(owner|editor|iam\.securityAdmin|iam\.serviceAccountTokenCreator|` +
	`iam\.serviceAccountKeyAdmin|` +
	`iam\.serviceAccountAdmin|iam\.serviceAccountUser|iam\.workloadIdentityPoolAdmin|iam\.organizationRoleAdmin|iam\.roleAdmin|` +
	`resourcemanager\.(organization|folder|project(Iam|IAM)?)Admin|resourcemanager\.projectIamAdmin|container\.(cluster)?[aA]dmin)$`)

var allScopes = lazyregexp.New(`^(https://www\.googleapis\.com/auth/)?cloud-platform$`)

// googleAttributes returns the rules for attributes of the Google provider.
func googleAttributes() []attribute {
	var out []attribute
	for _, group := range [][]attribute{
		googleIdentity(), googleReach(), googleNetworks(), googleCluster(), googleAudit(), googleRetention(),
	} {
		out = append(out, group...)
	}
	return out
}

func googleIdentity() []attribute {
	return []attribute{
		{
			name:   "google-admin-grant",
			source: gcpDocs + "iam/docs/roles-overview#basic",
			kinds: []string{
				"google_project_iam_member", "google_project_iam_binding", "google_folder_iam_member",
				"google_folder_iam_binding", "google_organization_iam_member", "google_organization_iam_binding",
				"google_service_account_iam_member", "google_service_account_iam_binding",
			},
			paths:   []string{"role"},
			test:    like(googleAdmin, "roles/owner", "it is owner, editor, or a role with which one can take others"),
			message: "a member gets the rights of an administrator, or rights with which one can take all others",
		},
		{
			name:    "google-role-widens",
			source:  gcpDocs + "iam/docs/creating-custom-roles",
			paths:   []string{"permissions"},
			test:    adds(),
			kinds:   []string{"google_project_iam_custom_role", "google_organization_iam_custom_role"},
			risk:    diff.RiskAdditive,
			message: "the role allows more than before",
		},
		{
			name:    "google-key-made",
			source:  gcpDocs + "storage/docs/authentication/hmackeys",
			kinds:   []string{"google_storage_hmac_key"},
			test:    creates(),
			risk:    diff.RiskAdditive,
			message: "a key that does not expire is made, and the state holds it",
		},
		{
			name:    "google-identity-provider",
			source:  gcpDocs + "iam/docs/workload-identity-federation",
			test:    creates(),
			risk:    diff.RiskAdditive,
			kinds:   []string{"google_iam_workload_identity_pool_provider", "google_iam_workforce_pool_provider"},
			message: "tokens of another issuer are accepted for accounts that trust the pool",
		},
		{
			name:    "google-identity-condition",
			source:  gcpDocs + "iam/docs/workload-identity-federation#conditions",
			kinds:   []string{"google_iam_workload_identity_pool_provider"},
			paths:   []string{"attribute_condition", "oidc[*].issuer_uri", "oidc[*].allowed_audiences"},
			test:    differ(),
			message: "tokens of other holders or issuers are accepted",
		},
		{
			name:   "google-scopes",
			source: gcpDocs + "compute/docs/access/service-accounts#accesscopesiam",
			kinds: []string{
				"google_compute_instance", "google_container_node_pool", "google_container_cluster",
				"google_compute_instance_template",
			},
			paths:   []string{"service_account[*].scopes", "node_config[*].oauth_scopes"},
			test:    onChange(like(allScopes, "https://www.googleapis.com/auth/cloud-platform", "cloud-platform is added")),
			message: "programs on the machine get all rights of its service account",
		},
		{
			name:   "google-workload-account",
			source: gcpDocs + "compute/docs/access/service-accounts",
			kinds: []string{
				"google_compute_instance", "google_container_node_pool", "google_cloud_run_v2_service",
				"google_cloud_run_service", "google_cloudfunctions_function", "google_cloudfunctions2_function",
			},
			paths: []string{
				"service_account[*].email", "node_config[*].service_account", "template[*].service_account",
				"template[*].spec[*].service_account_name", "service_account_email",
				"service_config[*].service_account_email",
			},
			test:    differ(),
			message: "it runs with the rights of another service account",
		},
		{
			name:   "google-guardrail-gone",
			source: gcpDocs + "resource-manager/docs/organization-policy/overview",
			test:   destroys(),
			kinds: []string{
				"google_org_policy_policy", "google_organization_policy", "google_folder_organization_policy",
				"google_project_organization_policy", "google_access_context_manager_service_perimeter",
				"google_access_context_manager_access_level", "google_resource_manager_lien",
			},
			message: "a limit that holds for the project, the folder or the organization ends",
		},
	}
}

func googleReach() []attribute {
	return []attribute{
		{
			name:   "google-endpoint-open",
			source: gcpDocs + "kubernetes-engine/docs/how-to/authorized-networks",
			kinds:  []string{"google_container_cluster", "google_sql_database_instance"},
			paths: []string{
				"master_authorized_networks_config[*].cidr_blocks[*].cidr_block",
				"settings[*].ip_configuration[*].authorized_networks[*].value",
			},
			test:    googleRanges(),
			message: "most of the internet can reach the API of the cluster, or the database",
		},
		{
			name:   "google-endpoint-ranges",
			source: gcpDocs + "sql/docs/mysql/authorize-networks",
			kinds:  []string{"google_container_cluster", "google_sql_database_instance"},
			paths: []string{
				"master_authorized_networks_config[*].cidr_blocks[*].cidr_block",
				"settings[*].ip_configuration[*].authorized_networks[*].value",
			},
			test:    adds(),
			risk:    diff.RiskAdditive,
			message: "the API of the cluster, or the database, can be reached from more addresses",
		},
		{
			name:   "google-private-off",
			source: gcpDocs + "kubernetes-engine/docs/concepts/network-isolation",
			kinds:  []string{"google_container_cluster"},
			paths: []string{
				"private_cluster_config[*].enable_private_endpoint",
				"private_cluster_config[*].enable_private_nodes",
			},
			test:    turnsOff(),
			message: "the API of the cluster, or its nodes, get addresses on the internet",
		},
		{
			name:    "google-public-address",
			source:  gcpDocs + "compute/docs/ip-addresses/configure-static-external-ip-address",
			kinds:   []string{"google_compute_instance", "google_compute_instance_template"},
			paths:   []string{"network_interface[*].access_config"},
			test:    becomesSet(),
			message: "the machine gets an address on the internet",
		},
		{
			name:    "google-database-public",
			source:  gcpDocs + "sql/docs/mysql/configure-ip",
			kinds:   []string{"google_sql_database_instance"},
			paths:   []string{"settings[*].ip_configuration[*].ipv4_enabled"},
			test:    turnsOn(),
			message: "the database gets an address on the internet",
		},
		{
			name:   "google-service-public",
			source: gcpDocs + "run/docs/securing/ingress",
			kinds: []string{
				"google_cloud_run_v2_service", "google_cloudfunctions_function", "google_cloudfunctions2_function",
			},
			paths:   []string{"ingress", "ingress_settings", "service_config[*].ingress_settings"},
			test:    onChange(becomes("INGRESS_TRAFFIC_ALL", "ALLOW_ALL")),
			message: "the service takes requests from the internet",
		},
		{
			name:   "google-firewall-deny-gone",
			source: gcpDocs + "firewall/docs/firewalls",
			kinds:  []string{"google_compute_firewall"},
			paths:  []string{"deny", "disabled"},
			test: lossTest("it denied something and no longer does", func(v raw.Value) bool {
				return get(v, "deny").Len() > 0 && !get(v, "disabled").IsTrue()
			}, `{"deny":[{"protocol":"all"}]}`, `{"deny":[]}`),
			message: "a firewall no longer denies what it denied",
		},
		{
			name:    "google-bucket-public-possible",
			source:  gcpDocs + "storage/docs/public-access-prevention",
			kinds:   []string{"google_storage_bucket"},
			paths:   []string{"public_access_prevention"},
			test:    leaves("enforced"),
			message: "objects can become public by a grant",
		},
	}
}

func googleNetworks() []attribute {
	return []attribute{
		{
			name:    "google-bucket-acls",
			source:  gcpDocs + "storage/docs/uniform-bucket-level-access",
			kinds:   []string{"google_storage_bucket"},
			paths:   []string{"uniform_bucket_level_access"},
			test:    turnsOff(),
			message: "access lists of objects apply again, and can make them public",
		},
		{
			name:    "google-dataset-public",
			source:  gcpDocs + "bigquery/docs/dataset-access-controls",
			kinds:   []string{"google_bigquery_dataset", "google_bigquery_dataset_access"},
			paths:   []string{"access[*].special_group", "access[*].iam_member", "special_group", "iam_member"},
			test:    becomes("allAuthenticatedUsers", "allUsers"),
			message: "everyone, or everyone with an account, can read the data",
		},
		{
			name:   "google-network-joined",
			source: gcpDocs + "vpc/docs/vpc-peering",
			test:   creates(),
			risk:   diff.RiskAdditive,
			kinds: []string{
				"google_compute_network_peering", "google_compute_vpn_tunnel",
				"google_compute_interconnect_attachment",
			},
			message: "the network is connected to another one",
		},
		{
			name:    "google-dns-target",
			source:  gcpDocs + "dns/docs/records",
			kinds:   []string{"google_dns_record_set"},
			paths:   []string{"rrdatas"},
			test:    differ(),
			message: "the name resolves to another target: traffic follows, and so do certificates that DNS validates",
		},
		{
			name:    "google-dnssec-off",
			source:  gcpDocs + "dns/docs/dnssec",
			kinds:   []string{"google_dns_managed_zone"},
			paths:   []string{"dnssec_config[*].state"},
			test:    leaves("on"),
			message: "answers for names in the zone are no longer signed",
		},
		{
			name:   "google-plain",
			source: gcpDocs + "sql/docs/mysql/configure-ssl-instance",
			kinds:  []string{"google_sql_database_instance", "google_cloudfunctions_function", "google_redis_instance"},
			paths: []string{
				"settings[*].ip_configuration[*].ssl_mode", "https_trigger_security_level",
				"transit_encryption_mode",
			},
			test:    leaves("ENCRYPTED_ONLY", "TRUSTED_CLIENT_CERTIFICATE_REQUIRED", "SECURE_ALWAYS", "SERVER_AUTHENTICATION"),
			message: "clients can connect without encryption, or without a certificate",
		},
		{
			name:    "google-tls-weaker",
			source:  gcpDocs + "load-balancing/docs/ssl-policies-concepts",
			kinds:   []string{"google_compute_ssl_policy"},
			paths:   []string{"min_tls_version"},
			test:    lowersTLS(),
			message: "clients may connect with an older version of TLS",
		},
		{
			name:   "google-tls-policy-gone",
			source: gcpDocs + "load-balancing/docs/ssl-policies-concepts",
			kinds: []string{
				"google_compute_target_https_proxy", "google_compute_region_target_https_proxy",
				"google_compute_target_ssl_proxy",
			},
			paths:   []string{"ssl_policy"},
			test:    becomesEmpty(),
			message: "the default policy counts, which takes older versions of TLS",
		},
	}
}

func googleCluster() []attribute {
	return []attribute{
		{
			name:   "google-cluster-weaker",
			source: gcpDocs + "kubernetes-engine/docs/how-to/hardening-your-cluster",
			kinds:  []string{"google_container_cluster", "google_container_node_pool", "google_compute_instance"},
			paths: []string{
				"enable_shielded_nodes", "network_policy[*].enabled",
				"node_config[*].shielded_instance_config[*].enable_secure_boot",
				"shielded_instance_config[*].enable_secure_boot",
				"shielded_instance_config[*].enable_integrity_monitoring",
			},
			test:    turnsOff(),
			message: "a protection of the nodes, the machine or the network of the cluster ends",
		},
		{
			name:   "google-cluster-legacy",
			source: gcpDocs + "kubernetes-engine/docs/how-to/hardening-your-cluster#leave_abac_disabled_default_for_110",
			kinds:  []string{"google_container_cluster"},
			paths: []string{
				"enable_legacy_abac", "master_auth[*].client_certificate_config[*].issue_client_certificate",
			},
			test:    turnsOn(),
			message: "an old way to log in to the cluster is opened, which its roles do not limit",
		},
		{
			name:    "google-image-check-off",
			source:  gcpDocs + "binary-authorization/docs/overview",
			kinds:   []string{"google_container_cluster", "google_binary_authorization_policy"},
			paths:   []string{"binary_authorization[*].evaluation_mode", "default_admission_rule[*].evaluation_mode"},
			test:    leaves("PROJECT_SINGLETON_POLICY_ENFORCE", "REQUIRE_ATTESTATION", "ALWAYS_DENY"),
			message: "images run without the check that was asked for",
		},
		{
			name:    "google-cluster-encryption-off",
			source:  gcpDocs + "kubernetes-engine/docs/how-to/encrypting-secrets",
			kinds:   []string{"google_container_cluster"},
			paths:   []string{"database_encryption[*].state"},
			test:    leaves("ENCRYPTED"),
			message: "the cluster no longer encrypts its Secrets with the key that was chosen",
		},
		{
			name:    "google-metadata-open",
			source:  gcpDocs + "kubernetes-engine/docs/how-to/workload-identity",
			kinds:   []string{"google_container_node_pool", "google_container_cluster"},
			paths:   []string{"node_config[*].workload_metadata_config[*].mode"},
			test:    leaves("GKE_METADATA"),
			message: "pods can get the credentials of their node",
		},
		{
			name:    "google-encryption-key-gone",
			source:  gcpDocs + "kms/docs/cmek",
			kinds:   []string{"google_storage_bucket", "google_bigquery_dataset"},
			paths:   []string{"encryption", "default_encryption_configuration"},
			test:    becomesEmpty(),
			message: "new data is no longer encrypted with the chosen key",
		},
	}
}

func googleAudit() []attribute {
	return []attribute{
		{
			name:    "google-logs-dropped",
			source:  gcpDocs + "kubernetes-engine/docs/how-to/config-logging-monitoring",
			kinds:   []string{"google_container_cluster"},
			paths:   []string{"logging_config[*].enable_components", "monitoring_config[*].enable_components"},
			test:    drops(),
			message: "a kind of log, such as that of the API server, is no longer written",
		},
		{
			name:   "google-log-off",
			source: gcpDocs + "vpc/docs/flow-logs",
			kinds: []string{
				"google_compute_subnetwork", "google_compute_firewall", "google_compute_backend_service",
				"google_storage_bucket",
			},
			paths:   []string{"log_config", "logging"},
			test:    becomesEmpty(),
			message: "traffic or requests are no longer logged",
		},
		{
			name:   "google-sink-off",
			source: gcpDocs + "logging/docs/export/configure_export_v2",
			kinds: []string{
				"google_logging_project_sink", "google_logging_folder_sink", "google_logging_organization_sink",
			},
			paths:   []string{"disabled"},
			test:    turnsOn(),
			message: "logs are no longer written to their destination",
		},
		{
			name:   "google-logs-excluded",
			source: gcpDocs + "logging/docs/exclusions",
			test:   creates(),
			risk:   diff.RiskInPlace,
			kinds: []string{
				"google_logging_project_exclusion", "google_logging_folder_exclusion",
				"google_logging_organization_exclusion",
			},
			message: "some logs are thrown away from now on",
		},
		{
			name:   "google-watch-gone",
			source: gcpDocs + "logging/docs/audit/configure-data-access",
			test:   destroys(),
			kinds: []string{
				"google_project_iam_audit_config", "google_folder_iam_audit_config",
				"google_organization_iam_audit_config", "google_logging_project_sink", "google_logging_folder_sink",
				"google_logging_organization_sink", "google_logging_metric", "google_compute_security_policy",
				"google_scc_source", "google_scc_notification_config", "google_binary_authorization_policy",
			},
			message: "something that records, watches or filters what happens in the project ends",
		},
		{
			name:    "google-firewall-detached",
			source:  gcpDocs + "armor/docs/security-policy-overview",
			kinds:   []string{"google_compute_backend_service", "google_compute_region_backend_service"},
			paths:   []string{"security_policy", "iap"},
			test:    becomesEmpty(),
			message: "requests are no longer filtered, or no longer need a login",
		},
		{
			name:    "google-retention-cut",
			source:  gcpDocs + "logging/docs/buckets",
			kinds:   []string{"google_logging_project_bucket_config", "google_logging_organization_bucket_config"},
			paths:   []string{"retention_days"},
			test:    lowers(""),
			message: "logs are retained for a shorter time; older ones are deleted",
		},
		{
			name:    "google-tags-mutable",
			source:  gcpDocs + "artifact-registry/docs/docker/troubleshoot#immutable",
			kinds:   []string{"google_artifact_registry_repository"},
			paths:   []string{"docker_config[*].immutable_tags"},
			test:    turnsOff(),
			message: "a tag can point to another image than the approved one",
		},
	}
}

func googleRetention() []attribute {
	return []attribute{
		{
			name:    "google-lifecycle-deletes",
			source:  gcpDocs + "storage/docs/lifecycle",
			kinds:   []string{"google_storage_bucket"},
			paths:   []string{"lifecycle_rule[*].condition[*].age"},
			test:    expires(),
			plain:   true,
			message: "objects are deleted or moved after a shorter time, also those that are there now",
		},
		{
			name:   "google-retention-policy",
			source: gcpDocs + "storage/docs/bucket-lock",
			kinds:  []string{"google_storage_bucket"},
			paths: []string{
				"retention_policy[*].retention_period", "soft_delete_policy[*].retention_duration_seconds",
			},
			test:    lowers(""),
			message: "objects can be deleted earlier, or come back for a shorter time",
		},
		{
			name:   "google-recovery-off",
			source: gcpDocs + "sql/docs/mysql/backup-recovery/pitr",
			kinds:  []string{"google_sql_database_instance", "google_firestore_database"},
			paths: []string{
				"settings[*].backup_configuration[*].enabled",
				"settings[*].backup_configuration[*].point_in_time_recovery_enabled",
				"settings[*].backup_configuration[*].binary_log_enabled", "point_in_time_recovery_enablement",
			},
			test:    leaves("true", "POINT_IN_TIME_RECOVERY_ENABLED").described("it was on", "true", "false"),
			message: "there are no backups any more, or the database cannot be restored to a point in time",
		},
		{
			name:   "google-backups-fewer",
			source: gcpDocs + "sql/docs/mysql/backup-recovery/backups",
			kinds:  []string{"google_sql_database_instance"},
			paths: []string{
				"settings[*].backup_configuration[*].backup_retention_settings[*].retained_backups",
				"settings[*].backup_configuration[*].transaction_log_retention_days",
			},
			test:    lowers(""),
			plain:   true,
			message: "fewer backups are kept; older ones are deleted",
		},
		{
			name:    "google-key-rotation-off",
			source:  gcpDocs + "kms/docs/key-rotation",
			kinds:   []string{"google_kms_crypto_key"},
			paths:   []string{"rotation_period"},
			test:    becomesEmpty(),
			message: "the key is no longer rotated automatically",
		},
		{
			name:    "google-key-window",
			source:  gcpDocs + "kms/docs/destroy-restore",
			kinds:   []string{"google_kms_crypto_key"},
			paths:   []string{"destroy_scheduled_duration"},
			test:    lowersSeconds(),
			message: "a key that somebody deletes can be had back for a shorter time",
		},
	}
}

// onChange restricts a test to objects that exist already.
func onChange(t test) test {
	t.actions = actionsChange
	return t
}

// googleRanges is opensUp for a provider where a missing list means everyone for a cluster, and
// nobody for a database.
func googleRanges() test {
	t := opensUp()
	finds := t.finds
	t.finds = func(v values) bool {
		return finds(v) && (v.kind == "google_container_cluster" || len(v.after) > 0)
	}
	return t
}

// lossTest reports objects for which holds becomes false, also where they are destroyed.
func lossTest(when string, holds func(raw.Value) bool, strong, weak string) test {
	return test{when: when, actions: actionsExisting, strong: strong, weak: weak, object: func(l subjectView) bool {
		return holds(l.before) && !holds(l.after)
	}}
}

// lowersSeconds is lowers for a number of seconds as Google writes it, "86400s".
func lowersSeconds() test {
	return test{when: "it gets less", actions: actionsChange, strong: `"2592000s"`, weak: `"86400s"`,
		finds: func(v values) bool {
			if len(v.before) != 1 || len(v.after) != 1 {
				return len(v.before) > 0 && len(v.after) == 0
			}
			seconds := func(r raw.Value) raw.Value { return raw.Of(strings.TrimSuffix(text(r), "s")) }
			return less(seconds(v.after[0]), seconds(v.before[0]))
		}}
}
