package appconfig

import (
	"slices"
	"strings"
	"sync"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/render"
)

// TemplatePath is one path below .nuon that templates can read: section 3.2 of the format. The table
// templatePaths lists all of them. Load checks templates against it, package rollout resolves its paths,
// and docs/config.md prints it.
type TemplatePath struct {
	// Path has the keys below .nuon, joined by dots. A key in capitals stands for a name that the app
	// declares, or for any key. It is canonical: see render.Canonical.
	Path string
	Type PathType
	From ValueSource
	// About describes the value.
	About string
	// Cloud is the only cloud whose installs have the value: aws, azure or gcp. Empty means all.
	Cloud string
	// Kinds are the kinds of component that have the output. Empty means all, or no output.
	Kinds []string
	// State marks a value that describes what happened, such as a status. When it changes, nothing is
	// deployed again.
	State bool
	// NotYet marks a value that nothing fills yet. Load warns about a text that reads it.
	NotYet bool
	// Never is why the value cannot exist. Load reports an error for a text that reads it.
	Never string

	keys []string
}

// PathType is the type of a value that templates read.
type PathType string

// The types of values.
const (
	PathText   PathType = "text"
	PathBool   PathType = "true or false"
	PathList   PathType = "list of texts"
	PathObject PathType = "object"
	PathAny    PathType = "any"
)

// ValueSource identifies what provides a value.
type ValueSource string

// The sources of values.
const (
	FromInstall  ValueSource = "install"
	FromApp      ValueSource = "app"
	FromOrg      ValueSource = "org"
	FromAccount  ValueSource = "account"
	FromInput    ValueSource = "input"
	FromVariable ValueSource = "variable"
	FromRunner   ValueSource = "runner"
	FromStack    ValueSource = "stack"
	// FromStackOutput is an output of the customer's stack, which a person can set.
	FromStackOutput ValueSource = "stack output"
	FromSandbox     ValueSource = "sandbox"
	FromDomain      ValueSource = "domain"
	FromComponent   ValueSource = "component"
	FromAction      ValueSource = "action"
	FromSecret      ValueSource = "secret"
)

// Filled describes who provides the values of the source, and when.
func (s ValueSource) Filled() string { return filledBy[s] }

var filledBy = map[ValueSource]string{
	FromInstall:     "nuon, when the install is created",
	FromApp:         "nuon",
	FromOrg:         "nuon",
	FromAccount:     "the file of the install, or `nuon installs create --account`, else the customer's stack",
	FromInput:       "the install, else the default of the input",
	FromVariable:    "`nuon apps variables set`",
	FromRunner:      "nuon, when the install is created",
	FromStack:       "nuon, when it renders the stack",
	FromStackOutput: "`nuon installs stack set`",
	FromSandbox:     "the deploy of the sandbox",
	FromDomain:      "the deploy of a sandbox with the output `nuon_dns`",
	FromComponent:   "the deploy of the component",
	FromAction:      "the latest run of the action",
	FromSecret:      "the runner, which checks the customer's secrets every five minutes",
}

// dnsOutput is the output of the sandbox with the domains of the install.
const dnsOutput = "nuon_dns"

var (
	moduleKinds = []string{format.KindTerraformModule, format.KindPulumi}
	imageKinds  = []string{format.KindContainerImage, format.KindDockerBuild}
	objectKinds = []string{format.KindHelmChart, format.KindKubernetesManifest}
)

// templatePaths is the table of all paths below .nuon. It is made at its first use.
var templatePaths = sync.OnceValue(func() []TemplatePath {
	return withKeys(pathsToComponents, outputsOfObjects(), outputsOfImages(), pathsToStacks, outputsOfStacks(),
		pathsToDomains)
})

