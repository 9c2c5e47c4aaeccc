package risk

import "github.com/nuon-toolkit/nuon/diff"

// awsRights returns the rules for who may do what in an AWS account.
func awsRights() []attribute {
	return []attribute{
		{
			name:   "managed-admin-policy",
			source: awsDocs + "IAM/latest/UserGuide/access_policies_job-functions.html",
			kinds: []string{
				"aws_iam_role_policy_attachment", "aws_iam_user_policy_attachment",
				"aws_iam_group_policy_attachment", "aws_iam_policy_attachment", "aws_iam_role",
				"aws_ssoadmin_managed_policy_attachment", "aws_iam_role_policy_attachments_exclusive",
			},
			paths: []string{"policy_arn", "managed_policy_arns", "managed_policy_arn", "policy_arns"},
			test: like(adminPolicy, "arn:aws:iam::aws:policy/AdministratorAccess",
				"it is AdministratorAccess, PowerUserAccess, IAMFullAccess or AWSOrganizationsFullAccess"),
			message: "users, groups or roles get a managed policy with the rights of an administrator",
		},
		{
			name:    "managed-policy-added",
			source:  awsDocs + "IAM/latest/UserGuide/access_policies_manage-attach-detach.html",
			kinds:   []string{"aws_iam_role", "aws_iam_role_policy_attachments_exclusive"},
			paths:   []string{"managed_policy_arns", "policy_arns"},
			test:    adds(),
			risk:    diff.RiskAdditive,
			message: "the role gets the rights of one more managed policy",
		},
		{
			name:   "cluster-admin-access",
			source: awsDocs + "eks/latest/userguide/access-policy-permissions.html",
			kinds:  []string{"aws_eks_access_policy_association"},
			paths:  []string{"policy_arn"},
			test: like(clusterAdmin, "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
				"it is an admin policy of EKS"),
			message: "a principal gets all rights in the cluster, or in its namespaces",
		},
		{
			name:    "cluster-access-entry",
			source:  awsDocs + "eks/latest/userguide/access-entries.html",
			kinds:   []string{"aws_eks_access_entry"},
			paths:   []string{"principal_arn"},
			test:    creates(),
			risk:    diff.RiskAdditive,
			message: "a principal can log in to the Kubernetes API of the cluster",
		},
		{
			name:    "cluster-access-groups",
			source:  awsDocs + "eks/latest/userguide/access-entries.html#creating-access-entries",
			kinds:   []string{"aws_eks_access_entry"},
			paths:   []string{"kubernetes_groups"},
			test:    adds(),
			message: "a principal gets the rights of one more group in the cluster",
		},
		{
			name:    "cluster-access-name",
			source:  awsDocs + "eks/latest/userguide/access-entries.html#creating-access-entries",
			kinds:   []string{"aws_eks_access_entry"},
			paths:   []string{"user_name", "principal_arn"},
			test:    differ(),
			message: "a principal of the cluster gets another name, with the rights that are bound to it",
		},
		{
			name:    "pod-identity",
			source:  awsDocs + "eks/latest/userguide/pod-identities.html",
			kinds:   []string{"aws_eks_pod_identity_association"},
			test:    creates(),
			risk:    diff.RiskAdditive,
			message: "pods of a service account get the rights of an IAM role",
		},
		{
			name:   "role-of-workload",
			source: awsDocs + "IAM/latest/UserGuide/id_roles_use_switch-role-ec2.html",
			kinds: []string{
				"aws_instance", "aws_launch_template", "aws_lambda_function", "aws_ecs_task_definition",
				"aws_eks_node_group", "aws_eks_pod_identity_association", "aws_eks_addon",
			},
			paths: []string{
				"iam_instance_profile", "iam_instance_profile[*].name", "iam_instance_profile[*].arn", "role",
				"task_role_arn", "execution_role_arn", "node_role_arn", "role_arn", "service_account_role_arn",
			},
			test:    differ(),
			message: "it gets the rights of another IAM role",
		},
	}
}

