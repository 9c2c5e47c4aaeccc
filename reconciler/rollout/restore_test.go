package rollout_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// putState adds a state version to a component, with its digest as content.
func (w *world) putState(component, digest, status string) {
	w.Helper()
	w.exec(`insert into states (org_id, install_component_id, version, serial, lineage, digest, sealed, job_id, attempt, status, reason)
		select $1, ic.id, (select count(*) + 1 from states s where s.install_component_id = ic.id), 1, 'l', $3, '{}', 'job_1', 1, $4,
		       case when $4 = 'contested' then 'attempt 1 of job_1 wrote it after attempt 2' else '' end
		from install_components ic where ic.name = $2`, w.org, component, digest, status)
}

// planRestore compares a version with the newest one, as the runner does with the opened states.
func (w *world) planRestore(spec api.PlanSpec) api.JobResult {
	report := &diff.Report{Kind: diff.KindTerraform, Applyable: w.state[spec.Deploy.Component] != spec.Restore.Digest}
	if report.Applyable {
		report.Changes = []diff.Change{{Address: "terraform_data.it", ResourceKind: "terraform_data", Name: "it",
			Action: diff.Update, Risk: diff.Update.Risk()}}
	}
	report.Totals = report.Count()
	raw, err := json.Marshal(report)
	must(w, err)
	return api.JobResult{Status: "succeeded", Plan: api.PlanResult{
		Applyable: report.Applyable, Report: raw, ReportDigest: report.Digest(),
		Bundle: api.ArtifactRef{Repository: spec.Deploy.Repository, Digest: sha256digest.Of(raw)},
		Basis:  api.Basis{DesiredDigest: spec.DesiredDigest, StateSerial: 1, StateLineage: "l"},
	}}
}

// dismiss is a person who declares a contested version not needed.
func (w *world) dismiss(component string, version int) error {
	w.Helper()
	err := w.in(func(ctx context.Context, tx *store.Tx) error {
		return w.rollout.Dismiss(ctx, tx, store.Install{ID: w.install, Name: "acme"}, component, version, "not needed",
			"alice")
	})
	w.queue()
	return err
}

func (w *world) askRestore(component string, version int) error {
	w.Helper()
	err := w.in(func(ctx context.Context, tx *store.Tx) error {
		_, err := w.rollout.RequestRestore(ctx, tx, store.Install{ID: w.install, Name: "acme"}, component, version,
			"the other one is right", "alice")
		return err
	})
	w.queue()
	return err
}

const contestedWords = "state version 2 of network is contested: attempt 1 of job_1 wrote it after attempt 2; see it " +
	"(nuon state show hello/acme network 2), then restore it (nuon state restore hello/acme network 2 --reason …) or " +
	"dismiss it (nuon state dismiss hello/acme network 2 --reason …)"

func TestAContestedVersionStopsItsComponentUntilAPersonDismissesIt(t *testing.T) {
	w := newProvisionedWorld(t)
	w.exec("update installs set approval = 'approve-all', allow_destroy = true")
	w.putState("network", "first", "kept")
	w.putState("network", "other", "contested")
	w.build("network", "succeeded")
	w.build("web", "succeeded")
	w.build("metrics", "succeeded")
	w.look()
	w.want(strings.Join(w.runJobs(), "; "), "plan metrics; apply metrics") // independent of network
	status, reason := w.component("network")
	w.want(status+": "+reason, "stalled: "+contestedWords)
	status, reason = w.component("web")
	w.want(status+": "+reason, "waiting: waits: network, which has a contested state version")
	status, reason = w.status()
	w.want(status+": "+reason, "stalled: network: "+contestedWords)
	w.exec("update installs set approval = 'prompt'")
	must(t, w.dismiss("network", 2))
	w.approveAll()
	status, _ = w.status()
	w.want(status, "current")
	// A contested version of a component that is current also leads to a plan before
	// it counts as current again.
	w.putState("metrics", "late", "contested")
	w.look()
	must(t, w.dismiss("metrics", 1))
	w.want(w.runJobs(), "[plan metrics]")
	status, _ = w.status()
	w.want(status, "current")
}

