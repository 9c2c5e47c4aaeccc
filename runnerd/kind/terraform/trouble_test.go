package terraform

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/providertest"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
)

// trouble is a rig with a component of three dependent objects: first is created quickly,
// second causes the fault that a test configures, and third remains.
type trouble struct {
	*rig
	directory string
	spec      api.DeploySpec
}

// newTrouble builds a component whose second object has the attributes, in Terraform syntax.
func newTrouble(t *testing.T, attributes string) *trouble {
	t.Helper()
	made := &trouble{rig: newRig(t), directory: providertest.Use(t)}
	made.spec = made.rig.spec(made.build3(attributes))
	return made
}

func (r *trouble) build3(attributes string) api.ArtifactRef {
	r.t.Helper()
	return r.mustBuild("m", "m/main.tf", providertest.Required+fmt.Sprintf(`
provider "trouble" {
  directory = %q
}
resource "trouble_object" "first" {
  name = "first"
}
resource "trouble_object" "second" {
  name       = "second"
  depends_on = [trouble_object.first]
  %s
}
resource "trouble_object" "third" {
  name       = "third"
  depends_on = [trouble_object.second]
}
output "made" {
  value = trouble_object.second.value
}
`, r.directory, strings.ReplaceAll(attributes, "; ", "\n  ")))
}

// journal returns what the provider did, without the times.
func (r *trouble) journal() string {
	content, err := os.ReadFile(filepath.Join(r.directory, "journal"))
	if err != nil && !os.IsNotExist(err) {
		r.t.Error(err)
	}
	var lines []string
	for line := range strings.Lines(string(content)) {
		_, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		lines = append(lines, what)
	}
	return strings.Join(lines, "\n")
}

