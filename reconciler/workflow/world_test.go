package workflow

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"
)

// world answers a workflow as runners, people and the rest of the control plane would, in any order, and holds the laws while it
// does. It knows nothing of how Advance decides.
type world struct {
	t     *rapid.T
	g     *Graph
	parts []*part
	plans int

	applied  map[string]int    // how often each plan was consumed
	yes      map[string]string // who approved each plan
	applying map[string]string // the plan that is being applied, by component
	history  []string
}

// part is one component of the world.
type part struct {
	name     string
	after    []int
	version  int    // what is wanted, besides what upstream gives
	building bool   // its artifact is not there yet
	absent   bool   // it left the app
	there    bool   // something of it may exist
	current  string // applied digest; empty: unknown or nothing
	before   string // what current was before the apply under way
	refused  map[string]string
	retries  int
}

// wants works out what is wanted as rollout does: upstream first.
func (w *world) wants() map[string]Want {
	all := map[string]Want{}
	for i, p := range w.parts {
		want := Want{Absent: p.absent, Reason: fmt.Sprintf("version %d", p.version), Retries: p.retries}
		if p.absent {
			want.Current, want.Digest = !p.there, "gone:"+p.name
			w.stillNeeded(i, &want)
		} else {
			w.desire(p, &want, all)
			want.Current = want.Digest != "" && want.Digest == p.current
		}
		want.Refused = p.refused[want.Digest]
		all[p.name] = want
	}
	return all
}

func (w *world) desire(p *part, want *Want, all map[string]Want) {
	digest := fmt.Sprintf("%s@%d", p.name, p.version)
	for _, up := range p.after {
		upstream := all[w.parts[up].name]
		if !upstream.Current || upstream.Absent {
			want.Waits = "waits for " + w.parts[up].name
			want.Stuck = want.Stuck || upstream.Stuck || upstream.Refused != "" || upstream.Absent
		}
		digest += "," + w.parts[up].current
	}
	if p.building {
		want.Waits = "its build is running"
	}
	if want.Waits == "" {
		want.Digest = digest
	}
}

func (w *world) stillNeeded(i int, want *Want) {
	for _, p := range w.parts {
		if slices.Contains(p.after, i) && p.there {
			want.Waits = p.name + " is still there"
			want.Stuck = want.Stuck || !p.absent || p.refused["gone:"+p.name] != ""
		}
	}
}

func (w *world) part(name string) *part {
	for _, p := range w.parts {
		if p.name == name {
			return p
		}
	}
	w.t.Fatalf("no part %s", name)
	return nil
}

// settle lets the core say all it has to say, checks each command, and does it.
func (w *world) settle() {
	for round := 0; ; round++ {
		if round > 50 {
			w.fail("the core never comes to rest")
		}
		w.g.Wants = w.wants()
		todo := Advance(w.g)
		if len(todo) == 0 {
			return
		}
		for _, c := range todo {
			w.do(c)
		}
	}
}

func (w *world) do(c Command) {
	w.history = append(w.history, fmt.Sprintf("%T%+v", c, c))
	before := map[string]StepStatus{}
	for _, s := range w.g.Steps {
		before[s.ID] = s.Status
	}
	w.check(c)
	w.g.Apply(c)
	for _, s := range w.g.Steps {
		if !stepMoves.allows(before[s.ID], s.Status) {
			w.fail("step %s moved from %s to %s", s.ID, before[s.ID], s.Status)
		}
		if s.Reason == "" {
			w.fail("step %s has no reason", s.ID)
		}
	}
	if begun, is := c.(Begin); is {
		w.g.step(begun.Step).Job.ID = fmt.Sprint("job", len(w.history))
	}
}

// check holds the laws at the moment a command is given.
func (w *world) check(c Command) {
	switch c := c.(type) {
	case Begin:
		s := w.g.step(c.Step)
		for _, need := range s.Needs {
			if !w.g.done(w.g.step(need)) {
				w.fail("step %s began before step %s was done", s.ID, need)
			}
		}
		if s.Kind == StepApply {
			w.checkApply(s)
		}
	case Ask:
		in := w.g.group(w.g.step(c.Step).Component)
		if no := w.part(in.plan.Component).refused[in.plan.Plan.Desired]; no != "" {
			w.fail("%s is asked about again after %q", in.plan.Component, no)
		}
	case Allow:
		in := w.g.group(w.g.step(c.Step).Component)
		if !w.g.Rule.ApproveAll || in.plan.Plan.Destructive && !w.g.Rule.AllowDestroy || w.g.Kind == KindTeardown {
			w.fail("the rule let %s through", in.plan.Component)
		}
		w.yes[in.plan.Plan.ID] = byRule
	case EndPlan:
		plan := w.g.step(c.Step).Plan
		if !planMoves.allows(plan.Status, c.To) {
			w.fail("plan %s moved from %s to %s", plan.ID, plan.Status, c.To)
		}
	case Refuse:
		w.part(c.Component).refused[c.Desired] = "no: " + c.Reason
	case Finish:
		for _, s := range w.g.Steps {
			if !s.Status.Ended() || s.open() {
				w.fail("the workflow ended while step %s was %s", s.ID, s.Status)
			}
		}
		if c.Outcome == "" {
			w.fail("the workflow ended without a word")
		}
	}
}

