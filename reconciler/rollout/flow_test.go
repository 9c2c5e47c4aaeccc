package rollout_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

func TestProvisionGoesByDependencyAndSideBySide(t *testing.T) {
	w := newWorld(t)
	w.exec(`update installs set approval = 'approve-all', rule = '{"by": "dana", "at": "2026-11-01T10:00:00Z"}'`)
	w.look()
	w.want(strings.Join(w.runJobs(), "\n"), strings.Join([]string{
		"plan sandbox", "apply sandbox",
		"plan metrics, plan network", "apply metrics, apply network",
		"plan web", "apply web", "action smoke",
	}, "\n"))
	w.want(w.workflows(), "[provision succeeded]")
	status, reason := w.status()
	w.want(status+": "+reason, "current: everything is at release 1")
	w.want(w.state["web"], "artifact "+w.one("select artifact_digest from builds where component_id = 'cmp_web'")+
		"\ncidr=10.0.0.0/16\ngreeting=hello\njoin="+plantedOutput+"\ntoken="+plantedInput)
	w.want(w.one("select outcome from workflows"), "4 deployed; 1 action run")
	w.want(w.list("select name || '=' || value from outputs where scope = 'action'"), "[answer=42]")
	w.want(w.list("select distinct kind || ' of ' || component_kind from jobs order by 1"),
		"[action of  apply of sandbox apply of terraform_module plan of sandbox plan of terraform_module sync of sandbox "+
			"sync of terraform_module]")
	// Each automatic approval records its rule, and who set that.
	w.want(w.list(`select distinct a.status || ' by ' || r.actor || ': ' || r.reason || '; ' || (r.rule->>'by') || ' ' || (r.rule->>'at') || ' ' || (r.rule->>'digest' = $1)
		from approval_responses r join approvals a on a.id = r.approval_id where r.rule is not null`,
		workflow.Settings{Approval: "approve-all"}.Digest(w.install)),
		"[approved by the install's rule: approved by the install's rule (approve-all, set by dana); dana "+
			"2026-11-01T10:00:00Z true]")
	w.want(w.one("select count(*)::text from approval_responses where rule is not null"), "4")
	w.want(w.list("select distinct detail->'rule'->>'by' from audit_events where action = 'plan.allow'"), "[dana]")
	// A second reconcile finds nothing to do.
	w.look()
	w.want(w.workflows(), "[provision succeeded]")
}

// TestNoRuleApprovesWhatAPersonMustApproveAlone: a finding in a runner's report excludes
// the plan from the install's rule and from every group, and its approval records that.
func TestNoRuleApprovesWhatAPersonMustApproveAlone(t *testing.T) {
	w := newWorld(t)
	w.exec("update installs set approval = 'approve-all', allow_destroy = true")
	w.findings = map[string][]diff.Finding{
		"network": {{Rule: "masked-change", Message: "a masked argument changes", IndividualApproval: true}},
	}
	w.look()
	w.runJobs()
	w.want(w.list(`select p.component || ' ' || a.status || ' ' || a.individual_approval || ' ' || (a.group_digest = '')
		from plans p join approvals a on a.plan_id = p.id order by p.component`),
		"[metrics approved false false network waiting true true sandbox approved false false]")
	w.approveAll()
	w.runJobs()
	w.want(w.one("select status from plans where component = 'network'"), "applied")
}

func TestNoSensitiveValueIsReadableInAnyRow(t *testing.T) {
	w := newProvisionedWorld(t)
	w.input("greeting", "planted-plain-7d10") // a value that is not sensitive is found, so the search works
	w.build("web", "succeeded")
	w.look()
	w.approveAll()
	tables := w.list(
		`select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public' and c.relkind = 'r'`)
	found := map[string][]string{}
	for _, table := range tables {
		for _, planted := range []string{plantedInput, plantedOutput, "planted-plain-7d10"} {
			if len(w.list("select 'x' from "+table+" t where strpos(t::text, $1) > 0 limit 1", planted)) > 0 {
				found[planted] = append(found[planted], table)
			}
		}
	}
	if len(found[plantedInput]) > 0 || len(found[plantedOutput]) > 0 {
		t.Errorf("secrets are readable: %v", found)
	}
	if len(found["planted-plain-7d10"]) == 0 {
		t.Error("the search finds nothing at all, so it proves nothing")
	}
}

