package installs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestAPlainSecretStaysHere checks that a plain-text value for a sensitive input is
// rejected before anything is sent.
func TestAPlainSecretStaysHere(t *testing.T) {
	for _, line := range []string{"create acme --app hello --input token=hush", "update acme --input token=hush"} {
		p, e := start(t)
		err := execute(t, New(e), strings.Fields(line)...)
		if exitcode.CodeOf(err) != exitcode.Usage || !strings.Contains(err.Error(), "--secret token") {
			t.Errorf("%s ended with %v", line, err)
		}
		if strings.Contains(p.all, "hush") || p.created != nil || p.changed != nil {
			t.Errorf("%s sent\n%s", line, p.all)
		}
	}
}

// TestUpdateShowsFirst checks when the preview of an update is printed: alone with
// --preview, before the question on a terminal, and never in a script.
func TestUpdateShowsFirst(t *testing.T) {
	preview := `hello/acme would change:
  input greeting  "hi" → "hey"
  label tier      (none) → "gold"
planned as a result:
  web                planned  input greeting changed
  (unchanged: 1 component)
`
	for name, c := range map[string]struct {
		more    string
		typed   string
		code    int
		changes bool
		shows   bool
	}{
		"only shown":              {"--preview", "", 0, false, true},
		"interactive, yes":        {"-i", "y\n", 0, true, true},
		"interactive, no":         {"--interactive", "n\n", exitcode.Rejected, false, true},
		"on a terminal":           {"", "n\n", 0, true, false},
		"in a script":             {"", "", 0, true, false},
		"interactive in a script": {"-i", "", exitcode.Usage, false, false},
		"a silly pairing":         {"--preview --wait", "", exitcode.Failed, false, false},
		"previewed interactively": {"--preview -i", "y\n", exitcode.Failed, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, e := start(t)
			p.installs[0].Inputs = []api.InputValue{{Name: "greeting", Value: "hi"}}
			p.effects = []api.PreviewedEffect{{Name: "sandbox", Effect: "none"},
				{Name: "web", Effect: "behind", Reason: "input greeting changed"}}
			if c.typed != "" {
				atATerminal(e, c.typed)
			}
			err := execute(t, New(e), strings.Fields("update acme --input greeting=hey --label tier=gold "+c.more)...)
			if exitcode.CodeOf(err) != c.code || (p.changed != nil) != c.changes {
				t.Errorf("ended with %v, changed %v", err, p.changed)
			}
			said := fmt.Sprint(e.Console.Err, e.Console.Out)
			if strings.Contains(said, preview) != c.shows {
				t.Errorf("shows %t:\n%s", !c.shows, said)
			}
		})
	}
}

// TestUpdateOfNothing checks that an update without a change is a usage error, also on a terminal.
func TestUpdateOfNothing(t *testing.T) {
	for _, typed := range []string{"", "y\n"} {
		p, e := start(t)
		if typed != "" {
			atATerminal(e, typed)
		}
		if err := execute(t, New(e), "update", "acme"); exitcode.CodeOf(err) != exitcode.Usage || p.all != "" {
			t.Errorf("with %q typed: ended with %v after\n%s", typed, err, p.all)
		}
	}
}

// TestToggles checks that disabling components shows a preview and asks first,
// and requires --yes in a script, while enabling them in a script needs neither.
func TestToggles(t *testing.T) {
	for name, c := range map[string]struct {
		line  string
		typed string
		code  int
		want  *api.InstallChange
	}{
		"off in a script": {"disable acme metrics", "", exitcode.Usage, nil},
		"off in a script, with yes": {"disable acme metrics db --yes", "", 0,
			&api.InstallChange{Toggles: map[string]bool{"metrics": false, "db": false}}},
		"off, yes":       {"disable acme metrics", "y\n", 0, &api.InstallChange{Toggles: map[string]bool{"metrics": false}}},
		"off, no":        {"disable acme metrics", "\n", exitcode.Rejected, nil},
		"on in a script": {"enable acme metrics", "", 0, &api.InstallChange{Toggles: map[string]bool{"metrics": true}}},
		"on, no":         {"enable acme metrics", "no\n", exitcode.Rejected, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, e := start(t)
			if c.typed != "" {
				atATerminal(e, c.typed)
			}
			err := execute(t, New(e), strings.Fields(c.line)...)
			if exitcode.CodeOf(err) != c.code {
				t.Errorf("ended with %v", err)
			}
			if d := cmp.Diff(c.want, p.changed); d != "" {
				t.Error(d)
			}
			if c.typed != "" && p.previewed == nil {
				t.Error("asked without showing what would follow")
			}
		})
	}
}

