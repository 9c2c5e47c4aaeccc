package installstack

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/render"
)

// Facts are what a stack needs besides the config of the app.
type Facts struct {
	Install Install
	// Account is the cloud account of the install as in its file: {aws_account: {region: …}}.
	Account map[string]map[string]string
	// Inputs are the plain values of the install. Those of sensitive inputs are never part of a stack.
	Inputs map[string]string
	Org    string // name
	Runner Runner // the instance type comes from the config
	Claim  string // the token that names the install to the control plane; it is no secret
	// Version is the number of the stack's version.
	Version int
	// Bucket is the address of the bucket with published templates; empty for none.
	Bucket string
}

// Read returns the stack of an app for an install.
func Read(app *appconfig.App, facts Facts) Result {
	r := reader{app: app, facts: facts, cloud: app.Cloud()}
	r.values = r.tree()
	stack := &Stack{Cloud: r.cloud, Install: facts.Install, Runner: facts.Runner, Claim: facts.Claim,
		Version: facts.Version}
	if r.cloud == "" {
		r.errorf("runner.toml", `write runner_type = "aws", "gcp" or "azure"`,
			"the app runs without a cloud, so it has no stack")
		return Result{Findings: r.findings}
	}
	account := facts.Account[r.cloud+"_account"]
	stack.Region = cmp.Or(account["region"], account["location"])
	stack.Account = cmp.Or(account["account_id"], account["project_id"], account["subscription_id"])
	if app.Runner != nil {
		stack.Runner.InstanceType = app.Runner.InstanceType
	}
	r.readHead(stack)
	stack.Roles = r.roles()
	stack.Secrets = r.secrets()
	stack.Inputs = r.inputs()
	stack.Nested = r.nested()
	r.checkRunner(stack)
	r.findings.Sort()
	if r.findings.HasErrors() {
		stack = nil
	}
	return Result{Stack: stack, Findings: r.findings}
}

// reader reads one stack and collects what is wrong.
type reader struct {
	app      *appconfig.App
	facts    Facts
	cloud    string
	values   render.Tree
	findings diagnostic.Diagnostics
}

// errorf and warnf report a finding. Its position is the first line of the file, because the config has none.
func (r *reader) errorf(file, hint, message string, a ...any) {
	r.report(diagnostic.Error, file, hint, message, a...)
}

func (r *reader) warnf(file, hint, message string, a ...any) {
	r.report(diagnostic.Warning, file, hint, message, a...)
}

func (r *reader) report(severity diagnostic.Severity, file, hint, message string, a ...any) {
	r.findings = append(r.findings, diagnostic.Diagnostic{File: file, Line: 1, Column: 1, Severity: severity,
		Rule: "stack", Message: fmt.Sprintf(message, a...), Hint: hint})
}

// accountKeys are the parts of a cloud account that templates read, with what stands for those that nobody set.
var accountKeys = map[string]map[string]Placeholder{
	"aws":   {"region": Region},
	"azure": {"location": Region},
	"gcp":   {"project_id": Account, "region": Region},
}

// tree returns the values that templates of a stack can read.
func (r *reader) tree() render.Tree {
	install := r.facts.Install
	inputs := map[string]any{}
	for _, in := range r.app.Inputs {
		if in.Sensitive {
			continue
		}
		value, set := r.facts.Inputs[in.Name]
		if !set && in.Default != nil {
			value, set = *in.Default, true
		}
		if set || !in.Required {
			inputs[in.Name] = value
		}
	}
	account := map[string]any{}
	for key, placeholder := range accountKeys[r.cloud] {
		account[key] = cmp.Or(r.facts.Account[r.cloud+"_account"][key], placeholder.Text())
	}
	return render.Tree{
		"install":       map[string]any{"id": install.ID, "name": install.Name},
		"app":           map[string]any{"id": install.AppID, "name": install.App},
		"org":           map[string]any{"id": install.OrgID, "name": r.facts.Org},
		"inputs":        map[string]any{"inputs": inputs},
		"cloud_account": map[string]any{r.cloud: account},
	}
}