// when calls do as soon as the journal has the line, in a goroutine that the test waits for.
func (r *trouble) when(line string, do func()) {
	r.t.Helper()
	done := make(chan struct{})
	over, stop := context.WithCancel(context.Background())
	r.t.Cleanup(func() { stop(); <-done })
	go func() {
		defer close(done)
		for over.Err() == nil {
			if strings.Contains(r.journal(), line) {
				do()
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
}

// running returns the processes with a working directory below the rig's, or only those
// that run program if it is not empty.
func (r *rig) running(program string) (found []spool.Stat) {
	r.t.Helper()
	all, err := spool.Processes()
	if err != nil {
		r.t.Fatal(err)
	}
	for pid, stat := range all {
		where, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
		if err != nil || !strings.HasPrefix(where, r.root+"/") || stat.State == 'Z' {
			continue
		}
		command, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if name, _, _ := strings.Cut(string(command), "\x00"); err == nil &&
			(program == "" || filepath.Base(name) == program) {
			found = append(found, stat)
		}
	}
	return found
}

// killTerraform kills only Terraform, as the kernel does when memory runs out.
func (r *rig) killTerraform() {
	r.t.Helper()
	r.killOne(func(terraform spool.Stat) int { return terraform.PID })
}

// killStandIn kills only the process that runs Terraform for terraform-exec. Its working directory is not below the
// rig's, so it is found as the parent of Terraform.
func (r *rig) killStandIn() {
	r.t.Helper()
	r.killOne(func(terraform spool.Stat) int { return terraform.Parent })
}

// killOne kills the process that which returns for the one Terraform that is running.
func (r *rig) killOne(which func(terraform spool.Stat) int) {
	r.t.Helper()
	found := r.running(filepath.Base(cmp.Or(os.Getenv(tfbinary.EnvExecutable), "terraform")))
	if len(found) != 1 {
		r.t.Errorf("%d Terraforms are running", len(found))
	}
	for _, stat := range found {
		if err := syscall.Kill(which(stat), syscall.SIGKILL); err != nil {
			r.t.Error(err)
		}
	}
}

// mustBeQuiet checks that no process of the job is running, and that no lock and
// no workspace is left.
func (r *rig) mustBeQuiet() {
	r.t.Helper()
	// A process that was sent SIGKILL runs nothing more, but is listed until the kernel has removed it.
	testtime.UntilNoError(r.t, "no process is left", func() error {
		if left := r.running(""); len(left) > 0 {
			return fmt.Errorf("there are processes left: %+v", left)
		}
		return nil
	})
	r.mustBeFree()
}

// inState returns the names of the objects in the newest state.
func (r *trouble) inState() string {
	r.t.Helper()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.states) == 0 {
		return "none"
	}
	opened, err := r.key.Open(r.states[len(r.states)-1].Sealed, stateContext)
	if err != nil {
		r.t.Fatal(err)
	}
	return objectsOf(string(opened.Reveal()))
}

// objectsOf returns the names of the objects in a state.
func objectsOf(plain string) string {
	var found []string
	for _, name := range []string{"first", "second", "third"} {
		if strings.Contains(plain, `"name": "`+name+`",`+"\n      \"provider\"") ||
			strings.Contains(plain, `"name":"`+name+`","provider"`) {
			found = append(found, name)
		}
	}
	return strings.Join(found, " ")
}

// left returns the changes of the next plan.
func (r *trouble) left() string {
	r.t.Helper()
	// The next plan is made without the fault.
	r.spec.Artifact = r.build3("")
	shown := report(r.t, r.mustPlan(r.spec, false))
	var said []string
	for _, change := range shown.Changes {
		said = append(said, fmt.Sprintf("%s %s", change.Action, change.Name))
	}
	return strings.Join(said, ", ")
}

// TestCancelInTrouble checks that for any behavior of a provider when a job is canceled,
// the job ends in time, none of its processes continues, the lock is free, the state is as
// complete as possible, and a plan shows the rest.
func TestCancelInTrouble(t *testing.T) {
	providertest.Use(t)
	for name, test := range map[string]struct {
		second      string
		grace       time.Duration
		log         string
		state, left string
		journal     string
	}{
		"heeds the interrupt": {
			second: `slow = { create = "10000s" }`, grace: testtime.Limit,
			journal: "create second is interrupted", state: "first", left: "create second, create third",
		},
		"is deaf and ends in time": {
			second: `slow = { create = "interrupt" }; deaf = true`, grace: testtime.Limit,
			journal: "create second ends", state: "first second", left: "update second, create third",
		},
		"is deaf and does not end": {
			second: `slow = { create = "10000s" }; deaf = true`, grace: time.Second,
			log:     "did not end in 1s after it was interrupted",
			journal: "create second begins", state: "first", left: "create second, create third",
		},
		"fails after the interrupt": {
			second: `slow = { create = "interrupt" }; deaf = true; fail = { create = 1 }`, grace: testtime.Limit,
			journal: "create second fails", state: "first", left: "create second, create third",
		},
		"crashes after the interrupt": {
			second: `slow = { create = "interrupt" }; deaf = true; crash = { create = 1 }`, grace: testtime.Limit,
			journal: "create second crashes", state: "first", left: "create second, create third",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTrouble(t, test.second)
			planned := r.mustPlan(r.spec, false)
			env := r.env(api.JobSpecKindApply)
			env.Timing.ToolGrace = test.grace
			env.Spec.Apply = applySpec(r.spec, planned, false)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r.when("create second begins", cancel)
			_, err := r.run(ctx, deploy.ApplyHandler(Kind{}), env)
			if err == nil || !strings.Contains(err.Error(), "interrupted") {
				t.Fatalf("%v\n%s", err, r.log.String())
			}
			r.mustBeQuiet()
			if !strings.Contains(r.journal(), test.journal) || !strings.Contains(r.log.String(), test.log) {
				t.Errorf("the journal does not have %q, or the log not %q:\n%s\n%s", test.journal, test.log,
					r.journal(), r.log.String())
			}
			if got := r.inState(); got != test.state {
				t.Errorf("the state has %q, want %q", got, test.state)
			}
			if got := r.left(); got != test.left {
				t.Errorf("left is %q, want %q", got, test.left)
			}
		})
	}
}

// TestFailInTrouble checks that a provider that fails or crashes ends the job as failed
// with an explanation, and that the objects from before are in the state.
func TestFailInTrouble(t *testing.T) {
	providertest.Use(t)
	for name, test := range map[string]struct {
		second string
		want   []string // one of these
		state  string
		left   string
	}{
		"fails": {second: `fail = { create = 1 }; value = "x"`,
			want: []string{"create of second fails, as it was told to"}, state: "first",
			left: "create second, create third"},
		// Terraform's message depends on what it notices first: that the provider has ended,
		// or that its call was canceled.
		"crashes": {second: `crash = { create = -1 }`, want: []string{"Plugin did not respond", "Request cancelled"},
			state: "first", left: "create second, create third"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTrouble(t, test.second)
			_, err := r.apply(t.Context(), applySpec(r.spec, r.mustPlan(r.spec, false), false))
			said := func(want string) bool { return err != nil && strings.Contains(err.Error(), want) }
			if !slices.ContainsFunc(test.want, said) || !said("terraform apply: ") {
				t.Fatal(err)
			}
			r.mustBeQuiet()
			if got := r.inState(); got != test.state {
				t.Errorf("the state has %q, want %q", got, test.state)
			}
			if got := r.left(); got != test.left {
				t.Errorf("left is %q, want %q", got, test.left)
			}
		})
	}
}

// TestDriftIsPlanned checks that drift is in the next plan, with the change that corrects it.
func TestDriftIsPlanned(t *testing.T) {
	r := newTrouble(t, `value = "as wanted"; drifts_after = "0s"`)
	r.mustApply(applySpec(r.spec, r.mustPlan(r.spec, false), false))
	planned := r.mustPlan(r.spec, false)
	shown := report(t, planned)
	if !planned.Applyable || shown.Totals.Drift != 1 || shown.Totals.Update != 1 ||
		shown.Changes[0].Action != diff.Update {
		t.Fatalf("%+v", shown)
	}
}

