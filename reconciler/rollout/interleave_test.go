package rollout_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// end delivers the result of an attempt.
func (w *world) end(o api.Offer, result api.JobResult) {
	w.Helper()
	must(w, w.jobs.Result(w.Context(), w.caller, api.AttemptRef{Job: o.Job, Attempt: o.Attempt}, result))
}

// interrupted is the result of a job process that got SIGTERM.
var interrupted = api.JobResult{Status: api.JobResultStatusCancelled, Error: "terraform was interrupted"}

// begun puts web behind, and has a runner start its sync, plan or apply.
func (w *world) begun(kind string) api.Offer {
	w.Helper()
	w.input("greeting", "salut")
	w.build("web", "succeeded") // an artifact that was applied needs no sync
	w.look()
	all := w.leased()
	for _, before := range []string{"sync", "plan"} {
		if before == kind {
			break
		}
		w.runJob(before+" web", all[before+" web"])
		w.queue()
		if before == "plan" {
			must(w, w.answer("web", workflow.Approve, ""))
		}
		all = w.leased()
	}
	o := all[kind+" web"]
	if _, ok := w.accept(o); !ok {
		w.Fatalf("the %s of web was not accepted", kind)
	}
	w.queue()
	return o
}

// TestAMistakeThatIsTakenBackIsNoRefusal: the desired state changes and changes back
// while the job for it is being stopped.
func TestAMistakeThatIsTakenBackIsNoRefusal(t *testing.T) {
	for _, kind := range []string{"sync", "plan"} {
		t.Run(kind, func(t *testing.T) {
			w := newProvisionedWorld(t)
			o := w.begun(kind)
			w.input("greeting", "slaut")
			w.look()
			w.want(w.one("select cancel::text from jobs where id = $1", o.Job), "true")
			w.input("greeting", "salut")
			w.look()
			w.end(o, interrupted)
			w.runJobs()
			w.want(w.list("select kind || ' by ' || actor || ': ' || reason from rejections"), "[]")
			w.want(w.asked(), "[web]")
			w.approveAll()
			w.want(w.workflows(), "[provision succeeded deploy succeeded]")
		})
	}
}

// TestAShutdownIsNoRefusal: a runner's machine is shut down normally, so its job
// processes get SIGTERM, or no time to report anything.
func TestAShutdownIsNoRefusal(t *testing.T) {
	for _, kind := range []string{"sync", "plan", "apply"} {
		for _, ended := range []api.JobResult{interrupted, {Status: api.JobResultStatusLost, Error: "the process is gone"}} {
			t.Run(kind+" "+string(ended.Status), func(t *testing.T) {
				w := newProvisionedWorld(t)
				o := w.begun(kind)
				w.end(o, ended)
				w.runJobs()
				w.want(w.list("select kind || ' by ' || actor || ': ' || reason from rejections"), "[]")
				w.want(w.asked(), "[web]")
				// A job that changes nothing gets another attempt. An apply is never
				// repeated: it is planned and approved again.
				again := map[string]string{"sync": "succeeded 2", "plan": "succeeded 2", "apply": string(ended.Status) + " 1"}[kind]
				w.want(w.one("select status || ' ' || attempt from jobs where id = $1", o.Job), again)
				w.approveAll()
				w.want(w.workflows(), "[provision succeeded deploy succeeded]")
			})
		}
	}
}