// text renders a template.
func (r *reader) text(file, key, template string) string {
	parsed, err := render.Parse(file+" "+key, template)
	if err == nil {
		var out string
		if out, err = parsed.Execute(r.values); err == nil {
			if strings.Contains(out, "{{resolve:") {
				r.errorf(file, "remove it",
					"%s contains a dynamic reference, which the cloud would replace with the value of a secret", key)
			}
			return out
		}
	}
	r.errorf(file, "a stack can read the install, the app, the org, plain inputs and the cloud account",
		"%s cannot be rendered: %v", key, err)
	return ""
}

const stackFile = "stack.toml"

// readHead reads the name, the description and the network.
func (r *reader) readHead(stack *Stack) {
	stack.Name, stack.Description = "nuon-"+r.facts.Install.ID, "Runner and roles of "+r.facts.Install.App
	if s := r.app.Stack; s != nil {
		stack.Name = r.text(stackFile, "name", s.Name)
		stack.Description = r.text(stackFile, "description", s.Description)
		stack.Terraform = s.Type == "aws-terraform" || s.Type == "azure-terraform"
		stack.ExistingNetwork = strings.Contains(s.VPCNestedTemplateURL, "byo-vpc")
	}
	stack.Description = Plain(stack.Description, 1024)
	stack.Name = stackName(stack.Name)
}

// stackName returns a name that all clouds accept for a stack.
func stackName(name string) string {
	name = strings.Trim(strings.Map(func(r rune) rune {
		if IsWord(r) && r != '_' {
			return r
		}
		return '-'
	}, Plain(name, 256)), "-")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "nuon-" + name
	}
	return Fit(name, 64, func(r rune) bool { return IsWord(r) || r == '-' })
}

// checkRunner requires what the machine of the runner needs to start.
func (r *reader) checkRunner(stack *Stack) {
	const hint = "start the control plane with --runner-url and --runner-program"
	if stack.Runner.URL == "" {
		r.errorf("control plane", hint, "the address at which runners reach it is not set")
	} else if !strings.HasPrefix(stack.Runner.URL, "https://") {
		r.warnf("control plane", "put the runner API behind TLS",
			"runners would reach it at %s, without encryption", stack.Runner.URL)
	}
	if stack.Cloud == "azure" && stack.Runner.AzureAudience == "" {
		r.errorf("control plane", "start the control plane with --azure-audience",
			"it has no application that machines on Azure could prove their identity to")
	}
	if stack.Runner.SHA256 == "" {
		r.errorf("control plane", hint, "it has no runner program to serve")
	}
}

// secretSuffixes are what stacks append to the ids of secrets.
var secretSuffixes = []string{"Arn", "Value", "Uri", "Random"}

// secrets reads the secrets of the customer.
func (r *reader) secrets() []Secret {
	names := make([]string, len(r.app.Secrets))
	for i := range r.app.Secrets {
		names[i] = r.app.Secrets[i].Name
	}
	identifiers := IDs(names, secretSuffixes...)
	var all []Secret
	for i := range r.app.Secrets {
		s, file := &r.app.Secrets[i], "secrets.toml: "+r.app.Secrets[i].Name
		if s.Address != "" { // it exists elsewhere
			continue
		}
		all = append(all, Secret{
			Name: s.Name, ID: identifiers[i], Required: s.Required, Generated: s.AutoGenerate,
			CustomerManaged: s.CustomerManaged,
			Label:           Plain(r.text(file, "display_name", cmp.Or(s.DisplayName, s.Name)), 256),
			Description:     Plain(r.text(file, "description", s.Description), 1024),
		})
	}
	return all
}

