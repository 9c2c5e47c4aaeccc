package rollout_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// conflict fails the test unless a request was refused with the code.
func (w *world) conflict(err error, code string) {
	w.Helper()
	var c *refusal.Error
	if !errors.As(err, &c) || c.Code != code || c.Title == "" || c.Remedy == "" {
		w.Fatalf("got %v, want %s", err, code)
	}
}

// action adds an action with triggers to the app.
func (w *world) action(name string, triggers ...appconfig.Trigger) {
	w.app.Actions = append(w.app.Actions, appconfig.Action{
		Name: name, Timeout: "1m", Triggers: triggers,
		Steps: []appconfig.ActionStep{{Name: "it", InlineContents: "#!/bin/sh\ntrue"}},
	})
}

func (w *world) on(kind, component string) string {
	w.Helper()
	return w.one("select s.id from steps s join workflows w on w.id = s.workflow_id where s.kind = $1 and case s.kind "+
		"when 'action' then action else component end = $2 order by w.number desc, s.position limit 1", kind, component)
}

func TestTriggersRunAroundTheWholeLifeOfAnInstall(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{
		appconfig.TriggerPreProvision, appconfig.TriggerPostProvision, appconfig.TriggerPostProvisionSandbox,
		appconfig.TriggerPreDeployAll,
		appconfig.TriggerPostDeployAll, appconfig.TriggerPreUpdateInputs, appconfig.TriggerPostUpdateInputs,
		appconfig.TriggerPreDeprovision,
		appconfig.TriggerPostDeprovision, appconfig.TriggerPreTeardownAll, appconfig.TriggerPostTeardownAll,
		appconfig.TriggerPreDeprovisionSandbox, appconfig.TriggerPostDeprovisionSandbox,
	} {
		w.action(name, appconfig.Trigger{Type: name})
	}
	w.action("z-before-web", appconfig.Trigger{Type: appconfig.TriggerPreDeployComponent, ComponentName: "web", Index: 1})
	w.action("a-before-web", appconfig.Trigger{Type: appconfig.TriggerPreDeployComponent, ComponentName: "web", Index: 2})
	w.action("without-web", appconfig.Trigger{Type: appconfig.TriggerPostTeardownComponent, ComponentName: "web"})
	w.version()
	w.exec("update installs set approval = 'approve-all', allow_destroy = true")
	w.look()
	w.runJobs()
	w.want(w.done, "[action pre-provision plan sandbox apply sandbox action post-provision-sandbox action "+
		"pre-deploy-all-components plan metrics plan network "+
		"apply metrics apply network plan web action z-before-web action a-before-web apply web action smoke action "+
		"post-deploy-all-components action post-provision]")
	w.want(w.one("select string_agg(action || ' ' || trigger, ', ' order by position) from steps where action like "+
		"'%web' or action = 'smoke'"),
		"z-before-web pre-deploy-component, a-before-web pre-deploy-component, smoke post-deploy-component")
	w.want(w.one("select spec->'action'->>'trigger' || ' ' || (spec->'action'->>'component') from jobs where "+
		"spec->'action'->>'action' = 'a-before-web'"), "pre-deploy-component web")

	w.done = nil
	w.input("greeting", "hi")
	w.look()
	w.runJobs()
	w.want(w.done, "[action pre-update-inputs action pre-deploy-all-components plan web action z-before-web action "+
		"a-before-web apply web action smoke "+
		"action post-deploy-all-components action post-update-inputs]")

	w.done = nil
	w.build("metrics", "succeeded") // a new build is no change of inputs
	w.look()
	w.runJobs()
	w.want(w.done, "[action pre-deploy-all-components plan metrics apply metrics action post-deploy-all-components]")

	w.done = nil
	w.ask("absent")
	w.runJobs()
	w.want(w.done, "[action pre-deprovision action pre-teardown-all-components plan metrics plan web apply metrics "+
		"apply web action without-web plan network apply network "+
		"action post-teardown-all-components plan sandbox action pre-deprovision-sandbox apply sandbox action "+
		"post-deprovision-sandbox action post-deprovision]")
	w.want(w.workflows(), "[provision succeeded deploy succeeded deploy succeeded deprovision succeeded]")
}