func awsLogins() []attribute {
	return []attribute{
		{
			name:   "login-made",
			source: awsDocs + "IAM/latest/UserGuide/id_credentials_passwords.html",
			risk:   diff.RiskAdditive,
			test:   creates(),
			kinds: []string{
				"aws_iam_user_login_profile", "aws_iam_user_ssh_key", "aws_iam_service_specific_credential",
			},
			message: "a person gets a login or a credential for the account",
		},
		{
			name:    "group-member-added",
			source:  awsDocs + "IAM/latest/UserGuide/id_groups_manage_add-remove-users.html",
			kinds:   []string{"aws_iam_group_membership", "aws_iam_user_group_membership"},
			paths:   []string{"users", "groups"},
			test:    adds(),
			risk:    diff.RiskAdditive,
			message: "a user gets the rights of a group",
		},
		{
			name:   "identity-provider",
			source: awsDocs + "IAM/latest/UserGuide/id_roles_providers.html",
			risk:   diff.RiskAdditive,
			test:   creates(),
			kinds: []string{
				"aws_iam_openid_connect_provider", "aws_iam_saml_provider", "aws_rolesanywhere_trust_anchor",
				"aws_eks_identity_provider_config",
			},
			message: "tokens or certificates of another issuer are accepted for roles that trust it",
		},
		{
			name:    "identity-provider-trust",
			source:  awsDocs + "IAM/latest/UserGuide/id_roles_providers_create_oidc_verify-thumbprint.html",
			kinds:   []string{"aws_iam_openid_connect_provider", "aws_iam_saml_provider"},
			paths:   []string{"thumbprint_list", "client_id_list", "url", "saml_metadata_document"},
			test:    differ(),
			message: "tokens of another issuer, or for another audience, are accepted",
		},
		{
			name:    "password-policy-weaker",
			source:  awsDocs + "IAM/latest/UserGuide/id_credentials_passwords_account-policy.html",
			kinds:   []string{"aws_iam_account_password_policy", "aws_cognito_user_pool"},
			paths:   []string{"minimum_password_length", "password_policy[*].minimum_length"},
			test:    lowers(""),
			message: "shorter passwords are accepted",
		},
		{
			name:    "mfa-off",
			source:  awsDocs + "cognito/latest/developerguide/user-pool-settings-mfa.html",
			kinds:   []string{"aws_cognito_user_pool"},
			paths:   []string{"mfa_configuration"},
			test:    leaves("ON"),
			message: "users can log in without a second factor",
		},
		{
			name:    "authentication-off",
			source:  awsDocs + "apigateway/latest/developerguide/apigateway-control-access-to-api.html",
			kinds:   []string{"aws_api_gateway_method", "aws_apigatewayv2_route"},
			paths:   []string{"authorization", "authorization_type"},
			test:    becomes("NONE"),
			message: "callers are no longer authenticated, or never were",
		},
		{
			name:    "database-authentication-off",
			source:  awsDocs + "AmazonElastiCache/latest/dg/auth.html",
			kinds:   []string{"aws_elasticache_replication_group", "aws_db_instance", "aws_rds_cluster"},
			paths:   []string{"auth_token", "iam_database_authentication_enabled"},
			test:    either(turnsOff(), becomesEmpty()).described("it was set or on", `"true"`, `"false"`),
			message: "clients connect without a token, or no longer with their IAM role",
		},
		{
			name:   "guardrail-gone",
			source: awsDocs + "organizations/latest/userguide/orgs_manage_policies_scps.html",
			test:   destroys(),
			kinds: []string{
				"aws_organizations_policy", "aws_organizations_policy_attachment",
				"aws_iam_account_password_policy", "aws_vpc_block_public_access_options",
				"aws_s3_bucket_ownership_controls", "aws_ec2_image_block_public_access",
				"aws_ebs_snapshot_block_public_access", "aws_emr_block_public_access_configuration",
			},
			message: "a limit on the whole account or bucket is removed",
		},
	}
}

func awsKeys() []attribute {
	return []attribute{
		{
			name:    "key-grant",
			source:  awsDocs + "kms/latest/developerguide/grants.html",
			kinds:   []string{"aws_kms_grant"},
			paths:   []string{"grantee_principal"},
			test:    creates(),
			risk:    diff.RiskAdditive,
			message: "a principal may use the key, regardless of its policy",
		},
		{
			name:    "key-policy-unlocked",
			source:  awsDocs + "kms/latest/developerguide/key-policy-default.html#prevent-unmanageable-key",
			kinds:   []string{"aws_kms_key", "aws_kms_external_key", "aws_kms_replica_key"},
			paths:   []string{"bypass_policy_lockout_safety_check"},
			test:    turnsOn(),
			message: "the key can get a policy that locks everyone out",
		},
	}
}
