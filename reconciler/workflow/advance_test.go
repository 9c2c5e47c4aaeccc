package workflow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// newWorld draws an app of up to five components, the first of them upstream of all, and a workflow over some of them.
func newWorld(t *rapid.T) *world {
	w := &world{t: t, applied: map[string]int{}, yes: map[string]string{}, applying: map[string]string{}}
	kind := rapid.SampledFrom([]Kind{KindProvision, KindDeploy, KindDeprovision, KindTeardown}).Draw(t, "kind")
	n := rapid.IntRange(1, 5).Draw(t, "components")
	for i := range n {
		p := &part{name: string(rune('a' + i)), refused: map[string]string{}, retries: rapid.IntRange(0, 2).Draw(t, "retries")}
		for up := range i {
			if up == 0 || rapid.Bool().Draw(t, "edge") {
				p.after = append(p.after, up)
			}
		}
		w.parts = append(w.parts, p)
	}
	w.start(kind)
	return w
}

func (w *world) start(kind Kind) {
	var parts []Part
	for _, p := range w.parts {
		p.version = 1
		if kind != KindProvision {
			p.there = true
		}
		if len(p.after) == 0 && rapid.Bool().Draw(w.t, "an old no") {
			p.refused[p.name+"@2"] = "rejected long ago"
		}
		p.absent = kind == KindDeprovision || kind == KindTeardown
		part := Part{Component: p.name, Reason: "it is behind"}
		for _, up := range p.after {
			part.After = append(part.After, w.parts[up].name)
		}
		if rapid.IntRange(0, 2).Draw(w.t, "action") == 0 {
			part.Actions = []PostDeploy{{Action: "check_" + p.name}}
		}
		parts = append(parts, part)
	}
	steps, err := Compose(kind, parts, counter())
	if err != nil {
		w.t.Fatal(err)
	}
	rule := Rule{ApproveAll: rapid.Bool().Draw(w.t, "approve all"), AllowDestroy: rapid.Bool().Draw(w.t, "allow destroy")}
	w.g = &Graph{Kind: kind, Status: Running, Rule: rule, Steps: steps, Wants: w.wants()}
	w.settle()
}

var outcomes = []JobStatus{JobSucceeded, JobSucceeded, JobSucceeded, JobFailed, JobStale, JobCancelled, JobLost}

// anyEvent lets something happen that may happen now.
func (w *world) anyEvent() {
	t := w.t
	switch rapid.IntRange(0, 9).Draw(t, "event") {
	case 0, 1, 2, 3:
		if open := w.open(); len(open) > 0 {
			w.jobEvent(rapid.SampledFrom(open).Draw(t, "job"), rapid.SampledFrom(outcomes).Draw(t, "outcome"))
		}
	case 4, 5, 6:
		if asked := w.asked(); len(asked) > 0 {
			w.answer(rapid.SampledFrom(asked).Draw(t, "plan"), rapid.IntRange(0, 3).Draw(t, "answer") > 0)
		}
	case 7:
		p := rapid.SampledFrom(w.parts).Draw(t, "moves")
		p.version = rapid.IntRange(1, 3).Draw(t, "version")
		w.log("%s moves to version %d", p.name, p.version)
	case 8:
		p := rapid.SampledFrom(w.parts).Draw(t, "builds")
		p.building = !p.building
		w.log("%s building: %t", p.name, p.building)
	case 9:
		w.rareEvent()
	}
}

func (w *world) rareEvent() {
	switch rapid.IntRange(0, 3).Draw(w.t, "rare") {
	case 0:
		w.g.Cancelled = &Cancellation{Actor: "bob", Reason: "enough"}
		w.log("bob cancels")
	case 1:
		p := rapid.SampledFrom(w.parts).Draw(w.t, "leaves")
		p.absent = !p.absent
		w.log("%s absent: %t", p.name, p.absent)
	}
}

// jobEvent takes one job a step further: told to end it may end, an apply is accepted first, and then it ends.
func (w *world) jobEvent(s *Step, outcome JobStatus) {
	accepted := s.Kind != StepApply || w.applying[s.Component] != ""
	if !accepted {
		if s.Job.Cancelling || !w.accept(s) {
			w.end(s, JobCancelled, false, false)
		}
		return
	}
	w.end(s, outcome, rapid.IntRange(0, 4).Draw(w.t, "empty") == 0, rapid.Bool().Draw(w.t, "destructive"))
}

// drain lets everything that is under way come to its end, fairly, and others do what this workflow waits for.
func (w *world) drain() {
	for round := 0; w.g.Status == Running; round++ {
		if round > 500 {
			w.fail("this history never ends")
		}
		for _, s := range w.open() {
			w.jobEvent(s, rapid.SampledFrom(outcomes).Draw(w.t, "outcome"))
			w.settle()
		}
		for _, s := range w.asked() {
			w.answer(s, rapid.Bool().Draw(w.t, "answer"))
			w.settle()
		}
		if len(w.open()) == 0 && len(w.asked()) == 0 {
			w.others()
			w.settle()
		}
	}
}

