package secret_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
)

// hold are names of provider attributes, chart and custom resource settings,
// and environment variables that hold a secret.
const hold = `
	aws_db_instance.password aws_rds_cluster.master_password aws_secretsmanager_secret_version.secret_string
	aws_secretsmanager_secret_version.secret_binary aws_secretsmanager_secret_version.secret_string_wo aws_elasticache_user.passwords
	aws_elasticache_replication_group.auth_token aws_iam_access_key.secret aws_iam_access_key.ses_smtp_password_v4
	aws_acm_certificate.private_key aws_lb_listener.client_secret aws_dms_endpoint.password aws_db_instance.password_wo
	aws_directory_service_directory.password aws_redshift_cluster.master_password aws_ecr_authorization_token.authorization_token
	google_sql_user.password google_sql_database_instance.root_password google_client_config.access_token
	google_service_account_key.private_key google_storage_hmac_key.secret google_iap_client.secret
	google_certificate_manager_certificate.pem_private_key google_secret_manager_secret_version.secret_data
	azurerm_mssql_server.administrator_login_password azurerm_storage_account.primary_connection_string
	azurerm_storage_account.primary_access_key azurerm_cosmosdb_account.primary_master_key azurerm_linux_virtual_machine.admin_password
	azurerm_container_app_environment.dapr_application_insights_connection_string azurerm_log_analytics_workspace.primary_shared_key
	azuread_application_password.client_secret azurerm_kubernetes_cluster.admin_password azurerm_batch_account.account_key
	helm_release.repository_password vault_token.client_token datadog.api_key tls_private_key.private_key_openssh
	github_actions_secret.plaintext_secret cloudflare.api_token
	DB_PASSWORD MYSQL_PWD PGPASSWORD AWS_SECRET_ACCESS_KEY SECRET_KEY_BASE REDIS_PASSWORD SMTP_PASS GITHUB_TOKEN OPERATOR_SECRET
	ANTHROPIC_API_KEY STRIPE_SECRET_KEY JWT_SECRET CONNECTION_STRING SLACK_BOT_TOKEN DATABASE_PASSWORD_2 GF_SECURITY_ADMIN_PASSWORD
	OPENAI_APIKEY APIKey dbPass sessionToken smtp-pass COOKIE_SECRET
	auth.postgresPassword auth.replicationPassword auth.password adminPassword rootPassword mariadb.auth.rootPassword grafana.adminPassword
	clientSecret oidc.clientSecret bearerToken webhookSecret jwtSecret cookieSecret redis.auth.password accessToken sharedSecret
	basicAuth.password encryptionKey masterKey privateKey signingKey example.com/api-key spec.credentials licenseKey`

// plain are similar names that hold no secret.
const plain = `
	aws_iam_account_password_policy.max_password_age aws_iam_account_password_policy.password_reuse_prevention
	aws_iam_account_password_policy.minimum_password_length aws_secretsmanager_secret_version.secret_id aws_db_instance.master_user_secret_arn
	aws_db_instance.password_wo_version aws_elasticache_replication_group.auth_token_update_strategy aws_instance.http_tokens
	aws_s3_bucket.kms_master_key_id aws_kms_key.customer_master_key_spec aws_instance.key_name aws_key_pair.public_key
	aws_apigatewayv2_api.api_key_selection_expression aws_ecs_task_definition.credentials_parameter aws_efs_file_system.creation_token
	aws_apigatewayv2_authorizer.authorizer_credentials_arn aws_iam_access_key.access_key_id aws_lb_listener.token_endpoint
	aws_dynamodb_table.hash_key aws_s3_object.kms_key_id aws_cognito_user_pool_client.access_token_validity aws_cognito_user_pool.password_policy
	aws_secretsmanager_secret.recovery_window_in_days aws_db_instance.domain_auth_secret_arn aws_s3tables_table.version_token
	google_sql_user.password_policy google_sql_database_instance.password_change_interval google_sql_database_instance.encryption_key_name
	google_artifact_registry_repository.password_secret_version google_container_cluster.secret_uri google_sql_user.password_expiration_duration
	google_secret_manager_secret.secret_id google_container_cluster.boot_disk_kms_key google_service_account_key.public_key_type
	azurerm_container_app.password_secret_name azurerm_container_app.key_vault_secret_id azurerm_kubernetes_cluster.secret_rotation_interval
	azurerm_key_vault.secret_permissions azuread_application.access_token_version azurerm_mssql_server.credential_type
	kubernetes_pod.gmsa_credential_spec kubernetes_pod.gmsa_credential_spec_name kubernetes_persistent_volume.secret_namespace
	vault_jwt_role.token_ttl vault_jwt_role.token_max_ttl vault_jwt_role.token_bound_cidrs vault_jwt_role.token_policies vault_role.token_num_uses
	vault_approle_auth_backend_role.secret_id_ttl vault_jwt_role.token_period vault_aws_secret_backend.secret_path
	secretName existingSecret auth.existingSecret passwordSecretName secretKeyRef secretRef tokenRef passwordRef accessTokenRef appSecretName
	imagePullSecret pullSecrets extraEnvVarsSecret secretNames tls.certificatesSecret primary.initdb.scriptsSecret tls.existingSecret
	tokenExpirationSeconds tokenTTL passwordPolicy secretStoreRef secretAnnotations secretLabels tokenReview tokenRequests.audience
	credentialSpec secretProviderClass secrets-format checksum/secret checksum/secrets cert-manager.io/inject-ca-from-secret
	SECRET_ARN DB_SECRET_NAME TOKEN_URL PASSWORD_FILE CLIENT_SECRET_FILE SECRETS_MANAGER_REGION AWS_ACCESS_KEY_ID PASSWORD_MIN_LENGTH MAX_TOKENS
	ANTHROPIC_API_KEY_PARAM METALLB_ML_SECRET_NAME METALLB_ML_SECRET_KEY_PATH WEBHOOK_SECRET_NAME TOKEN_URLS_2 PASSWORDFILE
	ARGOCD_APPLICATIONSET_CONTROLLER_TOKENREF_STRICT_MODE api-token-secret-namespace kubernetes_secret_name db_secret_owner
	token.actions.githubusercontent.com:sub secretsmanager:ResourceTag/team bypass keyboard compass passive topologyKey tokenizer TOKENS`

