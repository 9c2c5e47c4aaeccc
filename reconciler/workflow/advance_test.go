package workflow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// planned returns a workflow over one component, up to the status at which the table below starts.
func planned(kind Kind, rule Rule, plan Plan, want DesiredState) *Graph {
	steps, _ := Compose(kind, []ComponentPart{{Component: "web", Reason: "r"}}, WorkflowActions{}, counter())
	steps[0].Status, steps[0].Tries, steps[0].Job = StepSucceeded, 1, &Job{Status: JobSucceeded,
		DesiredDigest: plan.DesiredDigest}
	steps[1].Status, steps[1].Tries, steps[1].Job = StepRunning, 1, &Job{Status: JobSucceeded,
		DesiredDigest: plan.DesiredDigest}
	steps[1].Plan = &plan
	return &Graph{Kind: kind, Status: Running, Rule: rule, Steps: steps, Desired: map[string]DesiredState{"web": want}}
}

// run runs the core until it returns no more commands, and returns the commands as text.
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
	want := DesiredState{Digest: "d1", Reason: "input greeting changed"}
	current := want
	current.Current = true
	for _, c := range []struct {
		name string
		kind Kind
		rule Rule
		plan Plan
		want DesiredState
		says []string
	}{
		{"a prompt install asks", KindDeploy, Rule{}, Plan{Status: PlanReady, DesiredDigest: "d1"}, want, []string{
			"SetStatus{2 succeeded the plan is ready}", "RequestApproval{3 this install requires approval for every change}"}},
		{"approve-all lets a plain change through", KindDeploy, Rule{ApproveAll: true},
			Plan{Status: PlanReady, DesiredDigest: "d1"}, want, []string{
				"SetStatus{2 succeeded the plan is ready}", "ApproveByInstallRule{3 approved by the install's rule (approve-all)}",
				"StartStep{4 approved by the install's rule (approve-all)}"}},
		{"approve-all does not let a replace through", KindDeploy, Rule{ApproveAll: true},
			Plan{Status: PlanReady, DesiredDigest: "d1", Destructive: true}, want, []string{
				"SetStatus{2 succeeded the plan is ready}",
				"RequestApproval{3 the plan deletes or replaces something, which this install does not allow without approval}"}},
		{"unless the install allows it", KindDeploy, Rule{ApproveAll: true, AllowDestroy: true},
			Plan{Status: PlanReady, DesiredDigest: "d1", Destructive: true}, want, []string{
				"SetStatus{2 succeeded the plan is ready}", "ApproveByInstallRule{3 approved by the install's rule (approve-all, " +
					"allow_destroy)}",
				"StartStep{4 approved by the install's rule (approve-all, allow_destroy)}"}},
		{"no rule lets through what a person must approve by itself", KindDeploy, Rule{ApproveAll: true, AllowDestroy: true},
			Plan{Status: PlanReady, DesiredDigest: "d1", IndividualApproval: true}, want, []string{
				"SetStatus{2 succeeded the plan is ready}", "RequestApproval{3 a finding of the plan requires a separate " +
					"approval}"}},
		{"a component that left the app is always asked about", KindTeardown, Rule{ApproveAll: true, AllowDestroy: true},
			Plan{Status: PlanReady, DesiredDigest: "d1", Destructive: true}, DesiredState{Digest: "d1", Absent: true}, []string{
				"SetStatus{2 succeeded the plan is ready}", "RequestApproval{3 destroying a component always requires approval}"}},
		{"no changes, no question", KindDeploy, Rule{}, Plan{Status: PlanEmpty, DesiredDigest: "d1"}, current, []string{
			"SetStatus{2 succeeded no changes}",
			"SetStatus{3 skipped no changes}",
			"SetStatus{4 skipped no changes}", "FinishWorkflow{succeeded 1 without changes}"}},
		{"a newer desired withdraws the plan and begins with its artifact", KindDeploy, Rule{},
			Plan{Status: PlanReady, DesiredDigest: "d0"}, want, []string{
				"ClosePlan{2 superseded superseded by a newer desired state: input greeting changed}",
				"Replan{web true false superseded by a newer desired state: input greeting changed}",
				"StartStep{1 input greeting changed}"}},
		{"what is stuck upstream ends it", KindDeploy, Rule{}, Plan{Status: PlanReady, DesiredDigest: "d1"},
			DesiredState{WaitReason: "the build of web failed", Stalled: true}, []string{
				"ClosePlan{2 superseded it waits for something that needs an action: the build of web failed}",
				"Replan{web true false it waits for something that needs an action: the build of web failed}",
				"SetStatus{1 skipped waits for something that needs an action: the build of web failed}",
				"SetStatus{2 skipped waits for something that needs an action: the build of web failed}",
				"SetStatus{3 skipped waits for something that needs an action: the build of web failed}",
				"SetStatus{4 skipped waits for something that needs an action: the build of web failed}",
				"FinishWorkflow{superseded web skipped: waits for something that needs an action: the build of web failed}"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.says, run(planned(c.kind, c.rule, c.plan, c.want))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A plan that was approved is kept while the customer's role is off: when the role is on again, just that plan
// is applied, and nobody is asked twice.
func TestAPlanIsKeptWhileItsRoleIsOff(t *testing.T) {
	t.Parallel()
	want := DesiredState{Digest: "d1", Reason: "first"}
	off := DesiredState{Digest: "d1", Reason: "first", WaitReason: "role x is off", Stalled: true, NoRole: true}
	expect := func(t *testing.T, g *Graph, now DesiredState, commands ...string) {
		t.Helper()
		g.Desired["web"] = now
		if diff := cmp.Diff(commands, run(g)); diff != "" {
			t.Fatal(diff)
		}
	}
	asked := func(t *testing.T) *Graph {
		t.Helper()
		g := planned(KindDeploy, Rule{}, Plan{ID: "p1", Status: PlanReady, DesiredDigest: "d1"}, want)
		run(g)
		return g
	}
	approved := func(t *testing.T) *Graph {
		t.Helper()
		g := asked(t)
		g.Steps[1].Plan.Status, g.Steps[1].Plan.DecidedBy = PlanApproved, "alice"
		return g
	}
	t.Run("before its question", func(t *testing.T) {
		g := planned(KindDeploy, Rule{}, Plan{ID: "p1", Status: PlanReady, DesiredDigest: "d1"}, want)
		expect(t, g, off, "SetStatus{2 succeeded the plan is ready}", "SetStatus{3 pending waits: role x is off}")
		expect(t, g, want, "RequestApproval{3 this install requires approval for every change}")
	})
	t.Run("while the question waits", func(t *testing.T) {
		g := asked(t)
		expect(t, g, off)
		g.Steps[1].Plan.Status, g.Steps[1].Plan.DecidedBy = PlanApproved, "alice"
		expect(t, g, off, "SetStatus{3 succeeded approved by alice}", "SetStatus{4 pending waits: role x is off}")
		expect(t, g, want, "StartStep{4 approved by alice}")
	})
	t.Run("before a runner has the apply", func(t *testing.T) {
		g := approved(t)
		run(g)
		expect(t, g, off, "CancelJob{4 waits: role x is off}")
		g.Steps[3].Job.Status = JobCancelled
		expect(t, g, off, "PostponeApply{4 waits: role x is off}")
		expect(t, g, want, "StartStep{4 approved by alice}")
	})
	t.Run("when a runner asks for the apply", func(t *testing.T) {
		g := approved(t)
		run(g)
		g.Steps[3].Job.Status = JobStale
		expect(t, g, off, "PostponeApply{4 waits: role x is off}")
		expect(t, g, want, "StartStep{4 approved by alice}")
	})
	t.Run("off and on again while its job is stopped", func(t *testing.T) {
		g := approved(t)
		run(g)
		expect(t, g, off, "CancelJob{4 waits: role x is off}")
		g.Steps[3].Job.Status = JobCancelled
		expect(t, g, want, "PostponeApply{4 its role can be assumed again}", "StartStep{4 approved by alice}")
	})
	t.Run("not if the desired state changes meanwhile", func(t *testing.T) {
		g := approved(t)
		expect(t, g, off, "SetStatus{3 succeeded approved by alice}", "SetStatus{4 pending waits: role x is off}")
		newer := off
		newer.Digest, newer.Reason = "d2", "input x changed"
		commands := run(func() *Graph { g.Desired["web"] = newer; return g }())
		const closed = "ClosePlan{2 superseded superseded by a newer desired state: input x changed}"
		if len(commands) == 0 || commands[0] != closed {
			t.Error(commands)
		}
	})
	t.Run("in the middle of its apply", func(t *testing.T) {
		g := approved(t)
		run(g)
		g.Steps[1].Plan.Status = PlanConsumed
		expect(t, g, off)
		g.Steps[3].Job.Status, g.Steps[3].Job.Error = JobFailed, "not allowed: the role is switched off"
		commands := run(g)
		const why = "not allowed: the role is switched off; it waits for something that needs an action: role x is off"
		if last := commands[len(commands)-1]; !strings.Contains(last, why) {
			t.Error(commands)
		}
	})
}

func TestALostApplyIsPlannedAnewAndAskedAnew(t *testing.T) {
	want := DesiredState{Digest: "d1", Reason: "first"}
	g := planned(KindDeploy, Rule{}, Plan{ID: "p1", Status: PlanReady, DesiredDigest: "d1"}, want)
	run(g)
	g.Steps[1].Plan.Status, g.Steps[1].Plan.DecidedBy = PlanApproved, "alice"
	if diff := cmp.Diff([]string{"SetStatus{3 succeeded approved by alice}", "StartStep{4 approved by alice}"},
		run(g)); diff != "" {
		t.Fatal(diff)
	}
	g.Steps[1].Plan.Status, g.Steps[3].Job.Status = PlanConsumed, JobLost
	if diff := cmp.Diff([]string{
		"ClosePlan{2 failed its apply was lost; it is planned again}",
		"Replan{web false true its apply was lost; it is planned again (try 2 of at most 5)}",
		"StartStep{2 first}"},
		run(g)); diff != "" {
		t.Fatal(diff)
	}
	g.Steps[1].Job.Status, g.Steps[1].Plan = JobSucceeded, &Plan{ID: "p2", Status: PlanReady, DesiredDigest: "d1"}
	if diff := cmp.Diff([]string{"SetStatus{2 succeeded the plan is ready}",
		"RequestApproval{3 this install requires approval for every change}"},
		run(g)); diff != "" {
		t.Fatal(diff)
	}
	g.Steps[1].Plan.Status, g.Steps[1].Plan.DecidedBy, g.Steps[1].Plan.DecisionReason = PlanRejected, "bob", "too risky"
	if diff := cmp.Diff([]string{
		"RecordRejection{web d1 rejected bob too risky}", "RejectStep{3 bob rejected by bob: too risky}",
		"SetStatus{4 skipped rejected by bob: too risky}",
		"FinishWorkflow{rejected web: rejected by bob: too risky}"}, run(g)); diff != "" {
		t.Fatal(diff)
	}
}
