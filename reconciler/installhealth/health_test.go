package installhealth_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/installhealth"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// world returns a spec that checks these components, for every install.
type world []string

func (w world) HealthSpec(_ context.Context, _ *store.Tx, install store.Install) (api.JobSpec, string, error) {
	spec := api.HealthSpec{Install: install.Name, InstallID: install.ID, Parts: []api.HealthPart{}}
	for _, component := range w {
		spec.Parts = append(spec.Parts, api.HealthPart{
			Deploy:    api.DeploySpec{InstallComponent: component, ComponentKind: "helm_chart"},
			Inventory: []api.ObjectRef{},
		})
	}
	return api.JobSpec{Health: spec}, "", nil
}

// rig is an install with one component, its runner, and the service.
type rig struct {
	*jobstest.World
	runner             jobstest.Runner
	component, install string
	room               *installhealth.Health
	jobs               *jobs.Service
	began              string // when the last call began, by the database's clock
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{World: jobstest.New(t)}
	r.runner = r.World.Runner(t, runners.KindInstall)
	r.component = r.Component(t, r.runner)
	r.install = r.InstallOf(t, r.component)
	r.look(world{r.component})
	return r
}

func (r *rig) look(at world) {
	r.room = installhealth.New(r.Store, at)
	r.jobs = jobs.New(r.Store, store.NewNotifier(), r.Runners,
		map[string]jobs.Owner{installhealth.OwnerKind: r.room})
}

func (r *rig) reconcile(t *testing.T) {
	t.Helper()
	r.began = r.Clock(t)
	if err := r.room.Reconcile(t.Context(), r.Org.ID, r.install); err != nil {
		t.Fatal(err)
	}
}

// open returns how many checks are queued or running.
func (r *rig) open(t *testing.T) string {
	return r.Text(t, "select count(*)::text from jobs where kind = 'health' and ended_at is null")
}

// due returns how many seconds after the last call the next check is due, "never" if none is.
func (r *rig) due(t *testing.T, want float64) string {
	return r.DueAfter(t, r.began, "health", r.install, want, 30)
}

// seen completes the queued check with these results.
func (r *rig) seen(t *testing.T, parts ...api.PartHealthResult) {
	t.Helper()
	offers, err := r.jobs.Lease(t.Context(), r.runner.Caller,
		api.LeaseRequest{Free: 1, Version: "0.1.0", WaitSeconds: -1}, nil)
	if err != nil || len(offers.Offers) != 1 {
		t.Fatal(offers, err)
	}
	ref := api.AttemptRef{Job: offers.Offers[0].Job, Attempt: offers.Offers[0].Attempt}
	if _, err := r.jobs.Accept(t.Context(), r.runner.Caller, ref); err != nil {
		t.Fatal(err)
	}
	result := api.JobResult{Status: api.JobResultStatusSucceeded, Health: api.HealthResult{Parts: parts}}
	r.began = r.Clock(t)
	if err := r.jobs.Result(t.Context(), r.runner.Caller, ref, result); err != nil {
		t.Fatal(err)
	}
}

func saw(component string, status api.HealthStatus, at time.Time) api.PartHealthResult {
	return api.PartHealthResult{
		InstallComponent: component, Health: api.Health{Status: status, Objects: []api.ObjectHealth{}, At: at},
	}
}

// kept returns the stored health status of the component, empty for none.
func (r *rig) kept(t *testing.T, component string) string {
	return r.Text(t,
		"select coalesce((select health ->> 'status' from install_components where id = $1), '')", component)
}

func TestALookIsAskedForOnceAndKept(t *testing.T) {
	r := newRig(t)
	r.reconcile(t)
	r.reconcile(t)
	if got := r.open(t); got != "1" {
		t.Fatalf("%s looks are under way", got)
	}
	r.seen(t, saw(r.component, api.HealthStatusDegraded, time.Now()))
	if got := r.kept(t, r.component); got != "degraded" {
		t.Errorf("%q is kept", got)
	}
	if got := r.due(t, 60); got != "60" {
		t.Errorf("what is degraded is looked at again in %s seconds", got)
	}
	r.reconcile(t)
	r.seen(t, saw(r.component, api.HealthStatusReady, time.Now()))
	if got := r.due(t, 900) + " " + r.kept(t, r.component); got != "900 ready" {
		t.Errorf("got %s", got)
	}
	if got := r.Text(t, "select count(*)::text from jobs"); got != "1" {
		t.Errorf("%s jobs are kept, of which one is of use", got)
	}
}

func TestWhatARunnerSaysIsHeldAgainstTheInstall(t *testing.T) {
	r := newRig(t)
	other := r.Component(t, r.runner)
	r.reconcile(t)
	malformed := saw(r.component, "splendid", time.Now())
	r.seen(t, saw(other, api.HealthStatusDegraded, time.Now()), malformed)
	if got := r.kept(t, other) + r.kept(t, r.component); got != "" {
		t.Errorf("%q is kept", got)
	}
	r.reconcile(t)
	r.seen(t, saw(r.component, api.HealthStatusReady, time.Now().Add(24*time.Hour)))
	var seen api.Health
	if err := json.Unmarshal(
		[]byte(r.Text(t, "select health::text from install_components where id = $1", r.component)), &seen,
	); err != nil {
		t.Fatal(err)
	}
	if seen.At.After(time.Now()) {
		t.Errorf("it was seen at %s, which is still to come", seen.At)
	}
}

func TestNothingToLookAt(t *testing.T) {
	r := newRig(t)
	r.reconcile(t)
	r.seen(t, saw(r.component, api.HealthStatusReady, time.Now()))
	r.look(world{})
	r.reconcile(t)
	if got := r.open(t) + " " + r.due(t, 0); got != "0 never" {
		t.Errorf("looks under way, and due: %s", got)
	}
	r.Exec(t, "delete from installs where id = $1", r.install)
	r.look(world{r.component})
	r.reconcile(t)
}

func TestARunnerThatIsAwayIsNotAsked(t *testing.T) {
	r := newRig(t)
	r.Exec(t, "update runners set last_seen = now() - interval '1 hour'")
	r.reconcile(t)
	if got := r.open(t) + " " + r.due(t, 120); got != "0 120" {
		t.Errorf("looks under way, and due: %s", got)
	}
}

func TestKindsThatARunnerDoesNotTakeAreNotLookedAt(t *testing.T) {
	r := newRig(t)
	r.Exec(t, `update runners set policy = '{"components": ["kubernetes_manifest"]}'`)
	r.reconcile(t)
	if got := r.open(t) + " " + r.due(t, 120); got != "0 120" {
		t.Errorf("looks under way, and due: %s", got)
	}
	r.Exec(t, `update runners set policy = '{"components": ["helm_chart"]}'`)
	r.reconcile(t)
	if got := r.open(t); got != "1" {
		t.Errorf("%s looks are under way", got)
	}
}
