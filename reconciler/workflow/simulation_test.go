package workflow

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"
)

// world responds to a workflow as runners, people and the rest of the control plane would, in
// any order, and checks the invariants meanwhile (invariants_test.go). It does not depend on how
// Advance decides, and it holds what the control plane does not see: what is really deployed.
type world struct {
	t     *rapid.T
	g     *Graph
	parts []*part
	plans int

	applied  map[string]int       // how often each plan was consumed
	yes      map[string]Authority // what approved each plan
	runs     map[string]int       // how often each action ran since a person last requested it, by step
	applying map[string]string    // the plan whose apply runs, by component
	copied   map[string]bool      // the artifacts copied to the install's registry, by component and desired digest
	own      map[string]bool      // what this workflow refused, by desired digest
	scripts  map[string]string    // the answers of an approver, by digest of the script
	pushed   map[string]int       // index of each action's current script
	shown    map[string][]string  // the scripts shown with each plan
	rejected map[string]bool      // whether a person's last answer was no, by component and desired digest
	skips    bool                 // a person is skipping a step
	history  []any                // commands, and texts about what others did
}

// part is one component of the world.
type part struct {
	name     string
	after    []int
	version  int               // the component's own part of the desired state
	building bool              // its artifact is still being built
	noRole   bool              // its role is switched off
	absent   bool              // it left the app
	claimed  standing          // what the control plane has recorded as deployed
	before   standing          // what it had recorded before the current apply
	real     string            // what is really deployed: a digest, nothing, or something that nobody desired
	ghosts   int               // processes on machines that a person wrongly reported as lost
	disputed bool              // a ghost's state is contested
	serial   int               // how often the state changed
	basis    int               // serial of the state that the newest plan read
	seen     string            // what the plan read there
	refused  map[string]string // by desired digest
	retries  int
	failures int // for the current desired state since its last restart
	breaks   int // the same for interrupted, lost or stale jobs
}

// standing is what the control plane records about a component.
type standing struct {
	there  bool   // something of it may exist
	digest string // applied digest; empty for nothing or unknown
}

