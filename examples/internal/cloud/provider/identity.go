package main

import "strings"

// idTemplate returns the template of the id of an object.
func (f *filler) idTemplate() string {
	if template, is := ids[f.typ]; is {
		return template
	}
	switch {
	case strings.HasPrefix(f.typ, "aws_s3_bucket_"):
		return "{bucket}"
	case strings.HasPrefix(f.typ, "aws_"):
		if f.top["name"] == nil || f.top["name"] == unknown {
			return "{kind}-0{#16}"
		}
		return "{name}"
	case f.server.name == "google":
		if strings.Contains(f.typ, "_iam_") {
			return "{kind}/{role}/{member}/{#8}"
		}
		if f.schema.Attributes["location"] != nil {
			return "projects/{project}/locations/{location}/{kind}/{label}"
		}
		return "projects/{project}/{kind}/{label}"
	case f.server.name == "azurerm":
		return "/subscriptions/{subscription}/resourceGroups/{resource_group_name}/providers/Microsoft.Simulated/" +
			"{kind}/{label}"
	case f.server.name == "kubernetes" && f.schema.Blocks["metadata"] != nil:
		if f.schema.Blocks["metadata"].Block.Attributes["namespace"] == nil {
			return "{metadata.name}"
		}
		return "{metadata.namespace}/{metadata.name}"
	}
	return "{label}"
}

const (
	azureGroup    = "/subscriptions/{subscription}/resourceGroups/{resource_group_name}"
	azureNetwork  = azureGroup + "/providers/Microsoft.Network/"
	googleGlobal  = "projects/{project}/global/"
	googleRegion  = "projects/{project}/regions/{region}/"
	googleCluster = "projects/{project}/locations/{location}/clusters/{name}"
)

