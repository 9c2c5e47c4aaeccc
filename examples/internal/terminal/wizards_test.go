//go:build unix

package terminal

import (
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/screen/screentest"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet/fleettest"
)

// opens runs nuon on a terminal, in a directory.
func opens(w *fleettest.World, dir string, args ...string) *screentest.Seat {
	w.Helper()
	c := exec.Command(filepath.Join(w.Fleet.Bin, "nuon"), args...)
	c.Dir, c.Env = dir, w.Fleet.Person()
	return screentest.Sit(w.T, c, false)
}

// answer is what a person enters for a question.
type answer struct{ sees, keys string }

// fills answers the questions of a command one after the other.
func fills(s *screentest.Seat, answers ...answer) {
	for _, a := range answers {
		s.Sees(a.sees)
		s.Keys(a.keys)
	}
}

const (
	enter = "\r"
	down  = "\x1b[B"
	token = "hush-hush-hush"
)

// withToken is an app with an input that has a default and a secret one that has none.
func withToken() fstest.MapFS {
	files := maps.Clone(app("first"))
	files["inputs.toml"] = &fstest.MapFile{Data: []byte("[[group]]\nname = \"main\"\ndisplay_name = \"Main\"\n" +
		"description = \"What it needs\"\n[[input]]\nname = \"color\"\ndisplay_name = \"Color\"\ngroup = \"main\"\n" +
		"description = \"of the page\"\ndefault = \"red\"\n[[input]]\nname = \"token\"\ndisplay_name = \"Token\"\n" +
		"description = \"for the API\"\ngroup = \"main\"\nrequired = true\nsensitive = true\n")}
	return files
}

// TestWizards takes an app from its first file to a rollback, and answers what each command asks on a terminal. Each
// asks only for what its flags leave open, and prints the command line that does the same.
func TestWizards(t *testing.T) {
	t.Parallel()
	w := fleettest.Start(t, fleet.Options{})
	dir := t.TempDir()
	s := opens(w, dir, "init", "-i", "sample")
	fills(s, answer{"Name of the app [sample]:", "page\r"}, answer{"Directory of a Helm chart", enter})
	s.Leaves(exitcode.Done)
	s.Sees("nuon apps create page")

	vendor, err := w.Fleet.NewRepository(w.Ctx, "shop", withToken())
	w.Must(err)
	s = opens(w, vendor.Tree, "apps", "create", "--repo", vendor.URL)
	fills(s, answer{"┃ Name *", enter}, answer{"┃ Branch", enter},
		answer{"┃ Directory", enter})
	s.Leaves(exitcode.Done)
	s.Sees("nuon apps create shop --repo file://")
	s.Sees("created app shop")
	if strings.Contains(s.Raw(), "An https:// or file:// URL") {
		t.Error("the command asks for the repository, which a flag sets")
	}

	s = opens(w, dir, "sync")
	fills(s, answer{"shop  file://", enter}, answer{"until the builds of the newest release end", enter})
	s.Leaves(exitcode.Done)
	s.Told("nuon sync --app shop")
	s.Sees("shop is at release 1")

	s = opens(w, dir, "installs", "create", "--runner", "customer", "--approval", "approve-all", "--wait")
	fills(s, answer{"> shop", enter}, answer{"┃ Name *", "acme\r"}, answer{"┃ Token *", token}, answer{"**", enter})
	s.Leaves(exitcode.Done)
	if raw := s.Raw(); strings.Contains(raw, token) || strings.Contains(raw, "of the page") {
		t.Errorf("the secret is on the screen, or a value with a default was asked for: %q", raw)
	}
	s.Told("nuon installs create acme --app shop --approval approve-all --runner customer --secret token --wait")
	w.Until("acme", 1)

	const page = "modules/web/main.tf"
	w.Must(vendor.Write(page, string(app("second")[page].Data)))
	w.Must(vendor.Push(w.Ctx, "Say another word"))
	w.Nuon("sync", "--app", "shop", "--wait")

	s = opens(w, dir, "deploy", "--wait")
	fills(s, answer{"> acme", enter}, answer{"plans the components that are behind", down + enter},
		answer{"┃ Components *", " " + enter}, answer{"┃ Dependents", enter})
	s.Leaves(exitcode.Done)
	s.Told("nuon deploy acme sandbox --redeploy --wait")

	s = opens(w, dir, "installs", "rollback", "--wait")
	fills(s, answer{"> acme", enter}, answer{"It has release 2 now.", enter}, answer{"┃ Reason", "the word is wrong\r"})
	s.Leaves(exitcode.Done)
	s.Told("nuon installs rollback acme --reason 'the word is wrong' --to 1 --wait")
	w.Until("acme", 1)

	// A wizard that is left changes nothing, and without a terminal nothing is asked.
	s = opens(w, dir, "deploy")
	s.Sees("> acme")
	s.Keys("\x1b")
	s.Leaves(exitcode.CodeOf(exitcode.Interrupted))
	s.Sees("canceled: nothing was changed")
	for _, line := range []string{"deploy", "installs rollback", "installs create", "apps create"} {
		out, err := w.Fleet.Nuon(w.Ctx, strings.Fields(line)...)
		if err == nil || !strings.Contains(err.Error(), "name the ") {
			t.Errorf("nuon %s without a terminal: %v\n%s", line, err, out)
		}
	}
}