func TestWhatIsBehindAloneIsDeployedAndSaysWhy(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("web", "succeeded")
	w.look()
	w.want(w.workflows(), "[provision succeeded deploy running]")
	w.want(w.one("select reason from workflows where kind = 'deploy'"),
		"web is behind: artifact changed: build 2 of web, because commit 1a2b3c4 changed it")
	w.want(w.list("select distinct component from steps s join workflows w on w.id = s.workflow_id where w.kind "+
		"= 'deploy'"), "[web]")
	w.runJobs()
	status, reason := w.status()
	w.want(status+": "+reason, "waiting_for_approval: the plan of web waits for approval")
	must(t, w.answer("web", workflow.Approve, ""))
	w.approveAll()
	w.want(w.done, "[plan web apply web action smoke]")
	w.input("greeting", "howdy")
	w.look()
	w.approveAll()
	w.want(w.one("select reason from workflows where number = 3"), "web is behind: input greeting changed")
	w.secret("api_token", "another")
	w.look()
	w.approveAll()
	w.want(w.one("select reason from workflows where number = 4"), "web is behind: input api_token changed")
	w.want(strings.Contains(w.state["web"], "token=another"), true)
}

// The status shows a push even before rollout has reconciled the install.
func TestAPushIsSeenBeforeItIsLookedAt(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("web", "succeeded")
	status, reason := w.status()
	w.want(status+": "+reason, "behind: web: artifact changed: build 2 of web, because commit 1a2b3c4 changed it")
	w.build("network", "running")
	_, reason = w.status()
	w.want(reason, "web: artifact changed: build 2 of web, because commit 1a2b3c4 changed it; release 3 is being built")
	w.endBuild("network", "succeeded")
	status, _ = w.component("network")
	w.want(status, "behind")
	w.app.Components = append(w.app.Components, appconfig.Component{Name: "late", Kind: "terraform_module",
		Terraform: &appconfig.Terraform{Version: "1.11.4"}})
	w.addComponent("late")
	w.version()
	status, _ = w.component("late")
	w.want(status, "behind")
	w.want(w.list("select name from install_components where name = 'late'"), "[]") // reading a status writes nothing
}

func TestAPlanWithoutChangesAsksNobodyAndAppliesNothing(t *testing.T) {
	w := newProvisionedWorld(t)
	// The config changes without a difference that Terraform would see.
	w.app.Components[2].EnvVars = map[string]string{"A": "b"}
	w.version()
	w.look()
	w.want(w.runJobs(), "[plan web]")
	w.want(w.workflows(), "[provision succeeded deploy succeeded]")
	w.want(w.one("select outcome from workflows where kind = 'deploy'"), "1 without changes")
	w.want(w.list("select s.status from steps s join workflows w on w.id = s.workflow_id where w.kind = 'deploy' order "+
		"by position"), "[succeeded succeeded skipped skipped skipped]")
	status, _ := w.component("web")
	w.want(status, "current")
	w.want(len(w.list(
		"select id from jobs where kind = 'apply' and owner_id in (select s.id from steps s join workflows w on w.id = "+
			"s.workflow_id where w.kind = 'deploy')")), 0)
}

func TestANoIsRememberedUntilDesiredChangesOrAPersonAsks(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("web", "succeeded")
	w.look()
	w.runJobs()
	must(t, w.answer("web", workflow.Reject, "too risky"))
	w.runJobs()
	w.want(w.workflows(), "[provision succeeded deploy rejected]")
	status, reason := w.status()
	w.want(status+": "+reason, "rejected: web: behind, rejected by alice: too risky")
	w.want(w.health(), rollout.HealthGood)
	for range 3 {
		w.look()
	}
	w.want(w.workflows(), "[provision succeeded deploy rejected]")
	// Another component continues.
	w.build("metrics", "succeeded")
	w.look()
	w.approveAll()
	w.want(w.workflows(), "[provision succeeded deploy rejected deploy succeeded]")
	// A person requests it: the same desired state is planned again.
	w.ask("present", "web")
	w.runJobs()
	w.want(w.asked(), "[web]")
	w.want(w.one("select requested_by from workflows order by number desc limit 1"), "alice")
	must(t, w.answer("web", workflow.Reject, "still"))
	w.runJobs()
	// A newer desired state is planned automatically.
	w.build("web", "succeeded")
	w.look()
	w.runJobs()
	w.want(w.asked(), "[web]")
}