// ids are the templates of ids by type.
var ids = map[string]string{
	"aws_vpc": "vpc-0{#16}", "aws_default_vpc": "vpc-0{#16}", "aws_subnet": "subnet-0{#16}",
	"aws_security_group": "sg-0{#16}", "aws_default_security_group": "sg-0{#16}",
	"aws_security_group_rule": "sgrule-{#10}", "aws_vpc_security_group_ingress_rule": "sgr-0{#16}",
	"aws_vpc_security_group_egress_rule": "sgr-0{#16}", "aws_internet_gateway": "igw-0{#16}",
	"aws_egress_only_internet_gateway": "eigw-0{#16}", "aws_nat_gateway": "nat-0{#16}", "aws_eip": "eipalloc-0{#16}",
	"aws_route_table": "rtb-0{#16}", "aws_default_route_table": "rtb-0{#16}", "aws_route": "r-{route_table_id}{#10}",
	"aws_route_table_association": "rtbassoc-0{#16}", "aws_instance": "i-0{#16}", "aws_launch_template": "lt-0{#16}",
	"aws_network_acl": "acl-0{#16}", "aws_default_network_acl": "acl-0{#16}", "aws_ami": "ami-0{#16}",
	"aws_efs_file_system": "fs-0{#16}", "aws_efs_mount_target": "fsmt-0{#16}", "aws_route53_zone": "Z{^13}",
	"aws_vpc_endpoint": "vpce-0{#16}", "aws_ebs_volume": "vol-0{#16}", "aws_flow_log": "fl-0{#16}",
	"aws_vpc_dhcp_options": "dopt-0{#16}", "aws_customer_gateway": "cgw-0{#16}", "aws_vpn_gateway": "vgw-0{#16}",
	"aws_apigatewayv2_api": "{#10}", "aws_apigatewayv2_integration": "{#7}", "aws_apigatewayv2_route": "{#7}",
	"aws_cloudfront_distribution": "E{^13}", "aws_iam_access_key": "AKIA{^16}", "aws_acm_certificate": "{arn}",
	"aws_iam_policy": "{arn}", "aws_iam_openid_connect_provider": "{arn}", "aws_lb": "{arn}", "aws_alb": "{arn}",
	"aws_lb_target_group": "{arn}", "aws_lb_listener": "{arn}", "aws_lb_listener_rule": "{arn}",
	"aws_ecs_cluster": "{arn}",
	"aws_ecs_service": "{arn}", "aws_secretsmanager_secret": "{arn}", "aws_sns_topic": "{arn}",
	"aws_sqs_queue":                     "https://sqs.{region}.amazonaws.com/{account}/{name}",
	"aws_secretsmanager_secret_version": "{secret_id}|{version_id}", "aws_kms_key": "{uuid}",
	"aws_kms_external_key": "{uuid}", "aws_kms_replica_key": "{uuid}",
	"aws_db_instance": "db-{^26}", "aws_s3_bucket": "{bucket}", "aws_s3_object": "{key}",
	"aws_elasticache_replication_group": "{replication_group_id}", "aws_lambda_function": "{function_name}",
	"aws_lambda_permission": "{statement_id}", "aws_key_pair": "{key_name}", "aws_ecs_task_definition": "{family}",
	"aws_iam_role_policy": "{role}:{name}", "aws_iam_user_policy": "{user}:{name}",
	"aws_iam_role_policy_attachment": "{role}/{policy_arn}", "aws_iam_user_policy_attachment": "{user}/{policy_arn}",
	"aws_eks_node_group": "{cluster_name}:{node_group_name}", "aws_eks_addon": "{cluster_name}:{addon_name}",
	"aws_eks_access_entry":              "{cluster_name}:{principal_arn}",
	"aws_eks_access_policy_association": "{cluster_name}#{principal_arn}#{policy_arn}",
	"aws_eks_fargate_profile":           "{cluster_name}:{fargate_profile_name}",
	"aws_eks_pod_identity_association":  "a-{#17}", "aws_route53_record": "{zone_id}_{name}_{type}",
	"aws_caller_identity": "{account}", "aws_ecr_lifecycle_policy": "{repository}",
	"aws_ecr_repository_policy": "{repository}", "aws_region": "{region}", "aws_eks_cluster_auth": "{name}",

	"google_service_account":   "projects/{project}/serviceAccounts/{account_id}@{project}.iam.gserviceaccount.com",
	"google_container_cluster": googleCluster, "google_compute_network": googleGlobal + "networks/{name}",
	"google_container_node_pool": "projects/{project}/locations/{location}/clusters/{cluster}/nodePools/{name}",
	"google_compute_firewall":    googleGlobal + "firewalls/{name}", "google_compute_global_address": googleGlobal +
		"addresses/{name}", "google_compute_subnetwork": googleRegion + "subnetworks/{name}",
	"google_compute_router": googleRegion + "routers/{name}", "google_compute_router_nat": googleRegion +
		"routers/{router}/{name}",
	"google_artifact_registry_repository": "projects/{project}/locations/{location}/repositories/{repository_id}",
	"google_dns_managed_zone":             "projects/{project}/managedZones/{name}",
	"google_dns_record_set":               "projects/{project}/managedZones/{managed_zone}/rrsets/{name}/{type}",
	"google_project_iam_custom_role":      "projects/{project}/roles/{role_id}",
	"google_project_service":              "{project}/{service}", "google_project_iam_member": "{project}/{role}/{member}",
	"google_project": "projects/{project_id}", "google_storage_bucket": "{name}",
	"google_sql_database_instance": "{name}", "google_sql_user": "{name}//{instance}",
	"google_sql_database":                  "projects/{project}/instances/{instance}/databases/{name}",
	"google_storage_hmac_key":              "projects/{project}/hmacKeys/GOOG1E{^20}",
	"google_compute_instance":              "projects/{project}/zones/{zone}/instances/{name}",
	"google_compute_zones":                 "projects/{project}/regions/{region}",
	"google_compute_disk":                  "projects/{project}/zones/{zone}/disks/{name}",
	"google_secret_manager_secret":         "projects/{project}/secrets/{secret_id}",
	"google_secret_manager_secret_version": "{secret}/versions/{#6}",
	"google_cloud_run_v2_service":          "projects/{project}/locations/{location}/services/{name}",

	"azurerm_resource_group":                     "/subscriptions/{subscription}/resourceGroups/{name}",
	"azurerm_virtual_network":                    azureNetwork + "virtualNetworks/{name}",
	"azurerm_subnet":                             azureNetwork + "virtualNetworks/{virtual_network_name}/subnets/{name}",
	"azurerm_dns_zone":                           azureNetwork + "dnsZones/{name}",
	"azurerm_dns_a_record":                       azureNetwork + "dnsZones/{zone_name}/A/{name}",
	"azurerm_private_dns_zone":                   azureNetwork + "privateDnsZones/{name}",
	"azurerm_public_ip":                          azureNetwork + "publicIPAddresses/{name}",
	"azurerm_nat_gateway":                        azureNetwork + "natGateways/{name}",
	"azurerm_network_security_group":             azureNetwork + "networkSecurityGroups/{name}",
	"azurerm_kubernetes_cluster":                 azureGroup + "/providers/Microsoft.ContainerService/managedClusters/{name}",
	"azurerm_kubernetes_cluster_node_pool":       "{kubernetes_cluster_id}/agentPools/{name}",
	"azurerm_container_registry":                 azureGroup + "/providers/Microsoft.ContainerRegistry/registries/{name}",
	"azurerm_container_app":                      azureGroup + "/providers/Microsoft.App/containerApps/{name}",
	"azurerm_container_app_environment":          azureGroup + "/providers/Microsoft.App/managedEnvironments/{name}",
	"azurerm_log_analytics_workspace":            azureGroup + "/providers/Microsoft.OperationalInsights/workspaces/{name}",
	"azurerm_resource_group_template_deployment": azureGroup + "/providers/Microsoft.Resources/deployments/{name}",
	"azurerm_user_assigned_identity": azureGroup +
		"/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{name}",
	"azurerm_subnet_network_security_group_association": "{subnet_id}",
	"azurerm_subnet_nat_gateway_association":            "{subnet_id}",
	"azurerm_nat_gateway_public_ip_association":         "{nat_gateway_id}|{public_ip_address_id}",
	"azurerm_role_assignment":                           "{scope}/providers/Microsoft.Authorization/roleAssignments/{uuid}",
	"azurerm_subscription":                              "/subscriptions/{subscription}",
	"azapi_resource":                                    "{parent_id}/providers/{azure type}/{name}",
	"azapi_update_resource":                             "{resource_id}",
	"azapi_resource_action":                             "{resource_id}",

	"helm_release": "{name}", "kubectl_manifest": "/apis/{api_version}/{kind}/{#12}",
}

