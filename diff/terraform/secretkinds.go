package terraform

import (
	"bytes"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// This file lists the resources and data sources that have secret attributes with inconspicuous
// names. Their providers mark these attributes, but the plan of an older provider or another
// program may lack the marks.

// secretAttributes lists the attributes that hold secrets, by type. A star at the end of a type
// matches any suffix.
var secretAttributes = []struct{ types, attributes string }{
	{"kubernetes_secret kubernetes_secret_v1 kubernetes_secret_v1_data", "data binary_data"},
	{"random_password random_bytes", "result bcrypt_hash base64 hex"},
	{"tls_private_key tls_locally_signed_cert", "private_key_pem private_key_openssh private_key_pem_pkcs8"},
	{"aws_secretsmanager_secret_version", "secret_string secret_binary"},
	{"aws_secretsmanager_random_password", "random_password"},
	{"aws_api_gateway_api_key azurerm_app_configuration_key", "value"},
	{"aws_appsync_api_key datadog_api_key datadog_application_key", "key"},
	{"aws_kms_ciphertext google_kms_secret_ciphertext google_kms_secret", "plaintext"},
	{"aws_kms_secrets", "plaintext"},
	{"azurerm_key_vault_secret azuread_application_password azuread_service_principal_password", "value"},
	{"google_secret_manager_secret_version* google_secret_manager_regional_secret_version*", "secret_data"},
	{"vault_generic_secret vault_kv_secret vault_kv_secret_v2 vault_generic_endpoint",
		"data data_json write_data write_data_json"},
	{"github_actions_secret github_actions_*_secret github_dependabot_* github_codespaces_*",
		"plaintext_value encrypted_value"},
	{"gitlab_project_variable gitlab_group_variable gitlab_instance_variable", "value"},
	{"circleci_environment_variable circleci_context_environment_variable", "value"},
	{"cloudflare_api_token cloudflare_account_token", "value"},
	{"doppler_secret bitwarden_secret akeyless_static_secret infisical_secret passwordstore_secret", "value"},
	{"doppler_secrets infisical_secrets", "map secrets"},
	{"scaleway_secret_version", "data"},
	{"ibm_sm_arbitrary_secret", "payload"},
	{"oci_vault_secret", "secret_content"},
	{"nomad_variable", "items"},
	{"heroku_config heroku_app_config_association", "sensitive_vars sensitive_config_vars"},
	{"sops_file", "data raw"},
	{"local_sensitive_file", "content content_base64 sensitive_content"},
}

// switched lists the types of which an attribute is a secret only if another attribute has a value.
var switched = []struct{ kind, attribute, by, value string }{
	{"aws_ssm_parameter", "value", "type", "SecureString"},
	{"tfe_variable", "value", "sensitive", "true"},
	{"spacelift_environment_variable", "value", "write_only", "true"},
	{"env0_configuration_variable", "value", "is_sensitive", "true"},
	{"vercel_project_environment_variable", "value", "sensitive", "true"},
	{"bitbucket_repository_variable", "value", "secured", "true"},
	{"bitbucket_deployment_variable", "value", "secured", "true"},
}

// secretAttributesOf returns the secret attributes of a type; nil for most types.
var secretAttributesOf = func() func(kind string) []string {
	exact := map[string][]string{}
	type pattern struct {
		start, end string
		attributes []string
	}
	var patterns []pattern
	for _, t := range secretAttributes {
		attributes := strings.Fields(t.attributes)
		for _, kind := range strings.Fields(t.types) {
			if start, end, found := strings.Cut(kind, "*"); found {
				patterns = append(patterns, pattern{start, end, attributes})
			} else {
				exact[kind] = attributes
			}
		}
	}
	for _, s := range switched {
		exact[s.kind] = append(exact[s.kind], s.attribute)
	}
	return func(kind string) []string {
		if attributes, ok := exact[kind]; ok {
			return attributes
		}
		for _, p := range patterns {
			if strings.HasPrefix(kind, p.start) && strings.HasSuffix(kind, p.end) {
				return p.attributes
			}
		}
		return nil
	}
}()

// secretByKind reports whether an attribute is a secret by the type of its resource.
func secretByKind(kind, attribute string, resource diff.Raw) bool {
	for _, a := range secretAttributesOf(kind) {
		if a == attribute {
			return switchedOn(kind, attribute, resource)
		}
	}
	return false
}

// switchedOn reports whether no other attribute declares this one as not secret.
func switchedOn(kind, attribute string, resource diff.Raw) bool {
	for _, s := range switched {
		if s.kind == kind && s.attribute == attribute {
			v, _ := resource.Get(s.by)
			text, _ := raw.Text(v)
			return text == s.value
		}
	}
	return true
}

// secretsOfKind calls found with the attributes of a resource that are secrets by its type.
func secretsOfKind(kind string, resource diff.Raw, found func(diff.Raw)) {
	for _, a := range secretAttributesOf(kind) {
		if v, ok := resource.Get(a); ok && !v.IsNull() && switchedOn(kind, a, resource) {
			found(v)
		}
	}
}

// mayHoldSecrets reports whether the text of a resource in a state names a type with secrets. It is
// a cheap check before decoding.
func mayHoldSecrets(text []byte) bool {
	_, rest, found := bytes.Cut(text, []byte(`"type"`))
	if !found {
		return false
	}
	rest = bytes.TrimLeft(rest, ": \t\r\n")
	if len(rest) == 0 || rest[0] != '"' {
		return false
	}
	kind, _, found := bytes.Cut(rest[1:], []byte(`"`))
	return found && secretAttributesOf(string(kind)) != nil
}
