// Package jobstest provides tests with the services of jobs, runners, states and logs over a real database,
// with runners, jobs and an install component to work on. It lets tests end a lease instead of waiting for
// it. Only tests import it.
package jobstest

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/joblog"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
	"github.com/nuon-toolkit/nuon/reconciler/tfstate"
)

// World is one org in a database that no other test uses.
type World struct {
	Store   *store.Store
	Org     store.Org
	Jobs    *jobs.Service
	Runners *runners.Service
	States  *tfstate.Service
	Logs    *joblog.Service
	Owner   *Owner
	// DSN connects to the database as its owner.
	DSN   string
	admin *pgx.Conn
}

// New returns a world that is removed with the test. Its database records that a control plane has
// been up for an hour and stays up, so leases can expire.
func New(t testing.TB) *World {
	t.Helper()
	w := On(t, storetest.DSN(t))
	w.Exec(t, "insert into uptime (since, seen_at) values (now() - interval '1 hour', now() + interval '1 hour')")
	return w
}

// On returns a world on a migrated database to which no replica has written yet.
func On(t testing.TB, dsn string) *World {
	t.Helper()
	s, err := store.Open(t.Context(), dsn)
	must(t, err)
	t.Cleanup(s.Close)
	bell := store.NewNotifier()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var ringing sync.WaitGroup
	ringing.Go(func() { _ = bell.Run(ctx, s) })
	t.Cleanup(func() { stop(); ringing.Wait() })
	owner := &Owner{}
	runners := runners.New(s)
	w := &World{
		Store: s, Owner: owner, DSN: dsn,
		Jobs:    jobs.New(s, bell, runners, map[string]jobs.Owner{"build": owner, "step": owner}),
		Runners: runners,
		States:  tfstate.New(s, tfstate.Limits{}),
		Logs:    joblog.New(s, bell),
	}
	w.Connect(t)
	w.Org = w.AddOrg(t)
	return w
}

// Connect opens the connection on which the world reads and writes as the database's owner. Call it
// again after its server was down.
func (w *World) Connect(t testing.TB) {
	t.Helper()
	admin, err := pgx.Connect(t.Context(), w.DSN)
	must(t, err)
	t.Cleanup(func() { _ = admin.Close(context.WithoutCancel(t.Context())) })
	w.admin = admin
}

// AddOrg adds another org.
func (w *World) AddOrg(t testing.TB) store.Org {
	t.Helper()
	orgID := id.New("org")
	org, err := w.Store.AddOrg(t.Context(), orgID, orgID)
	must(t, err)
	return org
}

// Exec runs SQL as the database's owner, who is exempt from row-level security.
func (w *World) Exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	_, err := w.admin.Exec(t.Context(), sql, args...)
	must(t, err)
}

// Text returns one value as text, read as the database's owner.
func (w *World) Text(t testing.TB, sql string, args ...any) string {
	t.Helper()
	var text string
	must(t, w.admin.QueryRow(t.Context(), sql, args...).Scan(&text))
	return text
}

// Clock returns the time by the database's clock.
func (w *World) Clock(t testing.TB) string {
	t.Helper()
	return w.Text(t, "select clock_timestamp()::text")
}

// DueAfter returns how many seconds after a call an item is due, or "never". The call has ended, and it started no
// earlier than began, a time of Clock. The wanted number is returned if it is right, give or take the slack, for any
// time from then to now, so that the time that the test takes does not count.
func (w *World) DueAfter(t testing.TB, began, kind, id string, want, slack float64) string {
	t.Helper()
	return w.Text(t, `select coalesce((select case
		when $4::float8 between extract(epoch from at - clock_timestamp()) - $5::float8
			and extract(epoch from at - $1::timestamptz) + $5::float8 then $4::float8::text
		else extract(epoch from at - clock_timestamp())::text end
		from due where kind = $2 and id = $3), 'never')`, began, kind, id, want, slack)
}

// In runs one transaction of the world's org.
func (w *World) In(t testing.TB, work func(context.Context, *store.Tx) error) {
	t.Helper()
	must(t, w.Store.InTx(t.Context(), w.Org.ID, work))
}