func (w *world) checkApply(s *Step) {
	plan := w.g.group(s.Component).plan.Plan
	if plan == nil || w.yes[plan.ID] == "" || plan.Status != PlanApproved {
		w.fail("apply of %s began without its own approved plan", s.Component)
	}
	if other := w.applying[s.Component]; other != "" {
		w.fail("apply of %s began while plan %s is being applied", s.Component, other)
	}
}

func (w *world) fail(format string, args ...any) {
	for _, line := range w.history {
		w.t.Log(line)
	}
	w.t.Fatalf(format, args...)
}

func (w *world) log(format string, args ...any) {
	w.history = append(w.history, "— "+fmt.Sprintf(format, args...))
}

// open gives the steps that have a job under way.
func (w *world) open() []*Step {
	var all []*Step
	for _, s := range w.g.Steps {
		if s.open() {
			all = append(all, s)
		}
	}
	return all
}

// asked gives the plan steps whose plans wait for a person.
func (w *world) asked() []*Step {
	var all []*Step
	for _, in := range w.g.groups() {
		if in.approve.Status == StepWaiting && in.plan.Plan.Status == PlanReady {
			all = append(all, in.plan)
		}
	}
	return all
}

// accept is the runner taking an apply: the plan is consumed, or the accept is refused because it may not be applied.
func (w *world) accept(s *Step) bool {
	in := w.g.group(s.Component)
	plan, p := in.plan.Plan, w.part(s.Component)
	want := w.wants()[s.Component]
	if plan.Status != PlanApproved || want.Waits != "" || want.Digest != plan.Desired || want.Absent != s.Destroy {
		w.log("accept of %s refused", s.Component)
		return false
	}
	w.applied[plan.ID]++
	if w.applied[plan.ID] > 1 {
		w.fail("plan %s is applied twice", plan.ID)
	}
	w.log("apply of %s accepted", s.Component)
	plan.Status, w.applying[s.Component] = PlanConsumed, plan.ID
	p.there, p.before, p.current = true, p.current, ""
	return true
}

// end ends a job as the dice say.
func (w *world) end(s *Step, status JobStatus, empty, destructive bool) {
	w.log("job of %s %s ended as %s", s.Kind, s.Component, status)
	switch s.Kind {
	case StepPlan:
		if status == JobStale {
			status = JobFailed
		}
		if status == JobSucceeded {
			w.plans++
			s.Plan = &Plan{ID: fmt.Sprint("plan", w.plans), Status: PlanReady, Desired: s.Job.Desired, Destructive: destructive || s.Destroy}
			if empty {
				s.Plan.Status = PlanEmpty
				w.landed(s)
			}
		}
	case StepApply:
		w.endApply(s, status)
	}
	s.Job.Status = status
}

func (w *world) endApply(s *Step, status JobStatus) {
	p := w.part(s.Component)
	if w.applying[s.Component] == "" {
		return
	}
	delete(w.applying, s.Component)
	switch status {
	case JobSucceeded:
		w.landed(w.g.group(s.Component).plan)
	case JobStale:
		p.current = p.before
	}
}

// landed is what was planned being what is there.
func (w *world) landed(planned *Step) {
	p := w.part(planned.Component)
	if planned.Destroy {
		p.there, p.current = false, ""
		return
	}
	p.there, p.current = true, planned.Plan.Desired
}

// answer is a person's word about a plan.
func (w *world) answer(planned *Step, yes bool) {
	w.log("a person says %t to %s", yes, planned.Component)
	planned.Plan.By, planned.Plan.Because = "alice", "because"
	if yes {
		planned.Plan.Status, w.yes[planned.Plan.ID] = PlanApproved, "alice"
		return
	}
	planned.Plan.Status = PlanRejected
}
