package workflow

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/reconciler/refusal"
)

// invariant is a sentence that no history may violate.
type invariant string

const (
	invariantOneApply  invariant = "there are never two applies of one component at once"
	invariantOwnPlan   invariant = "nothing is applied but its own plan, approved by a person or by the install's rule"
	invariantSynced    invariant = "nothing is planned before the artifact that it is planned with was copied"
	invariantOnce      invariant = "a plan is never applied twice"
	invariantEnds      invariant = "every history ends"
	invariantNo        invariant = "what a person rejected is not requested again"
	invariantNoRule    invariant = "no rule approves what a person rejected before"
	invariantOnlyNo    invariant = "only a person's rejection, or a failure after the last retry, is remembered"
	invariantEvidence  invariant = "what is stored as deployed is deployed"
	invariantOrder     invariant = "no step starts before all that it needs is done"
	invariantJobs      invariant = "no job is left behind"
	invariantContested invariant = "nothing is planned of a component with a contested state but its restore"
	invariantMoves     invariant = "every transition is in the tables"
	invariantWords     invariant = "every status has a reason"
	invariantPure      invariant = "a second decision on the same state is empty"
	invariantBefore    invariant = "what an action precedes starts only if that action succeeded or a person skipped it"
	invariantAfter     invariant = "an action that follows something runs only after that succeeded"
	invariantActOnce   invariant = "no action runs twice unless a person requests it"
	invariantScript    invariant = "no action starts before an approver has approved its script for this install"
	invariantAskOnce   invariant = "all unseen scripts are one request, which exists while an action waits for it"
	invariantRetry     invariant = "a retry changes nothing that runs or succeeded, except what it restarts"
)

// broken fails the test with the violated invariant and its history.
func (w *world) broken(i invariant, format string, args ...any) {
	for _, event := range w.history {
		if text, is := event.(string); is {
			w.t.Log(text)
		} else {
			w.t.Logf("%T%+v", event, event)
		}
	}
	w.t.Fatalf("broken: %s: %s", i, fmt.Sprintf(format, args...))
}

// check verifies the invariants when a command is returned.
func (w *world) check(c Command) {
	switch c := c.(type) {
	case StartStep:
		w.checkBegin(w.g.stepByID(c.Step))
	case RequestApproval:
		gr := w.g.groupOf(w.g.stepByID(c.Step).Component)
		if no := w.part(gr.plan.Component).refused[gr.plan.Plan.DesiredDigest]; no != "" {
			w.broken(invariantNo, "%s is asked about again after %q", gr.plan.Component, no)
		}
		w.shown[gr.plan.Plan.ID] = w.g.unseenScriptsWith(gr.plan.Component)
	case RequestScriptApproval:
		if len(c.Digests) == 0 || w.g.ScriptRequest != nil && !slices.ContainsFunc(c.Digests, func(d string) bool {
			return !w.g.ScriptRequest.covers(d)
		}) {
			w.broken(invariantAskOnce, "asked about %v while %+v waits", c.Digests, w.g.ScriptRequest)
		}
		for _, d := range c.Digests {
			if w.scripts[d] != "" {
				w.broken(invariantNo, "script %s is asked about after %q", d, w.scripts[d])
			}
		}
	case ApproveByInstallRule:
		gr := w.g.groupOf(w.g.stepByID(c.Step).Component)
		w.checkRuleAfterNo(gr)
		if !w.ruleLets(gr.plan.Plan) {
			w.broken(invariantOwnPlan, "the rule let %s through", gr.plan.Component)
		}
		w.yes[gr.plan.Plan.ID] = ByInstallRule
	case ApproveByWorkflowRule:
		gr := w.g.groupOf(w.g.stepByID(c.Step).Component)
		w.checkRuleAfterNo(gr)
		if !w.workflowRuleLets(gr.plan.Plan, gr.plan.Destroy) || c.By != w.g.WorkflowRule.By {
			w.broken(invariantOwnPlan, "the rule of an approver let %s through", gr.plan.Component)
		}
		if unseen := w.g.unseenScriptsWith(gr.plan.Component); len(unseen) > 0 {
			w.broken(invariantScript, "the rule of an approver let %s through with %v", gr.plan.Component, unseen)
		}
		w.yes[gr.plan.Plan.ID] = ByWorkflowRule
	case ClosePlan:
		plan := w.g.stepByID(c.Step).Plan
		if !planTransitions.allows(plan.Status, c.To) {
			w.broken(invariantMoves, "plan %s moved from %s to %s", plan.ID, plan.Status, c.To)
		}
	case Replan:
		gr := w.g.groupOf(c.Component)
		if gr.plan.hasOpenJob() || gr.apply.hasOpenJob() {
			w.broken(invariantJobs, "%s is begun anew while a job of it runs", c.Component)
		}
		if p := w.part(c.Component); c.Fresh {
			p.failures, p.breaks = 0, 0
		}
	case ClearRejection:
		maps.DeleteFunc(w.part(c.Component).refused, func(desired, _ string) bool {
			return !c.OnlyOfWorkflow ||
				w.own[desired]
		})
	case RestartStep:
		w.checkRenew(w.g.stepByID(c.Step))
	case PostponeApply:
		if plan := w.g.groupOf(w.g.stepByID(c.Step).Component).plan.Plan; plan.Status != PlanApproved {
			w.broken(invariantOnce, "the apply of plan %s, which is %s, is to start again", plan.ID, plan.Status)
		}
	case RecordRejection:
		w.checkRefuse(c)
		if no := w.part(c.Component).refused[c.DesiredDigest]; no != "" && !w.own[c.DesiredDigest] {
			w.broken(invariantNo, "%q about %s is overwritten with %q", no, c.Component, c.Reason)
		}
		w.part(c.Component).refused[c.DesiredDigest], w.own[c.DesiredDigest] = "no: "+c.Reason, true
	case FinishWorkflow:
		for _, s := range w.g.Steps {
			if !s.Status.Ended() || s.hasOpenJob() {
				w.broken(invariantJobs, "the workflow ended while step %s was %s", s.ID, s.Status)
			}
		}
		if c.Outcome == "" {
			w.broken(invariantWords, "the workflow ended without a word")
		}
	}
}

