package risk

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

var (
	adminPolicy = lazyregexp.New(`^arn:aws[a-z-]*:iam::aws:policy/` +
		`(AdministratorAccess.*|IAMFullAccess|PowerUserAccess|AWSOrganizationsFullAccess)$`)
	clusterAdmin  = lazyregexp.New(`^arn:aws[a-z-]*:eks::aws:cluster-access-policy/AmazonEKS(Cluster)?AdminPolicy$`)
	accountNumber = lazyregexp.New(`^(arn:aws[a-z-]*:(iam|sts)::)?\d{12}(:.*)?$`)
	everyGroup    = lazyregexp.New(`^http://acs\.amazonaws\.com/groups/global/(AllUsers|AuthenticatedUsers)$`)
)

// like reports values that match a pattern, in lists and alone.
func like(re *lazyregexp.Regexp, example, when string) test {
	t := addsLike(re.MatchString, example)
	t.when = when
	return t
}

// awsAttributes returns the rules for attributes of the AWS provider.
func awsAttributes() []attribute {
	var out []attribute
	for _, group := range [][]attribute{
		awsRights(), awsLogins(), awsKeys(), awsReach(), awsSharing(), awsTransport(), awsAudit(), awsRetention(),
		taskAttributes(),
	} {
		out = append(out, group...)
	}
	return out
}

func awsReach() []attribute {
	return []attribute{
		{
			name:    "endpoint-open",
			source:  awsDocs + "eks/latest/userguide/cluster-endpoint.html",
			kinds:   []string{"aws_eks_cluster"},
			paths:   []string{"vpc_config[*].public_access_cidrs"},
			test:    opensUp(),
			message: "everyone on the internet can reach the API of the cluster",
		},
		{
			name:    "endpoint-ranges",
			source:  awsDocs + "eks/latest/userguide/cluster-endpoint.html",
			kinds:   []string{"aws_eks_cluster"},
			paths:   []string{"vpc_config[*].public_access_cidrs"},
			test:    adds(),
			risk:    diff.RiskAdditive,
			message: "the API of the cluster can be reached from more addresses",
		},
		{
			name:   "acl-open",
			source: awsDocs + "vpc/latest/userguide/vpc-network-acls.html",
			kinds:  []string{"aws_network_acl", "aws_network_acl_rule"},
			paths: []string{
				"ingress", "cidr_block", "ipv6_cidr_block", "rule_action", "from_port", "to_port", "protocol",
				"egress",
			},
			test: flowTest("aws_network_acl_rule", `{"rule_action":"allow","cidr_block":"10.0.0.0/8"}`,
				`{"rule_action":"allow","cidr_block":"0.0.0.0/0"}`),
			risk:    diff.RiskAdditive,
			message: "the network ACL admits most of the internet: only security groups limit who reaches the subnet",
		},
		{
			name:    "acl-deny-gone",
			source:  awsDocs + "vpc/latest/userguide/vpc-network-acls.html#nacl-rules",
			kinds:   []string{"aws_network_acl", "aws_network_acl_rule", "aws_default_network_acl"},
			paths:   []string{"ingress[*].action", "egress[*].action", "rule_action"},
			test:    onLoss(leaves("deny")),
			message: "a network ACL no longer denies what it denied",
		},
		{
			name:   "metadata-v1",
			source: awsDocs + "AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html",
			kinds: []string{
				"aws_instance", "aws_launch_template", "aws_launch_configuration",
				"aws_ec2_instance_metadata_defaults",
			},
			paths: []string{"metadata_options[*].http_tokens", "http_tokens"},
			test: either(becomes("optional"), leaves("required")).
				described("it becomes `optional`, or was `required`", `"required"`, `"optional"`),
			message: "programs on the machine get its credentials with one plain request (IMDSv1)",
		},
		{
			name:    "function-open",
			source:  awsDocs + "lambda/latest/dg/access-control-resource-based.html",
			kinds:   []string{"aws_lambda_permission"},
			paths:   []string{"principal"},
			test:    becomes("*"),
			message: "everyone with an AWS account, or everyone whom its condition allows, can call the function",
		},
		{
			name:    "function-shared",
			source:  awsDocs + "lambda/latest/dg/access-control-resource-based.html",
			kinds:   []string{"aws_lambda_permission"},
			paths:   []string{"principal"},
			test:    like(accountNumber, "123456789012", "it is an account or a role"),
			risk:    diff.RiskAdditive,
			message: "another account or a role can call the function",
		},
		{
			name:    "acl-for-everyone",
			source:  awsDocs + "AmazonS3/latest/userguide/acl-overview.html#specifying-grantee",
			kinds:   []string{"aws_s3_bucket_acl", "aws_s3_bucket"},
			paths:   []string{"access_control_policy[*].grant[*].grantee[*].uri", "grant[*].uri"},
			test:    like(everyGroup, "http://acs.amazonaws.com/groups/global/AllUsers", "it is the group of all users"),
			message: "everyone, or everyone with an AWS account, can read the bucket or write to it",
		},
	}
}

