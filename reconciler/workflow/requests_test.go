package workflow

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/reconciler/refusal"
)

// acted returns a running deploy of network, web and site, each needing the one
// before, with an action before web, one after it, and one at the end. All three are
// desired, and network is already deployed.
func acted(t *testing.T) *Graph {
	t.Helper()
	steps, err := Compose(KindDeploy, []ComponentPart{
		{Component: "network", Reason: "r"},
		{Component: "web", DependsOn: []string{"network"}, ActionsBefore: []TriggeredAction{{Action: "drain",
			Trigger: "pre-deploy-component"}},
			ActionsAfter: []TriggeredAction{{Action: "smoke", Trigger: "post-deploy-component"}}, Reason: "r"},
		{Component: "site", DependsOn: []string{"web"}, Reason: "r"},
	}, WorkflowActions{After: []TriggeredAction{{Action: "tell", Trigger: "post-update-inputs"}}}, counter())
	if err != nil {
		t.Fatal(err)
	}
	g := &Graph{Kind: KindDeploy, Status: Running, Steps: steps, Desired: map[string]DesiredState{
		"network": {Digest: "n1", Reason: "r"}, "web": {Digest: "w1", Reason: "r"}, "site": {Digest: "s1", Reason: "r"},
	}}
	run(g)
	g.planned("network")
	g.applied("network")
	return g
}

// planned ends the plan of a component, and a person approves it.
func (g *Graph) planned(component string) []string {
	gr := g.synced(component)
	gr.plan.Job.Status, gr.plan.Plan = JobSucceeded,
		&Plan{ID: "plan of " + component, Status: PlanReady, DesiredDigest: gr.desired.Digest}
	run(g)
	gr.plan.Plan.Status, gr.plan.Plan.DecidedBy = PlanApproved, "alice"
	return run(g)
}

// synced ends the sync of a component.
func (g *Graph) synced(component string) stepGroup {
	g.groupOf(component).sync.Job.Status = JobSucceeded
	run(g)
	return g.groupOf(component)
}

func (g *Graph) applied(component string) []string {
	gr := g.groupOf(component)
	gr.plan.Plan.Status, gr.apply.Job.Status = PlanConsumed, JobSucceeded
	return run(g)
}

func (g *Graph) action(name string) *Step {
	for _, s := range g.Steps {
		if s.Action == name {
			return s
		}
	}
	return nil
}