// Plan returns Postgres's plan for a statement, as the program's own role in the world's org, where
// row-level security applies.
func (w *World) Plan(t testing.TB, sql string) string {
	t.Helper()
	var plan []string
	must(t, pgx.BeginFunc(t.Context(), w.admin, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "set local role nuon_app"); err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), "select set_config('nuon.org', $1, true)", w.Org.ID); err != nil {
			return err
		}
		rows, err := tx.Query(t.Context(), "explain (costs off) "+sql)
		if err != nil {
			return err
		}
		plan, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	}))
	return strings.Join(plan, "\n")
}

// Runner is a registered runner.
type Runner struct {
	runners.Caller
	Key string
	// InstallKey is the key that it registered with.
	InstallKey seal.Identity
}

// Runner creates and registers a runner of the world's org.
func (w *World) Runner(t testing.TB, kind string) Runner { return w.RunnerIn(t, w.Org.ID, kind) }

// RunnerIn creates and registers a runner of an org.
func (w *World) RunnerIn(t testing.TB, org, kind string) Runner {
	t.Helper()
	var token string
	must(t, w.Store.InTx(t.Context(), org, func(ctx context.Context, tx *store.Tx) (err error) {
		_, token, err = runners.Create(ctx, tx, runners.NewRunner{Name: id.New("r"), Kind: kind})
		return err
	}))
	key, err := seal.NewIdentity()
	must(t, err)
	registered, err := Register(t.Context(), w.Runners, token, key, api.Registration{Version: "0.1.0", Capacity: 2})
	must(t, err)
	return Runner{
		Caller: runners.Caller{Org: org, Runner: registered.RunnerID}, Key: registered.RunnerKey, InstallKey: key,
	}
}

// Job queues a job of a kind for a runner and returns its id. Plans and applies work on the given
// install component.
func (w *World) Job(t testing.TB, runner Runner, kind, component string) string {
	t.Helper()
	module := api.DeploySpec{InstallComponent: component}
	spec := api.JobSpec{}
	switch kind {
	case "build":
		spec.Build = api.BuildSpec{Build: "bld_1", Component: "web"}
	case "sync":
		spec.Sync = api.SyncSpec{InstallComponent: component}
	case "plan":
		spec.Plan = api.PlanSpec{Deploy: module}
	case "apply":
		spec.Apply = api.ApplySpec{Deploy: module}
	case "action":
		spec.Action = api.ActionSpec{Action: "migrate"}
	}
	return w.Enqueue(t, runner, jobs.NewJob{Kind: kind, InstallID: w.InstallOf(t, component), Spec: spec})
}

// InstallOf returns the install of an install component, or an empty text for an empty component.
func (w *World) InstallOf(t testing.TB, component string) string {
	t.Helper()
	return w.Text(t, "select coalesce((select install_id from install_components where id = $1), '')", component)
}

// Enqueue queues a job for a runner, sets the fields that describe its owner, and returns its id.
func (w *World) Enqueue(t testing.TB, runner Runner, j jobs.NewJob) string {
	t.Helper()
	j.Runner, j.OwnerKind, j.OwnerID, j.Reason = runner.Runner, "step", "stp_1", "a test asked for it"
	var jobID string
	must(t, w.Store.InTx(t.Context(), runner.Org, func(ctx context.Context, tx *store.Tx) (err error) {
		jobID, err = jobs.Enqueue(ctx, tx, j)
		return err
	}))
	return jobID
}

// Offer leases the one job that is queued for the runner.
func (w *World) Offer(t testing.TB, runner Runner) api.AttemptRef {
	t.Helper()
	offers, err := w.Jobs.Lease(t.Context(), runner.Caller,
		api.LeaseRequest{Free: 1, Version: "0.1.0", WaitSeconds: -1}, nil)
	must(t, err)
	if len(offers.Offers) != 1 {
		t.Fatalf("offered %v, want one job", offers.Offers)
	}
	return api.AttemptRef{Job: offers.Offers[0].Job, Attempt: offers.Offers[0].Attempt}
}