func (w *world) checkBegin(s *Step) {
	for _, id := range s.Needs {
		w.checkNeed(s, w.g.stepByID(id))
	}
	if s.Kind == StepAction {
		w.checkAct(s)
	}
	if s.hasOpenJob() {
		w.broken(invariantJobs, "step %s began while its last job runs", s.ID)
	}
	if s.Kind != StepAction && w.g.Kind != KindRestore && w.part(s.Component).disputed {
		w.broken(invariantContested, "%s of %s began", s.Kind, s.Component)
	}
	if s.Kind == StepPlan && w.g.Kind != KindRestore && !w.copied[s.Component+" for "+w.wants()[s.Component].Digest] {
		w.broken(invariantSynced, "%s is planned for %s", s.Component, w.wants()[s.Component].Digest)
	}
	if s.Kind != StepApply {
		return
	}
	plan := w.g.groupOf(s.Component).plan.Plan
	if plan == nil || w.yes[plan.ID] == "" || plan.Status != PlanApproved {
		w.broken(invariantOwnPlan, "apply of %s began", s.Component)
	}
	if !w.holds(plan, s.Destroy) {
		w.broken(invariantOwnPlan, "apply of %s began, which the rule does not let through any more", s.Component)
	}
	if other := w.applying[s.Component]; other != "" {
		w.broken(invariantOneApply, "apply of %s began while plan %s is being applied", s.Component, other)
	}
}

// ruleLets reports whether the install's rule approves a plan now.
func (w *world) ruleLets(plan *Plan) bool {
	always := w.g.Kind == KindTeardown || w.g.Kind == KindRestore
	return w.g.Rule.ApproveAll && (w.g.Rule.AllowDestroy || !plan.Destructive) && !plan.IndividualApproval && !always
}

// workflowRuleLets reports whether an approver's rule for the workflow approves a plan now.
func (w *world) workflowRuleLets(plan *Plan, destroy bool) bool {
	r := w.g.WorkflowRule
	return r != nil && r.Void == "" && (w.g.Kind == KindProvision || w.g.Kind == KindDeploy) && !destroy &&
		!plan.Destructive && !plan.IndividualApproval
}