// pathsToComponents are the paths of the table up to the outputs of components.
var pathsToComponents = []TemplatePath{
	{Path: "install.id", Type: PathText, From: FromInstall, About: "id of the install"},
	{Path: "install.name", Type: PathText, From: FromInstall, About: "name of the install"},
	{Path: "install.public_domain", Type: PathText, From: FromDomain, About: "older name of `.domain.public_domain`"},
	{Path: "install.internal_domain", Type: PathText, From: FromDomain, About: "older name of `.domain.internal_domain`"},
	{Path: "install.secrets.SECRET", Type: PathText, From: FromSecret,
		About: "value of a secret of the customer; only the runner has it, and what reads it waits until it is set"},

	{Path: "inputs.inputs.INPUT", Type: PathText, From: FromInput, About: "value of an input"},
	{Path: "inputs.populated", Type: PathBool, From: FromInput, State: true, About: "always true"},

	{Path: "app.id", Type: PathText, From: FromApp, About: "id of the app"},
	{Path: "app.name", Type: PathText, From: FromApp, About: "name of the app"},
	{Path: "app.status", Type: PathText, From: FromApp, State: true, About: "always `active`"},
	{Path: "app.populated", Type: PathBool, From: FromApp, State: true, About: "always true"},
	{Path: "app.variables.VARIABLE", Type: PathText, From: FromVariable,
		About: "a value of the vendor that is not in git: what reads one waits until it is set"},

	{Path: "org.id", Type: PathText, From: FromOrg, About: "id of the org"},
	{Path: "org.name", Type: PathText, From: FromOrg, About: "name of the org"},
	{Path: "org.status", Type: PathText, From: FromOrg, State: true, About: "always `active`"},
	{Path: "org.populated", Type: PathBool, From: FromOrg, State: true, About: "always true"},

	{Path: "cloud_account.aws.region", Type: PathText, From: FromAccount, Cloud: cloudAWS, About: "region of the install"},
	{Path: "cloud_account.azure.location", Type: PathText, From: FromAccount, Cloud: cloudAzure,
		About: "location of the install"},
	{Path: "cloud_account.gcp.project_id", Type: PathText, From: FromAccount, Cloud: cloudGCP,
		About: "project of the install"},
	{Path: "cloud_account.gcp.region", Type: PathText, From: FromAccount, Cloud: cloudGCP, About: "region of the install"},

	{Path: "runner.id", Type: PathText, From: FromRunner, About: "id of the runner of the install"},
	{Path: "runner.runner_group_id", Type: PathText, From: FromRunner,
		About: "the same as `.runner.id`: an install has one runner"},
	{Path: "runner.status", Type: PathText, From: FromRunner, State: true,
		About: "`active` once the runner has registered, before that `pending`"},
	{Path: "runner.populated", Type: PathBool, From: FromRunner, State: true, About: "always true"},

	{Path: "sandbox.outputs.OUTPUT", Type: PathAny, From: FromSandbox, About: "output of the sandbox"},
	{Path: "sandbox.status", Type: PathText, From: FromSandbox, State: true,
		About: "`active` once the sandbox is deployed, before that `pending`"},
	{Path: "sandbox.type", Type: PathText, From: FromSandbox, State: true, About: "`terraform` or `pulumi`"},
	{Path: "sandbox.version", Type: PathText, From: FromSandbox, About: "commit that the deployed sandbox was built from"},
	{Path: "sandbox.populated", Type: PathBool, From: FromSandbox, State: true, About: "the sandbox is deployed"},
	{Path: "sandbox.recent_runs", Type: PathList, From: FromSandbox, State: true, NotYet: true,
		About: "latest runs of the sandbox"},

	{Path: "components.populated", Type: PathBool, From: FromComponent, State: true, About: "always true"},
	{Path: "components.COMPONENT.name", Type: PathText, From: FromComponent, State: true, About: "name of the component"},
	{Path: "components.COMPONENT.status", Type: PathText, From: FromComponent, State: true,
		About: "`active` once the component is deployed, before that `pending`"},
	{Path: "components.COMPONENT.populated", Type: PathBool, From: FromComponent, State: true,
		About: "the component is deployed"},
	{Path: "components.COMPONENT.component_id", Type: PathText, From: FromComponent, State: true,
		About: "id of the component in the app"},
	{Path: "components.COMPONENT.install_component_id", Type: PathText, From: FromComponent, State: true,
		About: "id of the component in the install"},
	{Path: "components.COMPONENT.build_id", Type: PathText, From: FromComponent,
		About: "id of the build that is deployed; a component that reads it depends on COMPONENT"},
	{Path: "components.COMPONENT.outputs.OUTPUT", Type: PathAny, From: FromComponent, Kinds: moduleKinds,
		About: "output of the module; a component that reads it depends on COMPONENT, as for all outputs"},
}