// TestTerraformIsKilled kills only Terraform: the job ends as failed with an explanation,
// no provider continues, the state is the last one that was written, the lock is free,
// and the next plan shows the rest.
func TestTerraformIsKilled(t *testing.T) {
	const words = "ended by a signal that nuon did not send (signal: killed)"
	t.Run("at plan", func(t *testing.T) {
		r := newTrouble(t, `slow = { plan = "10000s" }; deaf = true`)
		r.when("plan second begins", r.killTerraform)
		_, err := r.plan(r.spec, false)
		if err == nil || !strings.Contains(err.Error(), "terraform plan was "+words) ||
			strings.Contains(err.Error(), "in no state") {
			t.Fatal(err)
		}
		r.mustBeQuiet()
		if got := r.inState() + ": " + r.left(); got != "none: create first, create second, create third" {
			t.Fatal(got)
		}
	})
	t.Run("before a state is written", func(t *testing.T) {
		r := newTrouble(t, `slow = { create = "10000s" }; deaf = true`)
		planned := r.mustPlan(r.spec, false)
		r.when("create second begins", r.killTerraform)
		_, err := r.apply(t.Context(), applySpec(r.spec, planned, false))
		if err == nil || !strings.Contains(err.Error(), "terraform apply was "+words) ||
			!strings.Contains(err.Error(), "is in no state") {
			t.Fatal(err)
		}
		r.mustBeQuiet()
		if got := r.inState() + ": " + r.left(); got != "none: create first, create second, create third" {
			t.Fatal(got)
		}
	})
	t.Run("after a state is written", func(t *testing.T) {
		r := newTrouble(t, "")
		planned := r.mustPlan(r.spec, false)
		// The unlock comes after the last state, and Terraform waits for its response.
		r.unlocking = r.killTerraform
		_, err := r.apply(t.Context(), applySpec(r.spec, planned, false))
		if err == nil || !strings.Contains(err.Error(), "terraform apply was "+words) {
			t.Fatal(err)
		}
		r.unlocking = nil
		r.mustBeQuiet()
		if got := r.inState() + ": " + r.left(); got != "first second third: " {
			t.Fatal(got)
		}
	})
}

// TestJobProcessIsKilled kills the job's own process in the middle of an apply. Terraform
// continues until the runner interrupts it, and leaves its state in a file, which FinishKilled finds.
func TestJobProcessIsKilled(t *testing.T) {
	providertest.Use(t)
	for name, test := range map[string]struct{ second, journal, state, left string }{
		"heeds the interrupt": {`slow = { create = "interrupt" }`, "create second is interrupted", "first",
			"create second, create third"},
		"is deaf": {`slow = { create = "interrupt" }; deaf = true`, "create second ends", "first second",
			"update second, create third"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTrouble(t, test.second)
			key := keyFile(t, r.rig)
			env := r.env(api.JobSpecKindApply)
			env.Spec.Apply = applySpec(r.spec, r.mustPlan(r.spec, false), false)
			process := r.process(env, key)
			r.when("create second waits for an interrupt", func() { _ = process.Process.Kill() })
			if err := process.Wait(); err == nil {
				t.Fatal("the job process was not killed")
			}
			for _, stat := range r.running("") {
				if stat.Group != stat.PID {
					continue
				}
				if err := syscall.Kill(stat.PID, syscall.SIGINT); err != nil { // the runner does this
					t.Error(err)
				}
			}
			testtime.Until(t, "the end of Terraform", func() bool { return len(r.running("")) == 0 })
			if !strings.Contains(r.journal(), test.journal) {
				t.Error(r.journal())
			}
			attempt := spool.Attempt{Dir: env.Dir}
			said, err := FinishKilled(r.root, key, attempt, env.Spec)
			if err != nil || !strings.Contains(strings.Join(said, " "), "the runner found and stored it") {
				t.Fatal(said, err)
			}
			// runnerd does this, and the control plane after the attempt has ended.
			if err := attempt.EachState(func(_ string, state api.State) error {
				r.states = append(r.states,
					state)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			r.lock = nil
			r.mustBeQuiet()
			if got := r.inState() + ": " + r.left(); got != test.state+": "+test.left {
				t.Fatalf("%s\n%s", got, r.log.String())
			}
		})
	}
}

// TestStandInIsKilled kills only the process that runs Terraform for terraform-exec, in the middle of an
// apply: Terraform is interrupted and hands over its state before the job ends.
func TestStandInIsKilled(t *testing.T) {
	r := newTrouble(t, `slow = { create = "interrupt" }`)
	key := keyFile(t, r.rig)
	env := r.env(api.JobSpecKindApply)
	env.Spec.Apply = applySpec(r.spec, r.mustPlan(r.spec, false), false)
	process := r.process(env, key)
	r.when("create second waits for an interrupt", r.killStandIn)
	if err := process.Wait(); err == nil || process.ProcessState.ExitCode() != 1 {
		t.Fatal("the apply did not fail:", err)
	}
	r.mustBeQuiet()
	if journal := r.journal(); !strings.Contains(journal, "create second is interrupted") {
		t.Error(journal)
	}
	attempt := spool.Attempt{Dir: env.Dir}
	r.states = nil
	if err := attempt.EachState(func(_ string, state api.State) error {
		r.states = append(r.states, state)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := r.inState() + ": " + r.left(); got != "first: create second, create third" {
		t.Fatalf("%s\n%s", got, r.log.String())
	}
}
