package risk

import (
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

const (
	awsDocs       = "https://docs.aws.amazon.com/"
	gcpDocs       = "https://cloud.google.com/"
	azureDocs     = "https://learn.microsoft.com/azure/"
	hashicorpDocs = "https://developer.hashicorp.com/terraform/"
)

// terraformRules returns the rules for Terraform plans. Destroying or replacing an object is already
// a risk without a rule.
func terraformRules() []Rule {
	var out []Rule
	for _, group := range [][]Rule{
		dataRules(), guardRules(), policyRules(), openRules(), cipherRules(), serviceRules(), generatedRules(), planRules(),
		attributeRules(awsAttributes()), attributeRules(googleAttributes()), attributeRules(azureAttributes()),
		attributeRules(releaseAttributes()),
	} {
		out = append(out, group...)
	}
	for i := range out {
		out[i].Engine = diff.KindTerraform
	}
	return out
}

// dataRules returns the rules for resources that hold data that cannot be recreated. See
// https://developer.hashicorp.com/terraform/language/meta-arguments/lifecycle for how to protect
// one.
func dataRules() []Rule {
	rules := []Rule{
		{
			Name: "database-lost", Source: awsDocs + "AmazonRDS/latest/UserGuide/USER_DeleteInstance.html",
			Kinds: []string{"aws_db_instance", "aws_rds_cluster", "aws_rds_cluster_instance", "aws_rds_global_cluster",
				"aws_docdb_cluster", "aws_neptune_cluster",
				"aws_redshift_cluster", "aws_redshiftserverless_namespace", "aws_memorydb_cluster", "aws_elasticache_cluster",
				"aws_elasticache_replication_group", "aws_keyspaces_table", "aws_timestreamwrite_*", "aws_opensearch_domain",
				"aws_elasticsearch_domain"},
			Message: "the database and its automated backups are deleted; data without a snapshot is lost",
		},
		{
			Name: "table-lost", Source: awsDocs + "amazondynamodb/latest/developerguide/WorkingWithTables.Basics.html",
			Kinds:   []string{"aws_dynamodb_table"},
			Message: "the table is deleted with all items in it",
		},
		{
			Name: "bucket-lost", Source: awsDocs + "AmazonS3/latest/userguide/delete-bucket.html",
			Kinds: []string{"aws_s3_bucket", "aws_s3_directory_bucket", "aws_s3tables_*"},
			Message: "the bucket is deleted: with force_destroy all objects are deleted with it, otherwise the apply stops at " +
				"the first one",
		},
		{
			Name: "disk-lost", Source: awsDocs + "ebs/latest/userguide/ebs-deleting-volume.html",
			Kinds: []string{"aws_ebs_volume", "aws_ebs_snapshot", "aws_ami", "aws_efs_file_system", "aws_fsx_*",
				"aws_instance"},
			Message: "the data on its disks is lost, unless there is a snapshot",
		},
		{
			Name: "stream-lost", Source: awsDocs + "streams/latest/dev/kinesis-using-sdk-java-delete-stream.html",
			Kinds: []string{"aws_kinesis_stream", "aws_msk_cluster", "aws_msk_serverless_cluster", "aws_sqs_queue",
				"aws_mq_broker", "aws_cloudwatch_log_group"},
			Message: "messages in it that are not read yet are lost",
		},
		{
			Name: "backup-lost", Source: awsDocs + "aws-backup/latest/devguide/deleting-backups.html",
			Kinds: []string{"aws_backup_vault", "aws_db_snapshot", "aws_db_cluster_snapshot", "aws_rds_cluster_snapshot_copy",
				"google_*_backup*",
				"azurerm_backup_*", "azurerm_recovery_services_vault"},
			Message: "backups are deleted, or no longer created",
		},
		{
			Name: "secret-store-lost", Source: awsDocs + "secretsmanager/latest/userguide/manage_delete-secret.html",
			Kinds: []string{"aws_secretsmanager_secret", "aws_ssm_parameter", "google_secret_manager_secret",
				"azurerm_key_vault", "azurerm_key_vault_secret",
				"vault_mount", "vault_kv_*"},
			Message: "secrets are deleted, and may exist nowhere else; programs that read them fail",
		},
		{
			Name: "key-lost", Source: awsDocs + "kms/latest/developerguide/deleting-keys.html",
			Kinds: []string{"aws_kms_key", "aws_kms_replica_key", "google_kms_crypto_key", "google_kms_crypto_key_version",
				"google_kms_key_ring", "azurerm_key_vault_key"},
			Message: "the key is scheduled for deletion: after the waiting period, data encrypted with it can never be " +
				"read again",
		},
		{
			Name: "registry-lost", Source: awsDocs + "AmazonECR/latest/userguide/repository-delete.html",
			Kinds:   []string{"aws_ecr_repository", "google_artifact_registry_repository", "azurerm_container_registry"},
			Message: "the images in it are deleted, and their containers cannot be started again",
		},
		{
			Name: "google-data-lost", Source: gcpDocs + "sql/docs/mysql/delete-instance",
			Kinds: []string{"google_sql_database", "google_sql_database_instance", "google_storage_bucket",
				"google_bigquery_dataset", "google_bigquery_table",
				"google_spanner_*", "google_bigtable_*", "google_filestore_instance", "google_compute_disk",
				"google_firestore_database", "google_redis_*",
				"google_alloydb_*", "google_pubsub_subscription"},
			Message: "its data is deleted; with a database instance also its automated backups",
		},
		{
			Name: "azure-data-lost", Source: azureDocs + "azure-resource-manager/management/delete-resource-group",
			Kinds: []string{"azurerm_*_database", "azurerm_*_server", "azurerm_*_flexible_server", "azurerm_storage_account",
				"azurerm_storage_container",
				"azurerm_storage_share", "azurerm_managed_disk", "azurerm_cosmosdb_*", "azurerm_redis_*", "azurerm_kusto_*",
				"azurerm_eventhub*",
				"azurerm_resource_group", "azurerm_log_analytics_workspace"},
			Message: "its data is deleted; with a resource group also everything in it",
		},
		{
			Name: "cluster-lost", Source: awsDocs + "eks/latest/userguide/delete-cluster.html",
			Kinds:   []string{"aws_eks_cluster", "aws_ecs_cluster", "google_container_cluster", "azurerm_kubernetes_cluster"},
			Message: "everything that runs in the cluster ends, and its address and identity change",
		},
		{
			Name: "network-lost", Source: awsDocs + "vpc/latest/userguide/delete-vpc.html",
			Kinds: []string{"aws_vpc", "aws_subnet", "aws_nat_gateway", "aws_internet_gateway", "aws_vpn_*", "aws_dx_*",
				"aws_ec2_transit_gateway*",
				"google_compute_network", "google_compute_subnetwork", "azurerm_virtual_network", "azurerm_subnet"},
			Message: "nothing in the network can be reached until it exists again",
		},
		{
			Name: "address-lost", Source: awsDocs + "AWSEC2/latest/UserGuide/elastic-ip-addresses-eip.html",
			Kinds:   []string{"aws_eip", "google_compute_address", "google_compute_global_address", "azurerm_public_ip"},
			Message: "the address is released, and others may get it",
		},
		{
			Name: "domain-lost", Source: awsDocs + "Route53/latest/DeveloperGuide/DeleteHostedZone.html",
			Kinds: []string{"aws_route53_zone", "aws_route53_record", "google_dns_managed_zone", "google_dns_record_set",
				"azurerm_dns_*", "cloudflare_record",
				"cloudflare_dns_record", "cloudflare_zone"},
			Message: "names are no longer found, and other name servers may cache that for a while",
		},
		{
			Name: "users-lost", Source: awsDocs + "cognito/latest/developerguide/cognito-user-pools.html",
			Kinds:   []string{"aws_cognito_user_pool", "google_identity_platform_*"},
			Message: "all users and their passwords are deleted",
		},
		{
			Name:   "cluster-object-lost",
			Source: "https://kubernetes.io/docs/tasks/administer-cluster/namespaces/#deleting-a-namespace",
			Kinds: []string{"kubernetes_namespace", "kubernetes_namespace_v1", "kubernetes_persistent_volume*",
				"helm_release"},
			Message: "its content is deleted with it: with a namespace or a release all of its objects, with a volume its data",
		},
	}
	for i := range rules {
		rules[i].Actions, rules[i].Risk = actionsLoss, diff.RiskDestroy
	}
	return rules
}

// turnsTo returns a predicate for a boolean attribute that changes to the given value. A missing
// attribute is false.
func turnsTo(to bool) func(subjectView) func(field) bool {
	return onDifference(func(f field) bool { return f.Before.IsTrue() != to && f.After.IsTrue() == to && !f.unknown })
}

// guardRules returns the rules about protections against data loss.
func guardRules() []Rule {
	return []Rule{
		{
			Name: "protection-off", Source: awsDocs +
				"AmazonRDS/latest/UserGuide/USER_DeleteInstance.html#USER_DeleteInstance.DeletionProtection",
			Kinds: []string{"*"}, Actions: actionsChange, Risk: diff.RiskInPlace, When: "it was on", matches: turnsTo(false),
			Paths: []string{"deletion_protection", "deletion_protection_enabled", "disable_api_termination",
				"enable_deletion_protection",
				"termination_protection", "settings[*].deletion_protection_enabled", "purge_protection_enabled"},
			Message: "from now on the object can be deleted without another confirmation",
		},
		{
			Name: "force-destroy-on", Source: hashicorpDocs + "tutorials/state/resource-lifecycle", Kinds: []string{"*"},
			Actions: actionsChange, Risk: diff.RiskInPlace,
			When: "it was off", matches: turnsTo(true), Paths: []string{"force_destroy", "force_delete", "skip_final_snapshot",
				"delete_automated_backups"},
			Message: "when the object is destroyed, its data is deleted without a final copy",
		},
		{
			Name: "backups-off", Source: awsDocs + "AmazonRDS/latest/UserGuide/USER_WorkingWithAutomatedBackups.html",
			Kinds: []string{"*"}, Actions: actionsChange,
			Risk: diff.RiskInPlace, When: "it gets less",
			Paths: []string{"backup_retention_period", "snapshot_retention_limit", "automated_snapshot_retention_period",
				"backup_retention_days",
				"soft_delete_retention_days", "deletion_window_in_days", "recovery_window_in_days"},
			matches: onDifference(func(f field) bool { return less(f.After, f.Before) }),
			Message: "backups, or deleted data, are retained for a shorter time; older ones are deleted",
		},
		{
			Name: "versioning-off", Source: awsDocs + "AmazonS3/latest/userguide/Versioning.html",
			Kinds:   []string{"aws_s3_bucket_versioning", "aws_s3_bucket", "google_storage_bucket"},
			Actions: actionsChange, Risk: diff.RiskInPlace, Paths: []string{"versioning_configuration[*].status",
				"versioning[*].enabled"},
			When:    "it was on",
			matches: onDifference(func(f field) bool { return enabled(f.Before) && !enabled(f.After) && !f.unknown }),
			Message: "data that is overwritten or deleted from now on cannot be restored",
		},
	}
}

// enabled reports whether an attribute is on; some attributes use a word for it.
func enabled(v raw.Value) bool { return v.IsTrue() || text(v) == "Enabled" }

// cipherRules returns the rules about encryption.
func cipherRules() []Rule {
	return []Rule{
		{
			Name: "encryption-off", Source: awsDocs + "prescriptive-guidance/latest/encryption-best-practices/welcome.html",
			Security: true,
			Kinds:    []string{"*"}, Actions: actionsChange, Risk: diff.RiskInPlace, When: "it was on", matches: turnsTo(false),
			Paths: []string{"encrypted", "storage_encrypted", "at_rest_encryption_enabled", "transit_encryption_enabled",
				"encrypt_at_rest[*].enabled", "node_to_node_encryption[*].enabled", "server_side_encryption[*].enabled",
				"kms_encrypted",
				"enable_https_traffic_only", "https_traffic_only_enabled", "infrastructure_encryption_enabled",
				"root_block_device[*].encrypted",
				"ebs_block_device[*].encrypted", "sqs_managed_sse_enabled"},
			Message: "data is no longer encrypted at rest or in transit",
		},
		{
			Name: "encryption-gone", Source: awsDocs + "AmazonS3/latest/userguide/bucket-encryption.html", Security: true,
			Kinds:   []string{"aws_s3_bucket_server_side_encryption_configuration", "aws_ebs_encryption_by_default"},
			Actions: actionsDestroy, Risk: diff.RiskInPlace,
			Message: "new data is encrypted with the account's default, and no longer with the chosen key",
		},
		{
			Name: "encryption-key", Source: awsDocs + "kms/latest/developerguide/concepts.html", Security: true,
			Kinds: []string{"*"}, Actions: actionsChange,
			Paths: []string{"kms_key_id", "kms_key_arn", "kms_master_key_id", "kms_key_name", "key_vault_key_id",
				"disk_encryption_set_id"},
			Risk: diff.RiskInPlace, When: "there was one",
			matches: onDifference(func(f field) bool { return f.HasBefore && text(f.Before) != "" }),
			Message: "the data is encrypted with another key, or no longer with a customer-managed key",
		},
		{
			Name: "key-rotation-off", Source: awsDocs + "kms/latest/developerguide/rotate-keys.html", Security: true,
			Kinds:   []string{"aws_kms_key"},
			Actions: actionsChange, Paths: []string{"enable_key_rotation"}, Risk: diff.RiskInPlace, When: "it was on",
			matches: turnsTo(false),
			Message: "the key is no longer rotated each year",
		},
		{
			Name: "key-disabled", Source: awsDocs + "kms/latest/developerguide/enabling-keys.html",
			Kinds: []string{"aws_kms_key"}, Actions: actionsChange,
			Paths: []string{"is_enabled"}, Risk: diff.RiskRestart, When: "it was on", matches: turnsTo(false),
			Message: "data encrypted with the key cannot be read while it is disabled",
		},
	}
}

// serviceRules returns the rules about running services.
func serviceRules() []Rule {
	return []Rule{
		{
			Name: "cluster-version", Source: awsDocs + "eks/latest/userguide/update-cluster.html", Actions: actionsChange,
			Risk:    diff.RiskInPlace,
			Kinds:   []string{"aws_eks_cluster", "google_container_cluster", "azurerm_kubernetes_cluster"},
			Paths:   []string{"version", "min_master_version", "node_version", "kubernetes_version"},
			Message: "the control plane gets another version: it cannot go back, and clients of removed APIs fail",
		},
		{
			Name: "nodes-replaced", Source: awsDocs + "eks/latest/userguide/update-managed-node-group.html",
			Actions: actionsLoss, Risk: diff.RiskReplace,
			Kinds:   []string{"aws_eks_node_group", "google_container_node_pool", "azurerm_kubernetes_cluster_node_pool"},
			Message: "all pods on these nodes end, and restart on other nodes with free capacity",
		},
		{
			Name: "nodes-roll", Source: awsDocs + "eks/latest/userguide/update-managed-node-group.html", Actions: actionsUpdate,
			Risk:    diff.RiskRestart,
			Kinds:   []string{"aws_eks_node_group", "google_container_node_pool", "azurerm_kubernetes_cluster_node_pool"},
			Paths:   []string{"version", "release_version", "launch_template", "orchestrator_version", "node_config", "vm_size"},
			Message: "nodes are replaced one after the other, and their pods restart on other nodes",
		},
		{
			Name: "machine-type", Source: awsDocs + "AWSEC2/latest/UserGuide/ec2-instance-resize.html", Actions: actionsUpdate,
			Risk: diff.RiskRestart,
			Kinds: []string{"aws_instance", "google_compute_instance", "azurerm_linux_virtual_machine",
				"azurerm_windows_virtual_machine"},
			Paths: []string{"instance_type", "machine_type", "size"}, Message: "the machine is restarted with another type",
		},
		{
			Name: "user-data", Source: awsDocs + "AWSEC2/latest/UserGuide/user-data.html", Kinds: []string{"aws_instance"},
			Actions: actionsUpdate,
			Paths:   []string{"user_data", "user_data_base64"}, Risk: diff.RiskRestart,
			Message: "the machine is restarted, and the new script runs only if it is configured to run at each start",
		},
		{
			Name: "database-class", Source: awsDocs + "AmazonRDS/latest/UserGuide/Overview.DBInstance.Modifying.html",
			Actions: actionsUpdate, Risk: diff.RiskRestart,
			Kinds: []string{"aws_db_instance", "aws_rds_cluster_instance", "aws_elasticache_*", "google_sql_database_instance",
				"aws_docdb_cluster_instance",
				"aws_redshift_cluster", "aws_opensearch_domain"},
			Paths: []string{"instance_class", "node_type", "settings[*].tier", "allocated_storage", "parameter_group_name",
				"db_parameter_group_name",
				"port", "multi_az", "cluster_config"},
			Message: "the database restarts or fails over: at once with apply_immediately, otherwise in its maintenance window",
		},
		{
			Name: "database-version", Source: awsDocs + "AmazonRDS/latest/UserGuide/USER_UpgradeDBInstance.Upgrading.html",
			Actions: actionsUpdate, Risk: diff.RiskRestart,
			Kinds: []string{"aws_db_instance", "aws_rds_cluster", "aws_rds_cluster_instance", "aws_elasticache_*",
				"aws_docdb_cluster", "aws_neptune_cluster",
				"google_sql_database_instance", "azurerm_*_flexible_server", "aws_opensearch_domain", "aws_msk_cluster"},
			Paths:   []string{"engine_version", "database_version", "version", "kafka_version"},
			Message: "the database is upgraded with a restart, and can go back only from a backup",
		},
		{
			Name: "apply-immediately", Source: awsDocs + "AmazonRDS/latest/UserGuide/USER_ModifyInstance.ApplyImmediately.html",
			Kinds:   []string{"aws_*"},
			Actions: actionsUpdate, Paths: []string{"apply_immediately"}, Risk: diff.RiskInPlace, When: "it is turned on",
			matches: turnsTo(true),
			Message: "changes are applied at once from now on, and no longer in the maintenance window",
		},
		{
			Name: "launch-template", Source: awsDocs + "autoscaling/ec2/userguide/launch-templates.html",
			Kinds:   []string{"aws_launch_template", "aws_launch_configuration", "google_compute_instance_template"},
			Actions: actionsChange, Risk: diff.RiskInPlace, Message: "machines that start from now on use it; running ones " +
				"stay as they are until they are replaced",
		},
		{
			Name: "function-code", Source: awsDocs + "lambda/latest/dg/configuration-versions.html", Actions: actionsUpdate,
			Risk: diff.RiskRestart,
			Kinds: []string{"aws_lambda_function", "google_cloudfunctions_function", "google_cloudfunctions2_function",
				"google_cloud_run_*"},
			Paths: []string{"source_code_hash", "image_uri", "s3_key", "s3_object_version", "filename", "runtime", "handler",
				"environment", "layers",
				"source_archive_object", "build_config", "template"},
			Message: "the next call runs the new code or settings",
		},
		{
			Name: "service-rolls", Source: awsDocs + "AmazonECS/latest/developerguide/deployment-type-ecs.html",
			Kinds:   []string{"aws_ecs_service"},
			Actions: actionsUpdate, Paths: []string{"task_definition", "force_new_deployment", "network_configuration",
				"load_balancer"}, Risk: diff.RiskRestart,
			Message: "the tasks of the service are replaced, a few at a time",
		},
		{
			Name: "capacity-lowered", Source: awsDocs + "autoscaling/ec2/userguide/asg-capacity-limits.html",
			Actions: actionsUpdate, Risk: diff.RiskRestart,
			Kinds: []string{"aws_autoscaling_group", "aws_eks_node_group", "aws_ecs_service", "google_container_node_pool",
				"azurerm_kubernetes_cluster_node_pool",
				"google_compute_instance_group_manager", "google_compute_region_instance_group_manager"},
			Paths: []string{"desired_capacity", "min_size", "max_size", "scaling_config[*].desired_size",
				"scaling_config[*].min_size",
				"scaling_config[*].max_size", "desired_count", "node_count", "target_size"},
			When: "it gets less", matches: onDifference(func(f field) bool { return less(f.After, f.Before) }),
			Message: "there may be fewer machines or tasks, and some of them may be stopped now",
		},
		{
			Name: "stored-secret-changes", Source: awsDocs + "secretsmanager/latest/userguide/manage_update-secret-value.html",
			Actions: actionsChange, Risk: diff.RiskInPlace,
			Kinds: []string{"aws_secretsmanager_secret_version", "aws_ssm_parameter", "google_secret_manager_secret_version",
				"azurerm_key_vault_secret"},
			Paths: []string{"secret_string", "secret_binary", "value", "value_wo_version", "insecure_value", "secret_data",
				"secret_string_wo_version"},
			Message: "programs have the old value of the secret until they read it again",
		},
		{
			Name: "release-changes", Source: "https://helm.sh/docs/helm/helm_upgrade/", Kinds: []string{"helm_release"},
			Actions: actionsUpdate,
			Paths: []string{"version", "chart", "values", "set", "set_list", "set_sensitive", "set_wo_revision", "postrender",
				"repository", "metadata"}, Risk: diff.RiskRestart,
			Message: "the release is upgraded: this plan does not show what that changes in the cluster",
		},
	}
}

// generatedRules returns the rules for values that Terraform generates, and for resources that stand
// for a command.
func generatedRules() []Rule {
	return []Rule{
		{
			Name: "value-made-anew", Source: hashicorpDocs + "language/state/sensitive-data",
			Actions: []diff.Action{diff.Replace}, Risk: diff.RiskReplace,
			Kinds: []string{"random_password", "random_string", "random_bytes", "random_id", "random_uuid", "random_pet",
				"tls_private_key"},
			Message: "a new value is generated, and everything that uses it changes; everything that still has the old " +
				"one no longer matches",
		},
		{
			Name: "credential-changes", Source: awsDocs + "IAM/latest/UserGuide/id_credentials_access-keys.html",
			Actions: actionsLoss, Risk: diff.RiskReplace,
			Kinds: []string{"aws_iam_access_key", "google_service_account_key", "azuread_application_password",
				"azuread_service_principal_password",
				"aws_key_pair", "tls_self_signed_cert", "tls_locally_signed_cert", "aws_acm_certificate"},
			Message: "the old credential or certificate stops working wherever it is still used",
		},
		{
			Name: "credential-made", Source: awsDocs + "IAM/latest/UserGuide/id_credentials_access-keys.html", Security: true,
			Actions: actionsCreate,
			Kinds: []string{"aws_iam_access_key", "google_service_account_key", "azuread_application_password",
				"azuread_service_principal_password"},
			Risk: diff.RiskAdditive, Message: "a credential without expiry is created, and the state contains it",
		},
		{
			Name: "command-runs", Source: hashicorpDocs + "language/resources/provisioners/syntax",
			Actions: []diff.Action{diff.Replace}, Risk: diff.RiskReplace,
			Kinds: []string{"null_resource", "terraform_data"}, Message: "the commands that depend on it run again, and this " +
				"plan does not show what they do",
		},
	}
}
