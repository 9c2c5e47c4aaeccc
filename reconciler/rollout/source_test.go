package rollout_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// newestAction returns the spec of the newest job of an action, and the record of its step.
func (w *world) newestAction() (spec api.JobSpec, ran []api.StepSource) {
	w.Helper()
	newest := w.one("select spec::text from jobs where kind = 'action' order by id desc limit 1")
	must(w, json.Unmarshal([]byte(newest), &spec))
	ran, err := workflow.StepSources(json.RawMessage(w.one(`select coalesce(s.target::text, '') from steps s
		join jobs j on j.id = s.job_id where j.kind = 'action' order by j.id desc limit 1`)))
	must(w, err)
	return spec, ran
}

// sourceArtifact returns the digest of the newest build of the source of actions.
func (w *world) sourceArtifact() string {
	return w.one(`select artifact_digest from builds where component_id = 'cmp_actions:scripts'
		order by number desc limit 1`)
}

// TestCodeOfRepositoriesIsApproved: an action that runs code of a repository gets the release's artifact of it,
// which is part of what an approver approves; an install that is pinned runs the code of its release.
func TestCodeOfRepositoriesIsApproved(t *testing.T) {
	w := newProvisionedWorld(t)
	w.strict = true
	w.app.Actions[0].Triggers = []appconfig.Trigger{{Type: "manual"}}
	w.app.Actions[0].Steps = []appconfig.ActionStep{{Name: "sign in/out", Command: "./check.sh",
		Source: &appconfig.Source{Repo: ".", Directory: "scripts"}}}
	w.version()
	w.addComponent("actions:scripts")
	w.exec(`update component_inputs set recipe = '{"scripts": {"scripts/check.sh": "curl one.example", "scripts/a.txt": "a"}}'
		where component_id = 'cmp_actions:scripts'`)
	w.look()
	status, _ := w.status()
	w.want(status, "current")
	w.want(w.list("select name from install_components order by 1"), "[metrics network sandbox web]")
	w.done = nil
	w.runSmoke("oscar")
	w.want(w.scripts("waiting"), "smoke")
	first := w.sourceArtifact()
	report := w.one("select report::text from approvals where status = 'waiting'")
	for _, shown := range []string{first, "./check.sh", "scripts/check.sh", "curl one.example"} {
		if !strings.Contains(report, shown) {
			t.Errorf("the approval does not show %s: %s", shown, report)
		}
	}
	w.sayScripts(workflow.Approve, "")
	w.runJobs()
	w.want(w.done, "[action smoke]")
	spec, ran := w.newestAction()
	want := api.ActionSource{Name: "actions:scripts", Commit: "c", Directory: "scripts",
		From: api.ArtifactRef{Repository: w.org + "/builds/cmp_actions:scripts", Digest: first},
		Artifact: api.ArtifactRef{Repository: w.org + "/installs/" + w.install + "/artifacts/cmp_actions:scripts",
			Digest: first}}
	if diff := cmp.Diff(want, spec.Action.Steps[0].Source); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]api.StepSource{{Step: "sign in/out", Name: "actions:scripts", Commit: "c", Artifact: first}},
		ran); diff != "" {
		t.Error(diff)
	}
	release := w.one("select max(number)::text from releases")

	// Changed code was not seen; it is shown as a difference, and deploys nothing.
	w.build("actions:scripts", "succeeded")
	w.exec(`update component_inputs set recipe = '{"scripts": {"scripts/check.sh": "curl two.example", "scripts/a.txt": "a"}}'
		where component_id = 'cmp_actions:scripts' and recipe = '{}'`)
	w.done = nil
	w.look()
	w.want(w.runJobs(), "[]")
	w.runSmoke("oscar")
	w.want(w.scripts("waiting"), "smoke")
	second := w.sourceArtifact()
	report = w.one("select report::text from approvals where status = 'waiting'")
	for _, shown := range []string{first, second, "curl one.example", "curl two.example"} {
		if !strings.Contains(report, shown) {
			t.Errorf("the approval does not show %s: %s", shown, report)
		}
	}
	if strings.Contains(report, "scripts/a.txt") {
		t.Errorf("the approval shows a file that did not change: %s", report)
	}
	w.sayScripts(workflow.Approve, "")
	w.runJobs()
	w.want(w.done, "[action smoke]")
	if _, ran := w.newestAction(); ran[0].Artifact != second {
		t.Errorf("ran %s", ran[0].Artifact)
	}

	// A pinned install runs the code of its release, which was approved.
	number := 0
	must(t, json.Unmarshal([]byte(release), &number))
	must(t, w.pin(number))
	w.done = nil
	w.runSmoke("oscar")
	w.runJobs()
	w.want(w.done, "[action smoke]")
	if _, ran := w.newestAction(); ran[0].Artifact != first {
		t.Errorf("ran %s", ran[0].Artifact)
	}

	// A release from which the source is missing, as a partial one may be, runs nothing.
	w.exec("delete from release_components where component_id = 'cmp_actions:scripts'")
	w.runSmoke("oscar")
	w.sayScripts(workflow.Approve, "")
	w.runJobs()
	w.want(w.done, "[action smoke]")
	w.want(w.list("select status || ': ' || reason from steps where action = 'smoke' order by id desc limit 1"),
		"[failed: release "+release+" has no build of source actions:scripts, which step sign in/out runs; sync the app, "+
			"and fix what cannot be built]")
}
