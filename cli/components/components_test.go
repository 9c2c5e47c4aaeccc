package components

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// run runs the command against a control plane with an app of three components.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return runOn(t, false, args...)
}

// runOn is run on a terminal or in a pipe.
func runOn(t *testing.T, terminal bool, args ...string) (string, error) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(api.ComponentList{Items: []api.Component{
			{ID: "cmp_1", Name: "sandbox", Kind: "sandbox", Build: api.Build{ID: "bld_1", Number: 4, Status: "succeeded",
				Reason: "first input", ArtifactDigest: "sha256:aa"}},
			{ID: "cmp_2", Name: "web", Kind: "terraform_module", DependsOn: []string{"sandbox", "db"},
				Build: api.Build{ID: "bld_2", Number: 5, Status: "failed", Reason: "changed", Error: "no\x1b[2Jnet"}},
			{ID: "cmp_3", Name: "new", Kind: "terraform_module", Problem: "modules/new is not there"},
		}})
	}))
	defer s.Close()
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	var out strings.Builder
	c := New(&cmdenv.Env{Console: &console.Console{Out: &out, Err: &out, Output: "table",
		OutIsTerminal: terminal}})
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// TestListOnATerminal checks that a terminal shows the components as a tree.
func TestListOnATerminal(t *testing.T) {
	out, err := runOn(t, true, "list", "shop")
	for _, want := range []string{"\nsandbox ", "\n└─ web ", "\nnew "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q, %v, in\n%s", want, err, out)
		}
	}
}

// TestComponents checks that components are listed with their newest builds, and shown
// with the reasons of their status.
func TestComponents(t *testing.T) {
	for line, want := range map[string]string{
		"list shop": "sandbox\tsandbox\t4 succeeded\t\t\nweb\tterraform_module\t5 failed\tsandbox " +
			"db\t\nnew\tterraform_module\t-\t\tmodules/new is not there\n",
		"list shop --kind terraform_module": "web\tterraform_module\t5 failed\tsandbox db\t\n" +
			"new\tterraform_module\t-\t\tmodules/new is not there\n",
		"list shop --limit 1": "sandbox\tsandbox\t4 succeeded\t\t\n",
		"get shop sandbox": "sandbox of app shop (cmp_1)\n  kind      sandbox\n  needs     -\n  build     4 (bld_1): " +
			"succeeded\n            first input\n  artifact  sha256:aa\n",
		"get shop cmp_2": "web of app shop (cmp_2)\n  kind      terraform_module\n  needs     sandbox db\n  build     5 " +
			"(bld_2): failed\n            no [2Jnet\n",
		"get shop new": "new of app shop (cmp_3)\n  kind      terraform_module\n  needs     -\n  problem   modules/new is " +
			"not there\n",
	} {
		if out, err := run(t, strings.Fields(line)...); err != nil || out != want {
			t.Errorf("%s: %v, printed\n%s, want\n%s", line, err, out, want)
		}
	}
	if _, err := run(t, "get", "shop", "wob"); exitcode.CodeOf(err) != exitcode.Failed ||
		!strings.Contains(err.Error(), "nuon components list shop") {
		t.Errorf("what is not there: %v", err)
	}
}