// holds reports whether what approved a plan still approves it.
func (w *world) holds(plan *Plan, destroy bool) bool {
	switch w.yes[plan.ID] {
	case ByPerson:
		return true
	case ByInstallRule:
		return w.ruleLets(plan)
	case ByWorkflowRule:
		return w.workflowRuleLets(plan, destroy)
	}
	return false
}

// checkRefuse verifies that a recorded refusal is a person's rejection, or a failure
// whose retries are used up.
func (w *world) checkRefuse(c RecordRejection) {
	p, gr, retries := w.part(c.Component), w.g.groupOf(c.Component), w.wants()[c.Component].Retries
	ill := slices.ContainsFunc(gr.steps(), func(s *Step) bool {
		return slices.ContainsFunc(s.Needs, func(id string) bool {
			return w.g.stepByID(id).isPreAction() &&
				w.g.stepByID(id).endedBadly()
		})
	})
	good := false
	switch c.Kind {
	case RejectionByPerson:
		good = gr.plan.Plan != nil && gr.plan.Plan.Status == PlanRejected ||
			slices.ContainsFunc(gr.steps(), func(s *Step) bool {
				return slices.ContainsFunc(s.Needs, func(id string) bool {
					return w.g.stepByID(id).isPreAction() && w.g.stepByID(id).RejectedBy == c.Actor
				})
			})
	case RejectionCancelled:
		good = w.g.Cancelled != nil || w.skips
	case RejectionStalled:
		good = p.failures > retries || p.breaks >= maxInterruptedTries || ill
	}
	if !good {
		w.broken(invariantOnlyNo,
			"%s %s is remembered (%s) after %d failures and %d interruptions; it may be retried %d times",
			c.Component, c.Kind, c.Reason, p.failures, p.breaks, retries)
	}
}

// checkNeed verifies that a step may start, as far as one of its needs is concerned.
func (w *world) checkNeed(s, need *Step) {
	switch {
	case need.Kind == StepAction && !need.Status.Ended():
		w.broken(invariantOrder, "step %s began before action %s had ended", s.ID, need.Action)
	case need.isPreAction() && need.Status != StepSucceeded && !need.SkippedByPerson:
		w.broken(invariantBefore, "step %s began though action %s is %s", s.ID, need.Action, need.Status)
	case need.isPostAction() && s.isPostAction() && need.endedBadly():
		w.broken(invariantAfter, "action %s began though %s is %s", s.Action, need.Action, need.Status)
	case need.Kind == StepApply && need.Status == StepSkipped &&
		(need.SkippedByPerson || w.planOf(need) != nil && w.planOf(need).Status != PlanEmpty):
		w.broken(invariantOrder, "step %s began though %s was left out", s.ID, need.Component)
	case need.Kind != StepAction && !w.g.isDone(need):
		w.broken(invariantOrder, "step %s began before step %s was done", s.ID, need.ID)
	}
}

func (w *world) planOf(s *Step) *Plan { return w.g.groupOf(s.Component).plan.Plan }

// checkAct verifies that an action may run now.
func (w *world) checkAct(s *Step) {
	if w.runs[s.ID]++; w.runs[s.ID] > 1 {
		w.broken(invariantActOnce, "action %s", s.Action)
	}
	if w.scripts[w.scriptOf(s)] != approvedScript {
		w.broken(invariantScript, "action %s began with script %s, of which %q was said", s.Action, w.scriptOf(s),
			w.scripts[w.scriptOf(s)])
	}
	gr := w.g.groupOf(s.Component)
	switch {
	case s.isPreAction() && gr.plan != nil && slices.Contains(gr.steps()[0].Needs, s.ID):
		if want := w.wants()[s.Component]; gr.steps()[0].Status != StepPending || want.Current || want.WaitReason != "" ||
			want.RejectionReason != "" {
			w.broken(invariantBefore, "action %s began though %s is not to be planned", s.Action, s.Component)
		}
	case s.isPreAction() && gr.plan != nil:
		if plan := gr.plan.Plan; plan == nil || w.yes[plan.ID] == "" || plan.Status != PlanApproved ||
			w.wants()[s.Component].Digest != plan.DesiredDigest {
			w.broken(invariantOwnPlan, "action %s began before %s was approved", s.Action, s.Component)
		}
	case s.isPostAction() && gr.plan != nil && gr.apply.Status != StepSucceeded && !gr.apply.EarlierApplyFailed:
		w.broken(invariantAfter, "action %s began though nothing was done to %s", s.Action, s.Component)
	}
}

