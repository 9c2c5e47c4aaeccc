package explain

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestExplain checks that the chain of the given kind and name is requested, and
// printed with the first cause first.
func TestExplain(t *testing.T) {
	asked := ""
	chain := []api.Cause{
		{Record: "revision", Name: "1a2b3c4\x1b[2J", Reason: "main\nmoved", At: time.Date(2026, 1, 2, 3, 4, 5, 0,
			time.Local)},
		{Record: "build", Name: "web 2", Reason: "its input changed", Modules: api.ModuleResolution{Tool: "terraform",
			Modules: []api.ResolvedModule{
				{Key: "vpc", Source: "acme/vpc/aws", Constraint: "~> 1.0", Version: "1.2.0"},
				{Key: "vpc.text", Source: "git::https://git.test/x\x1b[2J", Commit: strings.Repeat("a", 40)}}}},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.EscapedPath()
		_ = json.NewEncoder(w).Encode(api.Explanation{Chain: chain})
	}))
	defer s.Close()
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_CONTEXT", "")
	run := func(args ...string) (string, error) {
		var out strings.Builder
		c := New(&cmdenv.Env{Console: &console.Console{Out: &out, Err: io.Discard, Output: "table"}})
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(args)
		err := c.ExecuteContext(t.Context())
		return out.String(), err
	}
	out, err := run("build", "../x y")
	if err != nil {
		t.Fatal(err)
	}
	want := "   revision 1a2b3c4 [2J  03:04:05\n     main moved\n└─ build web 2\n     its input changed\n" +
		"     module vpc: acme/vpc/aws 1.2.0 (~> 1.0)\n     module vpc.text: git::https://git.test/x [2J at aaaaaaaaaaaa\n"
	if d := cmp.Diff(want, out); d != "" {
		t.Error(d)
	}
	if asked != "/v1/explain/build/..%2Fx%20y" {
		t.Errorf("asked for %s", asked)
	}
	asked = ""
	if _, err := run("weather", "today"); exitcode.CodeOf(err) != exitcode.Usage ||
		!strings.Contains(err.Error(), "build install") || asked != "" {
		t.Errorf("ended with %v after asking for %q", err, asked)
	}
}