func TestANewerDesiredWithdrawsAWaitingPlan(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("web", "succeeded")
	w.look()
	w.runJobs()
	old := w.one("select id from approvals where status = 'waiting'")
	// While the newer build runs, the plan is still pending, but the desired state is
	// not known: nothing is applied.
	w.build("web", "running")
	w.look()
	w.want(w.asked(), "[web]")
	w.endBuild("web", "succeeded")
	w.look()
	w.want(w.one("select status || ': ' || reason from approvals where id = $1", old),
		"withdrawn: superseded by a newer desired state: artifact changed: build 3 of web, because commit 1a2b3c4 changed it")
	w.want(w.list(
		"select because from approvals where plan_id in (select id from plans where component = 'web') order by id"),
		"[web is not deployed on this install yet artifact changed: build 2 of web, because commit 1a2b3c4 changed it]")
	err := w.respond(old, workflow.Approve, "alice", "")
	var gone *refusal.Error
	if !errors.As(err, &gone) || gone.Code != workflow.CodeApprovalGone {
		t.Fatalf("a withdrawn plan was answered: %v", err)
	}
	w.approveAll()
	w.want(w.workflows(), "[provision succeeded deploy succeeded]")
	w.want(w.list("select p.status from plans p join workflows w on w.id = p.workflow_id where w.kind = 'deploy' order "+
		"by p.created_at"), "[superseded applied]")
}

func TestAnApprovedPlanIsNotAppliedWhenDesiredHasMoved(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("web", "succeeded")
	w.look()
	w.runJobs()
	must(t, w.answer("web", workflow.Approve, ""))
	offers := w.offers() // the runner has the offer of the apply, and is slow to accept
	w.build("web", "succeeded")
	if _, ok := w.accept(offers["apply web"]); ok {
		t.Fatal("an apply was accepted though something newer is wanted")
	}
	w.approveAll()
	w.look()
	w.want(w.list("select p.status from plans p join workflows w on w.id = p.workflow_id where w.kind = 'deploy' order "+
		"by p.created_at"), "[superseded applied]")
	w.want(w.state["web"][:20],
		"artifact "+w.one("select artifact_digest from builds where component_id = 'cmp_web' and number = 3")[:11])
}

func TestAnAnswerBindsToWhatWasShown(t *testing.T) {
	w := newWorld(t)
	w.look()
	w.runJobs()
	approval := w.one("select id from approvals where status = 'waiting'")
	shown := w.displayed(approval, workflow.Approve, "alice", "")
	respond := func(digest string, answer workflow.Answer) error {
		given := shown
		given.ContentDigest, given.Answer = digest, answer
		return w.give(given)
	}
	for _, plan := range []string{"", "pln_other"} {
		given := shown
		given.Plan = plan
		err := w.give(given)
		var other *refusal.Error
		if !errors.As(err, &other) || other.Code != workflow.CodePlanChanged ||
			!strings.Contains(other.Title, "the one that is waiting (plan pln_") {
			t.Errorf("an answer about plan %q: %v", plan, err)
		}
	}
	var c *refusal.Error
	if err := respond(sha256digest.Of([]byte("other")), workflow.Approve); !errors.As(err, &c) ||
		c.Code != workflow.CodePlanChanged {
		t.Fatalf("an answer to something else was taken: %v", err)
	}
	digest := w.one("select content_digest from approvals where id = $1", approval)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = respond(digest, []workflow.Answer{workflow.Approve, workflow.Reject}[i%2])
		}()
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.As(err, &c) || c.Code != workflow.CodeApprovalGone {
			t.Fatalf("the losers are told %v", err)
		}
	}
	w.want(won, len(errs)/2) // the first, and each copy of it
	w.want(len(w.list("select id from approval_responses")), 1)
}