// checkRenew verifies that a restarted step is not running, and is not an action that succeeded.
func (w *world) checkRenew(s *Step) {
	if s.hasOpenJob() || !s.Status.Ended() || s.Kind == StepAction && s.Status == StepSucceeded || s.Kind == StepApply &&
		s.Status == StepSucceeded {
		w.broken(invariantRetry, "step %s (%s), which is %s", s.ID, s.Kind, s.Status)
	}
	delete(w.runs, s.ID)
	if s.Kind != StepAction {
		p := w.part(s.Component)
		p.failures, p.breaks = 0, 0
	}
}

// checkWorld verifies what must be true whenever the core returns no more commands.
func (w *world) checkWorld() {
	for name, want := range w.desired() {
		p := w.part(name)
		if truth := map[bool]string{true: "", false: want.Digest}[want.Absent]; want.Current && p.real != truth {
			w.broken(invariantEvidence, "%s is said to be %q, and is %q", name, truth, p.real)
		}
	}
	waits := slices.ContainsFunc(w.g.Steps, func(s *Step) bool { return s.Kind == StepAction && s.Status == StepWaiting })
	if waits != (w.g.ScriptRequest != nil) {
		w.broken(invariantAskOnce, "an action waits: %t, the question is %+v", waits, w.g.ScriptRequest)
	}
	for _, s := range w.open() {
		if w.g.Cancelled != nil && !s.Job.Cancelling {
			w.broken(invariantJobs, "the workflow was cancelled, and the job of step %s was not told", s.ID)
		}
	}
	if len(w.history)%4 != 0 {
		return
	}
	if again := Advance(w.reloaded()); len(again) > 0 {
		w.broken(invariantPure, "%T%+v", again[0], again[0])
	}
}

// reloaded returns the graph as another replica would read it.
func (w *world) reloaded() *Graph {
	g := *w.g
	g.Steps, g.Desired = nil, w.wants()
	if g.ScriptRequest != nil {
		question := *g.ScriptRequest
		g.ScriptRequest = &question
	}
	for _, s := range w.g.Steps {
		step := *s
		if s.Job != nil {
			job := *s.Job
			step.Job = &job
		}
		if s.Plan != nil {
			plan := *s.Plan
			step.Plan = &plan
		}
		g.Steps = append(g.Steps, &step)
	}
	return &g
}

var outcomes = []JobStatus{JobSucceeded, JobSucceeded, JobSucceeded, JobFailed, JobStale, JobCancelled, JobLost}

// anyEvent draws an event that is possible now.
func (w *world) anyEvent() {
	t := w.t
	switch rapid.IntRange(0, 15).Draw(t, "event") {
	case 0, 1, 2, 3:
		if open := w.open(); len(open) > 0 {
			w.jobEvent(rapid.SampledFrom(open).Draw(t, "job"), rapid.SampledFrom(outcomes).Draw(t, "outcome"))
		}
	case 4, 5, 6:
		if asked := w.asked(); len(asked) > 0 {
			w.anyAnswer(rapid.SampledFrom(asked).Draw(t, "plan"))
		}
	case 7:
		p := rapid.SampledFrom(w.parts).Draw(t, "moves")
		was := p.version
		p.version = rapid.IntRange(1, 3).Draw(t, "version")
		w.log("%s moves to version %d", p.name, p.version)
		if rapid.Bool().Draw(t, "and back") { // before a job that was stopped for it has ended
			w.settle()
			p.version = was
			w.log("%s moves back to version %d", p.name, p.version)
		}
	case 8:
		p := rapid.SampledFrom(w.parts).Draw(t, "builds")
		p.building = !p.building
		w.log("%s building: %t", p.name, p.building)
	case 9:
		w.rareEvent()
	case 15:
		p := rapid.SampledFrom(w.parts).Draw(t, "loses or gets its role")
		p.noRole = !p.noRole
		w.log("%s without a role: %t", p.name, p.noRole)
	case 11:
		w.answerScripts(rapid.IntRange(0, 3).Draw(t, "answer") > 0)
	case 12:
		s := rapid.SampledFrom(w.g.Steps).Draw(t, "pushed")
		w.pushed[s.Action] = rapid.IntRange(0, 2).Draw(t, "script") // back and forth
		w.log("the script of %q is %d", s.Action, w.pushed[s.Action])
	case 13:
		w.g.Rule = Rule{ApproveAll: rapid.Bool().Draw(t, "approve all"), AllowDestroy: rapid.Bool().Draw(t, "allow destroy")}
		w.log("the rule is %+v", w.g.Rule)
	case 14:
		w.g.WorkflowRule = w.anyWorkflowRule()
		w.log("the rule of an approver is %+v", w.g.WorkflowRule)
	case 10:
		w.personEvent(rapid.SampledFrom(w.g.Steps).Draw(t, "step"), rapid.Bool().Draw(t, "retry"))
	}
}

