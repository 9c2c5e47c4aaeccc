package ambient

import "slices"

// choosing are the variables that choose on what an identity works: the account, project, subscription, cluster or region.
// Credentials change by themselves, and are not among them.
var choosing = []string{
	"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ROLE_ARN",
	"GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "GOOGLE_REGION", "GOOGLE_ZONE", "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT",
	"ARM_SUBSCRIPTION_ID", "ARM_TENANT_ID", "ARM_ENVIRONMENT", "AZURE_SUBSCRIPTION_ID", "AZURE_TENANT_ID",
	"KUBECONFIG", "KUBE_CONFIG_PATH", "KUBE_CONFIG_PATHS", "KUBE_CTX", "KUBE_HOST", "KUBERNETES_SERVICE_HOST",
}

// Target gives the variables of a job process's environment that choose on what its identity works. A provider reads them at plan
// and again at apply, so a plan that was made under other ones would be applied to something else.
func Target(environ []string) map[string]string {
	made := map[string]string{}
	for name, value := range ForTool(environ) {
		if slices.Contains(choosing, name) {
			made[name] = value
		}
	}
	return made
}