// Start leases and accepts the one job that is queued for the runner and returns the attempt's
// token.
func (w *World) Start(t testing.TB, runner Runner) (api.AttemptRef, string) {
	t.Helper()
	ref := w.Offer(t, runner)
	accepted, err := w.Jobs.Accept(t.Context(), runner.Caller, ref)
	must(t, err)
	return ref, accepted.Token
}

// RunOut ends an attempt's lease or offer and calls Expire for it.
func (w *World) RunOut(t testing.TB, org string, ref api.AttemptRef) {
	t.Helper()
	w.Exec(t,
		"update attempts set lease_until = now() - interval '1 second' where job_id = $1 and number = $2", ref.Job,
		ref.Attempt)
	must(t, w.Jobs.Expire(t.Context(), org, Due(ref)))
}

// Due returns the id of an attempt in the table of due work.
func Due(ref api.AttemptRef) string {
	n, _ := json.Marshal(ref.Attempt) // numbers always marshal
	return ref.Job + "/" + string(n)
}

// Component creates an install component that has something applied, with its app and install, and
// returns its id.
func (w *World) Component(t testing.TB, runner Runner) string {
	t.Helper()
	org, app, component, install, installed := runner.Org, id.New("app"), id.New("cmp"), id.New("ins"), id.New("ico")
	w.Exec(t, "insert into apps (org_id, id, name) values ($1, $2, $3)", org, app, app)
	w.Exec(t,
		"insert into components (org_id, id, app_id, name, kind) values ($1, $2, $3, 'web', 'terraform_module')", org,
		component, app)
	w.Exec(t, "insert into installs (org_id, id, app_id, name, runner_id) values ($1, $2, $3, $4, $5)", org, install,
		app, install, runner.Runner)
	w.Exec(t, "insert into install_components (org_id, id, install_id, component_id, name, applied_artifact) values "+
		"($1, $2, $3, $4, 'web', 'sha256:1')", org, installed, install, component)
	return installed
}

// JobStatus returns the status of a job.
func (w *World) JobStatus(t testing.TB, jobID string) string {
	t.Helper()
	return w.Text(t, "select status from jobs where id = $1", jobID)
}

// AttemptStatus returns the status of an attempt.
func (w *World) AttemptStatus(t testing.TB, ref api.AttemptRef) string {
	t.Helper()
	return w.Text(t, "select status from attempts where job_id = $1 and number = $2", ref.Job, ref.Attempt)
}

// Owner records its calls.
type Owner struct {
	mu       sync.Mutex
	refuse   error
	accepted []string
	ended    []Ended
	returned []string
}

// Ended is one end of a job.
type Ended struct {
	Job    string
	Status string
	Result api.JobResult
}

// RefuseWith makes the following accepts fail with this error.
func (o *Owner) RefuseWith(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refuse = err
}

// JobAccepted records the job, or refuses it.
func (o *Owner) JobAccepted(_ context.Context, _ *store.Tx, job store.Job) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refuse != nil {
		return o.refuse
	}
	o.accepted = append(o.accepted, job.ID)
	return nil
}

// JobReturned records the job and what it waits for.
func (o *Owner) JobReturned(_ context.Context, _ *store.Tx, job store.Job, waits string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.returned = append(o.returned, job.ID+": "+waits)
	return nil
}

// Returned returns all returned jobs so far, each with what it waits for.
func (o *Owner) Returned() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string{}, o.returned...)
}

// JobEnded records the end of the job.
func (o *Owner) JobEnded(_ context.Context, _ *store.Tx, job store.Job, result api.JobResult) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = append(o.ended, Ended{Job: job.ID, Status: job.Status, Result: result})
	return nil
}

// Accepted returns the jobs of all accepts so far.
func (o *Owner) Accepted() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string{}, o.accepted...)
}

// Ended returns all ends so far.
func (o *Owner) Ended() []Ended {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]Ended{}, o.ended...)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
