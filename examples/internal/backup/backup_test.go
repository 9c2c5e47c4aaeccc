// Package backup_test follows docs/backup.md with the real programs: it makes backups while
// everything runs, destroys the control plane, and restores it.
package backup_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/fault"
)

// site is a fleet with examples/hello, and the directory of its backups.
type site struct {
	*fleet.Fleet
	t       *testing.T
	ctx     context.Context
	vendor  *fleet.Repository
	backups string
	gate    string // the file for which the applies of slow deploys wait
}

func start(t *testing.T) *site {
	t.Helper()
	bin, err := fleet.Programs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := fleet.Place()
	if err != nil {
		t.Fatal(err)
	}
	// The test's own context ends before the programs are stopped.
	s := &site{t: t, ctx: context.WithoutCancel(t.Context()), backups: filepath.Join(dir, "backups"),
		gate: filepath.Join(dir, "go-on")}
	s.Fleet, err = fleet.Start(s.ctx, fleet.Options{Bin: bin, Dir: dir, Replicas: 2, Installers: []string{"east"}})
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the logs are in %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	s.must(err)
	files := filepath.Join(dir, "packaged")
	s.must(os.CopyFS(filepath.Join(files, "examples", "hello"), os.DirFS(filepath.Join("..", "..", "hello"))))
	s.gateRollouts(filepath.Join(files, "examples", "hello", "modules", "web", "main.tf"))
	s.vendor, err = s.NewRepository(s.ctx, "hello", os.DirFS(files))
	s.must(err)
	s.nuon("apps", "create", "hello", "--repo", s.vendor.URL, "--branch", "main", "--directory", "examples/hello")
	s.nuon("sync", "--app", "hello")
	for _, name := range []string{"acme", "globex"} {
		secret := filepath.Join(dir, "screen", name+"-token")
		s.must(os.WriteFile(secret, []byte("token of "+name), 0o600))
		s.nuon("installs", "create", name, "--app", "hello", "--runner", "east", "--secret", "api_token=@"+secret)
	}
	s.settle("acme")
	s.settle("globex")
	return s
}

// gateRollouts makes a rollout that takes seconds wait for the gate instead, so that it runs until the test ends it.
func (s *site) gateRollouts(module string) {
	s.t.Helper()
	const sleep, settle = "sleep ${var.settle_seconds}", "${var.settle_seconds}"
	text, err := os.ReadFile(module)
	s.must(err)
	if !strings.Contains(string(text), sleep) {
		s.t.Fatalf("%s does not contain %q", module, sleep)
	}
	wait := "[ " + settle + " = 0 ] || until [ -e '" + s.gate + "' ]; do sleep 0.1; done"
	s.must(os.WriteFile(module, []byte(strings.Replace(string(text), sleep, wait, 1)), 0o600))
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) nuon(args ...string) string {
	s.t.Helper()
	out, err := s.Nuon(s.ctx, args...)
	s.must(err)
	return string(out)
}

func (s *site) until(what string, look func() (bool, error)) {
	s.t.Helper()
	began := time.Now()
	s.must(fleet.Until(s.ctx, testtime.Limit, what, look))
	s.t.Logf("%5.1fs until %s", time.Since(began).Seconds(), what)
}

// install returns an install from the API.
func (s *site) install(name string) (i api.Install, err error) {
	return i, s.JSON(s.ctx, &i, "installs", "get", name)
}

// settle approves everything until an install is current.
func (s *site) settle(name string) {
	s.t.Helper()
	s.until(name+" is current", func() (bool, error) {
		waiting, err := s.Nuon(s.ctx, "review", "--install", name, "-o", "name")
		if err != nil {
			return false, err
		}
		for _, id := range strings.Fields(string(waiting)) {
			_, _ = s.Nuon(s.ctx, "approve", id) // the approval may have been withdrawn
		}
		i, err := s.install(name)
		return i.Status == "current", err
	})
}

// applyOf starts a deploy of an install whose apply waits for the gate, and returns once the apply waits.
func (s *site) applyOf(name, greeting string) {
	s.t.Helper()
	s.must(os.RemoveAll(s.gate))
	s.nuon("installs", "update", name, "--input", "settle_seconds=1", "--input", "greeting="+greeting)
	s.until("the plan of web waits", func() (bool, error) {
		id, err := s.Nuon(s.ctx, "review", name+"/web", "-o", "name")
		if err != nil || len(id) == 0 {
			return false, nil //nolint:nilerr // it is looked at again
		}
		_, err = s.Nuon(s.ctx, "approve", strings.TrimSpace(string(id)))
		return err == nil, nil
	})
	s.until("the apply waits", func() (bool, error) {
		using, err := fault.UsingDir(s.Installers["east"].Dir)
		for _, p := range using {
			if strings.Contains(p.CommandLine(), s.gate) {
				return true, nil
			}
		}
		return false, err
	})
}

// keep makes a backup of everything that docs/backup.md names, in its order, while everything runs.
func (s *site) keep(name string) string {
	s.t.Helper()
	to := filepath.Join(s.backups, name)
	s.must(os.MkdirAll(to, 0o755))
	key, err := os.ReadFile(s.KeyFile())
	s.must(err)
	s.must(os.WriteFile(filepath.Join(to, "server.key"), key, 0o600))
	s.must(s.Database.Dump(s.ctx, filepath.Join(to, "nuon.dump")))
	s.must(s.Registry.Copy(filepath.Join(to, "registry")))
	return to
}