func TestAFailureStopsWhatNeedsItAndStalls(t *testing.T) {
	w := newWorld(t)
	w.exec("update installs set approval = 'approve-all'")
	w.break_["apply network"] = "failed"
	w.look()
	w.runJobs()
	w.want(w.workflows(), "[provision failed]")
	w.want(w.list("select component || ' ' || status from steps where kind = 'apply' order by component"),
		"[metrics succeeded network failed sandbox succeeded web skipped]")
	w.want(w.one("select reason from steps where kind = 'plan' and component = 'web'"),
		"network was not deployed: it was made to fail")
	w.want(w.one("select outcome from workflows"),
		"2 deployed; network: it was made to fail; web skipped: network was not deployed")
	status, reason := w.status()
	w.want(status+": "+reason,
		"stalled: network: behind, stalled: it was made to fail; fix it and push, or try again with "+
			"`nuon deploy hello/acme`")
	status, reason = w.component("web")
	w.want(status+": "+reason, "waiting: waits: network, which is behind, stalled: it was made to fail")
	w.look()
	w.want(w.workflows(), "[provision failed]")
	delete(w.break_, "apply network")
	w.ask("present")
	w.runJobs()
	w.want(w.workflows(), "[provision failed deploy succeeded]")
	status, _ = w.status()
	w.want(status, "current")
}

func TestALostApplyIsPlannedAnewAndAskedAnew(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("metrics", "succeeded")
	w.look()
	w.runJobs()
	w.break_["apply metrics"] = api.JobResultStatusLost
	must(t, w.answer("metrics", workflow.Approve, ""))
	w.runJobs()
	delete(w.break_, "apply metrics")
	w.want(w.asked(), "[metrics]")
	w.want(w.one("select applied_digest from install_components where name = 'metrics'"), "")
	w.approveAll()
	w.want(w.list("select status from plans where component = 'metrics' order by created_at"), "[applied failed applied]")
	w.want(w.workflows(), "[provision succeeded deploy succeeded]")
}

// While a runner applies, the status does not say that the applied state is unknown:
// that is only for an apply whose end is not known.
func TestAnApplyInProgressIsShownAsOne(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("network", "succeeded")
	w.look()
	w.runJobs()
	must(t, w.answer("network", workflow.Approve, ""))
	w.queue()
	offer := w.offers()["apply network"]
	spec, ok := w.accept(offer)
	w.want(ok, true)
	shown := func() {
		t.Helper()
		status, reason := w.component("network")
		w.want(status+": "+reason,
			"behind: an apply is running: artifact changed: build 2 of network, because commit 1a2b3c4 changed it")
		_, reason = w.component("web")
		w.want(reason, "waits: network, which is being deployed")
		must(t, w.store.ReadTx(t.Context(), w.org, func(ctx context.Context, tx *store.Tx) error {
			view, err := w.view(ctx, tx)
			w.want(view.Health(true), rollout.HealthProgressing)
			listed, listErr := rollout.LoadStoredViews(ctx, tx, []store.Install{view.Install})
			w.want(listed[0].Health(true), rollout.HealthProgressing)
			return errors.Join(err, listErr)
		}))
	}
	shown()
	w.look() // the stored status is the same
	shown()
	w.build("network", "succeeded")
	_, reason := w.component("network")
	w.want(reason, "an apply is running; artifact changed: build 3 of network, because commit 1a2b3c4 changed it")
	w.exec("update attempts set status = 'expired' where status = 'running'")
	_, reason = w.component("network")
	w.want(strings.HasPrefix(reason, "is being deployed: what exists is unknown"), true)
	w.exec("update attempts set status = 'running' where status = 'expired'")
	must(t, w.jobs.Result(t.Context(), w.caller, api.AttemptRef{Job: offer.Job, Attempt: offer.Attempt}, w.work(spec)))
	w.approveAll()
	status, _ := w.status()
	w.want(status, "current")
}

// A workflow that skips a component which nothing will deploy automatically has not succeeded.
func TestAWorkflowWithWhatIsStuckHasNotSucceeded(t *testing.T) {
	w := newWorld(t)
	w.exec("update installs set approval = 'approve-all'")
	w.exec("delete from install_inputs where name = 'api_token'")
	w.look()
	w.runJobs()
	w.want(w.workflows(), "[provision failed]")
	w.want(w.one("select outcome from workflows"),
		"3 deployed; web skipped: waits for something that needs an action: input api_token has no value; set it: nuon "+
			"installs update hello/acme --secret api_token")
	w.secret("api_token", plantedInput)
	w.look()
	w.runJobs()
	w.want(w.workflows(), "[provision failed deploy succeeded]")
}

