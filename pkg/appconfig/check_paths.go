package appconfig

import (
	"maps"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// The paths below .nuon: section 3.2 of the format. There are no aliases here: the paths that
// templates read are canonical.

// pathRoots maps the keys below .nuon to the keys below each. nil means that another check covers
// them, or that anything may follow.
var pathRoots = map[string][]string{
	"install":       {"id", "name", "public_domain", "internal_domain", "inputs", "sandbox"},
	"inputs":        {"inputs", "populated"},
	"org":           {"id", "name", "status", "populated"},
	"app":           {"id", "name", "status", "populated", "variables"},
	"sandbox":       {"outputs", "status", "type", "version", "populated", "recent_runs"},
	"components":    nil,
	"actions":       {"workflows", "populated"},
	"secrets":       nil,
	"install_stack": {"outputs", "populated", "status", "checksum", "quick_link_url", "template_url", "template_json"},
	"cloud_account": {cloudAWS, cloudAzure, cloudGCP},
	"runner":        {"id", "runner_group_id", "status", "populated"},
	"domain":        {"public_domain", "internal_domain", "populated"},
	"stale_at":      nil,
}

var (
	componentFields = []string{"outputs", "status", "build_id", "component_id", "install_component_id", "name",
		"populated"}
	actionFields = []string{"outputs", "id", "status", "populated"}
	secretFields = []string{"arn", "name", "kubernetes_namespace", "kubernetes_name", "kubernetes_key", "timestamp",
		"length", "exists"}
	imageFields = []string{"repository", "tag", "digest", "media_type", "size", "urls", "annotations",
		"artifact_type", "platform"}
)

// outputRoots are the outputs that each kind of component can have. The outputs of a kind that is
// not listed depend on its module.
var outputRoots = map[string][]string{
	format.KindContainerImage:     {"image"},
	format.KindDockerBuild:        {"image"},
	format.KindHelmChart:          {"manifest", "resources", "ingresses", "services", "deployments"},
	format.KindKubernetesManifest: {"manifest", "resources", "ingresses", "services", "deployments"},
}

// rootsWithoutValuesYet have no value in an install yet, because what provides them has no effect yet.
var rootsWithoutValuesYet = []string{"install_stack", "cloud_account", "secrets", "domain"}

// The clouds.
const (
	cloudAWS   = "aws"
	cloudAzure = "azure"
	cloudGCP   = "gcp"
)

var clouds = []string{cloudAWS, cloudAzure, cloudGCP}

// cloudLabels are the names of the clouds in messages.
var cloudLabels = map[string]string{cloudAWS: "AWS", cloudAzure: "Azure", cloudGCP: "GCP"}

// accountFields are the keys of .nuon.cloud_account, by cloud.
var accountFields = map[string][]string{
	cloudAWS:   {"region"},
	cloudAzure: {"location"},
	cloudGCP:   {"project_id", "region"},
}

// stackOutputs are the outputs of the customer's stack, by cloud. Those of GCP depend on the
// modules of the stack, so others are possible there.
var stackOutputs = map[string][]string{
	cloudAWS: {
		"account_id", "region", "vpc_id", "runner_subnet", "public_subnets", "private_subnets", "runner_iam_role_arn",
		"provision_iam_role_arn",
		"maintenance_iam_role_arn", "deprovision_iam_role_arn", "break_glass_role_arns", "custom_role_arns",
		"phone_home_type",
	},
	cloudAzure: {
		"resource_group_id", "resource_group_name", "resource_group_location", "subscription_id",
		"subscription_tenant_id", "network_id", "network_name",
		"public_subnet_ids", "public_subnet_names", "private_subnet_ids", "private_subnet_names", "key_vault_id",
		"key_vault_name",
	},
	cloudGCP: {"project_id", "region", "network_name", "private_subnet_names", "public_subnet_names",
		"gke_node_pool_sa_email"},
}

// sharedStackOutputs exist on every cloud.
var sharedStackOutputs = []string{"install_inputs", nestedStacksOutput, "phone_home_type"}

const nestedStacksOutput = "custom_nested_stacks"

// cloudsOfOutput returns the clouds whose stacks have an output.
func cloudsOfOutput(name string) []string {
	var found []string
	for _, cloud := range clouds {
		if slices.Contains(stackOutputs[cloud], name) {
			found = append(found, cloudLabels[cloud])
		}
	}
	return found
}

// cloudOf returns the cloud of a runner type or of a stack type, empty if it has none.
func cloudOf(kind string) string {
	cloud, _, _ := strings.Cut(kind, "-")
	if slices.Contains(clouds, cloud) {
		return cloud
	}
	return ""
}

// rootNames returns the keys below .nuon.
func rootNames() []string { return slices.Collect(maps.Keys(pathRoots)) }
