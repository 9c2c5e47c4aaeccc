package jobs_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// together combines the pure core of a workflow with the pure decisions of this package, with a clock,
// leases, people, an unreliable network and a runner whose machine fails. A tick is ten seconds.
type together struct {
	t     *rapid.T
	jobs  *jobs.Simulated
	g     *workflow.Graph
	owned []*workflow.Step // the step of each job
	of    []*workflow.Plan // the plan of each job: made by a plan job, applied by an apply
	told  []bool           // whether the workflow has processed the end of each job

	version map[string]int    // the desired version of each component
	applied map[string]string // the recorded applied artifact; empty: unknown
	real    map[string]string // what is really applied
	refused map[string]bool   // "component digest"

	now     int
	lease   []int          // the end of each attempt's lease
	procs   map[int]*proc  // by attempt: the runner's processes
	began   map[string]int // how often each plan's apply started
	silence int            // the runner is out of contact until then
	wrong   bool           // a person declared a machine gone that was at work
	calm    bool           // nothing fails any more
}

// proc is a job's process on the runner, or what is left of it on its disk.
type proc struct {
	alive bool
	left  int // ticks of work left
	end   api.JobResultStatus
}

const leaseTicks = 6

func newTogether(t *rapid.T) *together {
	n := 0
	steps, err := workflow.Compose(workflow.KindDeploy,
		[]workflow.ComponentPart{
			{Component: "a", Reason: "r"}, {Component: "b", DependsOn: []string{"a"}, Reason: "r"},
			{Component: "c", Reason: "r"},
		},
		workflow.WorkflowActions{}, func() string { n++; return fmt.Sprint(n) })
	if err != nil {
		t.Fatal(err)
	}
	w := &together{
		t: t, jobs: jobs.Simulate(t), version: map[string]int{}, applied: map[string]string{},
		real:    map[string]string{},
		refused: map[string]bool{}, procs: map[int]*proc{}, began: map[string]int{},
	}
	w.g = &workflow.Graph{Kind: workflow.KindDeploy, Status: workflow.Running, Steps: steps}
	return w
}

// dice returns a number below n. It draws bit by bit, because rapid's own ranges prefer small
// numbers.
func (w *together) dice(n int, what string) int {
	value := 0
	for most := 1; most < n; most *= 2 {
		if value *= 2; rapid.Bool().Draw(w.t, what) {
			value++
		}
	}
	return value % n
}

// fails reports whether something that can fail does.
func (w *together) fails(what string, oneIn int) bool {
	return !w.calm && w.dice(oneIn, what) == oneIn-1
}

func (w *together) wants() map[string]workflow.DesiredState {
	all := map[string]workflow.DesiredState{}
	for _, name := range []string{"a", "b", "c"} {
		want := workflow.DesiredState{Digest: fmt.Sprintf("%s@%d", name, w.version[name]), Reason: "r", Retries: 1}
		if up := all["a"]; name == "b" {
			if want.Digest += "," + w.applied["a"]; !up.Current {
				want.Digest, want.WaitReason, want.Stalled = "", "waits for a", up.RejectionReason != ""
			}
		}
		want.Current = want.Digest != "" && w.applied[name] == want.Digest
		if w.refused[name+" "+want.Digest] {
			want.RejectionReason = "no"
		}
		all[name] = want
	}
	return all
}

// reconcile models a replica: it processes ends of jobs and carries out the decisions of the core.
func (w *together) reconcile() {
	for job := range w.told {
		if status, ends := w.jobs.Status(job); ends > 0 && !w.told[job] {
			w.told[job] = true
			w.ended(job, status)
		}
	}
	for round := 0; ; round++ {
		w.g.Desired = w.wants()
		todo := workflow.Advance(w.g)
		if len(todo) == 0 {
			return
		}
		if round > 50 {
			w.t.Fatal("the core never comes to rest")
		}
		for _, c := range todo {
			w.do(c)
		}
	}
}

func (w *together) step(id string) *workflow.Step {
	return w.g.Steps[slices.IndexFunc(w.g.Steps, func(s *workflow.Step) bool { return s.ID == id })]
}

func (w *together) plan(component string) *workflow.Plan {
	i := slices.IndexFunc(w.g.Steps,
		func(s *workflow.Step) bool { return s.Kind == workflow.StepPlan && s.Component == component })
	return w.g.Steps[i].Plan
}