// TestAPlanIsConsumedOnceAndOnlyWhenApproved: both the decision and the statement
// that writes it reject any other plan.
func TestAPlanIsConsumedOnceAndOnlyWhenApproved(t *testing.T) {
	w := newProvisionedWorld(t)
	w.input("greeting", "salut")
	w.look()
	w.runJobs()
	must(t, w.answer("web", workflow.Approve, ""))
	o, plan := w.offers()["apply web"], w.one("select id from plans where component = 'web' and status = 'approved'")
	undo := errors.New("undo")
	for _, status := range []workflow.PlanStatus{
		workflow.PlanReady, workflow.PlanEmpty, workflow.PlanRejected, workflow.PlanSuperseded, workflow.PlanStale,
		workflow.PlanConsumed, workflow.PlanApplied, workflow.PlanFailed,
	} {
		w.exec("update plans set status = $1 where id = $2", string(status), plan)
		err := w.in(func(ctx context.Context, tx *store.Tx) error {
			changed, err := tx.ConsumePlan(ctx, []byte("{}"), w.org, plan)
			if changed != 0 || err != nil {
				t.Errorf("a plan that is %s was consumed by the statement: %d rows, %v", status, changed, err)
			}
			job, err := tx.LockJob(ctx, w.org, o.Job)
			if err != nil {
				return err
			}
			if err := w.engine.JobAccepted(ctx, tx, job); err == nil || err.Error() != "its plan is "+string(status) {
				t.Errorf("the apply of a plan that is %s: %v", status, err)
			}
			return undo
		})
		if !errors.Is(err, undo) {
			t.Fatal(err)
		}
	}
	w.exec("update plans set status = 'approved', consumed_at = now() where id = $1", plan)
	must(t, w.in(func(ctx context.Context, tx *store.Tx) error {
		if changed, err := tx.ConsumePlan(ctx, []byte("{}"), w.org, plan); changed != 0 || err != nil {
			t.Errorf("a plan was consumed twice: %d rows, %v", changed, err)
		}
		return nil
	}))
	w.exec("update plans set consumed_at = null where id = $1", plan)
	if _, ok := w.accept(o); !ok {
		t.Fatal("the approved plan was not accepted")
	}
	w.want(w.one("select status || ' ' || (consumed_at is not null) from plans where id = $1", plan), "consumed true")
}

// TestAPlanHasOneApplyJob: the schema itself rejects a second one.
func TestAPlanHasOneApplyJob(t *testing.T) {
	w := newProvisionedWorld(t)
	plan := w.one("select id from plans where component = 'web'")
	err := w.in(func(ctx context.Context, tx *store.Tx) error {
		_, err := jobs.Enqueue(ctx, tx, jobs.NewJob{
			Runner: w.caller.Runner, Kind: "apply", OwnerKind: "step", OwnerID: "stp_other", PlanID: plan, InstallID: w.install,
			Reason: "a second time",
		})
		return err
	})
	if constraint, refused := store.IsUniqueViolation(err); !refused || constraint != "jobs_one_apply_per_plan" {
		t.Errorf("a second apply of a plan: %v", err)
	}
}

// More histories: go test ./reconciler/rollout -run TestHistoriesOfAnInstall -histories=1000.
var histories = flag.Int("histories", 2, "how many histories of an install are tried")

// TestHistoriesOfAnInstall changes the desired state of an install back and forth,
// over all resulting workflows, while its runner takes, ends, interrupts and loses
// jobs, and people approve, reject, cancel and change the rule. It uses the code that
// serves runners and people, on a real database.
func TestHistoriesOfAnInstall(t *testing.T) {
	for seed := range *histories {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := &history{
				world: newProvisionedWorld(t), dice: rand.New(rand.NewPCG(7, uint64(seed))), //nolint:gosec // a test's
				consumed: map[string]bool{}, held: map[string]heldJob{},
			}
			for range 120 {
				h.event()
				if h.dice.IntN(3) > 0 { // otherwise the next event happens before the queue runs
					h.queue()
				}
				h.check()
			}
			h.drain()
		})
	}
}

// history is an install to which any event may happen.
type history struct {
	*world
	dice     *rand.Rand
	offered  []api.Offer
	held     map[string]heldJob // the runner's current jobs, by id
	consumed map[string]bool    // plans
	log      []string
}

type heldJob struct {
	offer api.Offer
	spec  api.JobSpec
}

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

// broken fails the test with its history.
func (h *history) broken(format string, args ...any) {
	h.Helper()
	h.dump()
	for _, line := range h.log {
		h.Log(line)
	}
	h.Fatalf(format, args...)
}

func (h *history) among(values ...string) string { return values[h.dice.IntN(len(values))] }

func (h *history) event() {
	h.Helper()
	switch h.dice.IntN(16) {
	case 0, 1, 2:
		h.move()
	case 3, 4, 5:
		h.take()
	case 6, 7, 8, 9:
		h.accepts()
	case 10, 11, 12:
		h.ends()
	case 13, 14:
		h.person()
	case 15:
		h.rare()
	}
}

// move changes the desired state, mostly among earlier values.
func (h *history) move() {
	if h.dice.IntN(6) == 0 {
		component := h.among("web", "network", "metrics")
		h.note("%s is built anew", component)
		h.build(component, "succeeded")
	} else {
		value := h.among("hello", "salut", "slaut")
		h.note("greeting becomes %s", value)
		h.input("greeting", value)
	}
	must(h, h.rollout.Reconcile(h.Context(), h.org, h.install))
}