// destroy stops the control plane and deletes all of it: database, key, registry, and mirrors.
func (s *site) destroy() {
	s.t.Helper()
	for _, r := range s.Replicas {
		s.must(r.Kill())
	}
	s.must(s.Database.Wipe(s.ctx))
	s.must(s.Registry.Wipe())
	s.must(os.Remove(s.KeyFile()))
	s.must(os.RemoveAll(filepath.Join(s.Dir, "reconciler")))
}

// restore brings the control plane back from a backup.
func (s *site) restore(from string) {
	s.t.Helper()
	key, err := os.ReadFile(filepath.Join(from, "server.key"))
	s.must(err)
	s.must(os.WriteFile(s.KeyFile(), key, 0o600))
	s.must(s.Registry.Restore(filepath.Join(from, "registry")))
	s.must(s.Migrate(s.ctx))
	s.must(s.Database.Restore(s.ctx, filepath.Join(from, "nuon.dump")))
	s.must(s.StartReplicas(s.ctx))
}

// page returns the output page of the component web of an install.
func (s *site) page(name string) string {
	s.t.Helper()
	i, err := s.install(name)
	s.must(err)
	for _, c := range i.Components {
		for _, o := range c.Outputs {
			if c.Name == "web" && o.Name == "page" {
				return string(o.Value)
			}
		}
	}
	return ""
}

// states returns the newest serials of an install's components.
func (s *site) states(name string) map[string]int64 {
	s.t.Helper()
	var all []api.ComponentState
	s.must(s.JSON(s.ctx, &all, "state", "list", name))
	serials := map[string]int64{}
	for _, c := range all {
		serials[c.Component] = c.Newest.Serial
	}
	return serials
}

// ended opens the gate, and waits until all jobs at the customer have ended, without a control plane.
func (s *site) ended() {
	s.t.Helper()
	s.must(os.WriteFile(s.gate, nil, 0o600))
	s.until("what runs at the customer has ended by itself", func() (bool, error) {
		done, err := filepath.Glob(filepath.Join(s.Installers["east"].Dir, "spool", "*", "final.json"))
		return len(done) > 0, err
	})
}

// delivered waits until the runner has delivered everything.
func (s *site) delivered() {
	s.t.Helper()
	s.until("the spool is empty", func() (bool, error) {
		left, err := filepath.Glob(filepath.Join(s.Installers["east"].Dir, "spool", "*"))
		return len(left) == 0, err
	})
}

func TestRestore(t *testing.T) {
	s := start(t)
	yesterday := s.keep("yesterday")
	s.newest()
	s.older(yesterday)
}

// newest destroys the control plane during an apply, and restores it from a dump made just before.
func (s *site) newest() {
	t := s.t
	s.applyOf("acme", "from before")
	backup := s.keep("just now")
	s.destroy()
	s.ended()
	s.restore(backup)

	// The running job delivers its result, and nobody must approve again.
	s.until("acme is current", func() (bool, error) {
		i, err := s.install("acme")
		return i.Status == "current", err
	})
	if got := s.page("acme"); got != `"from before, acme!"` {
		t.Errorf("the page of acme says %s", got)
	}
	// The runners reconnect with their existing keys, installs that are behind are deployed, and
	// sensitive values can still be decrypted.
	s.must(s.vendor.Write("examples/hello/modules/network/more.tf",
		"output \"more\" {\n  value     = sha256(var.api_token)\n  sensitive = true\n}\n"))
	s.must(s.vendor.Push(s.ctx, "More of the network"))
	s.nuon("sync", "--app", "hello")
	s.settle("acme")
	s.settle("globex")
	if waiting := strings.TrimSpace(s.nuon("review", "-o", "name")); waiting != "" {
		t.Errorf("still waits: %s", waiting)
	}
}

// older restores the control plane as it was before some deploys: the customers are ahead of it,
// with a running deploy that it has no record of.
func (s *site) older(yesterday string) {
	t := s.t
	ahead := s.states("acme")
	s.applyOf("globex", "unheard of")
	s.destroy()
	s.ended()
	s.restore(yesterday)
	s.delivered()

	behind := s.states("acme")
	if behind["web"] >= ahead["web"] {
		t.Fatalf("the dump of yesterday knows serial %d of web, and it was %d when all was destroyed; it should be older",
			behind["web"], ahead["web"])
	}
	refused, err := filepath.Glob(filepath.Join(s.Installers["east"].Dir, "undelivered", "*", "log.ndjson"))
	if err != nil || len(refused) == 0 {
		t.Errorf("what the control plane has never heard of should be kept by the runner: %v %v", refused, err)
	}
	// The next plan is based on the real resources.
	for _, name := range []string{"acme", "globex"} {
		s.nuon("installs", "update", name, "--input", "settle_seconds=0", "--input", "greeting=after the restore")
		s.nuon("sync", "--app", "hello")
		s.settle(name)
		if got, want := s.page(name), `"after the restore, `+name+`!"`; got != want {
			t.Errorf("the page of %s says %s, want %s", name, got, want)
		}
	}
	for component, serial := range s.states("acme") {
		if serial < ahead[component] {
			t.Errorf("%s of acme went on from an older state: serial %d, and it was %d before", component, serial,
				ahead[component])
		}
	}
	if log := s.nuon("logs", "latest:globex"); !strings.Contains(log, "was brought back from an older backup") {
		t.Errorf("nobody said that the state was older:\n%s", log)
	}
}