func TestAnActionBeforeAComponentThatFailsStallsIt(t *testing.T) {
	w := newWorld(t)
	w.action("drain", appconfig.Trigger{Type: appconfig.TriggerPreDeployComponent, ComponentName: "web"})
	w.version()
	w.exec("update installs set approval = 'approve-all'")
	w.break_["action drain"] = "failed"
	w.look()
	w.runJobs()
	w.look()
	w.want(w.workflows(), "[provision failed]")
	w.want(w.one("select outcome from workflows"), "3 deployed; action drain: it was made to fail; web skipped")
	w.want(w.list("select status from plans where component = 'web'"), "[superseded]")
	w.want(w.list("select component from approvals a join plans p on p.id = a.plan_id where a.status = 'waiting'"), "[]")
	status, reason := w.component("web")
	w.want(status+": "+reason,
		"stalled: behind, stalled: action drain (pre-deploy-component) did not succeed: it was made to fail")

	// The workflow has ended: a retry of the action is a new deploy of the component
	// that it blocked.
	delete(w.break_, "action drain")
	w.done = nil
	in := w.retry("action", "drain")
	w.want(w.one("select kind || ' ' || requested_by from workflows where id = $1", in), "deploy alice")
	w.runJobs()
	w.want(w.done, "[plan web action drain apply web action smoke]")
	w.want(w.workflows(), "[provision failed deploy succeeded]")
}

// retry is alice retrying the newest step of a kind, for a component or action.
func (w *world) retry(kind, of string) (in string) {
	w.Helper()
	in, err := w.retryStep(w.on(kind, of))
	must(w, err)
	return in
}

// retryStep is alice retrying one step, with the calls that the control plane makes.
func (w *world) retryStep(step string) (in string, err error) {
	w.Helper()
	flow := w.one("select workflow_id from steps where id = $1", step)
	err = w.in(func(ctx context.Context, tx *store.Tx) (err error) {
		var c *refusal.Error
		if err = w.engine.RetryStep(ctx, tx, flow, step, "alice"); !errors.As(err, &c) ||
			c.Code != workflow.CodeWorkflowEnded {
			in = flow
			return err
		}
		failure, err := w.engine.FailureAt(ctx, tx, flow, step)
		if err != nil {
			return err
		}
		in, err = w.rollout.Retry(ctx, tx, failure, "alice")
		return err
	})
	w.queue()
	return in, err
}

func TestAFailedActionAfterADeployIsRetriedAlone(t *testing.T) {
	w := newWorld(t)
	w.exec("update installs set approval = 'approve-all'")
	w.break_["action smoke"] = "failed"
	w.look()
	w.runJobs()
	w.want(w.workflows(), "[provision failed]")
	status, _ := w.status()
	w.want(status, "current")
	delete(w.break_, "action smoke")
	w.done = nil
	in := w.retry("action", "smoke")
	w.runJobs()
	w.want(w.done, "[action smoke]")
	w.want(w.one("select trigger || ' ' || component from steps where workflow_id = $1", in), "post-deploy-component web")
	w.want(w.workflows(), "[provision failed action succeeded]")
	must(t, w.in(func(ctx context.Context, tx *store.Tx) error {
		step := w.on("action", "smoke")
		_, err := w.engine.FailureAt(ctx, tx, in, step)
		w.conflict(err, workflow.CodeNotRetryable)
		return nil
	}))
}