func (g *Graph) ended(name string, as JobStatus) []string {
	s := g.action(name)
	s.Job.Status, s.Job.Error = as, "exit 3"
	return run(g)
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestAnActionBeforeAComponentRunsOnceItIsApproved(t *testing.T) {
	g := acted(t)
	same(t, g.planned("web"), "SetStatus{7 succeeded approved by alice}", "SetStatus{8 pending comes after action drain}",
		"StartStep{13 runs before web is deployed}")
	same(t, g.ended("drain", JobSucceeded), "SetStatus{13 succeeded the action ran}", "StartStep{8 approved by alice}")
	same(t, g.applied("web"), "ClosePlan{6 applied web is deployed}", "SetStatus{8 succeeded web is deployed}",
		"StartStep{9 r}",
		"StartStep{14 runs after web was deployed}")
}

// TestARuleThatChangedLetsNothingBegin: a plan that the rule approved is withdrawn if
// the rule no longer approves it, before its apply starts and until a runner has
// taken it. A person's approval stays.
func TestARuleThatChangedLetsNothingBegin(t *testing.T) {
	why := "the install's rule has changed: this install requires approval for every change"
	let := func() *Graph { // web is approved by the rule, and drain runs before it
		g := acted(t)
		g.Rule = Rule{ApproveAll: true}
		gr := g.synced("web")
		gr.plan.Job.Status, gr.plan.Plan = JobSucceeded, &Plan{ID: "p", Status: PlanReady, DesiredDigest: "w1"}
		if said := run(g); gr.plan.Plan.Status != PlanApproved ||
			said[len(said)-1] != "StartStep{13 runs before web is deployed}" {
			t.Fatal(said)
		}
		return g
	}
	g := let()
	g.Rule = Rule{}
	said := g.ended("drain", JobSucceeded)
	same(t, said[:2], "ClosePlan{6 superseded "+why+"}", "Replan{web true false "+why+"}")

	g = let()
	said = g.ended("drain", JobSucceeded)
	same(t, said[1:], "StartStep{8 approved by the install's rule (approve-all)}")
	g.Rule = Rule{}
	same(t, run(g), "CancelJob{8 "+why+"}")

	g = acted(t) // a person approved it
	g.planned("web")
	g.Rule = Rule{ApproveAll: true, AllowDestroy: true}
	run(g)
	g.Rule = Rule{}
	same(t, g.ended("drain", JobSucceeded), "SetStatus{13 succeeded the action ran}", "StartStep{8 approved by alice}")
}

// TestARuleForAWorkflow: an approver's rule approves the plans of the workflow, also
// one that already waits, except destroys, replacements, plans that need individual
// approval, and plans with unseen scripts. Once the rule is withdrawn, what it
// approved is planned and approved again.
func TestARuleForAWorkflow(t *testing.T) {
	const other = "the rule of alice for the workflow does not approve it: "
	plan := func(g *Graph, p Plan) []string {
		gr := g.synced("web")
		p.ID, p.Status, p.DesiredDigest = "p", PlanReady, "w1"
		gr.plan.Job.Status, gr.plan.Plan = JobSucceeded, &p
		return run(g)
	}
	fresh := func() *Graph {
		g := acted(t)
		g.WorkflowRule = &WorkflowRule{By: "alice"}
		return g
	}
	covered := []string{"SetStatus{6 succeeded the plan is ready}", "ApproveByWorkflowRule{7 alice by the rule for the " +
		"whole workflow}"}
	g := fresh()
	same(t, plan(g, Plan{})[:2], covered...)
	if s := g.groupOf("web").approve; s.Reason != "approved by alice: by the rule for the whole workflow" {
		t.Errorf("the step says %q", s.Reason)
	}
	for why, c := range map[string]struct {
		plan Plan
		set  func(*Graph)
	}{
		other + coversNot: {Plan{Destructive: true}, func(*Graph) {}},
		other + alone:     {Plan{IndividualApproval: true}, func(*Graph) {}},
		other + rejected:  {Plan{RejectedBy: "vera"}, func(*Graph) {}},
		rejected: {Plan{RejectedBy: "vera"}, func(g *Graph) {
			g.WorkflowRule, g.Rule = nil, Rule{ApproveAll: true, AllowDestroy: true}
		}},
		other + "the token is gone": {Plan{}, func(g *Graph) { g.WorkflowRule.Void = "the token is gone" }},
		other + "its scripts were not approved for this install": {Plan{}, func(g *Graph) {
			g.action("drain").Script = &Script{Digest: "s"}
		}},
		asks: {Plan{}, func(g *Graph) { g.WorkflowRule = nil }},
	} {
		g := fresh()
		c.set(g)
		same(t, plan(g, c.plan), "SetStatus{6 succeeded the plan is ready}", "RequestApproval{7 "+why+"}")
	}

	g = fresh() // what the install's rule approves needs no rule of an approver
	g.Rule = Rule{ApproveAll: true}
	if said := plan(g, Plan{}); said[1] != "ApproveByInstallRule{7 approved by the install's rule (approve-all)}" {
		t.Errorf("it says %q", said)
	}

	g = acted(t) // created while the plan waits
	plan(g, Plan{})
	g.WorkflowRule = &WorkflowRule{By: "alice"}
	same(t, run(g)[:1], covered[1])

	g = fresh() // withdrawn while an action runs before the apply
	plan(g, Plan{})
	g.WorkflowRule = nil
	why := "the rule of alice for the workflow does not hold: it was revoked"
	same(t, g.ended("drain", JobSucceeded)[:2], "ClosePlan{6 superseded "+why+"}", "Replan{web true false "+why+"}")

	g = fresh() // withdrawn while the apply waits for a runner
	plan(g, Plan{})
	g.ended("drain", JobSucceeded)
	g.WorkflowRule = nil
	same(t, run(g), "CancelJob{8 "+why+"}")

	g = fresh() // what a runner has taken is completed
	plan(g, Plan{})
	g.ended("drain", JobSucceeded)
	g.groupOf("web").plan.Plan.Status, g.WorkflowRule = PlanConsumed, nil
	same(t, run(g))
}

// TestWhatIsAcceptedIsApprovedAndWanted covers the whole decision about the apply of
// a plan when a runner takes it.
func TestWhatIsAcceptedIsApprovedAndWanted(t *testing.T) {
	good := acceptedApply{
		plan: Plan{Status: PlanApproved, DesiredDigest: "d", Authority: ByPerson, DecidedBy: "alice"}, component: "web",
		desired: DesiredState{Digest: "d", Reason: "r"},
		rules:   approvalRules{kind: KindDeploy},
	}
	byInstall := func(a *acceptedApply) { a.plan.Authority, a.plan.DecidedBy = ByInstallRule, installRuleActor }
	byWorkflow := func(a *acceptedApply) {
		a.plan.Authority, a.rules.workflow = ByWorkflowRule, &WorkflowRule{By: "alice"}
	}
	gone := "the rule of alice for the workflow does not hold: "
	for why, change := range map[string]func(*acceptedApply){
		"":                                        func(*acceptedApply) {},
		"its plan is consumed":                    func(a *acceptedApply) { a.plan.Status = PlanConsumed },
		"its plan is rejected":                    func(a *acceptedApply) { a.plan.Status = PlanRejected },
		"it waits: for network":                   func(a *acceptedApply) { a.desired.WaitReason = "for network" },
		"superseded by a newer desired state: r":  func(a *acceptedApply) { a.desired.Digest = "other" },
		"the desired state of web changed: r":     func(a *acceptedApply) { a.desired.Absent = true },
		"the install's rule has changed: " + asks: byInstall,
		"the install's rule has changed: " + destroys: func(a *acceptedApply) {
			byInstall(a)
			a.plan.Destructive, a.rules.install = true, Rule{ApproveAll: true}
		},
		"the install's rule has changed: " + alone: func(a *acceptedApply) {
			byInstall(a)
			a.plan.IndividualApproval, a.rules.install = true, Rule{ApproveAll: true, AllowDestroy: true}
		},
		gone + "it was revoked":    func(a *acceptedApply) { a.plan.Authority = ByWorkflowRule },
		gone + "the token is gone": func(a *acceptedApply) { byWorkflow(a); a.rules.workflow.Void = "the token is gone" },
		gone + coversNot:           func(a *acceptedApply) { byWorkflow(a); a.plan.Destructive = true },
		gone + alone:               func(a *acceptedApply) { byWorkflow(a); a.plan.IndividualApproval = true },
	} {
		a := good
		change(&a)
		if got := a.blockReason(); got != why {
			t.Errorf("%+v: %q, want %q", a, got, why)
		}
	}
	for name, change := range map[string]func(*acceptedApply){
		"the install's rule": func(a *acceptedApply) {
			byInstall(a)
			a.plan.Destructive, a.rules.install = true, Rule{ApproveAll: true, AllowDestroy: true}
		},
		"the workflow's rule": byWorkflow,
	} {
		a := good
		change(&a)
		if got := a.blockReason(); got != "" {
			t.Errorf("what %s lets through is refused: %s", name, got)
		}
	}
}

const (
	asks      = "this install requires approval for every change"
	rejected  = "vera rejected an earlier plan of this change"
	alone     = "a finding of the plan requires a separate approval"
	coversNot = "it does not cover plans that delete or replace something"
	destroys  = "the plan deletes or replaces something, which this install does not allow without approval"
)

func TestAnActionBeforeAComponentThatFailsStopsIt(t *testing.T) {
	g := acted(t)
	g.planned("web")
	why := "action drain (pre-deploy-component) did not succeed: exit 3"
	said := g.ended("drain", JobFailed)
	same(t, said[:4], "SetStatus{13 failed exit 3}", "ClosePlan{6 superseded "+why+"}", "RecordRejection{web w1 stalled  "+
		why+"}",
		"SetStatus{8 skipped "+why+"}")
	same(t, said[len(said)-1:], "FinishWorkflow{failed 1 deployed; action drain: exit 3; web skipped; "+
		"site skipped: web was not deployed}")
	for _, name := range []string{"smoke", "tell"} {
		if s := g.action(name); s.Status != StepSkipped {
			t.Errorf("action %s is %s", name, s.Status)
		}
	}
}

// TestARejectedScriptIsANo: a workflow in which nothing failed except an action whose
// script was rejected ends as rejected. The component after the action is refused as
// rejected by the same person.
func TestARejectedScriptIsANo(t *testing.T) {
	no := &Script{Digest: "s", RejectionReason: "its script was rejected by vera: no curl", RejectedBy: "vera"}
	g := acted(t)
	g.action("drain").Script = no
	why := "action drain (pre-deploy-component) did not succeed: " + no.RejectionReason
	said := g.planned("web")
	if !slices.Contains(said, "RecordRejection{web w1 rejected vera "+why+"}") {
		t.Errorf("it says %q", said)
	}
	same(t, said[len(said)-1:], "FinishWorkflow{rejected 1 deployed; action drain: "+no.RejectionReason+
		"; web skipped; site skipped: web was not deployed}")

	g = acted(t)
	g.action("smoke").Script = no
	g.planned("web")
	g.ended("drain", JobSucceeded)
	g.applied("web")
	g.planned("site")
	said = g.applied("site")
	same(t, said[len(said)-1:], "FinishWorkflow{rejected 3 deployed; 1 action run; action smoke: "+no.RejectionReason+"}")

	g = acted(t) // together with a failure, the workflow ends as failed
	g.action("smoke").Script = no
	g.planned("web")
	g.ended("drain", JobSucceeded)
	g.applied("web")
	g.groupOf("site").sync.Job.Status = JobFailed
	said = run(g)
	same(t, said[len(said)-1:], "FinishWorkflow{failed 2 deployed; 1 action run; site: the sync failed; action smoke: "+
		no.RejectionReason+"}")
}

func TestAnActionAfterAComponentThatFailsStopsOnlyWhatFollowsEverything(t *testing.T) {
	g := acted(t)
	g.planned("web")
	g.ended("drain", JobSucceeded)
	g.applied("web")
	same(t, g.ended("smoke", JobFailed), "SetStatus{14 failed exit 3}",
		"SetStatus{15 skipped action smoke, which comes first, did not succeed: exit 3}")
	g.planned("site")
	same(t, g.applied("site"), "ClosePlan{10 applied site is deployed}", "SetStatus{12 succeeded site is deployed}",
		"FinishWorkflow{failed 3 deployed; 1 action run; action smoke: exit 3}")
}

// After a failure, only what waits for the retry is left to run.
func TestARetryBeginsAgainWhatFailedAndWhatWasSkippedForIt(t *testing.T) {
	for _, c := range []struct {
		at    string // the step that failed, by component or action
		fails func(g *Graph)
		want  []string // renewed, by component or action
	}{
		{"web", func(g *Graph) { g.planned("web"); g.halted(func() { g.ended("drain", JobFailed) }) },
			[]string{"web", "site", "drain", "smoke", "tell"}},
		{"drain", func(g *Graph) { g.planned("web"); g.halted(func() { g.ended("drain", JobFailed) }) },
			[]string{"web", "site", "drain", "smoke", "tell"}},
		{"smoke", func(g *Graph) {
			g.planned("web")
			g.ended("drain", JobSucceeded)
			g.applied("web")
			g.planned("site")
			g.applied("site")
			g.halted(func() { g.ended("smoke", JobFailed) })
		}, []string{"smoke", "tell"}},
	} {
		g := acted(t)
		c.fails(g)
		at := g.action(c.at)
		if at == nil {
			at = g.groupOf(c.at).plan
		}
		todo, err := Retry(g, at, "bob")
		if err != nil {
			t.Fatal(err)
		}
		var again []string
		for _, command := range todo {
			renew, is := command.(RestartStep)
			g.Apply(command)
			if s := g.stepByID(renew.Step); is && (s.Kind == StepPlan || s.Kind == StepAction) {
				again = append(again, orDefault(s.Action, s.Component))
			}
		}
		slices.Sort(again)
		slices.Sort(c.want)
		same(t, again, c.want...)
		if said := run(g); len(said) == 0 || !strings.HasPrefix(said[0], "StartStep{") {
			t.Errorf("after the retry of %s: %v", c.at, said)
		}
	}
}

// halted calls do and keeps the workflow running, although all else may have ended,
// with another step at work.
func (g *Graph) halted(do func()) {
	g.Steps = append(g.Steps, &Step{ID: "busy", Kind: StepAction, Action: "busy", Status: StepRunning, Reason: "r",
		Job: &Job{Status: JobOpen}})
	do()
}

func TestWhatCannotBeRetriedOrSkippedIsSaid(t *testing.T) {
	g := acted(t)
	g.planned("web")
	for _, c := range []struct {
		ask   func() ([]Command, error)
		title string
	}{
		{func() ([]Command, error) { return Retry(g, g.groupOf("network").apply, "bob") }, "network is deployed already"},
		{func() ([]Command, error) { return Retry(g, g.groupOf("web").plan, "bob") }, "web is still running"},
		{func() ([]Command, error) { return Retry(g, g.action("smoke"), "bob") }, "action smoke has not ended"},
		{func() ([]Command, error) { return Skip(g, g.groupOf("network").apply, "bob", "") },
			"the step has ended: succeeded"},
		{func() ([]Command, error) { return Skip(g, g.action("drain"), "bob", "") }, "drain is running"},
		{func() ([]Command, error) { return Skip(g, g.groupOf("web").apply, "bob", "") }, "web is in progress"},
	} {
		var no *refusal.Error
		if _, err := c.ask(); !errors.As(err, &no) || no.Title != c.title || no.Remedy == "" {
			t.Errorf("got %v, want %s", err, c.title)
		}
	}
	g.Desired["site"] = DesiredState{WaitReason: "waits for web"}
	var no *refusal.Error
	if _, err := Skip(g, g.groupOf("site").plan, "bob", ""); !errors.As(err, &no) || no.Code != CodeNotSkippable {
		t.Errorf("what is not known yet was skipped: %v", err)
	}
}

func TestASkipGoesOnWithoutAStep(t *testing.T) {
	g := acted(t)
	do := func(s *Step) []string {
		t.Helper()
		todo, err := Skip(g, s, "bob", "not now")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range todo {
			g.Apply(c)
		}
		return run(g)
	}
	do(g.action("drain"))
	same(t, g.planned("web"), "SetStatus{7 succeeded approved by alice}", "StartStep{8 approved by alice}")
	g.applied("web")
	gr := g.synced("site")
	gr.plan.Job.Status, gr.plan.Plan = JobSucceeded, &Plan{ID: "p", Status: PlanReady, DesiredDigest: "s1"}
	run(g)
	if said := do(gr.approve); g.Desired["site"].RejectionReason == "" || gr.plan.Plan.Status != PlanSuperseded ||
		gr.apply.Status != StepSkipped {
		t.Errorf("a skip of site says %v", said)
	}
	g.ended("smoke", JobSucceeded)
	if g.Status != Succeeded {
		for _, s := range g.Steps {
			t.Log(s.ID, s.Kind, s.Component, s.Action, s.Status, s.Reason)
		}
		t.Errorf("the workflow is %s", g.Status)
	}
}

// A plan-only workflow never requests approval, applies or records a refusal, and never waits.
func TestEveryHistoryOfAPlanOnlyWorkflow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]Kind{KindDeploy, KindProvision, KindTeardown, KindDeprovision}).Draw(t, "kind")
		g := &Graph{Kind: kind, PlanOnly: true, Status: Running, Desired: map[string]DesiredState{}}
		var parts []ComponentPart
		for i := range rapid.IntRange(1, 5).Draw(t, "components") {
			name := string(rune('a' + i))
			part := ComponentPart{Component: name, Reason: "r", ActionsBefore: []TriggeredAction{{Action: "never",
				Trigger: "pre-x"}}}
			if i > 0 {
				part.DependsOn = []string{"a"}
			}
			parts = append(parts, part)
			g.Desired[name] = rapid.SampledFrom([]DesiredState{
				{Digest: "d", Absent: kind.destroys()}, {Digest: "d", Absent: kind.destroys(), RejectionReason: "no"},
				{Digest: "d", Absent: kind.destroys(), Current: true},
				{WaitReason: "w", Absent: kind.destroys()}, {WaitReason: "w", Stalled: true, Absent: kind.destroys()},
				{Digest: "d", Absent: !kind.destroys()},
			}).Draw(t, "want")
		}
		var err error
		if g.Steps, err = ComposePlans(kind, parts, counter()); err != nil {
			t.Fatal(err)
		}
		moved, copied := map[string]bool{}, map[string]string{}
		for round := 0; g.Status == Running; round++ {
			if round > 100 {
				t.Fatal("it does not end")
			}
			for _, c := range Advance(g) {
				switch c := c.(type) {
				case RequestApproval, ApproveByInstallRule, RecordRejection:
					t.Fatalf("%T%+v", c, c)
				case Replan: // because the desired state changed, or after an interruption that no person caused
					if !moved[c.Component] && !c.Interrupted || c.Interrupted && g.Cancelled != nil {
						t.Fatalf("%T%+v", c, c)
					}
				case StartStep:
					if s := g.stepByID(c.Step); s.Kind == StepPlan && copied[s.Component] != g.Desired[s.Component].Digest {
						t.Fatalf("%s is planned for %s, and what was copied is for %s", s.Component, g.Desired[s.Component].Digest,
							copied[s.Component])
					}
				case ClosePlan:
					if c.To != PlanSuperseded {
						t.Fatalf("%T%+v", c, c)
					}
				}
				g.Apply(c)
			}
			if rapid.IntRange(0, 9).Draw(t, "cancel") == 0 {
				g.Cancelled = &Cancellation{Actor: "bob"}
			}
			if name := rapid.SampledFrom(parts).Draw(t, "moves").Component; rapid.IntRange(0, 4).Draw(t, "move") == 0 &&
				len(moved) < 2 {
				want := g.Desired[name]
				want.Digest, moved[name] = want.Digest+"+", true
				g.Desired[name] = want
			}
			for _, s := range g.Steps {
				if s.hasOpenJob() {
					s.Job.Status = rapid.SampledFrom(outcomes).Draw(t, "outcome")
					if s.Job.Status == JobSucceeded && s.Kind == StepSync {
						copied[s.Component] = s.Job.DesiredDigest
					} else if s.Job.Status == JobSucceeded {
						s.Plan = &Plan{ID: s.ID, Status: rapid.SampledFrom([]PlanStatus{PlanReady, PlanEmpty}).Draw(t, "plan")}
					}
				}
			}
		}
		for _, s := range g.Steps {
			if s.Plan != nil && s.Plan.Status.Live() || !s.Status.Ended() || s.Reason == "" {
				t.Fatalf("step %+v, plan %+v", s, s.Plan)
			}
		}
	})
}
