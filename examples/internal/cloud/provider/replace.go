package main

import "slices"

// replacesOf are the attributes whose change replaces an object, by type. Those of "" do for all types.
var replacesOf = map[string][]string{
	"": {"name", "name_prefix", "bucket", "bucket_prefix", "cidr_block", "ip_cidr_range", "vpc_id", "availability_zone",
		"engine", "identifier", "role", "policy_arn", "project", "location", "resource_group_name", "account_id",
		"cluster_name", "node_group_name", "addon_name", "principal_arn", "family", "function_name", "repository_id",
		"role_id", "user", "zone_id", "allocation_id", "key_name", "managed_zone", "virtual_network_name"},
	"aws_security_group": {"description"},
	"aws_db_instance":    {"username", "db_name", "kms_key_id", "storage_encrypted"},
	"aws_eks_cluster":    {"role_arn"},
	"aws_eks_node_group": {"instance_types", "ami_type", "disk_size", "capacity_type", "node_role_arn", "subnet_ids"},
	"aws_subnet":         {"availability_zone_id", "ipv6_native"},
	"aws_instance":       {"ami", "subnet_id", "key_name"},
	"aws_lb":             {"internal", "load_balancer_type"},
	"aws_nat_gateway":    {"subnet_id", "connectivity_type"},
	"aws_kms_key":        {"customer_master_key_spec", "key_usage", "multi_region"},
	"aws_route":          {"route_table_id", "destination_cidr_block"},
	"aws_route53_record": {"type"},
	"aws_s3_object":      {"key"},
	"helm_release":       {"namespace"},

	"google_container_cluster": {"network", "subnetwork"},
	"google_service_account":   {"account_id"},

	"azurerm_kubernetes_cluster": {"dns_prefix"},
}

// keeps are attributes that the list for all types has, and that do not replace objects of a type.
var keeps = map[string][]string{
	"aws_db_instance":         {"identifier"},
	"aws_iam_role":            {},
	"aws_iam_user":            {"name"},
	"aws_launch_template":     {"key_name"},
	"aws_cloudfront_function": {"name"},
	"kubernetes_manifest":     {"name"},
	"google_project":          {"name"},
	"time_rotating":           {},
}

// immutableTypes are the types all of whose arguments replace the object.
var immutableTypes = []string{
	"aws_iam_role_policy_attachment", "aws_iam_user_policy_attachment", "aws_iam_group_policy_attachment",
	"aws_route_table_association", "aws_internet_gateway_attachment", "aws_lambda_permission", "aws_volume_attachment",
	"aws_vpc_dhcp_options_association", "aws_ecs_task_definition", "aws_acm_certificate_validation",
	"aws_eks_access_policy_association", "aws_vpc_ipv4_cidr_block_association", "aws_ec2_tag", "aws_kms_grant",
	"aws_security_group_rule", "aws_lambda_layer_version", "azurerm_role_assignment",
	"google_project_iam_member", "google_service_account_iam_member", "google_storage_bucket_iam_member",
	"google_dns_managed_zone_iam_member", "google_artifact_registry_repository_iam_member",
	"google_cloud_run_v2_service_iam_member",
	"null_resource", "random_bytes", "random_id", "random_integer", "random_password", "random_pet", "random_shuffle",
	"random_string", "random_uuid", "tls_cert_request", "tls_locally_signed_cert", "tls_private_key",
	"tls_self_signed_cert", "local_file", "local_sensitive_file", "time_offset", "time_static", "time_rotating",
}

func immutable(typ string) bool { return slices.Contains(immutableTypes, typ) }

// changesOnUpdate are the computed attributes that every update changes.
var changesOnUpdate = map[string][]string{
	"aws_launch_template": {"latest_version"},
	"aws_ssm_parameter":   {"version"},
	"aws_s3_object":       {"etag", "version_id"},
	"aws_lambda_function": {"last_modified", "source_code_size"},
	"helm_release":        {"metadata"},
}