// pathsToStacks are those of actions, secrets and the stack.
var pathsToStacks = []TemplatePath{
	{Path: "actions.populated", Type: PathBool, From: FromAction, State: true, About: "always true"},
	{Path: "actions.workflows.ACTION.outputs.KEY", Type: PathAny, From: FromAction,
		About: "output of the latest successful run, of all its steps"},
	{Path: "actions.workflows.ACTION.outputs.steps.STEP.KEY", Type: PathAny, From: FromAction,
		About: "output of one step of that run"},
	{Path: "actions.workflows.ACTION.status", Type: PathText, From: FromAction, State: true,
		About: "how the latest run ended: `succeeded`, `failed` or `cancelled`; `pending` before the first one has"},
	{Path: "actions.workflows.ACTION.id", Type: PathText, From: FromAction, State: true,
		About: "id of the workflow of the latest run; empty before the first one has ended"},
	{Path: "actions.workflows.ACTION.populated", Type: PathBool, From: FromAction, State: true,
		About: "the action has run"},

	{Path: "secrets.SECRET.arn", Type: PathText, From: FromSecret,
		About: "the output `SECRET_arn` of the customer's stack"},
	{Path: "secrets.SECRET.name", Type: PathText, From: FromSecret, About: "name of the secret"},
	{Path: "secrets.SECRET.exists", Type: PathBool, From: FromSecret, About: "the secret has a value"},
	{Path: "secrets.SECRET.version", Type: PathText, From: FromSecret,
		About: "id of the current version; in an annotation of pods it restarts them when the secret changes"},
	{Path: "secrets.SECRET.length", Type: PathAny, From: FromSecret,
		Never: "the length of a secret is not reported by the runner"},
	{Path: "secrets.SECRET.timestamp", Type: PathText, From: FromSecret,
		About: "when the runner first found the current version"},
	{Path: "secrets.SECRET.kubernetes_namespace", Type: PathText, From: FromSecret,
		About: "namespace of the first copy"},
	{Path: "secrets.SECRET.kubernetes_name", Type: PathText, From: FromSecret, About: "name of the first copy"},
	{Path: "secrets.SECRET.kubernetes_key", Type: PathText, From: FromSecret,
		About: "key of the value in the first copy"},

	{Path: "install_stack.populated", Type: PathBool, From: FromStackOutput, State: true,
		About: "an output of the stack was set"},
	{Path: "install_stack.status", Type: PathText, From: FromStack, State: true,
		About: "`pending` until an output of the stack was set, then `active`, `out_of_date` or `unknown`: whether the " +
			"customer runs the newest version"},
	{Path: "install_stack.checksum", Type: PathText, From: FromStack, State: true,
		About: "digest of the files of the newest version of the stack"},
	{Path: "install_stack.quick_link_url", Type: PathText, From: FromStack, State: true, NotYet: true,
		About: "link that opens the stack in the console of the cloud"},
	{Path: "install_stack.template_url", Type: PathText, From: FromStack, State: true, NotYet: true,
		About: "address of the template"},
	{Path: "install_stack.template_json", Type: PathText, From: FromStack, State: true, NotYet: true,
		About: "the template"},
	{Path: "install_stack.outputs.OUTPUT", Type: PathAny, From: FromStackOutput,
		About: "output of the customer's stack: what reads one waits until it is set"},
	{Path: "install_stack.outputs.install_inputs.INPUT", Type: PathText, From: FromStackOutput,
		About: "an input that the customer set in the stack"},
	{Path: "install_stack.outputs.custom_nested_stacks.STACK.OUTPUT", Type: PathAny, From: FromStackOutput,
		About: "output of a nested stack"},
	{Path: "install_stack.outputs.phone_home_type", Type: PathText, From: FromStackOutput,
		About: "how the stack reported its outputs"},
	{Path: "install_stack.outputs.SECRET_arn", Type: PathText, From: FromStackOutput,
		About: "address of a secret in the customer's secret manager"},
}

