package apps

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/examples/internal/cloud/standin"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// region is the region of installs in each cloud.
var region = map[string]string{"aws": "us-east-1", "gcp": "us-central1", "azure": "westus2"}

// account returns the flags for the cloud account of an install.
func (a *App) account() []string {
	switch cloud := standin.Cloud(a.config); cloud {
	case "aws":
		return []string{"--account", "aws.region=" + region[cloud]}
	case "azure":
		return []string{"--account", "azure.location=" + region[cloud]}
	case "gcp":
		return []string{"--account", "gcp.project_id=demo-project", "--account", "gcp.region=" + region[cloud]}
	}
	return nil
}

// inputs returns the values of the inputs that have no default: those of an installs/*.toml if there is
// one, and otherwise plausible ones.
func (a *App) inputs() (plain, secret map[string]string) {
	plain, secret = map[string]string{}, map[string]string{}
	for _, input := range a.config.Inputs {
		if input.Default != nil && *input.Default != "" {
			continue
		}
		value := plausible(input)
		for _, install := range a.config.Installs {
			if set := install.Inputs[input.Name]; set != "" {
				value = set
			}
		}
		if input.Sensitive {
			secret[input.Name] = value
		} else {
			plain[input.Name] = value
		}
	}
	return plain, secret
}

// plausible returns a value of an input by its type and name.
func plausible(input appconfig.Input) string {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(input.Name, part) })
	}
	switch input.Type {
	case "number":
		return "1"
	case "bool":
		return "false"
	case "list":
		return "[]"
	case "json", "yaml", "hcl":
		return "{}"
	}
	switch {
	case has("ssh"):
		return "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFtMLc3yhJTqNz6nJ2yqk8gkMLsEhkkNUDHp7cGH0aZT vera@customer.example"
	case has("email"):
		return "vera@customer.example"
	case has("cidr"):
		return "10.20.0.0/16"
	case has("domain", "host"):
		return "customer.example"
	case has("url"):
		return "https://customer.example"
	case has("version"):
		return "1.34"
	}
	return "demo-" + strings.ReplaceAll(input.Name, "_", "-")
}

// refs returns the paths that the templates of an app read, without its README.
func (a *App) refs() (paths [][]string) {
	components := append([]appconfig.Component{*a.config.Sandbox}, a.config.Components...)
	for i := range components {
		for _, ref := range components[i].Refs() {
			paths = append(paths, ref)
		}
	}
	for i := range a.config.Actions {
		for _, ref := range a.config.Actions[i].Refs() {
			paths = append(paths, ref)
		}
	}
	return paths
}

// customRole finds the roles that templates look up in the map of roles by their names.
var customRole = regexp.MustCompile(`printf "%s-([a-z0-9-]+)" \.nuon\.install\.id`)

// stackOutputs returns plausible outputs of the customer's stack: those that the app's templates read.
func (a *App) stackOutputs(installID string) ([]byte, error) {
	cloud := standin.Cloud(a.config)
	outputs := maps.Clone(knownOutputs[cloud])
	if outputs == nil {
		outputs = map[string]any{}
	}
	if roles := a.customRoles(installID); cloud == "aws" && len(roles) > 0 {
		outputs["custom_role_arns"] = roles
	}
	for _, ref := range a.refs() {
		if len(ref) < 3 || ref[0] != "install_stack" || ref[1] != "outputs" {
			continue
		}
		name := ref[2]
		switch _, known := outputs[name]; {
		case known:
		case name == "custom_role_arns", name == "break_glass_role_arns":
			outputs[name] = map[string]string{}
		default:
			outputs[name] = json.RawMessage(standin.Value(name, cloud))
		}
	}
	return json.Marshal(outputs)
}

// installIDText is how names of roles contain the id of the install.
var installIDText = regexp.MustCompile(`\{\{\s*\.nuon\.install\.id\s*\}\}`)

// customRoles returns ARNs for the custom roles of the app, and for those that templates look up.
func (a *App) customRoles(installID string) map[string]string {
	roles := map[string]string{}
	var texts []string
	for i := range a.config.Actions {
		texts = append(texts, a.config.Actions[i].Role)
	}
	components := append([]appconfig.Component{*a.config.Sandbox}, a.config.Components...)
	for i := range components {
		for _, text := range components[i].Templates() {
			texts = append(texts, text)
		}
		for _, role := range components[i].OperationRoles {
			texts = append(texts, role.Role)
		}
	}
	for _, match := range customRole.FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
		role := installID + "-" + match[1]
		roles[role] = "arn:aws:iam::123456789012:role/" + role
	}
	for _, role := range a.config.Permissions {
		if role.Type == "custom" {
			name := installIDText.ReplaceAllString(role.Name, installID)
			roles[name] = "arn:aws:iam::123456789012:role/" + name
		}
	}
	return roles
}

// knownOutputs are outputs of the stacks of each cloud that have a certain type or form.
var knownOutputs = map[string]map[string]any{
	"aws": {
		"account_id": "123456789012", "region": region["aws"], "vpc_id": "vpc-0a1b2c3d4e5f60718",
		"runner_subnet": "subnet-0a1b2c3d4e5f60718", "phone_home_type": "aws",
		"public_subnets":           []string{"subnet-0a1b2c3d4e5f60711", "subnet-0a1b2c3d4e5f60712"},
		"private_subnets":          []string{"subnet-0a1b2c3d4e5f60721", "subnet-0a1b2c3d4e5f60722"},
		"runner_iam_role_arn":      "arn:aws:iam::123456789012:role/runner",
		"provision_iam_role_arn":   "arn:aws:iam::123456789012:role/provision",
		"maintenance_iam_role_arn": "arn:aws:iam::123456789012:role/maintenance",
		"deprovision_iam_role_arn": "arn:aws:iam::123456789012:role/deprovision",
	},
	"gcp": {
		"project_id": "demo-project", "region": region["gcp"], "network_name": "customer",
		"private_subnet_names":   []string{"private-1"},
		"public_subnet_names":    []string{"public-1"},
		"gke_node_pool_sa_email": "nodes@demo-project.iam.gserviceaccount.com",
	},
	"azure": {
		"resource_group_name": "customer", "resource_group_location": region["azure"],
		"resource_group_id":      "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/customer",
		"subscription_id":        "00000000-0000-0000-0000-000000000001",
		"subscription_tenant_id": "00000000-0000-0000-0000-000000000002",
		"network_name":           "customer",
		"public_subnet_names":    []string{"public-1", "public-2"},
		"private_subnet_names":   []string{"private-1", "private-2"},
	},
}