func TestAStaleApplyIsPlannedAnewAndNothingIsLost(t *testing.T) {
	w := newProvisionedWorld(t)
	before := w.one("select applied_digest from install_components where name = 'metrics'")
	w.build("metrics", "succeeded")
	w.look()
	w.runJobs()
	w.break_["apply metrics"] = api.JobResultStatusStale
	must(t, w.answer("metrics", workflow.Approve, ""))
	w.runJobs()
	w.want(w.one("select applied_digest from install_components where name = 'metrics'"), before)
	w.want(w.asked(), "[metrics]")
	w.want(w.list("select status from plans where component = 'metrics' order by created_at"), "[applied stale ready]")
}

func TestDeprovisionGoesTheOtherWayRound(t *testing.T) {
	w := newProvisionedWorld(t)
	w.ask("absent")
	w.want(strings.Join(w.runJobs(), "; "), "plan metrics, plan web")
	w.want(w.asked(), "[metrics web]")
	status, reason := w.component("network")
	w.want(status+": "+reason, "waiting: waits: web, which needs it, still exists")
	w.approveAll()
	w.want(w.done, "[plan metrics plan web apply metrics apply web plan network apply network plan sandbox apply sandbox]")
	w.want(len(w.state), 0)
	status, _ = w.status()
	w.want(status, "deprovisioned")
	w.want(w.workflows(), "[provision succeeded deprovision succeeded]")
	w.want(len(w.list("select name from outputs where scope = 'component'")), 0)
	// When the install is desired again, it is provisioned again.
	w.ask("present")
	w.approveAll()
	w.want(w.workflows(), "[provision succeeded deprovision succeeded provision succeeded]")
}

func TestARejectedDestroyKeepsWhatItStandsOn(t *testing.T) {
	w := newProvisionedWorld(t)
	w.ask("absent")
	w.runJobs()
	must(t, w.answer("web", workflow.Reject, "not yet"))
	must(t, w.answer("metrics", workflow.Approve, ""))
	w.runJobs()
	w.look()
	w.want(len(w.state), 3)
	w.want(w.workflows(), "[provision succeeded deprovision rejected]")
	status, reason := w.status()
	w.want(status+": "+reason, "rejected: web: behind, rejected by alice: not yet")
}

func TestAComponentThatLeftTheAppIsTornDownByAPersonOnly(t *testing.T) {
	w := newProvisionedWorld(t)
	w.exec("update installs set approval = 'approve-all', allow_destroy = true")
	// network leaves the app, and web no longer reads it.
	w.app.Components = append(w.app.Components[:1:1], w.app.Components[2])
	w.app.Components[1].Terraform.Vars = map[string]string{"greeting": "{{.nuon.inputs.inputs.greeting}}"}
	w.version()
	w.look()
	status, reason := w.component("network")
	w.want(status+": "+reason, "waiting: waits: web, which needs it, still exists")
	w.runJobs()
	w.want(w.workflows(), "[provision succeeded deploy succeeded teardown running]")
	w.want(w.asked(), "[network]")
	w.want(w.one("select reason from approvals where status = 'waiting'"), "destroying a component always "+
		"requires approval")
	w.approveAll()
	status, _ = w.component("network")
	w.want(status, "removed")
	_, there := w.state["network"]
	w.want(there, false)
	w.look()
	w.want(w.workflows(), "[provision succeeded deploy succeeded teardown succeeded]")
}

func TestCancelStopsWhatRunsAndIsRemembered(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("web", "succeeded")
	w.build("metrics", "succeeded")
	w.look()
	w.runJobs()
	must(t, w.answer("metrics", workflow.Approve, ""))
	offers := w.offers()
	if _, ok := w.accept(offers["apply metrics"]); !ok {
		t.Fatal("the apply was not accepted")
	}
	running := w.one("select id from workflows where status = 'running'")
	must(t, w.in(func(ctx context.Context, tx *store.Tx) error {
		return workflow.Cancel(ctx, tx, running, "bob", "lunch")
	}))
	w.queue()
	w.want(w.one("select cancel::text from jobs where kind = 'apply' and status = 'running'"), "true")
	w.want(w.workflows(), "[provision succeeded deploy running]")
	o := offers["apply metrics"]
	must(t, w.jobs.Result(t.Context(), w.caller, api.AttemptRef{Job: o.Job, Attempt: o.Attempt},
		api.JobResult{Status: "cancelled"}))
	w.queue()
	w.want(w.workflows(), "[provision succeeded deploy cancelled]")
	w.look()
	w.want(w.workflows(), "[provision succeeded deploy cancelled]")
	status, reason := w.component("web")
	w.want(status+": "+reason, "rejected: behind, cancelled by bob: lunch")
	err := w.in(func(ctx context.Context, tx *store.Tx) error {
		return workflow.Cancel(ctx, tx, running, "bob", "again")
	})
	var c *refusal.Error
	if !errors.As(err, &c) || c.Code != workflow.CodeWorkflowEnded {
		t.Fatalf("an ended workflow was cancelled: %v", err)
	}
	w.ask("present")
	w.approveAll()
	status, _ = w.status()
	w.want(status, "current")
}