// inputs reads the inputs that the customer sets.
func (r *reader) inputs() []InputGroup {
	names := make([]string, len(r.app.Inputs))
	for i := range r.app.Inputs {
		names[i] = r.app.Inputs[i].Name
	}
	identifiers := IDs(names)
	groups := map[string][]Input{}
	for i, in := range r.app.Inputs {
		if !in.UserConfigurable || in.Internal {
			continue
		}
		if in.Sensitive {
			r.warnf("inputs.toml", "make it a secret, or set it with nuon installs update",
				"input %s is sensitive, and outputs of a stack are readable, so it is not a parameter of the stack", in.Name)
			continue
		}
		value := in.Default
		if set, has := r.facts.Inputs[in.Name]; has {
			value = &set
		}
		if value != nil && strings.Contains(*value, "{{resolve:") {
			r.errorf("inputs.toml", "remove it",
				"input %s contains a dynamic reference, which the cloud would replace with the value of a secret", in.Name)
		}
		in := Input{Input: in, ID: identifiers[i], Value: value}
		in.DisplayName, in.Description = Plain(in.DisplayName, 256), Plain(in.Description, 1024)
		groups[in.Group] = append(groups[in.Group], in)
	}
	var all []InputGroup
	for _, g := range r.app.Groups {
		if found := groups[g.Name]; found != nil {
			all = append(all, InputGroup{Name: g.Name, Label: Plain(cmp.Or(g.DisplayName, g.Name), 256), Inputs: found})
		}
	}
	return all
}

// nested reads the vendor's own templates.
func (r *reader) nested() []Nested {
	if r.app.Stack == nil {
		return nil
	}
	stacks := slices.Clone(r.app.Stack.CustomNestedStacks)
	slices.SortStableFunc(stacks, func(a, b format.NestedStack) int {
		return cmp.Or(cmp.Compare(position(a), position(b)), strings.Compare(a.Name, b.Name))
	})
	names := make([]string, len(stacks))
	for i := range stacks {
		names[i] = stacks[i].Name
	}
	identifiers := IDs(names)
	read := r.nestedOutputs()
	var all []Nested
	for i, s := range stacks {
		n := Nested{Name: s.Name, ID: identifiers[i], Parameters: map[string]string{}, Outputs: read[s.Name],
			Source: r.text(stackFile, "template_url of "+s.Name, s.TemplateURL)}
		r.pin(&n, s.Digest)
		for name, value := range s.Parameters {
			n.Parameters[name] = r.text(stackFile, "parameter "+name+" of "+s.Name, value)
		}
		all = append(all, n)
	}
	return all
}

// sha256Form matches the digest of a template.
var sha256Form = regexp.MustCompile(`^sha256:([0-9a-f]{64})$`)

// pin sets where the cloud reads a nested template: the bucket's copy of a template with a digest, or the vendor's own
// address.
func (r *reader) pin(n *Nested, digest string) {
	n.URL = n.Source
	if digest == "" {
		r.warnf(stackFile, `add digest = "sha256:…" with the digest of the file`,
			"nested stack %s has no digest: a change of the file at its address changes what customers create", n.Name)
		return
	}
	form := sha256Form.FindStringSubmatch(digest)
	if form == nil {
		r.errorf(stackFile, "write sha256: and 64 digits, as sha256sum prints them", "nested stack %s has the digest %s",
			n.Name, quoted(digest))
		return
	}
	if n.SHA256 = form[1]; r.facts.Bucket != "" {
		n.URL = PublishedAddress(r.facts.Bucket, n.SHA256, NestedFile(n.Source))
	}
}

// position returns the index of a nested stack; those without one are last.
func position(s format.NestedStack) int {
	if s.Index == nil {
		return 1 << 30
	}
	return *s.Index
}

// nestedOutputs returns the outputs of nested stacks that templates of the app read, by stack.
func (r *reader) nestedOutputs() map[string][]string {
	all := map[string][]string{}
	for _, ref := range r.app.StackOutputRefs() {
		if len(ref) < 5 || ref[2] != "custom_nested_stacks" {
			continue
		}
		name, output := ref[3], ref[4]
		if output == "outputs" && len(ref) > 5 {
			output += "." + ref[5]
		}
		if !slices.Contains(all[name], output) {
			all[name] = append(all[name], output)
		}
	}
	for name := range all {
		slices.Sort(all[name])
	}
	return all
}