// pathsToDomains are those after the outputs of the stack.
var pathsToDomains = []TemplatePath{
	{Path: "domain.public_domain", Type: PathText, From: FromDomain,
		About: "the output `nuon_dns.public_domain.name` of the sandbox"},
	{Path: "domain.internal_domain", Type: PathText, From: FromDomain,
		About: "the output `nuon_dns.internal_domain.name` of the sandbox"},
	{Path: "domain.populated", Type: PathBool, From: FromDomain, State: true, About: "the sandbox has these outputs"},

	{Path: "stale_at", Type: PathText, From: FromInstall,
		Never: "nuon keeps no copy of the values that could be out of date"},
}

// outputsOfObjects returns the outputs of components that are Kubernetes objects.
func outputsOfObjects() []TemplatePath {
	all := []TemplatePath{
		{Path: "components.COMPONENT.outputs.manifest", Type: PathText, From: FromComponent, Kinds: objectKinds,
			About: "the objects as YAML"},
		{Path: "components.COMPONENT.outputs.resources", Type: PathAny, From: FromComponent, Kinds: objectKinds,
			About: "the objects by kind, namespace and name"},
	}
	for _, kind := range []string{"ingresses", "services", "deployments"} {
		all = append(all, TemplatePath{Path: "components.COMPONENT.outputs." + kind + ".NAMESPACE.NAME", Type: PathObject,
			From: FromComponent, Kinds: objectKinds, About: "one of its " + kind})
	}
	return all
}

// outputsOfImages returns the outputs of images.
func outputsOfImages() []TemplatePath {
	var all []TemplatePath
	for _, field := range []struct {
		name, about string
		kind        PathType
	}{
		{"repository", "repository in the registry of the install", PathText},
		{"tag", "tag there, which names no other image: that of the source, and the start of the digest", PathText},
		{"digest", "digest of the image", PathText}, {"ref", "repository@digest", PathText},
		{"display_tag", "tag of the source", PathText}, {"media_type", "media type", PathText},
		{"size", "bytes of the manifest", PathAny}, {"urls", "an empty list", PathList},
		{"annotations", "annotations of the manifest", PathObject}, {"artifact_type", "type of the artifact", PathText},
		{"platform", "operating system and architecture of an image for only one", PathObject},
	} {
		all = append(all, TemplatePath{Path: "components.COMPONENT.outputs.image." + field.name, Type: field.kind,
			From: FromComponent, Kinds: imageKinds, About: field.about})
	}
	return all
}