// personEvent is a person who retries or skips a step; a refusal must state its reason.
func (w *world) personEvent(s *Step, retry bool) {
	w.settle()
	if w.g.Status != Running {
		return
	}
	todo, err := Skip(w.g, s, "carol", "not now")
	if retry {
		todo, err = Retry(w.g, s, "carol")
	}
	w.skips = !retry
	defer func() { w.skips = false }()
	var no *refusal.Error
	if err != nil && (!errors.As(err, &no) || no.Title == "") {
		w.broken(invariantWords, "retry %t of step %s: %v", retry, s.ID, err)
	}
	w.log("carol asks for step %s (retry %t): %v", s.ID, retry, err)
	for _, c := range todo {
		if renew, is := c.(RestartStep); is && w.g.stepByID(renew.Step).SkippedByPerson && w.g.stepByID(renew.Step) != s &&
			(s.Component == "" || w.g.stepByID(renew.Step).Component != s.Component) {
			w.broken(invariantRetry, "step %s, which a person skipped", renew.Step)
		}
		w.do(c)
	}
}

func (w *world) rareEvent() {
	p := rapid.SampledFrom(w.parts).Draw(w.t, "of")
	switch rapid.IntRange(0, 3).Draw(w.t, "rare") {
	case 0:
		w.g.Cancelled = &Cancellation{Actor: "bob", Reason: "enough"}
		w.log("bob cancels")
	case 1:
		p.absent = !p.absent
		w.log("%s absent: %t", p.name, p.absent)
	case 2:
		if p.ghosts > 0 {
			w.haunt(p)
		}
	case 3:
		w.dismiss(p)
	}
}

// jobEvent advances one job: an apply is accepted first, a cancelled job may end, any
// other job ends.
func (w *world) jobEvent(s *Step, outcome JobStatus) {
	accepted := s.Kind != StepApply || w.applying[s.Component] != ""
	switch {
	case accepted:
		w.end(s, outcome)
	case s.Job.Cancelling:
		w.end(s, JobCancelled)
	case !w.accept(s):
		w.end(s, JobStale) // package jobs ends a job that its owner refuses
	}
}

// drain ends all pending work, fairly, and does in place of others what this workflow waits for.
func (w *world) drain() {
	for round := 0; w.g.Status == Running; round++ {
		if round > 500 {
			w.broken(invariantEnds, "500 rounds were not enough")
		}
		for _, s := range w.open() {
			w.jobEvent(s, rapid.SampledFrom(outcomes).Draw(w.t, "outcome"))
			w.settle()
		}
		for asked := w.asked(); len(asked) > 0; asked = w.asked() {
			w.anyAnswer(asked[0])
			w.settle()
		}
		w.answerScripts(rapid.Bool().Draw(w.t, "answer"))
		w.settle()
		if len(w.open()) == 0 && len(w.asked()) == 0 && w.g.ScriptRequest == nil {
			w.others()
			w.settle()
		}
	}
}

