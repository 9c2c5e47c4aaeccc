//go:build unix

package containers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/screen/screentest"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet/fleettest"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// podsApp is an app whose components are Deployments in the namespace of a world.
func (w *world) podsApp(components ...string) fstest.MapFS {
	files := fstest.MapFS{
		"metadata.toml": {Data: []byte("version = \"v2\"\ndisplay_name = \"Shop\"\n")},
		"runner.toml":   {Data: []byte("runner_type = \"aws\"\n")},
		"sandbox.toml": {Data: []byte("terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\n" +
			"directory = \"modules/base\"\n")},
		"modules/base/main.tf": {Data: []byte("output \"text\" {\n  value = \"text\"\n}\n")},
	}
	for _, component := range components {
		files["components/"+component+".toml"] = &fstest.MapFile{Data: []byte(fmt.Sprintf(
			"type = \"kubernetes_manifest\"\nname = %q\nnamespace = %q\nmanifest = \"\"\"\napiVersion: apps/v1\n"+
				"kind: Deployment\nmetadata: {name: %[1]s}\nspec:\n  selector: {matchLabels: {app: %[1]s}}\n"+
				"  template:\n    metadata: {labels: {app: %[1]s}}\n    spec:\n"+
				"      containers: [{name: main, image: '%[3]s', args: [wait]}]\n\"\"\"\n",
			component, w.namespace, w.plain))}
	}
	return files
}

// TestShells opens interactive shells in pods with nuon on a terminal, through a runner that only dials out.
func TestShells(t *testing.T) {
	w := newWorld(t)
	f := fleettest.Start(t, fleet.Options{Kubeconfig: w.kubeconfig})
	file := filepath.Join(t.TempDir(), "runner.toml")
	f.Must(os.WriteFile(file, []byte("[debug]\nshells = [\"web\"]\nimages = [\""+w.plain+"\"]\n"), 0o600))
	runner, err := f.Fleet.AddInstaller(f.Ctx, "looks", []string{"--policy", file}, nil)
	f.Must(err)
	vendor, err := f.Fleet.NewRepository(f.Ctx, "shop", w.podsApp("web", "queue"))
	f.Must(err)
	f.Nuon("apps", "create", "shop", "--repo", vendor.URL)
	f.Nuon("sync", "--app", "shop", "--wait")
	f.Nuon("installs", "create", "acme", "--app", "shop", "--runner", "looks", "--approval", "approve-all")
	f.Until("acme", 1)
	opens := func(component string, args ...string) *screentest.Seat {
		c := exec.Command(filepath.Join(f.Fleet.Bin, "nuon"), append([]string{"debug", "-it", "acme", component,
			"--reason", "does it answer?"}, args...)...)
		c.Env = f.Fleet.Person()
		s := screentest.Sit(t, c, false)
		s.Size(120, 40)
		return s
	}
	const leave, endOfInput = "\x1d", "\x04"

	s := opens("web", "--", "/program", "echo")
	s.Sees("Ctrl-] leaves and ends the shell")
	job := regexp.MustCompile(`nuon logs shell (\w+)`).FindStringSubmatch(s.Raw())
	s.Keys("hello\r")
	s.Sees("read hello")
	s.Keys(leave)
	s.Leaves(exitcode.Done)
	s.Sees("left the shell, which ends now")
	testtime.Until(t, "the end of the shell in the audit log", func() bool {
		return strings.Contains(f.Nuon("audit", "--action", "install.shell_end"), job[1])
	})
	transcript := f.Nuon("logs", "shell", job[1])
	if !strings.Contains(transcript, "> hello\n") || !strings.Contains(transcript, "read hello\n") {
		t.Errorf("the transcript lacks what was typed and shown:\n%s", transcript)
	}
	casts, err := filepath.Glob(filepath.Join(runner.Dir, "transcripts", "*.cast"))
	f.Must(err)
	if len(casts) != 1 {
		t.Fatalf("the owner's transcripts are %q", casts)
	}
	cast, err := os.ReadFile(casts[0])
	f.Must(err)
	if !strings.Contains(string(cast), "read hello") {
		t.Errorf("the owner's transcript lacks what was shown:\n%s", cast)
	}

	s = opens("web", "--image", w.plain, "--", "/program", "echo") // in a debug container
	s.Sees("Ctrl-] leaves and ends the shell")
	s.Keys("from the side\r")
	s.Sees("read from the side")
	s.Keys(endOfInput)
	s.Leaves(exitcode.Done)
	s.Sees("the shell has ended")
	if added := w.kubectl(t, "", "get", "pods", "-l", "app=web", "-o",
		"jsonpath={.items[*].spec.ephemeralContainers[*].image}"); added != w.plain {
		t.Errorf("the debug containers have the images %q", added)
	}

	s = opens("web", "--", "/program", "echo") // somebody else ends it
	s.Sees("Ctrl-] leaves and ends the shell")
	s.Keys("a\r")
	s.Sees("read a")
	job = regexp.MustCompile(`nuon logs shell (\w+)`).FindStringSubmatch(s.Raw())
	f.Nuon("logs", "shell", job[1], "--end")
	s.Leaves(exitcode.Failed)
	s.Sees("the shell was ended: it was cancelled")

	for refused, args := range map[string][]string{
		"does not allow a shell in the pods of \"queue\"": {"queue"},
		"does not allow a debug container of the image":   {"web", "--image", w.registry.Host() + "/other:1"},
	} {
		s = opens(args[0], args[1:]...)
		s.Leaves(exitcode.Failed)
		s.Told(refused)
	}
}