func TestAContestedVersionWithdrawsWhatWaitsAndEndsWhatRuns(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("network", "succeeded")
	w.build("metrics", "succeeded")
	w.look()
	w.runJobs()
	must(t, w.answer("metrics", workflow.Approve, ""))
	offer := w.offers()["apply metrics"] // the runner has it, and is slow to accept
	w.putState("network", "other", "contested")
	w.putState("metrics", "other", "contested")
	if _, ok := w.accept(offer); ok {
		t.Fatal("an apply was accepted of a component with a contested state")
	}
	w.look()
	w.want(w.asked(), "[]")
	w.want(w.workflows(), "[provision succeeded deploy superseded]")
	w.want(w.list("select component || ' ' || p.status from plans p join workflows w on w.id = p.workflow_id where "+
		"w.kind = 'deploy' order by component"),
		"[metrics superseded network superseded]")
	gone := false
	w.exec("update install_components set applied_artifact = ''")
	must(t, w.in(func(ctx context.Context, tx *store.Tx) (err error) {
		gone, err = rollout.FullyRemoved(ctx, tx, w.install)
		return err
	}))
	w.want(gone, false)
}

func TestAVersionIsRestoredByAPlanThatAPersonApproves(t *testing.T) {
	w := newProvisionedWorld(t)
	w.exec("update installs set approval = 'approve-all', allow_destroy = true")
	w.putState("network", "first", "kept")
	w.putState("network", "other", "contested")
	must(t, w.askRestore("network", 2))
	w.want(w.runJobs(), "[plan network]")
	w.want(w.asked(), "[network]") // even if the install's rule approves all plans
	status, reason := w.component("network")
	w.want(status+": "+reason, "behind: a plan to restore a version of its state waits for approval")
	digest := w.one("select applied_digest from install_components where name = 'network'")
	values := w.one("select applied_values::text from install_components where name = 'network'")
	must(t, w.answer("network", workflow.Approve, ""))
	w.runJob("apply network", w.offers()["apply network"])
	w.want(w.state["network"], "other")
	w.want(w.one("select applied_digest || applied_values::text from install_components where name = 'network'"), values)
	w.want(len(w.list("select name from outputs where owner = 'network'")), 2)
	// What follows from the restore is planned, like any state that is not known.
	w.want(strings.Join(w.runJobs(), "; "), "plan network; apply network")
	w.want(w.workflows(), "[provision succeeded restore succeeded deploy succeeded]")
	w.want(w.one("select outcome from workflows where kind = 'restore'"), "1 restored")
	w.want(w.one("select applied_digest from install_components where name = 'network'"), digest)
	w.want(w.one("select reason from workflows where kind = 'restore'"),
		"alice requested the restore of version 2 of the state of network: the other one is right")
	w.want(w.list("select w.kind from plans p join workflows w on w.id = p.workflow_id where p.group_digest = ''"),
		"[restore]") // no group
}

// A plan without changes proves only the state that it read.
func TestAnEmptyPlanThatAStateOvertookProvesNothing(t *testing.T) {
	w := newProvisionedWorld(t)
	w.app.Components[0].EnvVars = map[string]string{"A": "b"} // no difference that Terraform would see
	w.version()
	w.look()
	offer := w.offers()["plan metrics"]
	spec, ok := w.accept(offer)
	if !ok {
		t.Fatal("not accepted")
	}
	result := w.work(spec)
	w.putState("metrics", "late", "kept")
	must(t, w.jobs.Result(t.Context(), w.caller, api.AttemptRef{Job: offer.Job, Attempt: offer.Attempt}, result))
	w.queue()
	w.want(w.one("select reason from steps s where kind = 'plan' and component = 'metrics' and status = 'running'"),
		"config changed in release 2")
	w.want(w.one("select tries::text from steps s where kind = 'plan' and component = 'metrics' and status = 'running'"),
		"2")
	status, _ := w.component("metrics")
	w.want(status, "behind")
	w.want(w.runJobs(), "[plan metrics]")
	status, _ = w.component("metrics")
	w.want(status, "current")
}

func TestARestoreThatDoesNotEndWellLeavesNothingUnsaid(t *testing.T) {
	for how, want := range map[api.JobResultStatus]struct{ workflows, asked, applied string }{
		api.JobResultStatusStale: {"[provision succeeded restore running]", "[network]", "known"},
		api.JobResultStatusLost:  {"[provision succeeded restore running]", "[network]", "unknown"},
		// The applied state is unknown after it, so it is planned; here the plan finds no changes.
		api.JobResultStatusFailed: {"[provision succeeded restore failed deploy succeeded]", "[]", "known"},
	} {
		t.Run(string(how), func(t *testing.T) {
			w := newProvisionedWorld(t)
			w.putState("network", "first", "kept")
			w.putState("network", "second", "kept")
			must(t, w.askRestore("network", 1))
			w.runJobs()
			w.break_["apply network"] = how
			must(t, w.answer("network", workflow.Approve, ""))
			w.runJobs()
			w.want(w.workflows(), want.workflows)
			w.want(w.asked(), want.asked)
			w.want(w.one("select case applied_digest when '' then 'unknown' else 'known' end from install_components where "+
				"name = 'network'"), want.applied)
		})
	}
}

