package installs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// written writes the shop and its install files to disk and returns the directory.
func written(t *testing.T, installs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, shop(installs)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSync checks a sync of two files, one of a new install and one of an install that
// differs, and the cases in which nothing is done.
func TestSync(t *testing.T) {
	files := map[string]string{"acme": "name = \"acme\"\n[inputs]\nnote = \"n\"\n", "globex": "name = \"globex\"\n"}
	owned := api.Install{ID: "ins_acme", App: "hello", Name: "acme", Approval: "prompt",
		ManagedBy: "config", Status: "current"}
	manual := owned
	manual.ManagedBy = "manual"
	t.Setenv("TOKEN", "hush")
	for name, c := range map[string]struct {
		acme           api.Install
		args           []string
		typed          string
		code           int
		makes, changes bool
		says           string
	}{
		"just to see": {owned, []string{"--dry-run"}, "", 0, false, false, "~ acme  change"},
		"in a script": {owned, nil, "", exitcode.Usage, false, false,
			"this creates 1 and changes 1 install of hello; pass --yes"},
		"without the secret": {owned, []string{"--yes"}, "", exitcode.Usage, false, false,
			"--secret globex/token=env:VAR"},
		"with it": {owned, []string{"--yes", "--secret", "globex/token=env:TOKEN"}, "", 0, true, true,
			"created globex (ins_1)"},
		"with one for all": {owned, []string{"--yes", "--secret", "token=env:TOKEN"}, "", 0, true, true,
			"changed acme"},
		"of another": {owned, []string{"--yes", "--secret", "initech/token=env:TOKEN"}, "", exitcode.Usage, false,
			false, "globex needs"},
		"of nothing": {owned, []string{"--yes", "--secret", "token=env:NOT_THERE"}, "", exitcode.Usage, false,
			false, "NOT_THERE"},
		"a person says no": {owned, nil, "n\n", exitcode.Rejected, false, false, "+ globex  create"},
		"people's": {manual, []string{"--yes", "--secret", "token=env:TOKEN"}, "", exitcode.Failed, false, false,
			"nothing was changed: acme cannot be changed"},
		"people's, taken": {manual, []string{"--yes", "--secret", "token=env:TOKEN", "--take-ownership"}, "", 0, true,
			true, "managed_by"},
		"with another's runner": {owned, []string{"--yes", "--secret", "token=env:TOKEN", "--runner", "shared"}, "", 0, true,
			true, "created globex"},
		"seen, and waited for": {owned, []string{"--dry-run", "--wait"}, "", exitcode.Failed, false, false,
			"if any flags in the group"},
		"and waited until there": {owned, []string{"--yes", "--secret", "token=env:TOKEN", "--wait"}, "", 0, true, true,
			"created globex"},
	} {
		t.Run(name, func(t *testing.T) {
			p, e := start(t)
			p.installs = []api.Install{c.acme}
			if c.changes && strings.Contains(name, "waited") {
				p.installs = append(p.installs, api.Install{ID: "ins_1", Name: "not yet listed", Status: "current"})
			}
			if c.typed != "" {
				atATerminal(e, c.typed)
			}
			err := execute(t, New(e), append([]string{"sync", written(t, files), "--app", "hello"}, c.args...)...)
			said := fmt.Sprint(e.Console.Out, e.Console.Err, err)
			if exitcode.CodeOf(err) != c.code || !strings.Contains(said, c.says) {
				t.Errorf("ended with %v after\n%s", err, said)
			}
			if (p.created != nil) != c.makes || (p.changed != nil) != c.changes {
				t.Errorf("made %+v, changed %+v", p.created, p.changed)
			}
			if strings.Contains(p.all+said, "hush") {
				t.Error("a secret is readable")
			}
			if !c.makes {
				return
			}
			if d := cmp.Diff(api.NewInstallManagedByConfig, p.created.ManagedBy); d != "" || len(p.created.Inputs) != 1 ||
				p.created.Inputs[0].Name != "token" {
				t.Errorf("made %+v", p.created)
			}
			opened, err := p.own.Open(p.created.Inputs[0].Sealed, seal.InputContext(p.created.ID, "token"))
			if err != nil || string(opened.Reveal()) != "hush" {
				t.Errorf("sealed is %v", err)
			}
			if p.changed.By != api.InstallChangeByConfig {
				t.Errorf("changed by %q", p.changed.By)
			}
		})
	}
}

// TestSyncOfNothing checks that a sync without changes asks no questions, that
// programs get the outcomes, and that -o name prints only installs that would change.
func TestSyncOfNothing(t *testing.T) {
	dir := written(t, map[string]string{"acme": "name = \"acme\"\n"})
	for format, want := range map[string]string{"table": "= acme  no changes\n", "name": "", "json": "none"} {
		p, e := start(t)
		p.installs = []api.Install{{ID: "ins_acme", Name: "acme", Approval: "prompt", ManagedBy: "config"}}
		e.Console.Output = format
		if err := execute(t, New(e), "sync", dir, "--app", "hello"); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(e.Console.Out)
		if format == "json" {
			var all []Difference
			if err := json.Unmarshal([]byte(got), &all); err != nil || len(all) != 1 {
				t.Fatal(err, got)
			}
			got = string(all[0].Outcome)
		}
		if got != want {
			t.Errorf("-o %s printed %q", format, got)
		}
	}
}

// TestSyncOfABrokenFile checks that an invalid file is reported with its position, and
// that nothing is sent.
func TestSyncOfABrokenFile(t *testing.T) {
	dir := written(t, map[string]string{"acme": "name = \"acme\"\n[inputs]\ncolour = \"red\"\n"})
	p, e := start(t)
	err := execute(t, New(e), "sync", filepath.Join(dir), "--app", "hello", "--yes")
	if exitcode.CodeOf(err) != exitcode.Usage || p.all != "" ||
		!strings.Contains(fmt.Sprint(e.Console.Err), "installs/acme.toml:3:1: error: the app has no input") {
		t.Errorf("ended with %v after %s, said %s", err, p.all, e.Console.Err)
	}
}