// Another workflow may already be changing what failed in a workflow that still runs.
// A retry then does not start it a second time.
func TestARetryDoesNotTouchWhatAnotherWorkflowIsAtWorkOn(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("metrics", "succeeded")
	w.build("web", "succeeded")
	w.break_["plan metrics"] = "failed"
	w.look()
	w.runJobs()
	w.want(w.asked(), "[web]")
	failed := w.on("plan", "metrics")
	w.build("metrics", "succeeded")
	delete(w.break_, "plan metrics")
	w.look()
	w.runJobs()
	w.want(w.asked(), "[metrics web]")
	_, err := w.retryStep(failed)
	w.conflict(err, workflow.CodeBusy)
	w.want(w.asked(), "[metrics web]")
}

// If two people retry the same action of a workflow that has ended, it runs once.
func TestTwoRetriesOfAnActionRunItOnce(t *testing.T) {
	for _, action := range []string{"smoke", "tell"} {
		w := newWorld(t)
		w.action("tell", appconfig.Trigger{Type: appconfig.TriggerPostProvision})
		w.version()
		w.exec("update installs set approval = 'approve-all'")
		w.break_["action "+action] = "failed"
		w.look()
		w.runJobs()
		w.want(w.workflows(), "[provision failed]")
		clear(w.break_)
		failed := w.on("action", action)
		_, err := w.retryStep(failed)
		must(t, err)
		_, err = w.retryStep(failed)
		w.conflict(err, workflow.CodeBusy)
		w.runJobs()
		w.want(w.workflows(), "[provision failed action succeeded]")
	}
}

// While a workflow runs, a retry or a skip continues that workflow.
func TestStepsAreRetriedAndSkippedInARunningWorkflow(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("metrics", "succeeded")
	w.build("network", "succeeded")
	w.break_["plan network"] = "failed"
	w.look()
	w.runJobs()
	w.want(w.asked(), "[metrics]")
	status, _ := w.component("network")
	w.want(status, "stalled")
	delete(w.break_, "plan network")
	in := w.retry("plan", "network")
	w.runJobs()
	w.want(w.asked(), "[metrics network]")
	w.want(w.one("select id from workflows where status = 'running'"), in)
	w.want(w.list("select kind from rejections"), "[]")

	skip := func(kind, of string) error {
		step := w.on(kind, of)
		err := w.in(func(ctx context.Context, tx *store.Tx) error {
			return w.engine.SkipStep(ctx, tx, w.one("select workflow_id from steps where id = $1", step), step, "alice",
				"not today")
		})
		w.queue()
		return err
	}
	must(t, skip("approve", "metrics"))
	w.want(w.asked(), "[network]")
	w.want(w.one("select status || ': ' || reason from approvals order by created_at desc limit 1 offset 1"),
		"withdrawn: skipped by alice: not today")
	status, reason := w.component("metrics")
	w.want(status+": "+reason, "rejected: behind, cancelled by alice: skipped: not today")
	w.conflict(skip("approve", "metrics"), workflow.CodeNotSkippable)
	w.approveAll()
	w.want(w.workflows(), "[provision succeeded deploy succeeded]")
	w.want(w.one("select outcome from workflows where number = 2"), "1 deployed; metrics skipped by alice: not today")
	w.want(w.list("select string_agg(component, ' ' order by component) from steps where skipped_by_person"),
		"[metrics metrics]")
	w.look()
	w.want(w.workflows(), "[provision succeeded deploy succeeded]")
	// Approval is requested again once a person retries.
	w.retry("apply", "metrics")
	w.runJobs()
	w.want(w.asked(), "[metrics]")
}