func TestARejectedRestoreStaysRejectedAndMayBeAskedForAgain(t *testing.T) {
	w := newProvisionedWorld(t)
	w.putState("network", "other", "contested")
	for range 2 {
		must(t, w.askRestore("network", 1))
		w.runJobs()
		must(t, w.answer("network", workflow.Reject, "no"))
		w.look()
		w.want(w.asked(), "[]")
		status, _ := w.component("network")
		w.want(status, "stalled")
	}
	w.want(w.workflows(), "[provision succeeded restore rejected restore rejected]")
	// A version that equals the applied state requires no approval.
	w.exec("update states set digest = $1", w.state["network"])
	must(t, w.askRestore("network", 1))
	w.want(w.runJobs(), "[plan network]")
	w.want(w.workflows(), "[provision succeeded restore rejected restore rejected restore succeeded]")
	w.want(w.list("select name from install_components where name = 'network' and applied_digest = ''"), "[]")
}

func TestWhatCannotBeRestoredIsRefusedInWords(t *testing.T) {
	w := newProvisionedWorld(t)
	w.putState("network", "first", "kept")
	w.putState("network", "second", "kept")
	w.putState("metrics", "gone", "kept")
	w.putState("metrics", "newer", "kept")
	w.exec("update install_components set applied_artifact = '', applied_digest = '' where name = 'metrics'")
	w.exec("delete from release_components where component_id = 'cmp_metrics'")
	for _, c := range []struct {
		component string
		version   int
		code      string
	}{
		{"netwrk", 1, rollout.CodeUnknownComponent}, {"network", 3, rollout.CodeUnknownVersion},
		{"network", 1 << 40, rollout.CodeUnknownVersion},
		{"network", -1, rollout.CodeUnknownVersion}, {"network", 2, rollout.CodeNewestVersion},
		{"metrics", 1, rollout.CodeNotRestorable},
		{"network", 1, ""}, {"network", 1, workflow.CodeBusy},
	} {
		err := w.askRestore(c.component, c.version)
		var conflict *refusal.Error
		if errors.As(err, &conflict); (c.code == "") != (err == nil) || c.code != "" &&
			(conflict == nil || conflict.Code != c.code || conflict.Remedy == "") {
			t.Errorf("version %d of %s: %v, want %q", c.version, c.component, err, c.code)
		}
	}
}

// Data that cannot be decoded does not become readable by a retry: the component
// stalls with a reason, and everything else continues.
func TestWhatCannotBeReadStallsOnce(t *testing.T) {
	for name, c := range map[string]struct{ spoil, component, words string }{
		"what was applied": {"update install_components set applied_config = '[1]' where name = 'web'", "web",
			"waiting: waits: the applied state of web cannot be read: "},
		"a sealed output": {"update outputs set sealed = '[1]' where name = 'join_token'", "web",
			"waiting: waits: output join_token of network is sealed to a key that the runner does not have"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newProvisionedWorld(t)
			w.exec(c.spoil)
			w.build("web", "succeeded")
			w.build("metrics", "succeeded")
			w.look()
			w.approveAll()
			status, reason := w.component(c.component)
			if got := status + ": " + reason; !strings.HasPrefix(got, c.words) {
				t.Errorf("got %s, want %s…", got, c.words)
			}
			status, _ = w.component("metrics")
			w.want(status, "current")
		})
	}
}

func TestAnApprovedPlanThatCannotBeReadStalls(t *testing.T) {
	for name, spoilAt := range map[string]string{"before its job is made": "approved",
		"before its job is accepted": "offered"} {
		t.Run(name, func(t *testing.T) {
			w := newProvisionedWorld(t)
			w.build("metrics", "succeeded")
			w.look()
			w.runJobs()
			spoil := func() { w.exec("update plans set target = '[1]' where status in ('ready', 'approved')") }
			if spoilAt == "approved" {
				spoil()
				must(t, w.answer("metrics", workflow.Approve, ""))
				w.runJobs()
				w.want(w.workflows(), "[provision succeeded deploy failed]")
				status, reason := w.component("metrics")
				if status != "stalled" || !strings.Contains(reason, "the approved plan cannot be read") ||
					!strings.Contains(reason, "request a new plan") {
					t.Errorf("metrics is %s: %s", status, reason)
				}
				w.ask("present", "metrics")
			} else {
				must(t, w.answer("metrics", workflow.Approve, ""))
				offer := w.offers()["apply metrics"]
				spoil()
				if _, ok := w.accept(offer); ok {
					t.Fatal("an unreadable plan was accepted")
				}
				w.queue()
			}
			w.approveAll()
			status, _ := w.component("metrics")
			w.want(status, "current")
		})
	}
}