func awsSharing() []attribute {
	return []attribute{
		{
			name:    "acls-count-again",
			source:  awsDocs + "AmazonS3/latest/userguide/about-object-ownership.html",
			kinds:   []string{"aws_s3_bucket_ownership_controls"},
			paths:   []string{"rule[*].object_ownership"},
			test:    leaves("BucketOwnerEnforced"),
			message: "access lists of objects apply again, and can make them public",
		},
		{
			name:   "image-public",
			source: awsDocs + "AWSEC2/latest/UserGuide/sharingamis-intro.html",
			kinds: []string{
				"aws_ami_launch_permission", "aws_db_snapshot", "aws_db_cluster_snapshot", "aws_db_snapshot_copy",
			},
			paths:   []string{"group", "shared_accounts"},
			test:    addsLike(oneOf([]string{"all"}), "all"),
			message: "everyone with an AWS account can copy the image or the snapshot, and read what is on it",
		},
		{
			name:    "snapshot-shared",
			source:  awsDocs + "AmazonRDS/latest/UserGuide/USER_ShareSnapshot.html",
			kinds:   []string{"aws_db_snapshot", "aws_db_cluster_snapshot", "aws_db_snapshot_copy"},
			paths:   []string{"shared_accounts"},
			test:    adds(),
			message: "another account can copy the snapshot, and read the data in it",
		},
		{
			name:   "shared-with-account",
			source: awsDocs + "ram/latest/userguide/what-is.html",
			test:   creates(),
			risk:   diff.RiskAdditive,
			kinds: []string{
				"aws_ami_launch_permission", "aws_snapshot_create_volume_permission",
				"aws_ram_principal_association", "aws_ram_resource_association",
			},
			message: "other accounts get access to an image, a snapshot or a shared resource",
		},
		{
			name:    "share-leaves-organization",
			source:  awsDocs + "ram/latest/userguide/getting-started-sharing.html",
			kinds:   []string{"aws_ram_resource_share"},
			paths:   []string{"allow_external_principals"},
			test:    turnsOn(),
			message: "resources can be shared with accounts outside the organization",
		},
		{
			name:   "network-joined",
			source: awsDocs + "vpc/latest/peering/what-is-vpc-peering.html",
			test:   creates(),
			risk:   diff.RiskAdditive,
			kinds: []string{
				"aws_vpc_peering_connection", "aws_vpc_peering_connection_accepter",
				"aws_ec2_transit_gateway_vpc_attachment", "aws_ec2_transit_gateway_peering_attachment",
				"aws_vpn_connection",
			},
			message: "the network is connected to another one",
		},
		{
			name:   "route-target",
			source: awsDocs + "vpc/latest/userguide/VPC_Route_Tables.html",
			kinds:  []string{"aws_route"},
			paths: []string{
				"gateway_id", "nat_gateway_id", "network_interface_id", "transit_gateway_id",
				"vpc_peering_connection_id", "vpc_endpoint_id", "egress_only_gateway_id",
			},
			test:    differ(),
			message: "traffic takes another route, where it can be read or stopped",
		},
		{
			name:    "dns-target",
			source:  awsDocs + "Route53/latest/DeveloperGuide/rrsets-working-with.html",
			kinds:   []string{"aws_route53_record", "aws_route53domains_registered_domain"},
			paths:   []string{"records", "alias[*].name", "alias[*].zone_id", "name_server[*].name"},
			test:    differ(),
			message: "the name resolves to another target: traffic follows, and so do certificates that DNS validates",
		},
	}
}