func (w *together) do(c workflow.Command) {
	switch c := c.(type) {
	case workflow.CancelJob:
		s := w.step(c.Step)
		job := slices.Index(w.owned, s)
		for i, owned := range w.owned { // the newest of the step
			if owned == s {
				job = i
			}
		}
		w.jobs.Cancel(job)
	case workflow.RecordRejection:
		if c.Kind == workflow.RejectionCancelled && w.g.Cancelled == nil {
			w.t.Fatalf("nobody cancelled anything, and it is remembered of %s: %s", c.Component, c.Reason)
		}
		w.refused[c.Component+" "+c.DesiredDigest] = true
	}
	w.g.Apply(c)
	if begun, is := c.(workflow.StartStep); is {
		s := w.step(begun.Step)
		job := w.jobs.Enqueue(string(s.Kind))
		w.owned, w.told, w.of = append(w.owned, s), append(w.told, false), append(w.of, nil)
		if s.Job.ID = fmt.Sprint(job); s.Kind == workflow.StepApply {
			w.of[job] = w.plan(s.Component)
		}
	}
}

// ended records the end of a job as the engine does (JobEnded).
func (w *together) ended(job int, status jobs.JobStatus) {
	s, plan := w.owned[job], w.of[job]
	if s.Job == nil || s.Job.ID != fmt.Sprint(job) {
		w.t.Fatalf("job %d of step %s ended when the step had gone on without it", job, s.ID)
	}
	s.Job.Status = map[jobs.JobStatus]workflow.JobStatus{
		jobs.JobSucceeded: workflow.JobSucceeded, jobs.JobFailed: workflow.JobFailed,
		jobs.JobCancelled: workflow.JobCancelled, jobs.JobLost: workflow.JobLost,
	}[status]
	switch {
	case s.Kind == workflow.StepPlan && status == jobs.JobSucceeded:
		s.Plan = &workflow.Plan{ID: fmt.Sprint("plan", job), Status: workflow.PlanReady, DesiredDigest: s.Job.DesiredDigest}
		if w.real[s.Component] == s.Job.DesiredDigest && !w.haunted(s.Component) {
			s.Plan.Status = workflow.PlanEmpty
			w.applied[s.Component] = s.Job.DesiredDigest
		}
	case s.Kind == workflow.StepApply && plan.Status == workflow.PlanConsumed && status == jobs.JobSucceeded:
		w.applied[s.Component] = plan.DesiredDigest
	}
}

// haunted reports whether a process is at work that its job does not know of: then the state is
// locked, and a plan would wait for it.
func (w *together) haunted(component string) bool {
	for attempt, p := range w.procs {
		job, _ := w.jobs.Of(attempt)
		if s := w.owned[job]; p.alive && s.Kind == workflow.StepApply && s.Component == component {
			return true
		}
	}
	return false
}

// runner models what the machine does in a tick.
func (w *together) runner() {
	contact := w.now >= w.silence
	if contact {
		w.jobs.Claim()
	}
	for attempt := range w.jobs.Attempts() {
		if len(w.lease) <= attempt {
			w.lease = append(w.lease, w.now+1)
		}
		p := w.procs[attempt]
		if p != nil && p.alive {
			w.work(attempt, p)
		}
		if !contact {
			continue
		}
		switch _, status := w.jobs.Of(attempt); {
		case p == nil && status == jobs.AttemptOffered:
			w.accept(attempt)
		case p != nil && p.alive:
			w.lease[attempt] = w.now + leaseTicks
			w.jobs.Beat(attempt)
			if job, _ := w.jobs.Of(attempt); w.jobs.Cancelling(job) {
				p.left, p.end = 0, api.JobResultStatusCancelled
			}
		case p != nil && !w.fails("result is lost on its way", 4):
			w.jobs.Deliver(attempt, p.end)
			if !w.fails("so is the answer", 4) {
				delete(w.procs, attempt)
			}
		}
	}
}

// accept models the accept of an offer: it consumes the plan, or the owner refuses. The runner
// starts only once it has the response.
func (w *together) accept(attempt int) {
	job, _ := w.jobs.Of(attempt)
	s, plan := w.owned[job], w.of[job]
	refuse := s.Job == nil || s.Job.ID != fmt.Sprint(job) || w.g.Cancelled != nil
	if s.Kind == workflow.StepApply && !refuse {
		want := w.wants()[s.Component]
		refuse = plan.Status != workflow.PlanApproved || want.WaitReason != "" || want.Digest != plan.DesiredDigest
	}
	if !w.jobs.Accept(attempt, refuse) {
		return
	}
	w.lease[attempt] = w.now + leaseTicks
	if s.Kind == workflow.StepApply {
		if plan.Status, w.applied[s.Component] = workflow.PlanConsumed, ""; w.haunted(s.Component) && !w.wrong {
			w.t.Fatalf("an apply of %s begins while another is at work", s.Component)
		}
		if w.began[plan.ID]++; w.began[plan.ID] > 1 {
			w.t.Fatalf("%s is applied twice", plan.ID)
		}
	}
	ends := []api.JobResultStatus{
		api.JobResultStatusSucceeded, api.JobResultStatusSucceeded, api.JobResultStatusSucceeded,
		api.JobResultStatusFailed,
	}
	w.procs[attempt] = &proc{alive: true, left: w.dice(32, "ticks of work"), end: ends[w.dice(len(ends), "end")]}
	if w.fails("the accept's answer is lost", 8) { // the runner reports this: nothing of it runs
		w.procs[attempt] = &proc{end: api.JobResultStatusLost}
	}
}

