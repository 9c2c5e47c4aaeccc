package jobenv

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// harmless are the variables of a cloud that name no identity: those that a job keeps when it runs under a role.
var harmless = map[string][]string{
	"aws": {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CA_BUNDLE", "AWS_STS_REGIONAL_ENDPOINTS", "AWS_USE_FIPS_ENDPOINT",
		"AWS_USE_DUALSTACK_ENDPOINT", "AWS_RETRY_MODE", "AWS_MAX_ATTEMPTS"},
	"azure": {"ARM_SUBSCRIPTION_ID", "ARM_TENANT_ID", "ARM_ENVIRONMENT", "AZURE_SUBSCRIPTION_ID", "AZURE_TENANT_ID"},
	"gcp":   {"GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "GOOGLE_REGION", "GOOGLE_ZONE"},
}

var cloudPrefixes = map[string][]string{"aws": {"AWS_"}, "azure": {"ARM_", "AZURE_", "IDENTITY_", "MSI_"},
	"gcp": {"GOOGLE_", "CLOUDSDK_", "GCE_METADATA_"}}

// varRole is the variable in which a job process keeps what its programs get instead of the runner's own identity.
const varRole = "NUON_JOB_ROLE"

// role is the content of varRole.
type role struct {
	Cloud   string            `json:"cloud"`
	Environ map[string]string `json:"environ"`
}

// UseRole makes ToolEnv of this process return the variables of a role instead of those by which a program would act
// as the runner itself in that cloud. The process itself still acts as the runner.
func UseRole(cloud string, environ map[string]string) error {
	encoded, err := json.Marshal(role{Cloud: cloud, Environ: environ})
	if err != nil {
		return fmt.Errorf("use the role of the job: %w", err)
	}
	return os.Setenv(varRole, string(encoded))
}

// applyRole replaces the runner's own identity in the environment of a program. A role that cannot be decoded removes
// it from all clouds.
func applyRole(environ []string, made map[string]string) {
	encoded := Lookup(environ, varRole)
	if encoded == "" {
		return
	}
	var used role
	if json.Unmarshal([]byte(encoded), &used) != nil {
		maps.DeleteFunc(made, func(name, _ string) bool { return isIdentity(name) })
		return
	}
	maps.DeleteFunc(made, func(name, _ string) bool { return isOwnIdentity(used.Cloud, name) })
	maps.Copy(made, used.Environ)
}

// isOwnIdentity reports whether a variable makes a program act as the runner itself in a cloud.
func isOwnIdentity(cloud, name string) bool {
	if slices.Contains(harmless[cloud], name) || strings.HasPrefix(name, "AWS_ENDPOINT_URL") {
		return false
	}
	return slices.ContainsFunc(cloudPrefixes[cloud], func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
