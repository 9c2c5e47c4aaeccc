package contextcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

const two = `current = "prod"
[contexts.prod]
url = "http://prod"
token = "hush"
org = "acme"
[contexts.dev]
url = "http://dev"
token = "hush"
`

// run runs the command with a file of two contexts, and returns the output and the resulting file.
func run(t *testing.T, output string, args ...string) (string, contexts.File, error) {
	t.Helper()
	p := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(p, []byte(two), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NUON_CONFIG", p)
	var out strings.Builder
	c := New(&cmdenv.Env{Console: &console.Console{Out: &out, Err: &out, Output: output}})
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(t.Context())
	f, loaded := contexts.Load()
	if loaded != nil {
		t.Fatal(loaded)
	}
	if strings.Contains(out.String(), "hush") {
		t.Errorf("shows a token: %s", out.String())
	}
	return out.String(), f, err
}

func clean(t *testing.T) {
	t.Helper()
	for _, name := range []string{"NUON_URL", "NUON_TOKEN", "NUON_CONTEXT"} {
		t.Setenv(name, "")
	}
}

// TestShow checks that show prints the selected control plane and what selected it.
func TestShow(t *testing.T) {
	for name, c := range map[string]struct {
		set  map[string]string
		want []string
	}{
		"the current one": {nil,
			[]string{"prod\n", "http://prod", "org      acme", "from     the current context\n"}},
		"by NUON_CONTEXT": {map[string]string{"NUON_CONTEXT": "dev"},
			[]string{"dev\n", "http://dev", "from     NUON_CONTEXT\n"}},
		"another address": {map[string]string{"NUON_URL": "http://x"},
			[]string{"prod\n", "http://x", "address from NUON_URL"}},
		"another token": {map[string]string{"NUON_TOKEN": "hush"},
			[]string{"prod\n", "token from NUON_TOKEN"}},
		"the environment alone": {map[string]string{"NUON_URL": "http://ci", "NUON_TOKEN": "hush"},
			[]string{"no context\n", "http://ci", "from     NUON_URL and NUON_TOKEN\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			for k, v := range c.set {
				t.Setenv(k, v)
			}
			out, _, err := run(t, "table", "show")
			for _, want := range c.want {
				if err != nil || !strings.Contains(out, want) {
					t.Errorf("%v, printed\n%s, which lacks %q", err, out, want)
				}
			}
		})
	}
}

// TestPlaintextWarning checks that adding and selecting a control plane that is reached by plain HTTP prints a warning,
// once, except for this machine.
func TestPlaintextWarning(t *testing.T) {
	clean(t)
	t.Setenv("A_TOKEN", "hush")
	for url, warns := range map[string]int{"https://new": 0, "http://127.0.0.1:7110": 0, "http://localhost": 0,
		"http://[::1]:7110": 0, "http://new": 1, "http://10.0.0.1": 1, "http://127.0.0.1.example": 1} {
		out, _, err := run(t, "table", "add", "new", "--url", url, "--token-from", "env:A_TOKEN")
		if err != nil || strings.Count(out, "warning: the connection to "+url+" is not encrypted") != warns {
			t.Errorf("%s: %v, printed %q", url, err, out)
		}
	}
	if out, _, err := run(t, "table", "use", "dev"); err != nil ||
		strings.Count(out, "warning: the connection to http://dev is not encrypted") != 1 {
		t.Errorf("%v, printed %q", err, out)
	}
}

// TestRemove checks that remove deletes a context, and that no context is current if it
// was the current one.
func TestRemove(t *testing.T) {
	clean(t)
	if _, f, err := run(t, "table", "remove", "dev"); exitcode.CodeOf(err) != exitcode.Usage || len(f.Contexts) != 2 {
		t.Errorf("without a yes: %v, left %v", err, f.Contexts)
	}
	if _, f, err := run(t, "table", "remove", "dev", "--yes"); err != nil ||
		len(f.Contexts) != 1 || f.Current != "prod" {
		t.Errorf("%v, left %+v", err, f)
	}
	if _, f, err := run(t, "table", "remove", "prod", "--yes"); err != nil || f.Current != "" ||
		f.Contexts["dev"].URL == "" {
		t.Errorf("%v, left %+v", err, f)
	}
	if _, f, err := run(t, "table", "remove", "none", "--yes"); exitcode.CodeOf(err) != exitcode.Usage ||
		len(f.Contexts) != 2 {
		t.Errorf("what is not there: %v", err)
	}
}

// TestAddAndUse checks that an added context becomes the current one, and that
// an invalid address is an error before the token is requested.
func TestAddAndUse(t *testing.T) {
	clean(t)
	t.Setenv("A_TOKEN", "hush")
	if _, f, err := run(t, "table", "add", "new", "--url", "https://new", "--token-from", "env:A_TOKEN"); err != nil ||
		f.Current != "new" || f.Contexts["new"] != (contexts.Context{URL: "https://new", Token: "hush"}) {
		t.Errorf("%v, left %+v", err, f)
	}
	for _, url := range []string{"new", "ftp://new", "http://", "localhost:7110"} {
		if _, f, err := run(t, "table", "add", "new", "--url", url,
			"--token-from", "env:A_TOKEN"); exitcode.CodeOf(err) != exitcode.Usage ||
			len(f.Contexts) != 2 {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, f, err := run(t, "table", "use", "dev"); err != nil || f.Current != "dev" {
		t.Errorf("%v, left %+v", err, f)
	}
	if out, _, err := run(t, "name", "list"); err != nil || out != "dev\nprod\n" {
		t.Errorf("%v, listed %q", err, out)
	}
}