// TestManagedBy checks that an install is managed only manually or by its config.
func TestManagedBy(t *testing.T) {
	p, e := start(t)
	if err := execute(t, New(e), "managed-by", "acme", "manual"); err != nil || p.changed.ManagedBy != "manual" {
		t.Errorf("%v, %+v", err, p.changed)
	}
	if err := execute(t, New(e), "managed-by", "acme", "nobody"); exitcode.CodeOf(err) != exitcode.Usage {
		t.Errorf("ended with %v", err)
	}
}

// TestForget checks that forgetting an install that leaves resources behind asks
// first, and that forgetting a deprovisioned one does not.
func TestForget(t *testing.T) {
	for line, code := range map[string]int{"forget acme": 0, "forget acme --force": exitcode.Usage,
		"forget acme --force --yes": 0} {
		p, e := start(t)
		if err := execute(t, New(e), strings.Fields(line)...); exitcode.CodeOf(err) != code ||
			(p.all == "") != (code != 0) {
			t.Errorf("%s ended with %v after %q", line, err, p.all)
		}
	}
}

// TestPinning checks pinning to a given release and to the current one, rolling back,
// and unpinning.
func TestPinning(t *testing.T) {
	all := []api.Release{{Number: 7, Status: "complete"}, {Number: 6, Status: "incomplete"},
		{Number: 5, Status: "complete"}, {Number: 4, Status: "building"}, {Number: 3, Status: "complete"}}
	for line, c := range map[string]struct {
		install  api.Install
		releases []api.Release
		code     int
		want     *api.NewPin
		says     string
	}{
		"pin acme 4": {api.Install{}, nil, 0, &api.NewPin{Release: 4},
			"pinned hello/acme to release 4 (1a2b3c4) (the newest is 7)"},
		"pin acme 4 --reason x": {api.Install{}, nil, 0, &api.NewPin{Release: 4, Reason: "x"},
			"to release 4 (1a2b3c4) (the newest is 7): x\n"},
		"pin acme": {api.Install{Release: 6, Target: 6, Latest: 7}, nil, 0, &api.NewPin{Release: 6},
			"nuon installs unpin acme"},
		"pin acme --wait=false": {api.Install{Target: 7, Latest: 7}, nil, exitcode.Usage, nil,
			"nuon installs pin hello/acme 7"},
		"pin acme 0":           {api.Install{}, nil, exitcode.Usage, nil, `invalid release "0"`},
		"pin acme 99999999999": {api.Install{}, nil, exitcode.Usage, nil, "invalid release"},
		"rollback acme": {api.Install{Release: 7, Target: 7, Latest: 7}, all, 0,
			&api.NewPin{Release: 5, Reason: "rolled back from release 7"}, "to release 5"},
		"rollback acme --reason y": {api.Install{Release: 5, Target: 5, Latest: 7, Pinned: 5}, all, 0,
			&api.NewPin{Release: 3, Reason: "y"}, "behind: web"},
		"rollback acme --to 2": {api.Install{Target: 7, Latest: 7}, nil, 0,
			&api.NewPin{Release: 2, Reason: "rolled back from release 7"}, "to release 2"},
		"rollback acme --to x": {api.Install{}, nil, exitcode.Usage, nil, "invalid release"},
		"rollback acme --wait=0": {api.Install{Release: 3, Target: 3, Latest: 3}, all, exitcode.Usage, nil,
			"hello has no complete release before 3"},
		"rollback acme --timeout 1s": {api.Install{Target: 7, Latest: 7}, all, 0,
			&api.NewPin{Release: 5, Reason: "rolled back from release 7"}, "to release 5"},
		"unpin acme": {api.Install{}, nil, 0, nil, "unpinned hello/acme: it follows the newest release, 7 (1a2b3c4)"},
	} {
		t.Run(line, func(t *testing.T) {
			p, e := start(t)
			c.install.ID, c.install.App, c.install.Name = "ins_acme", "hello", "acme"
			p.installs, p.releases = []api.Install{c.install}, c.releases
			err := execute(t, New(e), strings.Fields(line)...)
			if said := fmt.Sprint(e.Console.Out, err); exitcode.CodeOf(err) != c.code || !strings.Contains(said, c.says) {
				t.Errorf("ended with %v after %s", err, e.Console.Out)
			}
			if d := cmp.Diff(c.want, p.pinned); d != "" {
				t.Error(d)
			}
		})
	}
}