// newWorld draws an app of up to five components, the first of them upstream of all,
// and a workflow over them.
func newWorld(t *rapid.T) *world {
	w := &world{t: t, applied: map[string]int{}, yes: map[string]Authority{}, runs: map[string]int{},
		applying: map[string]string{}, own: map[string]bool{}, copied: map[string]bool{},
		scripts: map[string]string{}, pushed: map[string]int{}, shown: map[string][]string{}, rejected: map[string]bool{}}
	kind := rapid.SampledFrom([]Kind{KindProvision, KindDeploy, KindDeprovision, KindTeardown, KindRestore}).Draw(t,
		"kind")
	n := rapid.IntRange(1, 5).Draw(t, "components")
	if kind == KindRestore {
		n = 1
	}
	for i := range n {
		p := &part{name: string(rune('a' + i)), refused: map[string]string{},
			retries: rapid.IntRange(0, 2).Draw(t, "retries")}
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
	var parts []ComponentPart
	based := rapid.Bool().Draw(w.t, "the first is the sandbox")
	for _, p := range w.parts {
		p.version = 1
		if kind != KindProvision {
			p.claimed.there, p.real = true, "old"
		}
		if len(p.after) == 0 && rapid.Bool().Draw(w.t, "an old no") {
			p.refused[p.name+"@2"] = "rejected long ago"
		}
		p.absent = kind == KindDeprovision || kind == KindTeardown
		p.disputed = kind == KindRestore && rapid.Bool().Draw(w.t, "disputed")
		part := ComponentPart{Component: p.name, Reason: "it is behind", Sandbox: based && len(p.after) == 0}
		for _, up := range p.after {
			part.DependsOn = append(part.DependsOn, w.parts[up].name)
		}
		if kind != KindRestore {
			part.ActionsBefore, part.ActionsAfter = w.acts("pre-component", p.name), w.acts("post-component", p.name)
		}
		parts = append(parts, part)
	}
	var around WorkflowActions
	if kind != KindRestore && rapid.IntRange(0, 2).Draw(w.t, "around") == 0 {
		around = WorkflowActions{Before: w.acts("pre-all", ""), After: w.acts("post-all", ""),
			BeforeComponents: w.acts("pre-inner", ""),
			AfterComponents:  w.acts("post-inner", "")}
	}
	steps, err := Compose(kind, parts, around, counter())
	if err != nil {
		w.t.Fatal(err)
	}
	rule := Rule{ApproveAll: rapid.Bool().Draw(w.t, "approve all"), AllowDestroy: rapid.Bool().Draw(w.t, "allow destroy")}
	w.g = &Graph{Kind: kind, Status: Running, Rule: rule, WorkflowRule: w.anyWorkflowRule(), Steps: steps}
	w.settle()
}

// anyWorkflowRule draws an approver's rule for the workflow.
func (w *world) anyWorkflowRule() *WorkflowRule {
	switch rapid.IntRange(0, 3).Draw(w.t, "workflow rule") {
	case 0:
		return &WorkflowRule{By: "dora"}
	case 1:
		return &WorkflowRule{By: "dora", Void: "dora may no longer approve"}
	}
	return nil
}

// acts draws up to two actions that an event triggers.
func (w *world) acts(trigger, component string) []TriggeredAction {
	var all []TriggeredAction
	for i := range max(0, rapid.IntRange(-2, 2).Draw(w.t, trigger+" of "+component)) {
		a := TriggeredAction{Action: fmt.Sprint(trigger, i, component), Trigger: trigger}
		if component != "" && rapid.Bool().Draw(w.t, "reads") {
			a.ReadsFrom = []string{rapid.SampledFrom(w.parts).Draw(w.t, "read").name}
		}
		a.BeforePlan = component != "" && trigger == "pre-component" && rapid.Bool().Draw(w.t, "before the plan")
		all = append(all, a)
	}
	return all
}

// wants returns what the engine gives the core: for a restore its state version,
// otherwise the install's desired state.
func (w *world) wants() map[string]DesiredState {
	all := w.desired()
	if w.g.Kind == KindRestore {
		return map[string]DesiredState{w.parts[0].name: {Digest: "restore:1:x", Reason: "alice wants it back"}}
	}
	return all
}

// desired computes the desired state as rollout does: upstream first.
func (w *world) desired() map[string]DesiredState {
	all := map[string]DesiredState{}
	for i, p := range w.parts {
		want := DesiredState{Absent: p.absent, Reason: fmt.Sprintf("version %d", p.version), Retries: p.retries}
		switch {
		case p.disputed:
			want.WaitReason, want.Stalled = "its state is contested", true
		case p.absent:
			want.Current, want.Digest = !p.claimed.there, "gone:"+p.name
			w.stillNeeded(i, &want)
		default:
			w.desire(p, &want, all)
			want.Current = want.Digest != "" && want.Digest == p.claimed.digest
		}
		if p.noRole && want.WaitReason == "" && !want.Current {
			want.WaitReason, want.Stalled, want.NoRole = "its role is switched off", true, true
		}
		want.RejectionReason = p.refused[want.Digest]
		all[p.name] = want
	}
	return all
}

func (w *world) desire(p *part, want *DesiredState, all map[string]DesiredState) {
	digest := fmt.Sprintf("%s@%d", p.name, p.version)
	for _, up := range p.after {
		upstream := all[w.parts[up].name]
		if !upstream.Current || upstream.Absent {
			want.WaitReason = "waits for " + w.parts[up].name
			want.Stalled = want.Stalled || upstream.Stalled || upstream.RejectionReason != "" || upstream.Absent
		}
		digest += "," + w.parts[up].claimed.digest
	}
	if p.building {
		want.WaitReason = "its build is running"
	}
	if want.WaitReason == "" {
		want.Digest = digest
	}
}

func (w *world) stillNeeded(i int, want *DesiredState) {
	for _, p := range w.parts {
		if slices.Contains(p.after, i) && p.claimed.there {
			want.WaitReason = p.name + " is still there"
			want.Stalled = want.Stalled || !p.absent || p.disputed || p.refused["gone:"+p.name] != ""
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

// settle runs the core until it returns no more commands, checking and applying each.
func (w *world) settle() {
	for round := 0; ; round++ {
		if round > 50 {
			w.broken(invariantEnds, "the core never comes to rest")
		}
		w.g.Desired = w.wants()
		w.loadScripts()
		todo := Advance(w.g)
		if len(todo) == 0 {
			w.checkWorld()
			return
		}
		for _, c := range todo {
			w.do(c)
		}
	}
}

func (w *world) do(c Command) {
	w.history = append(w.history, c)
	before := map[string]StepStatus{}
	for _, s := range w.g.Steps {
		before[s.ID] = s.Status
	}
	w.check(c)
	w.g.Apply(c)
	for _, s := range w.g.Steps {
		table := stepTransitions
		if renewed, is := c.(RestartStep); is && renewed.Step == s.ID {
			table = retryTransitions
		}
		if !table.allows(before[s.ID], s.Status) {
			w.broken(invariantMoves, "step %s moved from %s to %s", s.ID, before[s.ID], s.Status)
		}
		if s.Reason == "" {
			w.broken(invariantWords, "step %s has no reason", s.ID)
		}
	}
	if begun, is := c.(StartStep); is {
		s := w.g.stepByID(begun.Step)
		s.Job.ID = fmt.Sprint("job", len(w.history))
		if s.Kind == StepPlan {
			p := w.part(s.Component)
			p.basis, p.seen = p.serial, p.real
		}
		if s.Kind == StepSync && w.part(s.Component).version%2 == 0 { // a small artifact is left to the plan
			s.Job.ID, s.Job.Status, s.Job.CopiedByPlan = "", JobSucceeded, true
			w.copied[s.Component+" for "+s.Job.DesiredDigest] = true
		}
	}
}

func (w *world) log(format string, args ...any) {
	w.history = append(w.history, "— "+fmt.Sprintf(format, args...))
}

// open returns the steps that have an open job.
func (w *world) open() []*Step {
	var all []*Step
	for _, s := range w.g.Steps {
		if s.hasOpenJob() {
			all = append(all, s)
		}
	}
	return all
}

// asked returns the plan steps whose plans wait for an approval.
func (w *world) asked() []*Step {
	var all []*Step
	for _, gr := range w.g.groups() {
		if gr.approve.Status == StepWaiting && gr.plan.Plan.Status == PlanReady {
			all = append(all, gr.plan)
		}
	}
	return all
}

// accept is a runner taking an apply: the plan is consumed, or the accept is refused
// because the plan may not be applied.
func (w *world) accept(s *Step) bool {
	gr := w.g.groupOf(s.Component)
	plan, p := gr.plan.Plan, w.part(s.Component)
	want := w.wants()[s.Component]
	why := acceptedApply{component: s.Component, destroy: s.Destroy, plan: *plan, desired: want,
		rules: w.g.approvalRules()}.blockReason()
	if why != "" {
		w.log("accept of %s refused: %s", s.Component, why)
		return false
	}
	if plan.Status != PlanApproved || want.WaitReason != "" || want.Digest != plan.DesiredDigest ||
		want.Absent != s.Destroy ||
		!w.holds(plan, s.Destroy) {
		w.broken(invariantOwnPlan, "apply of %s was accepted", s.Component)
	}
	w.applied[plan.ID]++
	if w.applied[plan.ID] > 1 {
		w.broken(invariantOnce, "plan %s is consumed again", plan.ID)
	}
	w.log("apply of %s accepted", s.Component)
	plan.Status, w.applying[s.Component] = PlanConsumed, plan.ID
	p.before, p.claimed = p.claimed, standing{there: true}
	return true
}

// end ends a job with what the runner found or did. A success that a runner reports
// is true; what a job did that reports nothing, or no success, is drawn at random.
func (w *world) end(s *Step, status JobStatus) {
	w.log("job of %s %s ended as %s", s.Kind, s.Component, status)
	defer func() { w.count(s, s.Job.Status) }()
	switch s.Kind {
	case StepSync:
		if status == JobStale {
			status = JobFailed
		}
		if status == JobSucceeded {
			w.copied[s.Component+" for "+s.Job.DesiredDigest] = true
		}
	case StepPlan:
		if status == JobStale {
			status = JobFailed
		}
		if status == JobSucceeded && !w.planned(s) {
			status = JobStale
		}
	case StepApply:
		if p := w.part(s.Component); p.serial != p.basis && status == JobSucceeded {
			status = JobStale // the runner sees that before it does anything
		}
		w.endApply(s, status)
	case StepAction:
		if status == JobStale { // it was refused its start
			delete(w.runs, s.ID)
		}
	}
	s.Job.Status = status
}

// count counts failures and interruptions of a component.
func (w *world) count(s *Step, ended JobStatus) {
	if s.Kind == StepAction {
		return
	}
	switch p := w.part(s.Component); ended {
	case JobFailed:
		p.failures++
	case JobCancelled, JobLost, JobStale:
		p.breaks++
	}
}

// planned stores what a plan job found. It returns false if the plan proves nothing,
// because a state arrived meanwhile.
func (w *world) planned(s *Step) bool {
	p, wanted := w.part(s.Component), s.Job.DesiredDigest
	if s.Destroy {
		wanted = ""
	}
	if p.seen == wanted && p.serial != p.basis && w.g.Kind != KindRestore {
		return false
	}
	w.plans++
	s.Plan = &Plan{ID: fmt.Sprint("plan", w.plans), Status: PlanReady, DesiredDigest: s.Job.DesiredDigest,
		Destructive: s.Destroy}
	if w.rejected[s.Component+" for "+s.Plan.DesiredDigest] {
		s.Plan.RejectedBy = "alice"
	}
	switch {
	case w.g.Kind == KindRestore:
		if rapid.IntRange(0, 4).Draw(w.t, "equal") == 0 {
			s.Plan.Status = PlanEmpty
		}
	case p.seen == wanted:
		s.Plan.Status = PlanEmpty
		w.landed(s)
	case !s.Destroy:
		s.Plan.Destructive = rapid.Bool().Draw(w.t, "destructive")
		s.Plan.IndividualApproval = rapid.IntRange(0, 3).Draw(w.t, "individual") == 0
	}
	return true
}

// endApply does the runner's work, and then records what the recovery function allows to record.
func (w *world) endApply(s *Step, status JobStatus) {
	p, planned := w.part(s.Component), w.g.groupOf(s.Component).plan
	if w.applying[s.Component] == "" {
		return
	}
	delete(w.applying, s.Component)
	if w.g.Kind == KindRestore {
		p.disputed = p.disputed && status != JobSucceeded
	} else {
		w.did(p, planned, status)
	}
	switch applyResultOf(applyObservation{consumed: true, job: status}).applied {
	case claimUnchanged:
		p.claimed = p.before
	case claimPlanned:
		if w.g.Kind != KindRestore {
			w.landed(planned)
		}
	}
}

// did is what an apply really did before it ended: all of it if it reports success,
// nothing if it was stale, otherwise a random part.
func (w *world) did(p *part, planned *Step, status JobStatus) {
	if status == JobStale {
		return
	}
	p.serial++
	how := 2
	if status != JobSucceeded {
		how = rapid.IntRange(0, 3).Draw(w.t, "did")
	}
	switch how {
	case 1:
		p.real = fmt.Sprint("half of ", planned.Plan.ID)
	case 2:
		p.real = planned.Plan.DesiredDigest
		if planned.Destroy {
			p.real = ""
		}
	case 3:
		if status == JobLost {
			p.ghosts++
		}
	}
}

// landed is what the control plane records when a runner reports that the plan was applied.
func (w *world) landed(planned *Step) {
	p := w.part(planned.Component)
	if planned.Destroy {
		p.claimed = standing{}
		return
	}
	p.claimed = standing{there: true, digest: planned.Plan.DesiredDigest}
}

// haunt is a write of a process that a person had reported as lost. What is deployed changes,
// and its state arrives. If it follows the newest state it is stored, so the component must be
// planned again; if another apply runs, or nothing is recorded as deployed, it is contested.
func (w *world) haunt(p *part) {
	w.log("a ghost of %s writes", p.name)
	p.ghosts--
	p.real = fmt.Sprint("haunted ", len(w.history))
	if w.applying[p.name] != "" || !p.claimed.there || rapid.Bool().Draw(w.t, "contested") {
		p.disputed = true
		return
	}
	p.serial++
	p.claimed.digest = ""
}

// dismiss is a person's decision that a contested state is not needed. What is deployed
// is planned again; for what is recorded as destroyed, the person has checked.
func (w *world) dismiss(p *part) {
	if !p.disputed {
		return
	}
	w.log("the contested state of %s is dismissed", p.name)
	p.disputed, p.claimed.digest = false, ""
	if !p.claimed.there {
		p.real = ""
	}
}

// approvedScript is the approval of a script.
const approvedScript = "yes"

// scriptOf returns the digest of what an action would run now.
func (w *world) scriptOf(s *Step) string { return fmt.Sprint(s.Action, " as ", w.pushed[s.Action]) }

// loadScripts sets the current scripts, and the answers to them, in the graph.
func (w *world) loadScripts() {
	for _, s := range w.g.Steps {
		if s.Kind != StepAction || s.Status.Ended() {
			continue
		}
		digest := w.scriptOf(s)
		s.Script = &Script{Digest: digest, Approved: w.scripts[digest] == approvedScript}
		if said := w.scripts[digest]; said != "" && !s.Script.Approved {
			s.Script.RejectionReason, s.Script.RejectedBy = said, "alice"
		}
	}
}

// recordScriptAnswers is a person's answer about the scripts that wait.
func (w *world) answerScripts(yes bool) {
	if w.g.ScriptRequest == nil {
		return
	}
	w.log("a person says %t to the scripts %v", yes, w.g.ScriptRequest.Digests)
	w.sayScripts(w.g.ScriptRequest.Digests, yes)
	w.g.ScriptRequest = nil
}

func (w *world) sayScripts(digests []string, yes bool) {
	for _, d := range digests {
		if w.scripts[d] = "rejected by alice"; yes {
			w.scripts[d] = approvedScript
		}
	}
}

// answer is a person's answer about a plan.
func (w *world) answer(planned *Step, yes bool) {
	w.log("a person says %t to %s", yes, planned.Component)
	w.rejected[planned.Component+" for "+planned.Plan.DesiredDigest] = !yes
	planned.Plan.DecidedBy, planned.Plan.DecisionReason, planned.Plan.Authority = "alice", "because", ByPerson
	if yes {
		planned.Plan.Status, w.yes[planned.Plan.ID] = PlanApproved, ByPerson
		w.sayScripts(w.shown[planned.Plan.ID], true)
		return
	}
	planned.Plan.Status = PlanRejected
}

// checkRuleAfterNo verifies that a rule approves no plan for a desired state whose last plan a person rejected.
func (w *world) checkRuleAfterNo(gr stepGroup) {
	if w.rejected[gr.plan.Component+" for "+gr.plan.Plan.DesiredDigest] {
		w.broken(invariantNoRule, "%s", gr.plan.Component)
	}
}

// anyAnswer draws a person's answer about a plan. A rejection is often followed by a retry and other rules.
func (w *world) anyAnswer(planned *Step) {
	yes := rapid.IntRange(0, 3).Draw(w.t, "answer") > 0
	w.answer(planned, yes)
	if yes || rapid.Bool().Draw(w.t, "no retry") {
		return
	}
	w.personEvent(planned, true)
	w.g.Rule, w.g.WorkflowRule = Rule{ApproveAll: rapid.Bool().Draw(w.t, "approve all")}, w.anyWorkflowRule()
	w.log("the rules are %+v and %+v", w.g.Rule, w.g.WorkflowRule)
}