// outputsOfStacks returns the outputs that the stacks of each cloud report.
func outputsOfStacks() []TemplatePath {
	var all []TemplatePath
	add := func(cloud string, kind PathType, names ...string) {
		for _, name := range names {
			all = append(all, TemplatePath{Path: "install_stack.outputs." + name, Type: kind, From: FromStackOutput,
				Cloud: cloud, About: "output of the stack"})
		}
	}
	add(cloudAWS, PathText, "account_id", "region", "vpc_id", "runner_subnet")
	add(cloudAWS, PathList, "public_subnets", "private_subnets")
	add(cloudAWS, PathText, "runner_iam_role_arn", "provision_iam_role_arn", "maintenance_iam_role_arn",
		"deprovision_iam_role_arn")
	add(cloudAWS, PathObject, "break_glass_role_arns", "custom_role_arns", "break_glass_until")
	add(cloudAzure, PathText, "resource_group_id", "resource_group_name", "resource_group_location", "subscription_id",
		"subscription_tenant_id", "network_id", "network_name")
	add(cloudAzure, PathList, "public_subnet_ids", "public_subnet_names", "private_subnet_ids", "private_subnet_names")
	add(cloudAzure, PathText, "key_vault_id", "key_vault_name", "provision_identity_name", "maintenance_identity_name",
		"deprovision_identity_name")
	add(cloudAzure, PathObject, "break_glass_identity_names", "custom_identity_names", "break_glass_until")
	add(cloudGCP, PathText, "project_id", "region", "network_name", "network_id", "public_subnet_name",
		"private_subnet_name", "runner_subnet_name", "runner_service_account_email", "provision_sa_email",
		"maintenance_sa_email", "deprovision_sa_email", "gke_node_pool_sa_email")
	add(cloudGCP, PathList, "private_subnet_names", "public_subnet_names")
	add(cloudGCP, PathObject, "break_glass_sa_emails", "custom_sa_emails", "break_glass_until")
	return all
}

// withKeys returns the table of all parts, with the keys of each path.
func withKeys(parts ...[]TemplatePath) []TemplatePath {
	all := slices.Concat(parts...)
	for i := range all {
		all[i].keys = strings.Split(all[i].Path, ".")
	}
	return all
}

// TemplatePaths returns the table of all paths below .nuon.
func TemplatePaths() []TemplatePath { return slices.Clone(templatePaths()) }

// isVariable reports whether a key of a TemplatePath stands for other keys.
func isVariable(key string) bool { return key == strings.ToUpper(key) || key == "SECRET_arn" }

// filled reports whether something fills the value.
func (p TemplatePath) filled() bool { return !p.NotYet && p.Never == "" }

// Keys returns the keys of the path.
func (p TemplatePath) Keys() []string { return slices.Clone(p.keys) }

// matches reports whether the path is at, above or below a canonical ref.
func (p TemplatePath) matches(ref render.Path) bool {
	for i := range min(len(p.keys), len(ref)) {
		switch key := p.keys[i]; {
		case key == ref[i]:
		case key == "SECRET_arn" && !strings.HasSuffix(ref[i], "_arn"), !isVariable(key):
			return false
		}
	}
	return true
}

// PathsOf returns the rows of the table that a canonical ref reads: the row that it is below or
// equal to, or all rows below it.
func PathsOf(ref render.Path) []TemplatePath {
	if len(ref) == 0 {
		return templatePaths()
	}
	var found []TemplatePath
	for _, path := range pathsByRoot()[ref[0]] {
		if path.matches(ref) {
			found = append(found, path)
		}
	}
	return found
}

// pathsByRoot has the rows of the table by their first key.
var pathsByRoot = sync.OnceValue(func() map[string][]TemplatePath {
	all := map[string][]TemplatePath{}
	for _, path := range templatePaths() {
		root := path.keys[0]
		all[root] = append(all[root], path)
	}
	return all
})

// SourcesOf returns the sources that provide values below a root, in the order of the table.
func SourcesOf(root string) []ValueSource { return sourcesByRoot()[root] }

var sourcesByRoot = sync.OnceValue(func() map[string][]ValueSource {
	all := map[string][]ValueSource{}
	for root, paths := range pathsByRoot() {
		for _, path := range paths {
			if !slices.Contains(all[root], path.From) {
				all[root] = append(all[root], path.From)
			}
		}
	}
	return all
})

// keysBelow returns the keys that the table has directly below a path, among the rows that match.
func keysBelow(path string, match func(TemplatePath) bool) []string {
	var keys []string
	for _, row := range templatePaths() {
		rest, below := strings.CutPrefix(row.Path, path+".")
		if path == "" {
			rest, below = row.Path, true
		}
		key, _, _ := strings.Cut(rest, ".")
		if below && (match == nil || match(row)) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}
