package jobenv

import "slices"

// targetNames are the variables that select the target of an identity: the account,
// project, subscription, cluster or region. Credentials are not among them, because
// they change regularly.
var targetNames = []string{
	"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ROLE_ARN",
	"GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "GOOGLE_REGION", "GOOGLE_ZONE",
	"GOOGLE_IMPERSONATE_SERVICE_ACCOUNT",
	"ARM_SUBSCRIPTION_ID", "ARM_TENANT_ID", "ARM_ENVIRONMENT", "AZURE_SUBSCRIPTION_ID", "AZURE_TENANT_ID",
	"KUBECONFIG", "KUBE_CONFIG_PATH", "KUBE_CONFIG_PATHS", "KUBE_CTX", "KUBE_HOST", "KUBERNETES_SERVICE_HOST",
}

// Target returns the variables of a job process's environment that select the target of its
// identity. A provider reads them during the plan and again during the apply, so with other
// values an apply would change another target than planned.
func Target(environ []string) map[string]string {
	made := map[string]string{}
	for name, value := range ToolEnv(environ) {
		if slices.Contains(targetNames, name) {
			made[name] = value
		}
	}
	return made
}
