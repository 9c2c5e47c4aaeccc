package rollout_test

import (
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/stackversion"
)

// TestStackVersionsFollowTheConfig stores a version of the stack when a release, the account or the program of runners
// changes it, and none when something else changes.
func TestStackVersionsFollowTheConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	versions := func(want string) {
		t.Helper()
		w.look()
		w.want(w.one(`select coalesce(string_agg(version::text, ' ' order by version), '') from stack_versions`), want)
	}
	runner := installstack.Runner{URL: "https://runners.example.com", DownloadURL: "https://runners.example.com/p",
		SHA256: "01"}
	w.app.Runner = &format.Runner{Type: "aws"}
	w.app.Stack = &format.Stack{Name: "s", Description: "first"}
	w.version()
	versions("")
	w.rollout.UseStacks(stackversion.New(runner, ""))
	versions("1")
	versions("1")
	w.app.Components[0].Terraform.Vars = map[string]string{"more": "x"}
	w.version()
	versions("1")
	w.app.Stack.Description = "second"
	w.version()
	versions("1 2")
	w.exec(`update installs set account = '{"aws_account": {"region": "eu-central-1"}}'`)
	versions("1 2 3")
	runner.SHA256 = "02"
	w.rollout.UseStacks(stackversion.New(runner, ""))
	versions("1 2 3 4")
	w.want(w.display("{{.nuon.install_stack.status}}").Text, "pending")
	w.app.Stack.Name = "{{.nuon.sandbox.outputs.x}}"
	w.version()
	versions("1 2 3 4")
}