// work is one tick of a process.
func (w *together) work(attempt int, p *proc) {
	job, _ := w.jobs.Of(attempt)
	s := w.owned[job]
	killed := w.fails("killed", 32)
	if p.left--; p.left > 0 && !killed {
		return
	}
	p.alive = false
	if killed {
		p.end = api.JobResultStatusLost
	}
	if s.Kind != workflow.StepApply {
		return
	}
	switch {
	case p.end == api.JobResultStatusSucceeded, w.dice(2, "did it all the same") == 0:
		w.real[s.Component] = w.of[job].DesiredDigest
	case w.dice(2, "did half of it") == 0:
		w.real[s.Component] = fmt.Sprint("half of ", w.of[job].ID)
	}
}

// tick advances the world by ten seconds.
func (w *together) tick() {
	w.now++
	if w.fails("out of contact", 16) {
		w.silence = w.now + w.dice(32, "for")
	}
	w.runner()
	for attempt, until := range w.lease {
		if w.now >= until {
			w.jobs.Expire(attempt)
		}
	}
	w.people()
	if !w.fails("no replica looks", 4) {
		w.reconcile()
	}
	w.jobs.Check()
	for name, want := range w.wants() {
		if want.Current && !w.wrong && w.real[name] != want.Digest {
			w.t.Fatalf("%s is said to be %s, and is %s", name, want.Digest, w.real[name])
		}
	}
}

func (w *together) people() {
	for _, s := range w.g.Steps {
		if s.Kind == workflow.StepApprove && s.Status == workflow.StepWaiting && w.dice(2, "a person looks") == 0 {
			if plan := w.plan(s.Component); plan.Status == workflow.PlanReady {
				plan.DecidedBy, plan.Status = "alice", workflow.PlanApproved
				if w.dice(6, "no") == 5 {
					plan.Status = workflow.PlanRejected
				}
			}
		}
	}
	if w.calm {
		return
	}
	switch w.dice(128, "something rare") {
	case 127:
		w.g.Cancelled = &workflow.Cancellation{Actor: "bob"}
	case 125, 126:
		w.version[[]string{"a", "b", "c"}[w.dice(3, "moves")]] = w.dice(3, "to") // back and forth
	case 124:
		w.machineGone(w.dice(2, "rightly") == 0)
	}
}

// others models the workflows that follow this one: they bring the components that this one has
// finished to the desired state.
func (w *together) others() {
	for name, want := range w.wants() {
		ended := !slices.ContainsFunc(w.g.Steps,
			func(s *workflow.Step) bool { return s.Component == name && !s.Status.Ended() })
		if ended && !want.Current && want.WaitReason == "" && want.RejectionReason == "" && !w.haunted(name) {
			w.applied[name], w.real[name] = want.Digest, want.Digest
		}
	}
}

// machineGone replaces the runner's machine. If that was wrong, the old machine's processes
// continue beside the new one.
func (w *together) machineGone(rightly bool) {
	for attempt, p := range w.procs {
		if p.alive && !rightly {
			w.wrong = true
		}
		if !rightly {
			continue
		}
		job, _ := w.jobs.Of(attempt)
		if s := w.owned[job]; p.alive && s.Kind == workflow.StepApply {
			w.real[s.Component] = fmt.Sprint("half of ", w.of[job].ID)
		}
		delete(w.procs, attempt)
	}
	w.jobs.Replace()
	w.silence = w.now
}

// More runs: go test ./reconciler/jobs -run Together -rapid.checks=1000000.
func TestWorkflowAndDispatchTogether(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newTogether(t)
		w.reconcile()
		for range 30 + w.dice(120, "ticks") {
			w.tick()
		}
		w.calm = true
		for w.silence = w.now; w.g.Status == workflow.Running; {
			if w.tick(); w.now > 2000 {
				for _, s := range w.g.Steps {
					t.Logf("%+v", *s)
				}
				t.Fatalf("two thousand ticks were not enough: %+v", w.wants())
			}
			w.others()
		}
		for job := range w.told {
			if status, ends := w.jobs.Status(job); ends != 1 {
				t.Fatalf("the workflow has ended and job %d, which is %s, has ended %d times", job, status, ends)
			}
		}
	})
}