func awsTransport() []attribute {
	return []attribute{
		{
			name:   "balancer-plain",
			source: awsDocs + "elasticloadbalancing/latest/application/create-https-listener.html",
			kinds:  []string{"aws_lb_listener", "aws_alb_listener"},
			paths:  []string{"protocol", "default_action"},
			test: wholeTest("it accepts HTTP without a redirect to HTTPS", plainListener,
				`{"protocol":"HTTPS"}`, `{"protocol":"HTTP"}`),
			risk:    diff.RiskAdditive,
			message: "clients connect without encryption",
		},
		{
			name:    "target-plain",
			source:  awsDocs + "elasticloadbalancing/latest/application/load-balancer-target-groups.html#target-group-routing-configuration",
			kinds:   []string{"aws_lb_target_group", "aws_alb_target_group", "aws_elb"},
			paths:   []string{"protocol", "listener[*].lb_protocol", "listener[*].instance_protocol"},
			test:    leaves("HTTPS", "TLS", "SSL"),
			message: "traffic behind or before the load balancer is no longer encrypted",
		},
		{
			name:   "tls-weaker",
			source: awsDocs + "elasticloadbalancing/latest/application/describe-ssl-policies.html",
			kinds: []string{
				"aws_lb_listener", "aws_alb_listener", "aws_cloudfront_distribution", "aws_api_gateway_domain_name",
				"aws_apigatewayv2_domain_name", "aws_opensearch_domain", "aws_elasticsearch_domain",
			},
			paths: []string{
				"ssl_policy", "viewer_certificate[*].minimum_protocol_version", "security_policy",
				"domain_name_configuration[*].security_policy", "domain_endpoint_options[*].tls_security_policy",
			},
			test:    lowersTLS(),
			message: "clients may connect with an older version of TLS",
		},
		{
			name:   "cdn-plain",
			source: awsDocs + "AmazonCloudFront/latest/DeveloperGuide/using-https-viewers-to-cloudfront.html",
			kinds:  []string{"aws_cloudfront_distribution"},
			paths: []string{
				"default_cache_behavior[*].viewer_protocol_policy",
				"ordered_cache_behavior[*].viewer_protocol_policy",
			},
			test:    becomes("allow-all"),
			message: "viewers can connect without encryption",
		},
		{
			name:    "origin-plain",
			source:  awsDocs + "AmazonCloudFront/latest/DeveloperGuide/using-https-cloudfront-to-custom-origin.html",
			kinds:   []string{"aws_cloudfront_distribution"},
			paths:   []string{"origin[*].custom_origin_config[*].origin_protocol_policy"},
			test:    leaves("https-only"),
			message: "traffic to the origin is no longer always encrypted",
		},
		{
			name:    "https-not-enforced",
			source:  awsDocs + "opensearch-service/latest/developerguide/infrastructure-security.html",
			kinds:   []string{"aws_opensearch_domain", "aws_elasticsearch_domain"},
			paths:   []string{"domain_endpoint_options[*].enforce_https"},
			test:    turnsOff(),
			message: "clients can connect without encryption",
		},
		{
			name:    "in-transit-weaker",
			source:  awsDocs + "msk/latest/developerguide/msk-encryption.html",
			kinds:   []string{"aws_msk_cluster", "aws_elasticache_replication_group"},
			paths:   []string{"encryption_info[*].encryption_in_transit[*].client_broker", "transit_encryption_mode"},
			test:    leaves("TLS", "required"),
			message: "clients can connect without encryption",
		},
		{
			name:    "encryption-block-gone",
			source:  awsDocs + "eks/latest/userguide/enable-kms.html",
			kinds:   []string{"aws_eks_cluster", "aws_dynamodb_table", "aws_ecr_repository"},
			paths:   []string{"encryption_config", "server_side_encryption", "encryption_configuration"},
			test:    becomesEmpty(),
			message: "data is no longer encrypted with the chosen key",
		},
		{
			name:    "encryption-weaker",
			source:  awsDocs + "AmazonS3/latest/userguide/UsingKMSEncryption.html",
			kinds:   []string{"aws_s3_bucket_server_side_encryption_configuration", "aws_kinesis_stream"},
			paths:   []string{"rule[*].apply_server_side_encryption_by_default[*].sse_algorithm", "encryption_type"},
			test:    leaves("aws:kms", "aws:kms:dsse", "KMS"),
			message: "data is no longer encrypted with a key whose use is controlled and logged",
		},
	}
}