// take leases the queued jobs.
func (h *history) take() {
	for name, o := range h.leased() {
		h.note("offered %s", name)
		h.offered = append(h.offered, o)
	}
}

// accepts accepts an offer, or accepts a current job a second time.
func (h *history) accepts() {
	h.Helper()
	if len(h.held) > 0 && h.dice.IntN(5) == 0 {
		o := h.held[h.any()].offer
		_, ok := h.accept(o)
		h.note("accepted %s again: %t", o.Kind, ok)
		return
	}
	if len(h.offered) == 0 {
		return
	}
	i := h.dice.IntN(len(h.offered))
	o := h.offered[i]
	h.offered = slices.Delete(h.offered, i, i+1)
	due := h.due(o)
	spec, ok := h.accept(o)
	h.note("accepted %s %s: %t", o.Kind, due.component, ok)
	if !ok {
		return
	}
	if o.Kind == "apply" {
		h.checkApply(due)
	}
	h.held[o.Job] = heldJob{o, spec}
}

// dueApply is the state right before an apply is accepted.
type dueApply struct{ plan, component, status, desired, wanted, approved string }

func (h *history) due(o api.Offer) (due dueApply) {
	if o.Kind != "apply" {
		return due
	}
	due.plan = h.one("select plan_id from jobs where id = $1", o.Job)
	due.component = h.one("select component from plans where id = $1", due.plan)
	due.status = h.one("select status from plans where id = $1", due.plan)
	due.desired = h.one("select desired_digest from plans where id = $1", due.plan)
	due.approved = h.one(
		`select coalesce((select case when r.rule is null then 'by ' || r.actor when i.approval = 'approve-all' and (i.allow_destroy or not p.destructive) then 'by the rule' else 'by a rule of old' end
		from approvals a join approval_responses r on r.approval_id = a.id where a.plan_id = p.id and a.status = 'approved' and r.answer = 'approve'), 'by nobody')
		from plans p join installs i on i.id = p.install_id where p.id = $1`, due.plan)
	must(h, h.in(func(ctx context.Context, tx *store.Tx) error {
		install, err := tx.LockInstall(ctx, h.org, h.install)
		if err != nil {
			return err
		}
		resolved, err := h.rollout.Resolve(ctx, tx, install, nil)
		if err == nil {
			due.wanted = resolved.DesiredStates()[due.component].Digest
		}
		return err
	}))
	return due
}

// checkApply verifies the invariants of an accepted apply.
func (h *history) checkApply(due dueApply) {
	h.Helper()
	switch {
	case h.consumed[due.plan]:
		h.broken("the plan of %s is applied twice", due.component)
	case due.status != "approved" || due.approved != "by alice" && due.approved != "by the rule":
		h.broken("an apply of %s was accepted whose plan was %s %s", due.component, due.status, due.approved)
	case due.desired != due.wanted:
		h.broken("an apply of %s was accepted that leads to %s, and %s is wanted", due.component, due.desired, due.wanted)
	}
	for _, other := range h.held {
		if other.offer.Kind == "apply" && other.spec.Apply.Deploy.Component == due.component {
			h.broken("two applies of %s are under way", due.component)
		}
	}
	h.consumed[due.plan] = true
	h.want(h.one("select status from plans where id = $1", due.plan), "consumed")
}

// any returns one of the runner's current jobs.
func (h *history) any() string {
	all := slices.Sorted(maps.Keys(h.held))
	return all[h.dice.IntN(len(all))]
}

// ends ends one of the runner's jobs: successfully, or in any other way.
func (h *history) ends() {
	h.Helper()
	if len(h.held) == 0 {
		return
	}
	job := h.any()
	how := api.JobResultStatusSucceeded
	if h.one("select cancel::text from jobs where id = $1", job) == "true" || h.dice.IntN(4) == 0 {
		how = api.JobResultStatus(h.among("cancelled", "cancelled", "lost", "failed", "stale"))
	}
	h.ended(job, how)
}