// others is the rest of the control plane: builds end, and other workflows bring what is behind up to what is wanted.
func (w *world) others() {
	for _, p := range w.parts {
		p.building = false
		in := w.g.group(p.name)
		want := w.wants()[p.name]
		if in.plan == nil || in.ended() && want.Waits == "" && want.Refused == "" {
			p.there, p.current = !p.absent, want.Digest
		}
	}
}

func TestEveryHistoryKeepsTheLawsAndEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			w.anyEvent()
			w.settle()
		}
		w.drain()
		if len(w.applying) > 0 {
			w.fail("the workflow ended while %v were being applied", w.applying)
		}
	})
}

// Where nothing moves and nobody cancels, exactly what has failed, been rejected or needs such a thing is not deployed.
func TestAFailureStopsWhatNeedsItAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		bad := map[string]string{}
		for _, p := range w.parts {
			bad[p.name] = rapid.SampledFrom([]string{"", "", "plan fails", "apply fails", "is rejected"}).Draw(t, "fate of "+p.name)
		}
		for round := 0; w.g.Status == Running && round < 500; round++ {
			for _, s := range w.open() {
				outcome := JobSucceeded
				if bad[s.Component] == string(s.Kind)+" fails" {
					outcome = JobFailed
				}
				if s.Kind == StepApply && w.applying[s.Component] == "" {
					if !w.accept(s) {
						w.fail("an accept was refused though nothing moved")
					}
					continue
				}
				w.end(s, outcome, false, true)
				w.settle()
			}
			for _, s := range w.asked() {
				w.answer(s, bad[s.Component] != "is rejected")
				w.settle()
			}
		}
		if w.g.Status == Running {
			w.fail("the workflow does not end")
		}
		done := map[string]bool{}
		for _, p := range w.parts {
			done[p.name] = w.g.done(w.g.group(p.name).apply)
			if bad[p.name] == "is rejected" && w.g.Rule.ApproveAll && w.g.Rule.AllowDestroy && w.g.Kind != KindTeardown {
				bad[p.name] = "" // nobody was asked
			}
		}
		for i, p := range w.parts {
			want := bad[p.name] == ""
			for j, other := range w.parts {
				if w.needs(i, j) {
					want = want && bad[other.name] == ""
				}
			}
			if done[p.name] != want {
				w.fail("%s done: %t, want %t (%v)", p.name, done[p.name], want, bad)
			}
		}
	})
}

// needs says whether part i comes after part j, over any number of edges, in the direction of the workflow.
func (w *world) needs(i, j int) bool {
	if w.g.Kind == KindDeprovision || w.g.Kind == KindTeardown {
		i, j = j, i
	}
	return slices.ContainsFunc(w.parts[i].after, func(up int) bool { return up == j || w.needsUp(up, j) })
}

func (w *world) needsUp(i, j int) bool {
	return slices.ContainsFunc(w.parts[i].after, func(up int) bool { return up == j || w.needsUp(up, j) })
}

// planned is a workflow over one component, up to the status that the table below begins with.
func planned(kind Kind, rule Rule, plan Plan, want Want) *Graph {
	steps, _ := Compose(kind, []Part{{Component: "web", Reason: "r"}}, counter())
	steps[0].Status, steps[0].Tries, steps[0].Job = StepRunning, 1, &Job{Status: JobSucceeded, Desired: plan.Desired}
	steps[0].Plan = &plan
	return &Graph{Kind: kind, Status: Running, Rule: rule, Steps: steps, Wants: map[string]Want{"web": want}}
}

// run lets the core speak until it rests, and gives what it said.
func run(g *Graph) []string {
	var said []string
	for {
		todo := Advance(g)
		if len(todo) == 0 {
			return said
		}
		for _, c := range todo {
			said = append(said, strings.TrimPrefix(fmt.Sprintf("%T%v", c, c), "workflow."))
			g.Apply(c)
		}
	}
}