// arnTemplate returns the template of the ARN of an object.
func (f *filler) arnTemplate() string {
	if template, is := arns[f.typ]; is {
		return "arn:{partition}:" + template
	}
	service, _, _ := strings.Cut(strings.TrimPrefix(f.typ, "aws_"), "_")
	return "arn:{partition}:" + service + ":{region}:{account}:{kind}/{label}"
}

// here starts what follows the service in the ARN of an object that has a region.
const here = ":{region}:{account}:"

// arns are the templates of ARNs by type, after the partition.
var arns = map[string]string{
	"aws_iam_role": "iam::{account}:role{iam path}{name}", "aws_iam_policy": "iam::{account}:policy{iam path}{name}",
	"aws_iam_user": "iam::{account}:user{iam path}{name}", "aws_iam_group": "iam::{account}:group{iam path}{name}",
	"aws_iam_instance_profile":        "iam::{account}:instance-profile{iam path}{name}",
	"aws_iam_openid_connect_provider": "iam::{account}:oidc-provider/{issuer}",
	"aws_caller_identity":             "sts::{account}:assumed-role/simulated/session",
	"aws_eks_cluster":                 "eks" + here + "cluster/{name}",
	"aws_eks_node_group":              "eks" + here + "nodegroup/{cluster_name}/{node_group_name}/{uuid}",
	"aws_eks_addon":                   "eks" + here + "addon/{cluster_name}/{addon_name}/{uuid}",
	"aws_vpc":                         "ec2" + here + "vpc/{id}", "aws_subnet": "ec2" + here + "subnet/{id}",
	"aws_security_group": "ec2" + here + "security-group/{id}", "aws_instance": "ec2" + here + "instance/{id}",
	"aws_internet_gateway": "ec2" + here + "internet-gateway/{id}", "aws_route_table": "ec2" + here + "route-table/{id}",
	"aws_vpc_endpoint": "ec2" + here + "vpc-endpoint/{id}", "aws_launch_template": "ec2" + here + "launch-template/{id}",
	"aws_s3_bucket": "s3:::{bucket}", "aws_s3_object": "s3:::{bucket}/{key}", "aws_kms_key": "kms" + here + "key/{id}",
	"aws_kms_alias": "kms" + here + "{name}", "aws_ecr_repository": "ecr" + here + "repository/{name}",
	"aws_lb":                            "elasticloadbalancing" + here + "loadbalancer/app/{name}/{#16}",
	"aws_lb_target_group":               "elasticloadbalancing" + here + "targetgroup/{name}/{#16}",
	"aws_lb_listener":                   "elasticloadbalancing" + here + "listener/app/{#16}/{#16}",
	"aws_lb_listener_rule":              "elasticloadbalancing" + here + "listener-rule/app/{#16}/{#16}",
	"aws_acm_certificate":               "acm" + here + "certificate/{uuid}",
	"aws_ecs_cluster":                   "ecs" + here + "cluster/{name}",
	"aws_ecs_service":                   "ecs" + here + "service/{name}",
	"aws_lambda_function":               "lambda" + here + "function:{function_name}",
	"aws_dynamodb_table":                "dynamodb" + here + "table/{name}",
	"aws_db_instance":                   "rds" + here + "db:{identifier}",
	"aws_db_subnet_group":               "rds" + here + "subgrp:{name}",
	"aws_ssm_parameter":                 "ssm" + here + "parameter/{name}",
	"aws_sqs_queue":                     "sqs" + here + "{name}",
	"aws_sns_topic":                     "sns" + here + "{name}",
	"aws_route53_zone":                  "route53:::hostedzone/{id}",
	"aws_cloudwatch_log_group":          "logs" + here + "log-group:{name}",
	"aws_secretsmanager_secret":         "secretsmanager" + here + "secret:{name}-{#6}",
	"aws_ecs_task_definition":           "ecs" + here + "task-definition/{family}:1",
	"aws_elasticache_replication_group": "elasticache" + here + "replicationgroup:{replication_group_id}",
	"aws_apigatewayv2_api":              "apigateway:{region}::/apis/{id}",
}