// others is the rest of the control plane: builds end, people decide, and other
// workflows deploy what is behind.
func (w *world) others() {
	for _, p := range w.parts {
		p.building, p.noRole = false, false
		w.dismiss(p)
		gr := w.g.groupOf(p.name)
		want := w.desired()[p.name]
		if gr.plan == nil || gr.ended() && want.WaitReason == "" && want.RejectionReason == "" {
			p.claimed, p.real = standing{there: !p.absent, digest: want.Digest}, want.Digest
			if p.absent {
				p.claimed, p.real = standing{}, ""
			}
		}
	}
}

// More histories: go test ./reconciler/workflow -run History -rapid.checks=1000000. A
// failing history is shrunk, and printed with the seed that reproduces it.
func TestEveryHistoryKeepsTheInvariants(t *testing.T) {
	for shard := range 4 {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				w := newWorld(t)
				for range rapid.IntRange(0, 40).Draw(t, "events") {
					w.anyEvent()
					if rapid.IntRange(0, 3).Draw(t, "looks") > 0 { // otherwise the next event happens before the core runs
						w.settle()
					}
				}
				w.settle()
				w.drain()
				if len(w.applying) > 0 {
					w.broken(invariantJobs, "the workflow ended while %v were being applied", w.applying)
				}
			})
		})
	}
}

// If nothing changes and nobody cancels, a component is left undeployed exactly if it
// failed, was rejected, or needs one that did.
func TestInEveryHistoryAFailureStopsWhatNeedsItAndNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		bad := map[string]string{}
		for _, p := range w.parts {
			bad[p.name] = rapid.SampledFrom([]string{"", "", "sync fails", "plan fails", "apply fails", "action fails",
				"is rejected"}).Draw(t, "fate of "+p.name)
		}
		for round := 0; w.g.Status == Running && round < 500; round++ {
			for _, s := range w.open() {
				w.fate(s, bad[s.Component])
			}
			for _, s := range w.asked() {
				w.answer(s, bad[s.Component] != "is rejected")
				w.settle()
			}
			w.answerScripts(true)
			w.settle()
		}
		if w.g.Status == Running {
			w.broken(invariantEnds, "500 rounds were not enough")
		}
		w.checkFates(bad)
	})
}

// fate advances a job as far as possible.
func (w *world) fate(s *Step, bad string) {
	if s.Kind == StepApply && w.applying[s.Component] == "" {
		if !w.accept(s) {
			w.broken(invariantEnds, "an accept was refused though nothing moved")
		}
		return
	}
	outcome := JobSucceeded
	if bad == string(s.Kind)+" fails" && !s.isPostAction() {
		outcome = JobFailed
	}
	w.end(s, outcome)
	w.settle()
}

func (w *world) checkFates(bad map[string]string) {
	done := map[string]bool{}
	for _, p := range w.parts {
		gr := w.g.groupOf(p.name)
		done[p.name] = w.g.isDone(gr.apply)
		plan := gr.plan.Plan
		asked := !w.g.Rule.ApproveAll || plan != nil && (plan.IndividualApproval || plan.Destructive &&
			!w.g.Rule.AllowDestroy) ||
			w.g.Kind == KindTeardown || w.g.Kind == KindRestore
		asked = asked && (plan == nil || !w.workflowRuleLets(plan, gr.plan.Destroy) || plan.Authority == ByPerson)
		empty := gr.plan.Plan != nil && gr.plan.Plan.Status == PlanEmpty
		first, _ := gr.preActions()
		switch bad[p.name] {
		case "sync fails":
			asked = gr.sync != nil
		case "is rejected":
			asked = asked && !empty
		case "apply fails":
			asked = !empty
		case "action fails":
			asked = first != nil
		default:
			asked = true
		}
		if !asked {
			bad[p.name] = "" // there was no approval request, nothing to apply, or no action before it
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
			w.broken(invariantOrder, "%s done: %t, want %t (%v)", p.name, done[p.name], want, bad)
		}
	}
}

// needs reports whether part i comes after part j, over any number of edges, in the
// direction of the workflow.
func (w *world) needs(i, j int) bool {
	if w.g.Kind == KindDeprovision || w.g.Kind == KindTeardown {
		i, j = j, i
	}
	return w.needsUp(i, j)
}

func (w *world) needsUp(i, j int) bool {
	return slices.ContainsFunc(w.parts[i].after, func(up int) bool { return up == j || w.needsUp(up, j) })
}