func TestAPlanIsAskedAboutLetThroughOrSettled(t *testing.T) {
	want := Want{Digest: "d1", Reason: "input greeting changed"}
	current := want
	current.Current = true
	for _, c := range []struct {
		name string
		kind Kind
		rule Rule
		plan Plan
		want Want
		says []string
	}{
		{"a prompt install asks", KindDeploy, Rule{}, Plan{Status: PlanReady, Desired: "d1"}, want, []string{
			"Set{1 succeeded the plan is ready}", "Ask{2 this install asks before every change}"}},
		{"approve-all lets a plain change through", KindDeploy, Rule{ApproveAll: true}, Plan{Status: PlanReady, Desired: "d1"}, want, []string{
			"Set{1 succeeded the plan is ready}", "Allow{2 let through by the install's rule (approve-all)}",
			"Begin{3 let through by the install's rule (approve-all)}"}},
		{"approve-all does not let a replace through", KindDeploy, Rule{ApproveAll: true}, Plan{Status: PlanReady, Desired: "d1", Destructive: true}, want, []string{
			"Set{1 succeeded the plan is ready}", "Ask{2 the plan deletes or replaces something, and this install does not allow that unasked}"}},
		{"unless the install allows it", KindDeploy, Rule{ApproveAll: true, AllowDestroy: true}, Plan{Status: PlanReady, Desired: "d1", Destructive: true}, want, []string{
			"Set{1 succeeded the plan is ready}", "Allow{2 let through by the install's rule (approve-all, allow_destroy)}",
			"Begin{3 let through by the install's rule (approve-all, allow_destroy)}"}},
		{"a component that left the app is always asked about", KindTeardown, Rule{ApproveAll: true, AllowDestroy: true},
			Plan{Status: PlanReady, Desired: "d1", Destructive: true}, Want{Digest: "d1", Absent: true}, []string{
				"Set{1 succeeded the plan is ready}", "Ask{2 the destroy of a component that left the app always needs a person}"}},
		{"no changes, no question", KindDeploy, Rule{}, Plan{Status: PlanEmpty, Desired: "d1"}, current, []string{
			"Set{1 succeeded no changes: what is wanted is what is there}", "Set{2 skipped no changes: what is wanted is what is there}",
			"Set{3 skipped no changes: what is wanted is what is there}", "Finish{succeeded 1 without changes}"}},
		{"a newer desired withdraws the plan and plans again", KindDeploy, Rule{}, Plan{Status: PlanReady, Desired: "d0"}, want, []string{
			"EndPlan{1 superseded superseded by a newer desired: input greeting changed}",
			"Again{web true superseded by a newer desired: input greeting changed}", "Begin{1 input greeting changed}"}},
		{"what is stuck upstream ends it", KindDeploy, Rule{}, Plan{Status: PlanReady, Desired: "d1"}, Want{Waits: "the build of web failed", Stuck: true}, []string{
			"EndPlan{1 superseded it waits for what will not come by itself: the build of web failed}",
			"Again{web true it waits for what will not come by itself: the build of web failed}",
			"Set{1 skipped waits for what will not come by itself: the build of web failed}",
			"Set{2 skipped waits for what will not come by itself: the build of web failed}",
			"Set{3 skipped waits for what will not come by itself: the build of web failed}",
			"Finish{superseded web skipped: waits for what will not come by itself: the build of web failed}"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.says, run(planned(c.kind, c.rule, c.plan, c.want))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALostApplyIsPlannedAnewAndAskedAnew(t *testing.T) {
	want := Want{Digest: "d1", Reason: "first"}
	g := planned(KindDeploy, Rule{}, Plan{ID: "p1", Status: PlanReady, Desired: "d1"}, want)
	run(g)
	g.Steps[0].Plan.Status, g.Steps[0].Plan.By = PlanApproved, "alice"
	if diff := cmp.Diff([]string{"Set{2 succeeded approved by alice}", "Begin{3 approved by alice}"}, run(g)); diff != "" {
		t.Fatal(diff)
	}
	g.Steps[0].Plan.Status, g.Steps[2].Job.Status = PlanConsumed, JobLost
	if diff := cmp.Diff([]string{
		"EndPlan{1 failed its apply was lost; what is there is planned anew}",
		"Again{web false its apply was lost; what is there is planned anew}", "Begin{1 first}"}, run(g)); diff != "" {
		t.Fatal(diff)
	}
	g.Steps[0].Job.Status, g.Steps[0].Plan = JobSucceeded, &Plan{ID: "p2", Status: PlanReady, Desired: "d1"}
	if diff := cmp.Diff([]string{"Set{1 succeeded the plan is ready}", "Ask{2 this install asks before every change}"}, run(g)); diff != "" {
		t.Fatal(diff)
	}
	g.Steps[0].Plan.Status, g.Steps[0].Plan.By, g.Steps[0].Plan.Because = PlanRejected, "bob", "too risky"
	if diff := cmp.Diff([]string{
		"Refuse{web d1 rejected bob too risky}", "Set{2 failed rejected by bob: too risky}", "Set{3 skipped rejected by bob: too risky}",
		"Finish{failed web: rejected by bob: too risky}"}, run(g)); diff != "" {
		t.Fatal(diff)
	}
}
