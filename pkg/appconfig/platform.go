package appconfig

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

// PlatformVariable is a Terraform variable that nuon passes to the module of a sandbox that declares it, unless
// the app sets the variable itself.
type PlatformVariable struct {
	Name  string
	Cloud string // the only cloud on which it is passed; empty for all
	// Value is a path of the table of template paths, or a template of JSON.
	Value string
	// Text is the value itself, if it is the same everywhere.
	Text string
}

// ClusterPolicyDir is the directory beside a sandbox's module, relative to it, with the app's policies of clusters.
const ClusterPolicyDir = "nuon-kyverno-policies"

// clusterPolicyVariable is passed if the app has policies of clusters: without any, the module's default applies.
const clusterPolicyVariable = "kyverno_policy_dir"

// platformVariables are the variables that public sandboxes declare.
var platformVariables = slices.Concat([]PlatformVariable{
	{Name: "nuon_id", Value: "install.id"},
	{Name: "public_root_domain", Value: publicRootDomain},
	{Name: "internal_root_domain", Value: internalRootDomain},
	{Name: "tags", Value: tagsOfInstall},
	{Name: clusterPolicyVariable, Text: "./" + ClusterPolicyDir},
	{Name: "labels", Cloud: cloudGCP, Value: labelsOfInstall},
	{Name: "region", Cloud: cloudAWS, Value: "cloud_account.aws.region"},
	{Name: "location", Cloud: cloudAzure, Value: "cloud_account.azure.location"},
	{Name: "vnet_name", Cloud: cloudAzure, Value: "install_stack.outputs.network_name"},
	{Name: "project_id", Cloud: cloudGCP, Value: "cloud_account.gcp.project_id"},
	{Name: "region", Cloud: cloudGCP, Value: "cloud_account.gcp.region"},
}, stackVariables(cloudAWS, "vpc_id", "runner_iam_role_arn", "provision_iam_role_arn", "maintenance_iam_role_arn",
	"deprovision_iam_role_arn"),
	stackVariables(cloudAzure, "resource_group_id", "resource_group_name", "subscription_id", "network_id", "network_name",
		"public_subnet_names", "private_subnet_names", "key_vault_id", "key_vault_name"),
	stackVariables(cloudGCP, "network_name", "network_id", "public_subnet_name", "private_subnet_name",
		"runner_subnet_name", "runner_service_account_email", "provision_sa_email", "maintenance_sa_email",
		"deprovision_sa_email", "gke_node_pool_sa_email"))

// The values that are made from several. Names of labels on GCP may contain neither dots nor slashes.
const (
	publicRootDomain   = `{{toJson (printf "%s.%s" .nuon.install.id .nuon.app.variables.root_domain)}}`
	internalRootDomain = `{{toJson (printf "internal.%s.%s" .nuon.install.id .nuon.app.variables.root_domain)}}`
	tagsOfInstall      = `{"install.nuon.co/id": {{toJson .nuon.install.id}}, "app.nuon.co/id": {{toJson .nuon.app.id}}, ` +
		`"org.nuon.co/id": {{toJson .nuon.org.id}}}`
	labelsOfInstall = `{"nuon_install_id": {{toJson .nuon.install.id}}, "nuon_app_id": {{toJson .nuon.app.id}}, ` +
		`"nuon_org_id": {{toJson .nuon.org.id}}}`
)

// stackVariables returns the variables with the name of an output of the stack.
func stackVariables(cloud string, names ...string) []PlatformVariable {
	var all []PlatformVariable
	for _, name := range names {
		all = append(all, PlatformVariable{Name: name, Cloud: cloud, Value: "install_stack.outputs." + name})
	}
	return all
}

// PlatformVariables returns the variables that nuon passes to sandboxes.
func PlatformVariables() []PlatformVariable { return slices.Clone(platformVariables) }

// expression returns a template of the variable's value as JSON. A list becomes a text with commas for a variable
// of type string.
func (v PlatformVariable) expression(declared string) string {
	switch {
	case v.Text != "":
		return strconv.Quote(v.Text)
	case strings.Contains(v.Value, "{{"):
		return v.Value
	}
	path := ".nuon." + v.Value
	paths := PathsOf(strings.Split(v.Value, "."))
	isList := slices.ContainsFunc(paths, func(p TemplatePath) bool { return p.Path == v.Value && p.Type == PathList })
	if isList && declared == "string" {
		return `{{if kindIs "string" ` + path + `}}{{toJson ` + path + `}}{{else}}{{toJson (join "," ` + path + `)}}{{end}}`
	}
	return "{{toJson " + path + "}}"
}

