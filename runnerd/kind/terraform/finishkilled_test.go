package terraform

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/state"
)

// killed creates what an apply leaves that was killed with SIGKILL: its workspace with rendered
// secrets, and a last state unless last is empty.
func killed(t *testing.T, r *rig, last string) (spool.Attempt, api.JobSpec) {
	t.Helper()
	env := r.env(api.JobSpecKindApply)
	env.Spec.Apply.Deploy = r.spec(api.ArtifactRef{})
	place, err := openWorkspace(t.Context(), env, env.Spec.Apply.Deploy.InstallComponent)
	if err != nil {
		t.Fatal(err)
	}
	place.module, place.use.Module = "m", "m"
	if err := place.recordUse(); err != nil {
		t.Fatal(err)
	}
	if _, err := (&variables{}).write(place); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{filepath.Join(place.vars(), "000.tfvars.json"): "planted-in-vars"}
	if last != "" {
		files[filepath.Join(place.moduleDir(), erroredState)] = last
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	place.free() // the kernel does this
	// A process that another test starts at this moment has the lock until its program runs.
	testtime.UntilNoError(t, "the lock of the workspace is free", func() error {
		lock, err := filelock.Try(place.lock())
		if err != nil {
			return err
		}
		return lock.Close()
	})
	return spool.Attempt{Dir: env.Dir}, env.Spec
}

// keyFile returns the file of a new install key, which becomes the rig's.
func keyFile(t *testing.T, r *rig) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "install.key")
	key, err := seal.CreateIdentity(file)
	if err != nil {
		t.Fatal(err)
	}
	r.key = key
	return file
}

func TestSettle(t *testing.T) {
	t.Parallel()
	const whole = `{"version":4,"serial":9,"lineage":"l","outputs":{"x":{"value":"planted-in-state"}}}`
	for name, test := range map[string]struct {
		last, said string
		states     int
	}{
		"nothing but secrets":    {said: "look at what exists"},
		"a last state":           {last: whole, said: "the runner found and stored it", states: 1},
		"a state that is broken": {last: whole[:60], said: "directory undelivered/"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			key := keyFile(t, r)
			attempt, spec := killed(t, r, test.last)
			if err := attempt.AddState(api.State{Serial: 8, Lineage: "l"}, 1); err != nil {
				t.Fatal(err)
			}
			said, err := FinishKilled(r.root, key, attempt, spec)
			if err != nil || !strings.Contains(strings.Join(said, " "), test.said) || (test.said == "") != (len(said) == 0) {
				t.Fatal(said, err)
			}
			files, err := attempt.States()
			if err != nil || len(files) != 1+test.states {
				t.Fatal(files, err)
			}
			if test.states > 0 {
				kept, _, err := spool.LoadState(files[1])
				if err != nil || kept.Serial != 9 || kept.Digest != state.ContextOf(spec.Apply.Deploy).Hash(r.key, []byte(whole)) {
					t.Fatalf("%+v, %v", kept, err)
				}
			}
			r.mustBeFree()
			r.mustNotLeak("planted-in-vars", "planted-in-state")
			if again, err := FinishKilled(r.root, key, attempt, spec); err != nil || len(again) != 0 {
				t.Fatal("not idempotent:", again, err)
			}
		})
	}
}

// TestSettleLeavesOthersAlone checks that files of another attempt stay, whether it is running
// or waits for its own FinishKilled.
func TestSettleLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	key := keyFile(t, r)
	early, earlySpec := killed(t, r, "")
	late, lateSpec := killed(t, r, "")
	place := filepath.Join(r.root, "work", "ic_web")
	if said, err := FinishKilled(r.root, key, early, earlySpec); err != nil || len(said) != 0 {
		t.Fatal(said, err)
	}
	if _, err := os.Stat(place); err != nil {
		t.Fatal("the workspace of another attempt is gone:", err)
	}
	env := r.env(api.JobSpecKindApply)
	working, err := openWorkspace(t.Context(), env, "ic_web")
	if err != nil {
		t.Fatal(err)
	}
	if said, err := FinishKilled(r.root, key, late, lateSpec); err != nil || len(said) != 0 {
		t.Fatal(said, err)
	}
	if _, err := os.Stat(place); err != nil {
		t.Fatal("the workspace of a job at work is gone:", err)
	}
	if err := working.remove(); err != nil {
		t.Fatal(err)
	}
}