func TestATeardownStaysUntilADeployIsAskedFor(t *testing.T) {
	w := newProvisionedWorld(t)
	down := func(wish rollout.DeployRequest) (rollout.RequestResult, error) {
		wish.Kind = workflow.KindTeardown
		return w.wish(wish)
	}
	_, err := down(rollout.DeployRequest{Components: []string{"network"}})
	w.conflict(err, rollout.CodeNeededBy)
	_, err = down(rollout.DeployRequest{})
	w.conflict(err, rollout.CodeNoComponents)
	_, err = down(rollout.DeployRequest{Components: []string{"sandbox"}})
	w.conflict(err, rollout.CodeSandbox)
	_, err = down(rollout.DeployRequest{Components: []string{"wep"}})
	w.conflict(err, rollout.CodeUnknownComponent)
	w.exec("update installs set approval = 'approve-all', allow_destroy = true")
	granted, err := down(rollout.DeployRequest{Components: []string{"network"}, Dependents: true})
	must(t, err)
	w.want(w.one("select kind || ' ' || reason from workflows where id = $1", granted.Workflow),
		"teardown alice requested the teardown of network, web")
	w.runJobs()
	w.want(w.asked(), "[web]") // a destroy always needs a person, even if the install's rule approves all plans
	w.approveAll()
	w.want(w.done, "[plan web apply web plan network apply network]")
	w.want(w.workflows(), "[provision succeeded teardown succeeded]")
	status, reason := w.component("web")
	w.want(status+": "+reason, "removed: web was torn down by alice")
	w.look()
	w.build("web", "succeeded")
	w.look()
	w.ask("present") // deploys what is behind; what was torn down is not
	w.want(w.workflows(), "[provision succeeded teardown succeeded]")

	w.done = nil
	granted, err = w.wish(rollout.DeployRequest{Kind: workflow.KindDeploy, Components: []string{"web"}})
	must(t, err)
	w.want(granted.Note, "network was torn down, is needed, and is deployed again too")
	w.runJobs()
	w.want(w.done, "[plan network apply network plan web apply web action smoke]")
	status, _ = w.status()
	w.want(status, "current")
}

func TestARedeployPlansWhatIsAsItIsWanted(t *testing.T) {
	w := newProvisionedWorld(t)
	w.ask("present", "network")
	w.want(w.workflows(), "[provision succeeded]")
	granted, err := w.wish(rollout.DeployRequest{Kind: workflow.KindDeploy, Components: []string{"network"},
		Redeploy:   true,
		Dependents: true})
	must(t, err)
	w.want(w.one("select reason || ' (release ' || release || ')' from workflows where id = $1", granted.Workflow),
		"alice requested the redeploy of network, web (release 1)")
	w.runJobs()
	w.want(w.done, "[plan network plan web]")
	w.want(w.one("select outcome from workflows where id = $1", granted.Workflow), "2 without changes")
	w.state["network"] = "drifted"
	_, err = w.wish(rollout.DeployRequest{Kind: workflow.KindDeploy, Components: []string{"network"}, Redeploy: true})
	must(t, err)
	w.runJobs()
	w.want(w.one("select reason from jobs order by created_at desc limit 1"), "redeploy requested by alice")
	w.want(w.asked(), "[network]")
	w.approveAll()
	w.want(w.workflows(), "[provision succeeded deploy succeeded deploy succeeded]")
	status, _ := w.status()
	w.want(status, "current")
	_, err = w.wish(rollout.DeployRequest{Kind: workflow.KindDeploy, Redeploy: true})
	w.conflict(err, rollout.CodeNoComponents)
}