// ModuleVariable is a variable that a module declares, as far as nuon passes variables by it.
type ModuleVariable struct {
	Name     string `json:"name"`
	Type     string `json:"type,omitempty"`
	Required bool   `json:"required,omitempty"`
}

// PassedVariables returns the variables of the module of a sandbox that nuon may pass, on any cloud.
func PassedVariables(module *tfmodule.Module) []ModuleVariable {
	all := []ModuleVariable{}
	for _, declared := range module.Variables {
		is := func(v PlatformVariable) bool { return v.Name == declared.Name }
		if slices.ContainsFunc(platformVariables, is) && !slices.Contains(module.Assigned, declared.Name) {
			all = append(all, ModuleVariable{Name: declared.Name, Type: declared.Type, Required: declared.Required})
		}
	}
	return all
}

// PlatformValue is a value that nuon passes to the sandbox of an app.
type PlatformValue struct {
	Name       string
	Expression string        // a template of the value as JSON
	Refs       []render.Path // what the template and the files read
	Required   bool          // the sandbox cannot be planned without it
	// Files are templates of the files in the directory that the value names, by name: see ClusterPolicies.
	Files map[string]string
}

// PlatformValues returns the values that nuon passes to the sandbox of the app, whose module declares these
// variables, by name. Those that the app sets itself are not among them.
func (a *App) PlatformValues(declared []ModuleVariable) []PlatformValue {
	if a.Sandbox == nil || a.Sandbox.Terraform == nil {
		return nil
	}
	own := moduleValues{vars: a.Sandbox.Terraform.Vars, files: a.Sandbox.Terraform.VarFiles}.mayBeSet(&tfmodule.Module{})
	cloud, policies := a.Cloud(), a.ClusterPolicies()
	var all []PlatformValue
	for _, variable := range declared {
		for _, v := range platformVariables {
			if v.Name != variable.Name || own[v.Name] || v.Cloud != "" && v.Cloud != cloud {
				continue
			}
			value := PlatformValue{Name: v.Name, Expression: v.expression(variable.Type), Required: variable.Required}
			if v.Name == clusterPolicyVariable {
				if len(policies) == 0 && !value.Required {
					continue
				}
				value.Files, value.Required = policies, value.Required || len(policies) > 0
			}
			texts := maps.Clone(value.Files)
			if texts == nil {
				texts = map[string]string{}
			}
			texts[v.Name] = value.Expression
			value.Refs = refsOf(texts)
			all = append(all, value)
		}
	}
	return all
}

// ClusterPolicies returns the app's Kyverno policies of clusters, by the name of their file in ClusterPolicyDir. Their
// texts are templates.
func (a *App) ClusterPolicies() map[string]string {
	var files map[string]string
	for i := range a.Policies {
		policy := &a.Policies[i]
		if !isClusterPolicy(policy) {
			continue
		}
		if files == nil {
			files = map[string]string{}
		}
		stem := cmp.Or(strings.Trim(notInFileName.ReplaceAllString(strings.ToLower(policy.Name), "-"), "-"), "policy")
		name := stem + ".yaml"
		for n := 2; files[name] != ""; n++ {
			name = fmt.Sprintf("%s-%d.yaml", stem, n)
		}
		files[name] = policy.Contents
	}
	return files
}

// notInFileName matches what the names of policies' files do not contain.
var notInFileName = lazyregexp.New(`[^a-z0-9_]+`)

// isClusterPolicy reports whether a policy is for the cluster of the sandbox, which enforces it.
func isClusterPolicy(p *Policy) bool {
	return p.Type == policyCluster && p.Engine == engineKyverno && p.Contents != ""
}

// PlatformFile returns the template of a tfvars file in JSON with these values.
func PlatformFile(values []PlatformValue) string {
	var lines []string
	for _, v := range values {
		lines = append(lines, fmt.Sprintf("  %q: %s", v.Name, v.Expression))
	}
	return "{\n" + strings.Join(lines, ",\n") + "\n}\n"
}

// Cloud returns the cloud of the app, that of its runner or else of its stack: aws, azure or gcp. It returns "" if the
// app has none.
func (a *App) Cloud() string {
	cloud := ""
	if a.Runner != nil {
		cloud = cloudOf(a.Runner.Type)
	}
	if cloud == "" && a.Stack != nil {
		cloud = cloudOf(a.Stack.Type)
	}
	return cloud
}

// platformNames returns the names of the variables that nuon passes to a sandbox on a cloud.
func platformNames(cloud string) []string {
	var names []string
	for _, v := range platformVariables {
		if v.Cloud == "" || v.Cloud == cloud {
			names = append(names, v.Name)
		}
	}
	return names
}