// TestFinishKilledFollowsNoLink checks that the files of a killed pod, which can write to each workspace, make runnerd
// read nothing outside of work and store nothing in undelivered.
func TestFinishKilledFollowsNoLink(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		plant func(place *workspace) error
		said  string
	}{
		"in the place of the tree": {said: "cannot be read", plant: func(place *workspace) error {
			place.use.Module = "work/other"
			other := filepath.Join(filepath.Dir(place.root), "other")
			return errors.Join(place.recordUse(), os.Mkdir(other, 0o700), os.RemoveAll(place.tree()),
				os.Symlink("../..", place.tree()), os.Symlink("../../runner.json", filepath.Join(other, erroredState)))
		}},
		"in the place of the workspace": {said: "cannot be read", plant: func(place *workspace) error {
			away := filepath.Join(filepath.Dir(filepath.Dir(place.root)), "away")
			return errors.Join(os.MkdirAll(filepath.Join(away, "tree"), 0o700), os.RemoveAll(place.root),
				os.WriteFile(filepath.Join(away, "tree", erroredState), []byte("the-runners-key"), 0o600),
				os.Symlink("../away", place.root))
		}},
		"in the place of the lock": {said: "cannot take the lock", plant: func(place *workspace) error {
			return errors.Join(os.Remove(place.lock()), os.Symlink("../runner.json", place.lock()))
		}},
		"a directory in the place of the lock": {said: "cannot take the lock", plant: func(place *workspace) error {
			return errors.Join(os.Remove(place.lock()), os.Mkdir(place.lock(), 0o700))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			key := keyFile(t, r)
			attempt, spec := killed(t, r, "")
			place, err := workspaceOf(r.root, spec.Apply.Deploy.InstallComponent)
			if err != nil {
				t.Fatal(err)
			}
			place.use = usage{Job: spec.Job, Attempt: spec.Attempt}
			private := filepath.Join(r.root, "runner.json")
			if err := errors.Join(os.WriteFile(private, []byte("the-runners-key"), 0o600), test.plant(place)); err != nil {
				t.Fatal(err)
			}
			said, err := FinishKilled(r.root, key, attempt, spec)
			if err != nil || !strings.Contains(strings.Join(said, " "), test.said) {
				t.Errorf("got %q, %v", said, err)
			}
			if entries, err := os.ReadDir(filepath.Join(r.root, spool.UndeliveredDir)); len(entries) > 0 {
				t.Errorf("undelivered has %v, %v", entries, err)
			}
			if files, err := attempt.States(); err != nil || len(files) > 0 {
				t.Errorf("the states are %q, %v", files, err)
			}
			if now, err := os.ReadFile(private); err != nil || string(now) != "the-runners-key" {
				t.Errorf("the file of the runner is %s, %v", now, err)
			}
		})
	}
}

// TestFinishKilledOfOtherKinds checks that a job of another kind has no workspace.
func TestFinishKilledOfOtherKinds(t *testing.T) {
	t.Parallel()
	for _, kind := range []api.JobSpecKind{api.JobSpecKindBuild, api.JobSpecKindAction, api.JobSpecKindPlan} {
		said, err := FinishKilled(t.TempDir(), "/nowhere", spool.Attempt{Dir: t.TempDir()},
			api.JobSpec{Job: "job_1", Attempt: 1, Kind: kind})
		if err != nil || len(said) != 0 {
			t.Error(kind, said, err)
		}
	}
}