func TestReplicasAdvanceOneWorkflowOnce(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	both := func(work func() error) {
		t.Helper()
		errs := make([]error, 6)
		for i := range errs {
			wg.Add(1)
			go func() { defer wg.Done(); errs[i] = work() }()
		}
		wg.Wait()
		must(t, errors.Join(errs...))
	}
	both(func() error { return w.rollout.Reconcile(t.Context(), w.org, w.install) })
	w.want(w.workflows(), "[provision running]")
	flow := w.one("select id from workflows")
	both(func() error { return w.engine.Reconcile(t.Context(), w.org, flow) })
	w.want(w.list("select kind || ' ' || status from jobs"), "[sync queued]")
	w.runJobs()
	both(func() error { return w.engine.Reconcile(t.Context(), w.org, flow) })
	w.want(w.asked(), "[sandbox]")
	w.approveAll()
	w.want(w.workflows(), "[provision succeeded]")
	w.want(len(w.list("select id from jobs where kind = 'apply'")), 4)
}

// Replicas advance workflows all the time while the runner accepts and delivers:
// nothing waits forever, and everything happens once.
func TestReplicasAtWorkWhileJobsEnd(t *testing.T) {
	w := newWorld(t)
	w.exec("update installs set approval = 'approve-all'")
	w.look()
	flow := w.one("select id from workflows")
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for ctx.Err() == nil && errs[i] == nil {
				errs[i] = errors.Join(w.engine.Reconcile(ctx, w.org, flow), w.rollout.Reconcile(ctx, w.org, w.install))
			}
		}()
	}
	for late := testtime.After(); w.one("select status from workflows") == "running"; {
		select {
		case <-late:
			w.dump()
			t.Fatal("the workflow does not end")
		default:
		}
		for name, offer := range w.leased() {
			w.runJob(name, offer)
		}
		w.sayScripts(workflow.Approve, "")
	}
	stop()
	wg.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	w.want(w.workflows(), "[provision succeeded]")
	w.want(w.list("select kind || ' ' || count(*) from jobs group by kind order by kind"),
		"[action 1 apply 4 plan 4 sync 4]")
}

func TestWhatRunnersSendIsNotTrusted(t *testing.T) {
	good := func(w *world, o api.Offer) (api.JobSpec, api.JobResult) {
		spec, ok := w.accept(o)
		if !ok {
			t.Fatal("not accepted")
		}
		return spec, w.work(spec)
	}
	for name, spoil := range map[string]func(*api.JobResult){
		"a report with another digest": func(r *api.JobResult) { r.Plan.ReportDigest = sha256digest.Of([]byte("x")) },
		"a plan of something else":     func(r *api.JobResult) { r.Plan.Basis.DesiredDigest = "d" },
		"another artifact":             func(r *api.JobResult) { r.Plan.Basis.Artifact = "sha256:1" },
		"a bundle elsewhere": func(r *api.JobResult) {
			r.Plan.Bundle.Repository = "other/installs/ins_1"
		},
		"a report that cannot be right": func(r *api.JobResult) {
			r.Plan.Report = []byte(`{"kind":"terraform","totals":{"destroy":3}}`)
		},
		"outputs with bad names": func(r *api.JobResult) {
			r.Plan.Outputs = []api.Output{{Name: "../x", Value: []byte("1")}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.look()
			o := w.offers()["plan sandbox"]
			_, result := good(w, o)
			spoil(&result)
			must(t, w.jobs.Result(t.Context(), w.caller, api.AttemptRef{Job: o.Job, Attempt: o.Attempt}, result))
			w.queue()
			w.want(len(w.list("select id from plans")), 0)
			w.want(w.workflows(), "[provision failed]")
			status, reason := w.status()
			if status != "stalled" || !strings.Contains(reason, "the runner's plan could not be used") {
				t.Errorf("the install is %s: %s", status, reason)
			}
		})
	}
}

