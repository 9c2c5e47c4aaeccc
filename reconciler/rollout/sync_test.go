package rollout_test

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// offers returns the runner's current offers, by "kind component", after all
// requested artifacts were copied; few tests are about syncs.
func (w *world) offers() map[string]api.Offer {
	w.Helper()
	all := map[string]api.Offer{}
	for {
		synced := false
		for name, o := range w.leased() {
			if o.Kind != "sync" {
				all[name] = o
				continue
			}
			synced = true
			w.runJob(name, o)
		}
		if !synced {
			return all
		}
		w.queue()
	}
}

// copy copies an artifact from the vendor's registry to the install's registry.
func (w *world) copy(spec api.SyncSpec) api.JobResult {
	w.Helper()
	if !strings.HasPrefix(spec.From.Repository, w.org+"/builds/") ||
		!strings.HasPrefix(spec.To, w.org+"/installs/"+w.install+"/artifacts/") {
		w.Fatalf("a sync from %s to %s", spec.From.Repository, spec.To)
	}
	return api.JobResult{Status: "succeeded"}
}

// checkCopied fails the test unless the artifact to deploy is in the install's own
// registry; runners may read no other.
func (w *world) checkCopied(deploy api.DeploySpec) {
	w.Helper()
	copies := w.one(
		`select count(*)::text from jobs where kind = 'sync' and status = 'succeeded' and spec->'sync'->>'to' = $1 and spec->'sync'->'from'->>'digest' = $2
		or kind = 'plan' and spec->'plan'->'deploy'->'artifact'->>'repository' = $1 and spec->'plan'->'from'->>'digest' = $2`,
		deploy.Artifact.Repository, deploy.Artifact.Digest)
	if copies == "0" {
		w.Fatalf("%s is planned or applied with %+v, which nobody copied", deploy.Component, deploy.Artifact)
	}
}

func TestASyncThatFailsStallsItsComponent(t *testing.T) {
	w := newWorld(t)
	w.look()
	w.break_["sync sandbox"] = api.JobResultStatusFailed
	if offers := w.offers(); len(offers) != 0 {
		t.Errorf("offered %v", offers)
	}
	steps := w.list(
		"select kind || ' ' || status || ': ' || reason from steps where component = 'sandbox' order by position")
	want := []string{"sync failed: it was made to fail", "plan skipped: it was made to fail",
		"approve skipped: it was made to fail", "apply skipped: it was made to fail"}
	if strings.Join(steps, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", strings.Join(steps, "\n"))
	}
	if rejections := w.list("select kind || ': ' || reason from rejections"); len(rejections) != 1 ||
		rejections[0] != "stalled: it was made to fail" {
		t.Errorf("remembered: %v", rejections)
	}
	delete(w.break_, "sync sandbox")
	w.look()
	if offers := w.offers(); len(offers) != 0 {
		t.Errorf("it is tried again by itself: %v", offers)
	}
	w.ask("present", "sandbox")
	w.queue()
	if _, planned := w.offers()["plan sandbox"]; !planned {
		t.Error("it is not planned after a person asked for it")
		w.dump()
	}
}

// TestWhatIsSmallOrThereNeedsNoSync: the plan copies a small artifact, and one that
// was applied before is not copied; only a large new one gets a job before the plan.
func TestWhatIsSmallOrThereNeedsNoSync(t *testing.T) {
	w := newProvisionedWorld(t)
	syncs := func() string {
		return w.one("select count(*)::text from jobs where kind = 'sync' and spec->'sync'->>'component' = 'web'")
	}
	before := syncs()
	step := func(want string) {
		t.Helper()
		w.want(w.one(`select status || ': ' || reason || ' ' || (job_id is null)::text || ' ' || tries from steps where component = 'web' and kind = 'sync'
			order by started_at desc limit 1`), want)
	}
	const noJob = "succeeded: skipped: the plan copies what is missing true 1"

	w.input("greeting", "salut") // the artifact is the one that was applied
	w.look()
	w.runJobs()
	w.want(w.asked(), "[web]")
	step(noJob)
	w.want(syncs(), before)
	w.approveAll()

	for _, test := range []struct {
		bytes int
		step  string
		job   bool
	}{{2048, noJob, false}, {64 << 20, "succeeded: its artifact is in the install's registry false 1", true}} {
		before = syncs()
		w.build("web", "succeeded")
		w.exec("update builds set artifact_bytes = $1 where component_id = 'cmp_web'", test.bytes)
		w.look()
		w.runJobs()
		w.want(w.asked(), "[web]")
		step(test.step)
		if got := syncs() != before; got != test.job {
			t.Errorf("%d bytes: a sync job: %v", test.bytes, got)
		}
		from := w.one("select coalesce(spec->'plan'->'from'->>'digest', '') from jobs where kind = 'plan' order by " +
			"created_at desc limit 1")
		if (from == "") != test.job {
			t.Errorf("%d bytes: the plan is to copy %q", test.bytes, from)
		}
		w.approveAll()
	}
}

// TestARunnerThatTakesNoSyncsGetsOneThatWaits: while the runner's owner does not
// allow syncs, a sync job waits. A plan that copies would fail and stall.
func TestARunnerThatTakesNoSyncsGetsOneThatWaits(t *testing.T) {
	t.Parallel()
	w := newProvisionedWorld(t)
	w.look()
	w.exec("update runners set policy = '{\"jobs\": [\"plan\", \"apply\"]}'")
	const open = "select kind || ' ' || status || ' ' || (spec->'plan'->'from'->>'digest' is not null) from jobs where " +
		"ended_at is null"
	w.input("greeting", "salut") // for an artifact that was applied
	w.build("metrics", "succeeded")
	w.exec("update builds set artifact_bytes = 1000")
	w.look()
	w.want(w.list(open), "[sync queued false sync queued false]")
	w.exec("update runners set policy = '{}'")
	w.runJobs()
	w.want(w.asked(), "[metrics web]")
}
