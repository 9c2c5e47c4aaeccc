package inspection_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/inspection"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// deployed returns one chart named web, for every install.
type deployed struct{}

func (deployed) HealthSpec(context.Context, *store.Tx, store.Install) (spec api.JobSpec, why string, err error) {
	spec.Role.Name = "health"
	spec.Health.Parts = []api.HealthPart{{
		Deploy: api.DeploySpec{Component: "web", ComponentKind: "helm_chart"}, Inventory: []api.ObjectRef{},
	}}
	return spec, "", nil
}

func (deployed) DebugSpec(_ context.Context, _ *store.Tx, install store.Install) (spec api.JobSpec, why string,
	err error) {
	spec.Debug.InstallID = install.ID
	return spec, "", nil
}

// rig is an install with its runner, and the service.
type rig struct {
	*testing.T
	*jobstest.World
	runner  jobstest.Runner
	install string
	service *inspection.Service
	jobs    *jobs.Service
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, World: jobstest.New(t), service: inspection.New(deployed{})}
	r.runner = r.World.Runner(t, runners.KindInstall)
	r.install = r.InstallOf(t, r.Component(t, r.runner))
	r.jobs = jobs.New(r.Store, store.NewNotifier(), r.Runners, map[string]jobs.Owner{inspection.OwnerKind: r.service})
	return r
}

// lease polls as the runner under a policy, and returns the offered jobs.
func (r *rig) lease(policy api.RunnerPolicy) []api.AttemptRef {
	r.Helper()
	offers, err := r.jobs.Lease(r.Context(), r.runner.Caller,
		api.LeaseRequest{Free: 9, Version: "0.1.0", WaitSeconds: -1, Policy: policy}, nil)
	if err != nil {
		r.Fatal(err)
	}
	var refs []api.AttemptRef
	for _, o := range offers.Offers {
		refs = append(refs, api.AttemptRef{Job: o.Job, Attempt: o.Attempt})
	}
	return refs
}

// ask requests logs of a component.
func (r *rig) ask(component string) (jobID string, err error) {
	err = r.Store.InTx(r.Context(), r.Org.ID, func(ctx context.Context, tx *store.Tx) error {
		jobID, err = r.service.RequestLogs(ctx, tx, r.install, "vera",
			api.NewLogRequest{Component: component, Reason: "it is slow", Follow: true})
		return err
	})
	return jobID, err
}

// audited returns what the audit log has of an action.
func (r *rig) audited(action string) string {
	return r.Text(r.T, "select coalesce(string_agg(actor || ' ' || detail::text, E'\\n'), '') from audit_events where "+
		"action = $1", action)
}

func (r *rig) refused(want error, component string) {
	r.Helper()
	if _, err := r.ask(component); !errors.Is(err, want) {
		r.Errorf("%v, want %v", err, want)
	}
}

var logsAllowed = api.RunnerPolicy{Debug: api.DebugPolicy{Logs: true}}

// TestARequestForLogs checks a request from its start to its end: it needs the owner's permission as the runner
// reported it last, with no other kind of job allowed, and is audited with who asked and why.
func TestARequestForLogs(t *testing.T) {
	r := newRig(t)
	r.lease(api.RunnerPolicy{})
	r.refused(inspection.ErrNotAllowed, "web")
	only := logsAllowed
	only.Jobs = &[]string{}
	r.lease(only)
	r.refused(inspection.ErrNoPods, "database")
	jobID, err := r.ask("web")
	if err != nil {
		t.Fatal(err)
	}
	if got := r.lease(api.RunnerPolicy{}); len(got) > 0 {
		t.Fatal("the job is offered although the owner does not allow it any more")
	}
	refs := r.lease(only)
	if len(refs) != 1 || refs[0].Job != jobID {
		t.Fatal(refs)
	}
	if _, err := r.jobs.Accept(t.Context(), r.runner.Caller, refs[0]); err != nil {
		t.Fatal(err)
	}
	var spec api.JobSpec
	stored := r.Text(t, "select spec::text from jobs where id = $1", jobID)
	if err := json.Unmarshal([]byte(stored), &spec); err != nil || spec.TimeoutSeconds != 660 ||
		spec.Role.Name != "health" || spec.Logs.RequestedBy != "vera" || spec.Logs.Part.Deploy.Component != "web" {
		t.Fatal(spec, err)
	}
	result := api.JobResult{Status: api.JobResultStatusSucceeded, Logs: api.LogsResult{Lines: 7}}
	if err := r.jobs.Result(t.Context(), r.runner.Caller, refs[0], result); err != nil {
		t.Fatal(err)
	}
	if got := r.audited("install.logs"); !strings.HasPrefix(got, "vera ") || !strings.Contains(got, `"it is slow"`) {
		t.Error(got)
	}
	if got := r.audited("install.logs_end"); !strings.Contains(got, `"lines": 7`) || !strings.Contains(got, "vera") {
		t.Error(got)
	}
}

