package format_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// payload are the files that the examples refer to.
var payload = map[string]string{
	"README.md": "# Ledger\n", "sandbox.tfvars": "size = 1\n", "runbooks/roll_forward.md": "Forward.\n",
	"components/values/api.yaml": "replicas: 2\n", "components/manifests/quota.yaml": "apiVersion: v1\nkind: " +
		"ResourceQuota\nmetadata:\n  name: quota\n",
	"permissions/provision_boundary.json": "{}", "permissions/maintenance_boundary.json": "{}",
	"permissions/maintenance_pass_roles.json": "{}", "permissions/bucket_repair_policy.json": "{}",
	"policies/no-public-endpoint.rego": rego, "policies/encrypt-at-rest.rego": rego,
}

const rego = "package nuon\n\nimport rego.v1\n\ndeny contains msg if {\n\tinput.plan.errored\n\tmsg := \"the plan " +
	"has an error\"\n}\n"

// otherPlaceHint are kinds that are not in the one app with all others: each is another form of what another
// kind holds, or the other place of what this one says.
var otherPlaceHint = map[string]string{
	"input": "inputs", "input-group": "inputs", "secret": "secrets", "role": "permissions",
	"break-glass-role": "break-glass", "kubernetes-context": "kubernetes-contexts",
	"policy": "policies", "installs": "install",
}

// TestExamplesAreAnApp: the examples of all kinds make one app without an error, and so do those of the other
// forms, and the single file.
func TestExamplesAreAnApp(t *testing.T) {
	inDirectories := map[string]bool{"break-glass": true, "kubernetes-contexts": true}
	for _, instead := range otherPlaceHint {
		inDirectories[instead] = true
	}
	files, directories := fstest.MapFS{}, fstest.MapFS{}
	for _, k := range format.Kinds() {
		file := &fstest.MapFile{Data: []byte(k.ExampleFile())}
		name := strings.Replace(k.Paths[len(k.Paths)-1], "*", strings.ReplaceAll(k.Name, "-", "_"), 1)
		switch {
		case k.Name == "full":
			continue
		case otherPlaceHint[k.Name] != "":
			directories[name] = file
		case inDirectories[k.Name]:
			files[k.Paths[0]] = file
		default:
			files[name], directories[name] = file, file
		}
	}
	delete(directories, "installs/install.toml")
	single, _ := format.FindKind("full")
	for name, app := range map[string]fstest.MapFS{"files": files, "directories": directories,
		"single": {"nuon.ledger.toml": {Data: []byte(single.ExampleFile())}}} {
		for path, text := range payload {
			app[path] = &fstest.MapFile{Data: []byte(text)}
		}
		loaded, found := appconfig.Load(app, appconfig.Options{})
		for _, d := range found {
			if d.Severity == diagnostic.Error || !harmless.MatchString(d.Rule) {
				t.Errorf("%s: %s [%s]", name, d, d.Rule)
			}
		}
		if loaded == nil {
			t.Errorf("%s: is no app", name)
		}
	}
}

// harmless are the rules of warnings that are about nuon and not about how the examples are written.
var harmless = regexp.MustCompile(`^(no-effect-yet)$`)

// TestExamplesDecode: the example of each kind is read into the type of the kind, and nothing is said about
// it but that it has no effect.
func TestExamplesDecode(t *testing.T) {
	for _, k := range format.Kinds() {
		if k.OpenEnded || k.Name == "component" || k.Name == "full" {
			continue // no file is read as these alone
		}
		table, wrong := syntax.Parse(k.Name, []byte(k.ExampleFile()))
		if wrong != nil {
			t.Fatal(wrong)
		}
		into := reflect.New(k.Type)
		format.Decode(table, k.Keys(), into.Interface(), func(d diagnostic.Diagnostic) {
			if !harmless.MatchString(d.Rule) {
				t.Errorf("%s [%s]", d, d.Rule)
			}
		})
		if into.Elem().IsZero() {
			t.Errorf("%s is empty", k.Name)
		}
	}
}