func awsAudit() []attribute {
	return []attribute{
		{
			name:   "audit-off",
			source: awsDocs + "awscloudtrail/latest/userguide/best-practices-security.html",
			kinds: []string{
				"aws_cloudtrail", "aws_guardduty_detector", "aws_guardduty_detector_feature",
				"aws_config_configuration_recorder_status", "aws_lb", "aws_alb", "aws_elb", "aws_redshift_cluster",
				"aws_opensearch_domain", "aws_msk_cluster",
			},
			paths: []string{
				"enable_logging", "is_multi_region_trail", "include_global_service_events",
				"enable_log_file_validation", "is_organization_trail", "enable", "status", "is_enabled",
				"access_logs[*].enabled", "logging[*].enable", "log_publishing_options[*].enabled",
				"logging_info[*].broker_logs[*].cloudwatch_logs[*].enabled",
				"logging_info[*].broker_logs[*].s3[*].enabled",
			},
			test:    leaves("true", "ENABLED").described("it was on", `"true"`, `"false"`),
			message: "activity is no longer recorded, or no longer monitored",
		},
		{
			name:   "logs-dropped",
			source: awsDocs + "eks/latest/userguide/control-plane-logs.html",
			kinds: []string{
				"aws_eks_cluster", "aws_db_instance", "aws_rds_cluster", "aws_docdb_cluster", "aws_neptune_cluster",
			},
			paths: []string{
				"enabled_cluster_log_types", "enabled_cloudwatch_logs_exports", "enable_cloudwatch_logs_exports",
			},
			test:    drops(),
			message: "a kind of log, such as the audit log, is no longer written",
		},
		{
			name:   "log-target-gone",
			source: awsDocs + "apigateway/latest/developerguide/set-up-logging.html",
			kinds: []string{
				"aws_api_gateway_stage", "aws_apigatewayv2_stage", "aws_cloudfront_distribution", "aws_lb",
			},
			paths:   []string{"access_log_settings", "logging_config", "access_logs"},
			test:    becomesEmpty(),
			message: "requests are no longer logged",
		},
		{
			name:   "watch-gone",
			source: awsDocs + "prescriptive-guidance/latest/security-reference-architecture/welcome.html",
			test:   destroys(),
			kinds: []string{
				"aws_cloudtrail", "aws_cloudtrail_event_data_store", "aws_guardduty_detector",
				"aws_guardduty_detector_feature", "aws_config_configuration_recorder",
				"aws_config_configuration_recorder_status", "aws_config_delivery_channel", "aws_config_config_rule",
				"aws_flow_log", "aws_wafv2_web_acl", "aws_wafv2_web_acl_association",
				"aws_wafv2_web_acl_logging_configuration", "aws_wafregional_web_acl_association",
				"aws_securityhub_account", "aws_securityhub_standards_subscription", "aws_inspector2_enabler",
				"aws_macie2_account", "aws_accessanalyzer_analyzer", "aws_shield_protection",
				"aws_networkfirewall_firewall", "aws_s3_bucket_logging", "aws_route53_query_log",
				"aws_redshift_logging", "aws_cloudwatch_log_metric_filter",
			},
			message: "something that records, monitors or filters activity in the account is removed",
		},
		{
			name:    "firewall-detached",
			source:  awsDocs + "waf/latest/developerguide/web-acl-associating.html",
			kinds:   []string{"aws_cloudfront_distribution"},
			paths:   []string{"web_acl_id"},
			test:    becomesEmpty(),
			message: "no web application firewall filters requests",
		},
		{
			name:    "firewall-lets-through",
			source:  awsDocs + "waf/latest/developerguide/web-acl-default-action.html",
			kinds:   []string{"aws_wafv2_web_acl"},
			paths:   []string{"default_action[*].block"},
			test:    becomesEmpty(),
			message: "the web application firewall allows requests that no rule blocks",
		},
		{
			name:    "tags-mutable",
			source:  awsDocs + "AmazonECR/latest/userguide/image-tag-mutability.html",
			kinds:   []string{"aws_ecr_repository"},
			paths:   []string{"image_tag_mutability"},
			test:    leaves("IMMUTABLE"),
			message: "a tag can point to another image than the approved one",
		},
		{
			name:    "scan-off",
			source:  awsDocs + "AmazonECR/latest/userguide/image-scanning.html",
			kinds:   []string{"aws_ecr_repository"},
			paths:   []string{"image_scanning_configuration[*].scan_on_push"},
			test:    turnsOff(),
			message: "new images are no longer scanned",
		},
	}
}