// A plan-only workflow requests no approval, applies nothing, and changes no desired
// state, even after an earlier refusal.
func TestAPlanOnlyWorkflowChangesNothing(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("metrics", "succeeded")
	w.look()
	w.runJobs()
	must(t, w.answer("metrics", workflow.Reject, "not now"))
	held := func() string {
		return w.one(`select string_agg(concat_ws(' ', name, desired_presence, desired_digest, applied_digest, torn_down), ',' order by name) from install_components`) +
			w.one("select desired_presence from installs") + w.one("select count(*)::text from rejections")
	}
	before := held()
	plan := func(wish rollout.DeployRequest) string {
		t.Helper()
		wish.PlanOnly, w.done = true, nil
		granted, err := w.wish(wish)
		must(t, err)
		w.runJobs()
		w.want(w.asked(), "[]")
		w.want(held(), before)
		return w.one("select kind || ' ' || status || ' ' || plan_only || ': ' || outcome from workflows where id = $1",
			granted.Workflow)
	}
	w.want(plan(rollout.DeployRequest{Kind: workflow.KindDeploy}), "deploy succeeded true: planned only: 1 with changes")
	w.want(w.done, "[plan metrics]")
	w.want(w.list("select p.status || ': ' || p.reason from plans p join workflows f on f.id = p.workflow_id where "+
		"f.plan_only"), "[superseded: planned only: it is shown, and never applied]")
	w.want(plan(rollout.DeployRequest{Kind: workflow.KindDeploy, Components: []string{"web"}, Redeploy: true}),
		"deploy succeeded true: planned only: 1 without changes")
	w.want(plan(rollout.DeployRequest{Kind: workflow.KindTeardown, Components: []string{"network"}, Dependents: true}),
		"teardown succeeded true: planned only: 2 with changes")
	w.want(plan(rollout.DeployRequest{Kind: workflow.KindDeprovision}), "deprovision succeeded true: planned only: 4 "+
		"with changes")
	w.want(w.done, "[plan metrics plan network plan sandbox plan web]")
	w.look()
	w.want(w.list("select kind from workflows where not plan_only order by number"), "[provision deploy]")
	w.break_["plan metrics"] = api.JobResultStatusFailed
	w.want(plan(rollout.DeployRequest{Kind: workflow.KindDeploy, Components: []string{"metrics"}}),
		"deploy failed true: planned only: metrics: it was made to fail")
	granted, err := w.wish(rollout.DeployRequest{Kind: workflow.KindDeploy, Components: []string{"web"}, PlanOnly: true})
	must(t, err)
	w.want(granted.Workflow+granted.Note,
		"nothing to do: the install is rejected: metrics: behind, rejected by alice: not now")
}

// A dry run returns exactly what the request then starts, and writes nothing.
func TestASketchIsWhatWouldBeStarted(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("metrics", "succeeded")
	for _, wish := range []rollout.DeployRequest{
		{Kind: workflow.KindDeploy},
		{Kind: workflow.KindTeardown, Components: []string{"network"}, Dependents: true},
		{Kind: workflow.KindDeploy, Components: []string{"web"}},
		{Kind: workflow.KindDeprovision},
	} {
		wish.Actor = "alice"
		var sketch rollout.RequestResult
		rows := w.one("select (select count(*) from workflows) || ' ' || (select count(*) from audit_events) || ' ' || " +
			"(select count(*) from river.river_job)")
		must(t, w.store.ReadTx(w.Context(), w.org, func(ctx context.Context, tx *store.Tx) (err error) {
			install, err := tx.InstallForStatus(ctx, tx.Org, w.install)
			if err == nil {
				sketch, err = w.rollout.DryRun(ctx, tx, install, wish)
			}
			return err
		}))
		w.want(w.one("select (select count(*) from workflows) || ' ' || (select count(*) from audit_events) || ' ' || "+
			"(select count(*) from river.river_job)"), rows)
		granted, err := w.wish(wish)
		must(t, err)
		if len(sketch.DryRun) == 0 {
			w.want(granted.Workflow, "")
			continue
		}
		var would []string
		for _, s := range sketch.DryRun[0].Steps {
			would = append(would, string(s.Kind)+" "+s.Component+s.Action)
		}
		w.want(w.list("select kind || ' ' || component || action from steps where workflow_id = $1 order by position",
			granted.Workflow), would)
		w.approveAll()
	}
	w.want(w.workflows(),
		"[provision succeeded deploy succeeded teardown succeeded deploy succeeded deprovision succeeded]")
}