func (h *history) ended(job string, how api.JobResultStatus) {
	h.Helper()
	held := h.held[job]
	delete(h.held, job)
	result := api.JobResult{Status: how, Error: "it " + string(how)}
	if did := how != api.JobResultStatusStale && h.dice.IntN(2) == 0; how == api.JobResultStatusSucceeded || did &&
		held.offer.Kind == "apply" {
		if done := h.work(held.spec); how == api.JobResultStatusSucceeded {
			result = done
		}
	}
	h.note("%s ended: %s", held.offer.Kind, how)
	h.end(held.offer, result)
}

// person answers an approval request.
func (h *history) person() {
	h.Helper()
	asked := h.asked()
	if len(asked) == 0 {
		return
	}
	component, answer := asked[h.dice.IntN(len(asked))], workflow.Approve
	if h.dice.IntN(6) == 0 {
		answer = workflow.Reject
	}
	h.note("alice: %s %s", answer, component)
	must(h, h.answer(component, answer, "because"))
}

func (h *history) rare() {
	h.Helper()
	switch h.dice.IntN(4) {
	case 0:
		if running := h.list("select id from workflows where status = 'running' and not cancelled order by number"); len(
			running) > 0 {
			h.note("bob cancels a workflow")
			must(h, h.in(func(ctx context.Context, tx *store.Tx) error {
				return workflow.Cancel(ctx, tx, running[0], "bob", "lunch")
			}))
		}
	case 1:
		h.note("alice asks for everything")
		h.ask("present")
	default:
		rule := h.among("prompt", "approve-all")
		h.note("the rule becomes %s", rule)
		h.exec("update installs set approval = $1", rule)
		must(h, h.in(func(ctx context.Context, tx *store.Tx) error { // as a change of the settings does
			return tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: h.install})
		}))
	}
}

// check verifies the invariants that must always be true.
func (h *history) check() {
	h.Helper()
	for what, sql := range map[string]string{
		"two applies of one component at once":    `select spec->'apply'->'deploy'->>'component' from jobs where kind = 'apply' and status = 'running' group by 1 having count(*) > 1`,
		"a cancel that nobody said is remembered": `select r.reason from rejections r join workflows w on w.id = r.workflow_id where r.kind = 'cancelled' and not w.cancelled`,
		"a rejection that nobody said is remembered": `select r.reason from rejections r where r.kind = 'rejected'
			and not exists (select from plans p join approvals a on a.plan_id = p.id and a.status = 'rejected' where p.workflow_id = r.workflow_id and p.install_component_id = r.install_component_id)`,
		"a failure is remembered where nothing failed": `select r.reason from rejections r where r.kind = 'stalled'
			and not exists (select from jobs j join steps s on s.id = j.owner_id where s.workflow_id = r.workflow_id and (j.status = 'failed' or j.status = 'lost'))`,
		"a job of a workflow that has ended": `select j.id from jobs j join steps s on s.id = j.owner_id join workflows w on w.id = s.workflow_id where j.ended_at is null and w.status <> 'running'`,
	} {
		if found := h.list(sql); len(found) > 0 {
			h.broken("%s: %s", what, strings.Join(found, ", "))
		}
	}
}

// drain ends a history: nothing changes any more, every plan is approved, all jobs
// succeed, and the install reaches its desired state.
func (h *history) drain() {
	h.Helper()
	h.queue()
	h.ask("present")
	for round := 0; ; round++ {
		if round > 60 {
			h.broken("the history does not end")
		}
		for _, job := range slices.Sorted(maps.Keys(h.held)) {
			h.ended(job, api.JobResultStatusSucceeded)
		}
		h.queue()
		for _, component := range h.asked() {
			must(h, h.answer(component, workflow.Approve, "fine"))
		}
		h.take()
		if len(h.offered) == 0 {
			if open := h.list("select id from workflows where status = 'running'"); len(open) == 0 {
				break
			}
		}
		for len(h.offered) > 0 {
			h.accepts()
		}
		h.check()
	}
	h.ask("present") // what was refused during the history
	h.approveAll()
	if status, reason := h.status(); status != "current" {
		h.broken("in the end the install is %s: %s", status, reason)
	}
	greeting := h.one("select coalesce((select value from install_inputs where name = 'greeting'), 'hello')")
	if !strings.Contains(h.state["web"], "\ngreeting="+greeting+"\n") {
		h.broken("greeting is %s, and web is made of %s", greeting, h.state["web"])
	}
	if open := h.list("select kind from jobs where ended_at is null"); len(open) > 0 {
		h.broken("jobs are left: %v", open)
	}
}