func TestActionsRunWhenAsked(t *testing.T) {
	w := newProvisionedWorld(t)
	run := func(name string, env map[string]string) (flow string, err error) {
		err = w.in(func(ctx context.Context, tx *store.Tx) error {
			flow, err = w.rollout.RequestAction(ctx, tx, store.Install{ID: w.install},
				rollout.ActionRequest{Action: name, Env: env, Actor: "alice"})
			return err
		})
		return flow, err
	}
	_, err := run("smoke", map[string]string{"LOUD": "yes"})
	w.conflict(err, rollout.CodeBadEnv) // the runner's owner has not allowed undeclared variables
	w.exec(`update runners set policy = '{"free_env": true}'`)
	_, err = run("smoke", map[string]string{"LOUD": "yes"})
	must(t, err)
	w.want(w.runJobs(), "[action smoke]")
	w.want(w.one("select spec->'action'->'env'->>'LOUD' from jobs where kind = 'action' order by created_at desc limit 1"),
		"yes")
	w.want(w.one("select spec->'action'->'values'->'plain'->'components'->'web'->'outputs'->>'url' from jobs where kind "+
		"= 'action' order by created_at desc limit 1"), "http://web")
	w.want(w.workflows(), "[provision succeeded action succeeded]")
	_, err = run("smke", nil)
	w.conflict(err, rollout.CodeUnknownAction)
	for _, bad := range []string{"A=B", "BASH_ENV", "ld_preload", "PATH"} {
		_, err = run("smoke", map[string]string{bad: "c"})
		w.conflict(err, rollout.CodeBadEnv)
	}
}

func TestWhatWaitsForAKeySaysSo(t *testing.T) {
	w := newProvisionedWorld(t)
	other := *w
	var err error
	if other.key, err = newKey(); err != nil {
		t.Fatal(err)
	}
	other.secret("api_token", "sealed for somebody else")
	w.look()
	w.approveAll()
	status, reason := w.component("web")
	w.want(status+": "+reason,
		"waiting: waits: input api_token: it was sealed to a key that no longer exists; enter it again (nuon "+
			"installs update "+
			"hello/acme --secret api_token)")
	w.secret("api_token", plantedInput)
	w.look()
	w.approveAll()
	status, _ = w.status()
	w.want(status, "current")
}

// A workflow that waits for an approval of one component does not block the fix of another.
func TestAComponentWhoseStepsHaveEndedIsFree(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("web", "succeeded")
	w.build("metrics", "succeeded")
	w.look()
	w.runJobs()
	must(t, w.answer("web", workflow.Reject, "not this one"))
	w.want(w.asked(), "[metrics]")
	w.build("web", "succeeded")
	w.look()
	w.runJobs()
	w.want(w.asked(), "[metrics web]")
	w.want(w.workflows(), "[provision succeeded deploy running deploy running]")
	w.approveAll()
	w.want(w.workflows(), "[provision succeeded deploy rejected deploy succeeded]")
	status, reason := w.status()
	w.want(status+": "+reason, "current: everything is at release 4")
}

// A plan that a rule approved and no runner has taken needs an answer once the rule
// is stricter; a person's approval stays.
func TestARuleThatIsTakenBackLetsNothingThrough(t *testing.T) {
	w := newProvisionedWorld(t)
	was := w.state["metrics"]
	w.exec("update installs set approval = 'approve-all'")
	w.build("metrics", "succeeded")
	w.look()
	w.runJob("plan metrics", w.offers()["plan metrics"])
	w.queue()
	offer := w.offers()["apply metrics"] // the runner has it, and is slow to accept
	w.exec("update installs set approval = 'prompt'")
	if _, ok := w.accept(offer); ok {
		t.Fatal("an apply was accepted that nobody approved and no rule lets through")
	}
	w.runJobs()
	w.want(w.asked(), "[metrics]")
	w.want(w.state["metrics"], was)
	w.want(w.one("select reason from plans where status = 'superseded'"),
		"the install's rule has changed: this install requires approval for every change")
	must(t, w.answer("metrics", workflow.Approve, ""))
	w.runJobs()
	status, _ := w.status()
	w.want(status, "current")
}