func TestASwitchRunsItsOwnActions(t *testing.T) {
	w := newWorld(t)
	for i := range w.app.Components {
		w.app.Components[i].Toggleable = w.app.Components[i].Name == "metrics"
	}
	for _, name := range []string{
		appconfig.TriggerPreEnableComponent, appconfig.TriggerPostEnableComponent, appconfig.TriggerPreDisableComponent,
		appconfig.TriggerPostDisableComponent,
		appconfig.TriggerPreDeployComponent, appconfig.TriggerPreTeardownComponent,
	} {
		w.action(name, appconfig.Trigger{Type: name, ComponentName: "metrics"})
	}
	w.version()
	w.provision()
	w.exec(`update installs set toggles = '{"metrics": true}'`)
	w.look()
	w.approveAll()
	w.want(w.done, "[plan metrics action pre-enable-component action pre-deploy-component apply metrics action "+
		"post-enable-component]")
	w.done = nil
	w.exec(`update installs set toggles = '{"metrics": false}'`)
	w.look()
	w.approveAll()
	w.want(w.done, "[plan metrics action pre-disable-component action pre-teardown-component apply metrics action "+
		"post-disable-component]")
	w.want(w.workflows(), "[provision succeeded deploy succeeded teardown succeeded]")
	_, err := w.wish(rollout.DeployRequest{Kind: workflow.KindDeploy, Components: []string{"metrics"}})
	w.conflict(err, rollout.CodeSwitchedOff)
}

// A teardown of a component that a workflow is changing is recorded at once, and
// starts when that workflow has released it.
func TestATeardownWaitsForWhatIsAtWork(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("metrics", "succeeded")
	w.look()
	w.runJobs()
	w.want(w.asked(), "[metrics]")
	_, err := w.wish(rollout.DeployRequest{Kind: workflow.KindTeardown, Components: []string{"metrics"}})
	must(t, err)
	w.runJobs()
	w.want(w.workflows(), "[provision succeeded deploy superseded teardown running]")
	w.approveAll()
	w.want(w.workflows(), "[provision succeeded deploy superseded teardown succeeded]")
}

// The cluster that an apply reports is stored for health jobs, and deleted together
// with what was applied.
func TestTheClusterOfAnApplyIsKept(t *testing.T) {
	w := newProvisionedWorld(t)
	kept := func(component string) string {
		return w.one("select coalesce(applied_cluster->>'identity' || ' ' || (applied_cluster->>'hash'), 'none') from "+
			"install_components where name = $1", component)
	}
	w.want(kept("web"), "sha256:web hmac:web")
	w.want(kept("metrics"), "sha256:metrics hmac:metrics")
	_, err := w.wish(rollout.DeployRequest{Kind: workflow.KindTeardown, Components: []string{"metrics"}})
	must(t, err)
	w.approveAll()
	w.want(kept("metrics"), "none")
	w.want(kept("web"), "sha256:web hmac:web")
}

