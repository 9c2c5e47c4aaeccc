package installsecrets_test

import (
	"context"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/installsecrets"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// declared are the names of the secrets of every install, after "-" for a role that is off.
type declared []string

func (d declared) DeclaredSecrets(_ context.Context, _ *store.Tx, install store.Install) (installsecrets.Declared,
	error) {
	made := installsecrets.Declared{Digest: strings.Join(d, " ")}
	made.Spec.Secrets = api.SecretsSpec{Install: install.Name, InstallID: install.ID, Secrets: []api.SecretSpec{}}
	made.Spec.Role = api.OperationRole{Cloud: "aws", Name: "maintenance", Operation: "secrets"}
	for _, name := range d {
		if name == "-" {
			made.Spec.Role, made.NoRole = api.OperationRole{}, "the role is off"
			continue
		}
		made.Spec.Secrets.Secrets = append(made.Spec.Secrets.Secrets, api.SecretSpec{Name: name, Copies: []api.SecretCopy{}})
	}
	return made, nil
}

type rig struct {
	*jobstest.World
	runner  jobstest.Runner
	install string
	secrets *installsecrets.Secrets
	jobs    *jobs.Service
	began   string // when the last call began, by the database's clock
}

func newRig(t *testing.T, names ...string) *rig {
	t.Helper()
	r := &rig{World: jobstest.New(t)}
	r.runner = r.World.Runner(t, runners.KindInstall)
	r.install = r.InstallOf(t, r.Component(t, r.runner))
	r.declare(names...)
	return r
}

func (r *rig) declare(names ...string) {
	r.secrets = installsecrets.New(r.Store, declared(names))
	r.jobs = jobs.New(r.Store, store.NewNotifier(), r.Runners,
		map[string]jobs.Owner{installsecrets.OwnerKind: r.secrets})
}

func (r *rig) reconcile(t *testing.T) {
	t.Helper()
	r.began = r.Clock(t)
	if err := r.secrets.Reconcile(t.Context(), r.Org.ID, r.install); err != nil {
		t.Fatal(err)
	}
}

// end completes the queued check with a result.
func (r *rig) end(t *testing.T, result api.JobResult) {
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
	r.began = r.Clock(t)
	if err := r.jobs.Result(t.Context(), r.runner.Caller, ref, result); err != nil {
		t.Fatal(err)
	}
}

func reported(all ...api.SecretStatus) api.JobResult {
	return api.JobResult{Status: api.JobResultStatusSucceeded, Secrets: api.SecretsResult{Secrets: all}}
}

// stored returns the stored reports, as "NAME STATE VERSION PROBLEM" in lines.
func (r *rig) stored(t *testing.T) string {
	return r.Text(t,
		`select coalesce(string_agg(concat_ws(' ', s ->> 'name', s ->> 'state', s ->> 'version', s ->> 'problem'),
		'; ' order by s ->> 'name'), '') from install_secrets, jsonb_array_elements(secrets) s`)
}

// due returns how many seconds after the last call the next check is due, "never" if none is.
func (r *rig) due(t *testing.T, want float64) string {
	return r.DueAfter(t, r.began, "secrets", r.install, want, 5)
}

// rollouts returns how often the install was asked to be reconciled since the last call.
func (r *rig) rollouts(t *testing.T) string {
	n := r.Text(t, "select count(*)::text from river.river_job where kind = 'rollout'")
	r.Exec(t, "delete from river.river_job")
	return n
}

func present(name, version string) api.SecretStatus {
	return api.SecretStatus{Name: name, State: api.SecretStatusStatePresent, Version: version}
}

// TestRoleOfCopies checks that a check has the role of the copies, and that none runs without it until it is on.
func TestRoleOfCopies(t *testing.T) {
	r := newRig(t, "-", "db")
	r.reconcile(t)
	if got := r.Text(t, "select count(*)::text from jobs where kind = 'secrets'") + "|" + r.due(t, 30); got != "0|30" {
		t.Errorf("while the role is off: %s", got)
	}
	r.declare("db")
	r.reconcile(t)
	if got := r.Text(t, "select spec -> 'role' ->> 'name' from jobs where kind = 'secrets'"); got != "maintenance" {
		t.Errorf("the check runs under %q", got)
	}
}

// TestReports checks that a report is stored, that a changed one has the install reconciled, and when the next
// check is due.
func TestReports(t *testing.T) {
	r := newRig(t, "db")
	r.reconcile(t)
	r.reconcile(t)
	if got := r.Text(t, "select count(*)::text from jobs where kind = 'secrets' and ended_at is null"); got != "1" {
		t.Fatalf("%s checks are queued", got)
	}
	missing := api.SecretStatus{Name: "db", State: api.SecretStatusStateMissing, Problem: "it does not exist"}
	r.end(t, reported(missing))
	if got := r.stored(t) + "|" + r.due(t, 20) + "|" + r.rollouts(t); got != "db missing it does not exist|20|1" {
		t.Errorf("after a missing secret: %s", got)
	}
	r.reconcile(t)
	r.end(t, reported(present("db", "v1")))
	if got := r.stored(t) + "|" + r.due(t, 300) + "|" + r.rollouts(t); got != "db present v1|300|1" {
		t.Errorf("after it was set: %s", got)
	}
	r.reconcile(t)
	r.end(t, reported(present("db", "v1")))
	if got := r.rollouts(t); got != "0" {
		t.Errorf("the same report asks %s times for a rollout", got)
	}
	r.reconcile(t)
	r.end(t, api.JobResult{Status: api.JobResultStatusFailed, Error: "the store is not there"})
	if got := r.stored(t); got != "db present v1 the store is not there" {
		t.Errorf("after a check that failed: %s", got)
	}
	r.declare()
	r.reconcile(t)
	if got := r.stored(t) + "|" + r.due(t, 0); got != "|never" {
		t.Errorf("after the app declares none: %s", got)
	}
}

// TestHostileReports checks that a report about something else, without a state or too large, is not stored so.
func TestHostileReports(t *testing.T) {
	r := newRig(t, "db", "mail")
	r.reconcile(t)
	long := api.SecretStatus{Name: "mail", State: api.SecretStatusStatePresent, Version: strings.Repeat("v", 5000) +
		"\x1b[2J"}
	r.end(t, reported(present("other", "v1"), api.SecretStatus{Name: "db", State: "splendid"}, long))
	got := r.stored(t)
	if !strings.HasPrefix(got, "db unknown the runner reported no state of it; mail present v") || len(got) > 400 ||
		strings.Contains(got, "\x1b") {
		t.Error(got)
	}
}

// TestRunnersThatTakeNone checks that a runner that is away, or whose file forbids it, gets no checks.
func TestRunnersThatTakeNone(t *testing.T) {
	r := newRig(t, "db")
	for _, change := range []string{`update runners set policy = '{"jobs": ["plan"]}'`,
		"update runners set policy = '{}', last_seen = now() - interval '1 hour'"} {
		r.Exec(t, change)
		r.reconcile(t)
		if got := r.Text(t, "select count(*)::text from jobs") + " " + r.due(t, 30); got != "0 30" {
			t.Errorf("%s: %s", change, got)
		}
	}
}
