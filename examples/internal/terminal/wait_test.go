//go:build unix

package terminal

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/screen/screentest"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet/fleettest"
)

// held is an app whose component is applied only once the file open exists, and never while the file shut exists.
func held(open, shut string) fstest.MapFS {
	files := maps.Clone(app("first"))
	delete(files, "policies.toml")
	files["modules/web/main.tf"] = &fstest.MapFile{Data: []byte(fmt.Sprintf(`resource "terraform_data" "page" {
  provisioner "local-exec" {
    command = "[ ! -e %[2]s ] || exit 1; until [ -e %[1]s ]; do sleep 0.1; done"
  }
}
`, open, shut))}
	return files
}

// stopsWaiting waits for the live steps of a command, presses Ctrl-C, and checks that the command states what
// continues and how to return.
func stopsWaiting(s *screentest.Seat, steps, continues, back string) {
	tree := regexp.MustCompile(steps)
	s.Wait(func() bool { return tree.MatchString(s.Seen()) }, "no "+steps)
	s.Keys("\x03")
	s.Leaves(exitcode.CodeOf(exitcode.Interrupted))
	s.Sees(continues)
	s.Sees(back)
}

// TestWaiting checks what the commands that wait or watch show on a terminal: the steps of the workflow as a tree,
// while it runs, and after Ctrl-C what continues.
func TestWaiting(t *testing.T) {
	t.Parallel()
	w := fleettest.Start(t, fleet.Options{})
	dir := t.TempDir()
	open, shut := filepath.Join(dir, "open"), filepath.Join(dir, "shut")
	vendor, err := w.Fleet.NewRepository(w.Ctx, "shop", held(open, shut))
	w.Must(err)
	w.Nuon("apps", "create", "shop", "--repo", vendor.URL)
	w.Nuon("sync", "--app", "shop", "--wait")
	w.Must(os.WriteFile(shut, nil, 0o600))
	w.Nuon("installs", "create", "globex", "--app", "shop", "--runner", "customer", "--approval", "approve-all",
		"--allow-destroy")
	if _, err := w.Fleet.Nuon(w.Ctx, "workflows", "watch", "latest:globex"); err == nil {
		t.Fatal("the apply does not fail")
	}
	w.Must(os.Remove(shut))
	const applies = `web +apply +running`

	s := opens(w, dir, "deploy", "globex", "--wait")
	stopsWaiting(s, applies, "stopped waiting: deploy 2 of shop/globex continues with apply web", "to wait again")

	w.Nuon("installs", "create", "acme", "--app", "shop", "--runner", "customer")
	s = opens(w, dir, "workflows", "watch", "latest:acme")
	s.Leaves(exitcode.Waiting)
	s = opens(w, dir, "approve", "acme/sandbox", "--wait")
	fills(s, answer{"Continue? [y/N]", "y\r"})
	s.Leaves(exitcode.Waiting)
	s.Sees("approved: sandbox on shop/acme")
	s = opens(w, dir, "approve", "acme/web", "--wait")
	fills(s, answer{"Continue? [y/N]", "y\r"})
	stopsWaiting(s, applies, "stopped waiting: provision 1 of shop/acme continues with apply web", "to wait again")

	s = opens(w, dir, "status", "--watch")
	s.Size(120, 40)
	s.Sees("deploy 2 of shop/globex, running for ")
	stopsWaiting(s, `provision 1 of shop/acme, running for \S+\s+✓ sandbox .*\s+└─ … `+applies,
		"stopped watching: provision 1 of shop/acme continues with apply web; 1 other workflow continues",
		"nuon status --watch")

	w.Must(os.WriteFile(open, nil, 0o600))
	for _, install := range []string{"globex", "acme"} {
		w.Until(install, 1)
	}
	if shown := w.Nuon("status"); strings.Contains(shown, "running for") {
		t.Errorf("something runs:\n%s", shown)
	}
}