func TestInputsOfAnActionReachItsSteps(t *testing.T) {
	w := newWorld(t)
	w.action("rotate", appconfig.Trigger{Type: appconfig.TriggerManual},
		appconfig.Trigger{Type: appconfig.TriggerPostDeployAll})
	rotate := &w.app.Actions[len(w.app.Actions)-1]
	rotate.KubeConfig, rotate.Inputs = true, []appconfig.ActionInput{{Name: "count", Type: "number", Required: true}}
	w.version()
	w.exec("update installs set approval = 'approve-all'")
	w.look()
	w.runJobs() // no person passes an input to this run
	w.want(w.workflows(), "[provision failed]")
	w.want(w.one("select reason from steps where action = 'rotate'"),
		"action rotate cannot run: input count is required; give it a default, or run it with `nuon run`")
	run := func(inputs map[string]string) (flow string, err error) {
		err = w.in(func(ctx context.Context, tx *store.Tx) error {
			flow, err = w.rollout.RequestAction(ctx, tx, store.Install{ID: w.install, Name: "acme"},
				rollout.ActionRequest{Action: "rotate", Inputs: inputs, Env: map[string]string{"LOUD": "yes"}, Actor: "alice"})
			return err
		})
		return flow, err
	}
	_, err := run(map[string]string{"count": "2"}) // LOUD is not a declared input
	w.conflict(err, rollout.CodeBadEnv)
	w.exec(`update runners set policy = '{"free_env": true}'`)
	for _, bad := range []map[string]string{nil, {"count": "two"}, {"count": "2", "cuont": "3"}} {
		_, err := run(bad)
		w.conflict(err, rollout.CodeBadInputs)
	}
	_, err = run(map[string]string{"count": "2"})
	must(t, err)
	w.runJobs()
	w.want(w.one("select (spec->'action'->'env')::text || (spec->'action'->'inputs')::text || "+
		"(spec->'action'->'kube_config')::text from jobs where kind = 'action' and spec->'action'->>'action' = 'rotate'"),
		`{"LOUD": "yes"}{"count": "2"}true`)
	w.want(w.workflows(), "[provision failed action succeeded]")
}

// An action before everything that fails stalls all that it blocks: nothing restarts
// automatically, and a retry restarts all of it.
func TestAnActionBeforeEverythingThatFailsStallsAll(t *testing.T) {
	w := newWorld(t)
	w.action("check", appconfig.Trigger{Type: appconfig.TriggerPreProvision},
		appconfig.Trigger{Type: appconfig.TriggerPreDeployAll})
	w.version()
	w.exec("update installs set approval = 'approve-all'")
	w.break_["action check"] = "failed"
	w.look()
	w.runJobs()
	w.look()
	w.want(w.workflows(), "[provision failed]")
	w.want(len(w.list("select id from plans")), 0)
	status, _ := w.status()
	w.want(status, "stalled")
	delete(w.break_, "action check")
	w.retry("action", "check")
	w.runJobs()
	w.want(w.workflows(), "[provision failed provision succeeded]")
	w.build("metrics", "succeeded")
	w.build("web", "succeeded")
	w.break_["action check"] = "failed"
	w.look()
	w.runJobs()
	w.look()
	w.want(w.workflows(), "[provision failed provision succeeded deploy failed]")
	w.want(w.one("select outcome from workflows order by number desc limit 1"),
		"action check: it was made to fail; metrics skipped; web skipped")
	delete(w.break_, "action check")
	w.done = nil
	w.retry("action", "check")
	w.runJobs()
	w.want(w.done, "[action check plan metrics plan web apply metrics apply web action smoke]")
}

// While a runner is busy or offline, a newer desired state arrives between the
// approval and the action before the apply. The action, which has not started, waits
// for the approval of the new plan.
func TestAnActionBeforeAComponentRunsForTheApprovedPlanOnly(t *testing.T) {
	w := newWorld(t)
	w.action("drain", appconfig.Trigger{Type: appconfig.TriggerPreDeployComponent, ComponentName: "metrics"})
	w.version()
	w.provision()
	w.build("metrics", "succeeded")
	w.look()
	w.runJobs()
	must(t, w.answer("metrics", workflow.Approve, "fine"))
	offer, ok := w.offers()["action drain"]
	if !ok {
		t.Fatal("the action is not offered")
	}
	w.build("metrics", "succeeded")
	w.look()
	if _, begun := w.accept(offer); begun {
		t.Error("the action began for a plan that was withdrawn")
	}
	w.runJobs()
	w.want(w.asked(), "[metrics]")
	w.want(w.done, "[plan metrics plan metrics]")
	w.approveAll()
	w.want(w.done, "[plan metrics plan metrics action drain apply metrics]")
	w.want(w.workflows(), "[provision succeeded deploy succeeded]")
}