// TestBoundsOfRequests checks that a runner has at most four open requests, that a cancel ends one, that one which the
// runner does not start soon is never started, and that the cancel is for requests only.
func TestBoundsOfRequests(t *testing.T) {
	r := newRig(t)
	r.lease(logsAllowed)
	var open []string
	for range 4 {
		jobID, err := r.ask("web")
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, jobID)
	}
	r.refused(inspection.ErrTooMany, "web")
	cancel := func(jobID string) error {
		return r.Store.InTx(t.Context(), r.Org.ID, func(ctx context.Context, tx *store.Tx) error {
			return inspection.Cancel(ctx, tx, jobID, "vera")
		})
	}
	if err := cancel(open[0]); err != nil {
		t.Fatal(err)
	}
	r.Exec(t, "update jobs set created_at = created_at - interval '3 minutes'")
	for _, ref := range r.lease(logsAllowed) {
		if _, err := r.jobs.Accept(t.Context(), r.runner.Caller, ref); !errors.Is(err, jobs.ErrOfferGone) {
			t.Errorf("an old request is started: %v", err)
		}
	}
	if got := r.Text(t, "select string_agg(status, ' ' order by created_at) from jobs"); got !=
		"cancelled failed failed failed" {
		t.Error(got)
	}
	r.Exec(t, "update jobs set owner_kind = 'step' where id = $1", open[0])
	if err := cancel(open[0]); !errors.Is(err, inspection.ErrOtherJob) {
		t.Error(err)
	}
}

// TestContactLost checks that a request whose runner is lost ends, because nothing depends on it.
func TestContactLost(t *testing.T) {
	r := newRig(t)
	r.lease(logsAllowed)
	if _, err := r.ask("web"); err != nil {
		t.Fatal(err)
	}
	ref := r.lease(logsAllowed)[0]
	if _, err := r.jobs.Accept(t.Context(), r.runner.Caller, ref); err != nil {
		t.Fatal(err)
	}
	r.World.Jobs = r.jobs
	r.RunOut(t, r.Org.ID, ref)
	if got := r.Text(t, "select status || ' ' || error from jobs"); !strings.Contains(got, "lost lost contact") ||
		!strings.Contains(got, "request it again") {
		t.Error(got)
	}
}

// TestADebugCommand checks that a debug command needs commands that the owner allows, also where logs are allowed, and
// that the audit log has the command, who asked and why, and how it ended.
func TestADebugCommand(t *testing.T) {
	r := newRig(t)
	ask := func() (jobID string, err error) {
		err = r.Store.InTx(t.Context(), r.Org.ID, func(ctx context.Context, tx *store.Tx) error {
			jobID, err = r.service.RequestCommand(ctx, tx, r.install, "vera",
				api.NewDebugCommand{Command: []string{"df", "-h"}, Reason: "it is full"})
			return err
		})
		return jobID, err
	}
	r.lease(logsAllowed)
	if _, err := ask(); !errors.Is(err, inspection.ErrNotAllowed) {
		t.Fatal(err)
	}
	allowed := api.RunnerPolicy{Debug: api.DebugPolicy{Commands: []string{"df -h"}}}
	r.lease(allowed)
	jobID, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	refs := r.lease(allowed)
	if len(refs) != 1 || refs[0].Job != jobID {
		t.Fatal(refs)
	}
	if _, err := r.jobs.Accept(t.Context(), r.runner.Caller, refs[0]); err != nil {
		t.Fatal(err)
	}
	result := api.JobResult{Status: api.JobResultStatusFailed, Error: "df ended with exit code 2",
		Debug: api.DebugResult{ExitCode: 2, Transcript: "sha256:00"}}
	if err := r.jobs.Result(t.Context(), r.runner.Caller, refs[0], result); err != nil {
		t.Fatal(err)
	}
	if got := r.audited("install.debug"); !strings.HasPrefix(got, "vera ") || !strings.Contains(got, `["df", "-h"]`) ||
		!strings.Contains(got, "it is full") {
		t.Error(got)
	}
	if got := r.audited("install.debug_end"); !strings.Contains(got, `"exit_code": 2`) || !strings.Contains(got, "sha256:00") {
		t.Error(got)
	}
}