func awsRetention() []attribute {
	return []attribute{
		{
			name:    "retention-cut",
			source:  awsDocs + "AmazonCloudWatch/latest/logs/Working-with-log-groups-and-streams.html#SettingLogRetention",
			kinds:   []string{"aws_cloudwatch_log_group"},
			paths:   []string{"retention_in_days"},
			test:    lowers("0"),
			message: "logs are retained for a shorter time; older ones are deleted",
		},
		{
			name:    "queue-retention-cut",
			source:  awsDocs + "AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-configure-queue-parameters.html",
			kinds:   []string{"aws_sqs_queue", "aws_kinesis_stream", "aws_cloudtrail_event_data_store"},
			paths:   []string{"message_retention_seconds", "retention_period"},
			test:    lowers(""),
			plain:   true,
			message: "unread or recorded messages are retained for a shorter time",
		},
		{
			name:   "lifecycle-deletes",
			source: awsDocs + "AmazonS3/latest/userguide/object-lifecycle-mgmt.html",
			kinds:  []string{"aws_s3_bucket_lifecycle_configuration", "aws_s3_bucket"},
			paths: []string{
				"rule[*].expiration[*].days", "rule[*].noncurrent_version_expiration[*].noncurrent_days",
				"lifecycle_rule[*].expiration[*].days", "lifecycle_rule[*].noncurrent_version_expiration[*].days",
			},
			test:    expires(),
			plain:   true,
			message: "objects are deleted after a shorter time, including existing ones",
		},
		{
			name:    "backup-kept-shorter",
			source:  awsDocs + "aws-backup/latest/devguide/creating-a-backup-plan.html",
			kinds:   []string{"aws_backup_plan"},
			paths:   []string{"rule[*].lifecycle[*].delete_after"},
			test:    expires(),
			plain:   true,
			message: "backups are deleted after a shorter time",
		},
		{
			name:   "lock-weaker",
			source: awsDocs + "AmazonS3/latest/userguide/object-lock.html",
			kinds:  []string{"aws_s3_bucket_object_lock_configuration", "aws_backup_vault_lock_configuration"},
			paths: []string{
				"rule[*].default_retention[*].days", "rule[*].default_retention[*].years", "min_retention_days",
			},
			test:    lowers(""),
			message: "objects or backups can be deleted earlier",
		},
		{
			name:    "lock-mode-weaker",
			source:  awsDocs + "AmazonS3/latest/userguide/object-lock.html#object-lock-retention-modes",
			kinds:   []string{"aws_s3_bucket_object_lock_configuration"},
			paths:   []string{"rule[*].default_retention[*].mode"},
			test:    leaves("COMPLIANCE"),
			message: "objects can be deleted before their time by those who may bypass the lock",
		},
		{
			name:   "recovery-gone",
			source: awsDocs + "AmazonS3/latest/userguide/Versioning.html",
			test:   destroys(),
			kinds: []string{
				"aws_s3_bucket_versioning", "aws_s3_bucket_object_lock_configuration",
				"aws_backup_vault_lock_configuration", "aws_backup_plan", "aws_backup_selection",
				"aws_dlm_lifecycle_policy", "aws_db_instance_automated_backups_replication",
				"aws_s3_bucket_replication_configuration", "aws_secretsmanager_secret_rotation",
			},
			message: "versions, copies, locks or rotations that limit the damage of a mistake are removed",
		},
		{
			name:    "recovery-off",
			source:  awsDocs + "amazondynamodb/latest/developerguide/PointInTimeRecovery.html",
			kinds:   []string{"aws_dynamodb_table"},
			paths:   []string{"point_in_time_recovery[*].enabled"},
			test:    turnsOff(),
			message: "the table can no longer be restored to a point in time",
		},
	}
}

// flowTest reports objects that newly admit most of the internet. The paths of the rule only select
// the fields that must differ.
func flowTest(kind, strong, weak string) test {
	t := wholeTest("traffic is newly allowed from most of the internet", nil, strong, weak)
	t.kind = kind
	t.object = func(l subjectView) bool {
		_, world := opens(inbound(l.kind, l.before), inbound(l.kind, l.after))
		return world
	}
	return t
}

// wholeTest reports objects for which holds becomes true.
func wholeTest(when string, holds func(raw.Value) bool, strong, weak string) test {
	return test{when: when, actions: actionsPresent, strong: strong, weak: weak, object: func(l subjectView) bool {
		return holds(l.after) && (l.before.IsNull() || !holds(l.before))
	}}
}

// onLoss extends a test to objects that are destroyed.
func onLoss(t test) test {
	t.actions = actionsExisting
	return t
}

func plainListener(v raw.Value) bool {
	redirects := false
	for _, action := range oneOrMore(get(v, "default_action")) {
		redirects = redirects || text(get(action, "type")) == "redirect"
	}
	return strings.EqualFold(text(get(v, "protocol")), "HTTP") && !redirects
}