// A person may redeploy a component that is up to date. Rejecting that plan does not
// reject the component's desired state.
func TestANoToARedeployIsForThatAlone(t *testing.T) {
	w := newProvisionedWorld(t)
	was := w.one("select input_id from components where name = 'metrics'")
	w.state["metrics"] = "drifted"
	_, err := w.wish(rollout.DeployRequest{Kind: workflow.KindDeploy, Components: []string{"metrics"}, Redeploy: true})
	must(t, err)
	w.runJobs()
	must(t, w.answer("metrics", workflow.Reject, "not now"))
	w.build("metrics", "succeeded")
	w.look()
	w.approveAll()
	w.exec("update components set input_id = $1 where name = 'metrics'", was) // the code is reverted
	w.release()
	w.look()
	w.runJobs()
	w.want(w.asked(), "[metrics]")
}

// An action that left the app while a workflow runs no longer blocks anything.
func TestAnActionThatLeftTheAppStopsNothing(t *testing.T) {
	w := newWorld(t)
	w.action("drain", appconfig.Trigger{Type: appconfig.TriggerPreDeployComponent, ComponentName: "metrics"})
	w.version()
	w.look()
	w.runJobs()
	w.app = hello()
	w.version()
	w.look()
	w.approveAll()
	w.want(w.workflows(), "[provision succeeded]")
	w.want(w.list("select status || ': ' || reason from steps where action = 'drain'"),
		"[skipped: release 3 has no action drain]")
	status, _ := w.status()
	w.want(status, "current")
}

// A retry covers what failed, not a component after it that somebody else rejected.
func TestARetryIsNoYesToWhatWasRejected(t *testing.T) {
	for _, still := range []string{"ended", "running"} {
		w := newProvisionedWorld(t)
		w.build("web", "succeeded")
		w.look()
		w.runJobs()
		must(t, w.answer("web", workflow.Reject, "not this month"))
		w.build("network", "succeeded")
		if still == "running" {
			w.build("metrics", "succeeded")
		}
		w.break_["plan network"] = "failed"
		w.look()
		w.runJobs()
		w.want(w.list("select component || ' ' || status from steps where kind = 'apply' and workflow_id = (select id from "+
			"workflows order by number desc limit 1) and component <> 'metrics' order by 1"),
			"[network skipped web skipped]")
		clear(w.break_)
		w.retry("plan", "network")
		w.approveAll()
		status, reason := w.component("web")
		w.want(still+" "+status+": "+reason, still+" rejected: behind, rejected by alice: not this month")
		status, _ = w.component("network")
		w.want(status, "current")
	}
}

// TestAnActionThatItsComponentReads: an action before a deploy runs before the plan if the component's templates
// read its outputs, and after the approval otherwise. If it fails, nothing is planned.
func TestAnActionThatItsComponentReads(t *testing.T) {
	w := newWorld(t)
	before := appconfig.Trigger{Type: appconfig.TriggerPreDeployComponent, ComponentName: "web"}
	w.action("discover", before)
	w.action("drain", before)
	i := slices.IndexFunc(w.app.Components, func(c appconfig.Component) bool { return c.Name == "web" })
	w.app.Components[i].Terraform.Vars["tailnet"] = "{{.nuon.actions.workflows.discover.outputs.answer}}"
	w.version()
	w.exec("update installs set approval = 'approve-all'")
	w.break_["action discover"] = "failed"
	w.look()
	w.runJobs()
	w.look()
	w.want(w.done, "[plan sandbox apply sandbox plan metrics plan network apply metrics apply network]")
	_, reason := w.component("web")
	w.want(reason, "behind, stalled: action discover (pre-deploy-component) did not succeed: it was made to fail")

	w.done = nil
	delete(w.break_, "action discover")
	w.retry("action", "discover")
	w.runJobs()
	w.want(w.done, "[action discover plan web action drain apply web action smoke]")
	if !strings.Contains(w.state["web"], "42") {
		t.Errorf("web does not have the output of the action: %s", w.state["web"])
	}
}
