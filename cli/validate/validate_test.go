package validate

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

const terraform = "terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/x\"\n"

// app writes a valid app with a change to it, and gives its directory.
func app(t *testing.T, change map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"metadata.toml":       "version = \"v2\"\ndisplay_name = \"Hello\"\n",
		"sandbox.toml":        terraform,
		"inputs.toml":         "[[group]]\nname = \"app\"\ndisplay_name = \"App\"\ndescription = \"All\"\n[[input]]\nname = \"greeting\"\ndisplay_name = \"Greeting\"\ndescription = \"It\"\ngroup = \"app\"\ndefault = \"hi\"\n",
		"components/web.toml": "type = \"terraform_module\"\nname = \"web\"\n" + terraform,
	}
	for file, text := range change {
		files[file] = text
	}
	for file, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func run(t *testing.T, output string, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	c := New(&env.Env{Console: &console.Console{Out: &out, Err: io.Discard, Output: output}})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// TestValidate: a right config is counted, and of a wrong one everything that is wrong is listed with its place; errors alone are
// exit code 2. No control plane is asked.
func TestValidate(t *testing.T) {
	t.Setenv("NUON_URL", "")
	for name, c := range map[string]struct {
		change map[string]string
		code   int
		lines  []string // how each line begins
	}{
		"right":      {nil, 0, []string{"valid: 1 component, 0 actions, 1 input, 0 installs ("}},
		"a warning":  {map[string]string{"installs/acme.toml": "name = \"acme\"\napproval_option = \"auto\"\n"}, 0, []string{"installs/acme.toml:2:", "valid: 1 component, 0 actions, 1 input, 1 install ("}},
		"two errors": {map[string]string{"components/web.toml": "type = \"teraform_module\"\nname = \"web\"\n", "installs/acme.toml": "name = \"acme\"\ncolour = \"red\"\n"}, exit.Usage, []string{"components/web.toml:1:", "installs/acme.toml:2:1: error: "}},
		"no TOML":    {map[string]string{"sandbox.toml": "terraform_version = 1.11.4\n"}, exit.Usage, []string{"sandbox.toml:1:"}},
		"escapes":    {map[string]string{"installs/acme.toml": "name = \"acme\"\n\"col\\u001b[2Jour\" = \"red\"\n"}, exit.Usage, []string{"installs/acme.toml:2:1: error: "}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := app(t, c.change)
			out, err := run(t, "table", dir)
			if exit.CodeOf(err) != c.code || err != nil && err.Error() != "" {
				t.Errorf("ended with %v, want code %d", err, c.code)
			}
			lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			if len(lines) != len(c.lines) || strings.Contains(out, "\x1b") {
				t.Fatalf("printed\n%s", out)
			}
			for i, want := range c.lines {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("line %d is %q, want %q", i+1, lines[i], want)
				}
			}
			t.Chdir(dir)
			if here, err := run(t, "table"); here != out || exit.CodeOf(err) != c.code {
				t.Errorf("without an argument printed\n%s%v", here, err)
			}
		})
	}
}

// TestValidateAsData is the list of what was found, an empty one when that is nothing, with the same exit code.
func TestValidateAsData(t *testing.T) {
	if out, err := run(t, "json", app(t, nil)); err != nil || out != "[]\n" {
		t.Errorf("printed %q, %v", out, err)
	}
	out, err := run(t, "json", app(t, map[string]string{"installs/acme.toml": "name = \"acme\"\ncolour = \"red\"\n"}))
	var found appconfig.Diagnostics
	if exit.CodeOf(err) != exit.Usage || json.Unmarshal([]byte(out), &found) != nil {
		t.Fatalf("printed %q, %v", out, err)
	}
	if len(found) != 1 || found[0].File != "installs/acme.toml" || found[0].Line != 2 || found[0].Column != 1 || found[0].Severity != "error" {
		t.Errorf("found %+v", found)
	}
	if out, err := run(t, "yaml", app(t, map[string]string{"installs/acme.toml": "name = \"acme\"\ncolour = \"red\"\n"})); exit.CodeOf(err) != exit.Usage || !strings.Contains(out, "file: installs/acme.toml\n") {
		t.Errorf("printed %q, %v", out, err)
	}
}

// TestNotADirectory is a mistake in the command, and not a config without errors.
func TestNotADirectory(t *testing.T) {
	dir := app(t, nil)
	for _, p := range []string{filepath.Join(dir, "none"), filepath.Join(dir, "metadata.toml")} {
		if out, err := run(t, "json", p); exit.CodeOf(err) != exit.Usage || !strings.Contains(err.Error(), p) || out != "" {
			t.Errorf("%s: printed %q, ended with %v", p, out, err)
		}
	}
	if _, err := run(t, "table", t.TempDir()); exit.CodeOf(err) != exit.Usage {
		t.Errorf("an empty directory ended with %v", err)
	}
}