// TestNamesOfProvidersAndCharts checks that, of these real names, exactly
// those of secrets are found.
func TestNamesOfProvidersAndCharts(t *testing.T) {
	for names, want := range map[string]bool{hold: true, plain: false} {
		if n := len(strings.Fields(names)); n < 80 {
			t.Errorf("%d names", n)
		}
		for _, name := range strings.Fields(names) {
			got := secret.Name(name)
			if name == "aws_elasticache_user.passwords" {
				got = secret.Value(name, raw.Of([]any{"x7-planted"}), secret.Name)
			}
			if got != want {
				t.Errorf("%s: %t, want %t", name, got, want)
			}
		}
	}
}

// TestValuesUnderNames checks that a reference, a switch, a small number and
// the name of an object are no secrets under any name.
func TestValuesUnderNames(t *testing.T) {
	number := func(s string) any { return json.Number(s) }
	for _, c := range []struct {
		name  string
		value any
		want  bool
	}{
		{"password", "hunter2", true}, {"password", "changeme", true}, {"password", number("12345678"), true},
		{"password", number("12"), false},
		{"password", true, false}, {"password", "true", false}, {"password", "$DB_PASSWORD", false},
		{"password", "${DB}", false},
		{"password", "$ecret9", true}, {"password", "$2a$10$abcdefgh", true}, {"password", "/abc+D3F4567==", true},
		{"password", nil, false},
		{"clientSecret", "$oidc.auth.clientSecret", false}, {"clientSecret", "my-app-secret", true},
		{"DB_SECRET", "my-app-secret", true},
		{"secret", "my-app-secret", false}, {"secret", "my-app-8f3e9d1c", true}, {"secret", "hunter", true},
		{"secret", "Summer-Time", true},
		{"secret", "projects/1/secrets/db/versions/2", false}, {"credentials", "gcp-creds", false},
		{"credentials", "a1b2c3d4e5", true},
		{"secretKey", "password", false}, {"passwordKey", "admin-password", false},
		{"secretKey", "wJalrXUtnFEMI/K7MDENG", true},
		{"private_key", "/etc/ssl/private/tls.key", false}, {"private_key", "~/.ssh/key", false},
		{"encryption_key", "alias/shop", false},
		{"encryption_key", "projects/shop/locations/eu/keyRings/a/cryptoKeys/b", false},
		{"password", "ref+vault://kv/db#pw", false},
		{"token", "arn:aws:secretsmanager:eu-west-1:123456789012:secret:a", false},
		{"token", "https://idp.example.com/token", false},
		{"token", "https://hooks.example.com/T0/aB3dE6gH9jK2", true},
		{"secret", "https://shop.vault.azure.net/secrets/db", false},
		{"apiKeys", []any{map[string]any{"name": "a", "value": "b1"}}, true}, {"pullSecrets", []any{"regcred"}, false},
		{"password", map[string]any{"value": "x1"}, true}, {"password", map[string]any{"name": "db", "key": "pw"}, false},
		{"token_bound_cidrs", []any{"10.0.0.0/8"}, false}, {"access_token_validity", number("3600"), false},
	} {
		if got := secret.Value(c.name, raw.Of(c.value), secret.Name); got != c.want {
			t.Errorf("%s: %v: %t, want %t", c.name, c.value, got, c.want)
		}
	}
}
