package jobs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

func TestAWaitingJobSaysWhy(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	lately, longAgo := now.Add(-timing.Lease/2), now.Add(-time.Hour)
	here := store.Runner{
		Name: "berlin", KeyHash: []byte{1}, RegisteredAt: &longAgo, LastSeen: &lately, Policy: []byte(`{}`),
	}
	with := func(policy string) store.Runner {
		runner := here
		runner.Policy = []byte(policy)
		return runner
	}
	gone, unregistered, replaced := here, here, here
	gone.LastSeen, unregistered.KeyHash, unregistered.RegisteredAt, replaced.KeyHash = &longAgo, nil, nil, nil
	strict, kinds := with(`{"jobs":["plan"],"reason":"outside its window"}`), with(`{"components":["helm_chart"]}`)
	for name, test := range map[string]struct {
		job    store.Job
		runner store.Runner
		want   string
	}{
		"no runner": {store.Job{Status: "queued", Kind: "apply"}, unregistered,
			"runner berlin has not registered yet; start it with its registration token, or make another with " +
				"`nuon runners register berlin`"},
		"runner replaced": {store.Job{Status: "queued", Kind: "apply"}, replaced,
			"runner berlin was replaced, and the new machine has not registered yet; start it with its registration token, or " +
				"make another with `nuon runners register berlin`"},
		"runner off": {store.Job{Status: "queued", Kind: "apply"}, gone, "runner berlin was last seen at 2026-03-01 " +
			"11:00:00 UTC; start it again, or if its machine is permanently gone, `nuon runners replace berlin`"},
		"switched off": {
			store.Job{Status: "queued", Kind: "plan"}, with(`{"off":true,"reason":"enabled = false"}`),
			"runner berlin takes no jobs now (enabled = false); the runner's owner sets this in its runner file",
		},
		"forbidden": {store.Job{Status: "queued", Kind: "apply"}, strict, "runner berlin does not take jobs of kind apply " +
			"now (outside its window); the runner's owner can allow them in its runner file"},
		"forbidden kind": {
			store.Job{Status: "queued", Kind: "plan", ComponentKind: "sandbox"}, kinds,
			"runner berlin does not take components of kind sandbox; the runner's owner can allow them in its runner file",
		},
		"allowed kind": {
			store.Job{Status: "queued", Kind: "plan", ComponentKind: "helm_chart"}, kinds,
			"runner berlin accepts it as soon as it has capacity",
		},
		"a role without a grant": {
			store.Job{Status: "queued", Kind: "action", Role: "ins-repair", BreakGlass: "ins-repair"},
			with(`{"roles":{"granted":[{"role":"ins-*","until":"2026-03-01T11:59:59Z"}]}}`),
			"it needs the role ins-repair, which the owner of runner berlin has not granted; the owner can, on the runner's " +
				"machine: runnerd grants add ins-repair --for 2h",
		},
		"a role with a grant": {
			store.Job{Status: "queued", Kind: "action", Role: "ins-repair", BreakGlass: "ins-repair"},
			with(`{"roles":{"granted":[{"role":"ins-*","until":"2026-03-01T12:00:01Z"}]}}`),
			"runner berlin accepts it as soon as it has capacity, while the break-glass role ins-repair is requested (nuon " +
				"break-glass list)",
		},
		"no kind": {
			store.Job{Status: "queued", Kind: "action"}, kinds, "runner berlin accepts it as soon as it has capacity",
		},
		"allowed": {
			store.Job{Status: "queued", Kind: "plan"}, strict, "runner berlin accepts it as soon as it has capacity",
		},
		"offered before": {store.Job{Status: "queued", Kind: "plan", Waits: "offered again"}, here, "offered again"},
		"offered":        {store.Job{Status: "offered"}, here, "offered to runner berlin, which has not accepted it yet"},
		"runs":           {store.Job{Status: "running"}, here, ""},
		"silent":         {store.Job{Status: "running", Waits: "lost contact"}, here, "lost contact"},
		"ended":          {store.Job{Status: "failed", Waits: "old words"}, gone, ""},
		"an odd policy": {
			store.Job{Status: "queued", Kind: "plan"}, with(`{"jobs":"none"}`),
			"runner berlin accepts it as soon as it has capacity",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := jobs.Waits(test.job, test.runner, now); got != test.want {
				t.Errorf("waits because %q, want %q", got, test.want)
			}
		})
	}
}

func TestWhatARunnerAllowsIsKnownFromItsPolls(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	jobID := w.Job(t, runner, "apply", "")
	jobs, kinds := []string{"plan", "build", "magic"}, []string{"helm_chart\x1b[31m"}
	_, err := w.Jobs.Lease(t.Context(), runner.Caller,
		api.LeaseRequest{Free: 1, WaitSeconds: -1, Version: "9\x00\x1b[31m" + strings.Repeat("9", 200),
			Policy: api.RunnerPolicy{
				Jobs: &jobs, Components: &kinds,
				Reason: "outside\nits window" + strings.Repeat(".", 1000), Window: "at night",
				Limits: api.RunnerLimits{Capacity: -3, TimeoutSeconds: 60}, Pods: true, Install: "in\x07l_1",
				Debug: api.DebugPolicy{Shells: slices.Repeat([]string{"w\x1beb"}, 5000), Images: []string{"busy\nbox"}},
			}}, nil)
	must(t, err)
	job, err := w.Jobs.Job(t.Context(), w.Org.ID, jobID)
	must(t, err)
	if !strings.Contains(job.Waits, "does not take jobs of kind apply now (outsideits window") {
		t.Errorf("waits: %q", job.Waits)
	}
	if version := w.Text(t, "select version from runners where id = $1", runner.Runner); len(version) != 64 ||
		strings.Contains(version, "\x1b") {
		t.Errorf("kept version %q", version)
	}
	var kept api.RunnerPolicy
	must(t, json.Unmarshal([]byte(w.Text(t, "select policy::text from runners where id = $1", runner.Runner)), &kept))
	if len(kept.Reason) > 400 {
		t.Errorf("kept a reason of %d bytes", len(kept.Reason))
	}
	kept.Reason = ""
	want := api.RunnerPolicy{
		Jobs: &[]string{"build", "plan"}, Components: &[]string{"helm_chart[31m"}, Window: "at night",
		Limits: api.RunnerLimits{TimeoutSeconds: 60}, Pods: true, Install: "inl_1",
		Debug: api.DebugPolicy{Shells: slices.Repeat([]string{"web"}, 32), Images: []string{"busybox"}},
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

// A job that the runner's own file forbids is not even offered to it.
func TestNothingIsOfferedThatTheRunnerFileForbids(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	for _, kind := range []string{"sandbox", "terraform_module"} {
		w.Enqueue(t, runner, jobs.NewJob{Kind: "plan", ComponentKind: kind})
	}
	w.Job(t, runner, "action", "")
	offered := func(policy api.RunnerPolicy) (got []string) {
		t.Helper()
		offers, err := w.Jobs.Lease(t.Context(), runner.Caller,
			api.LeaseRequest{Free: 9, WaitSeconds: -1, Policy: policy}, nil)
		must(t, err)
		for _, offer := range offers.Offers {
			got = append(got, offer.Kind+" "+offer.ComponentKind)
		}
		return got
	}
	modules := []string{"terraform_module"}
	for _, step := range []struct {
		name   string
		policy api.RunnerPolicy
		want   []string
	}{
		{"off", api.RunnerPolicy{Off: true}, nil},
		{"no kind of job", allows(), nil},
		{"applies only", allows("apply"), nil},
		// An action has no component kind.
		{"modules only", api.RunnerPolicy{Components: &modules}, []string{"plan terraform_module", "action "}},
		{"all", api.RunnerPolicy{}, []string{"plan sandbox"}},
	} {
		if diff := cmp.Diff(step.want, offered(step.policy)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// TestAJobWaitsForAGrant checks that a job under a break-glass role is offered only while the role is requested and
// granted, and a job under a role of the owner's list only while that is granted.
func TestAJobWaitsForAGrant(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	install := w.InstallOf(t, w.Component(t, runner))
	enqueue := func(kind, name string) {
		w.Enqueue(t, runner, jobs.NewJob{Kind: "action", InstallID: install, Reason: name, Spec: api.JobSpec{
			Kind: api.JobSpecKindAction, Role: api.OperationRole{Cloud: "aws", Name: name, Key: "key", Kind: kind}}})
	}
	offered := func(roles api.RunnerRoles) (many int) {
		t.Helper()
		offers, err := w.Jobs.Lease(t.Context(), runner.Caller,
			api.LeaseRequest{Free: 9, WaitSeconds: -1, Policy: api.RunnerPolicy{Roles: roles}}, nil)
		must(t, err)
		return len(offers.Offers)
	}
	grant := func(role string, lasts time.Duration) []api.RunnerGrant {
		return []api.RunnerGrant{{Role: role, Until: time.Now().Add(lasts)}}
	}
	enqueue("break_glass", "vendor/ins_1-repair")
	if many := offered(api.RunnerRoles{Granted: grant("ins_1-repair", time.Hour)}); many != 0 {
		t.Errorf("%d jobs without a request", many)
	}
	w.Exec(t, `insert into break_glass_requests (org_id, id, install_id, role, reason, requested_by, until)
		values ($1, 'bgl_1', $2, 'key', 'r', 'vera', now() + interval '1 hour')`, w.Org.ID, install)
	for name, roles := range map[string]api.RunnerRoles{
		"without a grant": {}, "with the grant of another role": {Granted: grant("insx1-repair", time.Hour)},
		"after the grant": {Granted: grant("ins_1-*", -time.Second)},
	} {
		if many := offered(roles); many != 0 {
			t.Errorf("%d jobs %s", many, name)
		}
	}
	w.Exec(t, "update break_glass_requests set until = now()")
	if many := offered(api.RunnerRoles{Granted: grant("ins_1-*", time.Hour)}); many != 0 {
		t.Errorf("%d jobs after the request", many)
	}
	w.Exec(t, "update break_glass_requests set until = now() + interval '1 hour'")
	if many := offered(api.RunnerRoles{Granted: grant("ins_1-*", time.Hour)}); many != 1 {
		t.Errorf("%d jobs with a request and a grant", many)
	}
	enqueue("custom", "ins_1-deploy")
	if many := offered(api.RunnerRoles{BreakGlass: []string{"*-deploy"}}); many != 0 {
		t.Errorf("%d jobs under a role of the owner's list", many)
	}
	if many := offered(api.RunnerRoles{BreakGlass: []string{"*_deploy"}}); many != 1 {
		t.Errorf("%d jobs under a role that is not in the owner's list", many)
	}
}

// A plan that copies its artifact waits where the runner's file allows no syncs, and the API shows
// why: such a plan would fail if it were started.
func TestAPlanThatCopiesWaitsForSyncs(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	copies := w.Enqueue(t, runner, jobs.NewJob{
		Kind: "plan", ComponentKind: "terraform_module",
		Spec: api.JobSpec{
			Kind: api.JobSpecKindPlan, Plan: api.PlanSpec{From: api.ArtifactRef{Repository: "r", Digest: "sha256:a"}},
		},
	})
	w.Enqueue(t, runner, jobs.NewJob{
		Kind: "plan", ComponentKind: "sandbox", Spec: api.JobSpec{Kind: api.JobSpecKindPlan},
	})
	offered := func(policy api.RunnerPolicy) (got []string) {
		t.Helper()
		offers, err := w.Jobs.Lease(t.Context(), runner.Caller,
			api.LeaseRequest{Free: 9, WaitSeconds: -1, Policy: policy}, nil)
		must(t, err)
		for _, offer := range offers.Offers {
			got = append(got, fmt.Sprintf("%s %s %t", offer.Kind, offer.ComponentKind, offer.Copies))
		}
		return got
	}
	waits := func() string {
		t.Helper()
		job, err := w.Jobs.Job(t.Context(), w.Org.ID, copies)
		must(t, err)
		return job.Waits
	}
	if diff := cmp.Diff([]string{"plan sandbox false"}, offered(allows("plan", "apply"))); diff != "" {
		t.Errorf("without syncs (-want +got):\n%s", diff)
	}
	if got := waits(); !strings.Contains(got,
		"does not take jobs of kind sync now, and this plan begins with the copy") {
		t.Errorf("waits: %q", got)
	}
	if diff := cmp.Diff([]string{"plan terraform_module true"}, offered(allows("plan", "sync"))); diff != "" {
		t.Errorf("with syncs (-want +got):\n%s", diff)
	}
}

// Waiting runners cost the database next to nothing.
func TestAnIdlePollWritesOnlyNowAndThen(t *testing.T) {
	w := jobstest.New(t)
	for _, kind := range []string{runners.KindInstall, runners.KindBuild} {
		runner := w.Runner(t, kind)
		key, err := w.Runners.Authenticate(t.Context(), runner.Key)
		must(t, err)
		poll := func() string {
			_, err := w.Jobs.Lease(t.Context(), key,
				api.LeaseRequest{
					Free: 1, Version: "1", WaitSeconds: -1, Policy: api.RunnerPolicy{Window: "always"},
				}, nil)
			must(t, err)
			return w.Text(t, "select xmin::text from runners where id = $1", runner.Runner)
		}
		first := poll()
		for range 5 {
			if again := poll(); again != first {
				t.Fatalf("a poll of a runner of kind %s wrote its row again", kind)
			}
		}
		if kind == runners.KindInstall {
			continue // this replica remembers when it wrote: TestPresenceIsWrittenBeforeARunnerCountsAsGone
		}
		w.Exec(t, "update runners set last_seen = now() - interval '1 minute' where id = $1", runner.Runner)
		before := w.Text(t, "select xmin::text from runners where id = $1", runner.Runner)
		if poll() == before {
			t.Error("a poll after a while was not noted")
		}
	}
}

// TestAJobWaitsForAnUnusableRole checks that a job of which nothing ran is queued again, that its runner is not offered
// it before the role works, and that only a job of a step under a role can be returned.
func TestAJobWaitsForAnUnusableRole(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	install := w.InstallOf(t, w.Component(t, runner))
	lease := func(unusable ...api.UnusableRole) []api.Offer {
		t.Helper()
		offers, err := w.Jobs.Lease(t.Context(), runner.Caller, api.LeaseRequest{Free: 9, WaitSeconds: -1,
			Policy: api.RunnerPolicy{Roles: api.RunnerRoles{Unusable: unusable}}}, nil)
		must(t, err)
		return offers.Offers
	}
	enqueue := func(role string) string {
		return w.Enqueue(t, runner, jobs.NewJob{Kind: "action", InstallID: install, Spec: api.JobSpec{
			Kind: api.JobSpecKindAction, Role: api.OperationRole{Cloud: "aws", Name: role, Key: "key", Kind: "custom"}}})
	}
	off := api.UnusableRole{Role: "ins_1-deployer", Refused: true, Reason: "AccessDenied\x1b[31m"}
	returned := api.JobResult{Status: api.JobResultStatusNotStarted, Error: "it is off", UnusableRole: off}
	take := func(offers []api.Offer) api.AttemptRef {
		t.Helper()
		if len(offers) != 1 {
			t.Fatalf("offered %+v", offers)
		}
		ref := api.AttemptRef{Job: offers[0].Job, Attempt: offers[0].Attempt}
		_, err := w.Jobs.Accept(t.Context(), runner.Caller, ref)
		must(t, err)
		return ref
	}

	id := enqueue("vendor/ins_1-deployer")
	ref := take(lease())
	for range 2 { // the answer may be lost
		must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, returned))
	}
	wantStatus(t, w, ref, "queued", "failed")
	const why = "it needs the role ins_1-deployer, which is off or refuses the runner; it starts as soon as the role " +
		"works again (AccessDenied[31m)"
	if got := w.Owner.Returned(); len(got) != 1 || got[0] != id+": "+why {
		t.Errorf("returned %q", got)
	}
	if offers := lease(off); len(offers) > 0 {
		t.Errorf("offered %+v under a role that is off", offers)
	}
	job, err := w.Jobs.Job(t.Context(), w.Org.ID, id)
	must(t, err)
	if job.Waits != why {
		t.Errorf("waits: %s", job.Waits)
	}
	off.Refused, off.Reason = false, "throttled"
	if offers := lease(off, api.UnusableRole{}); len(offers) > 0 {
		t.Errorf("offered %+v under a role that the cloud gives nobody", offers)
	}
	if job, err = w.Jobs.Job(t.Context(), w.Org.ID, id); err != nil || !strings.Contains(job.Waits, "does not let the "+
		"runner act under it now; the runner tries again (throttled)") {
		t.Errorf("waits: %s, %v", job.Waits, err)
	}
	ref = take(lease(api.UnusableRole{Role: "ins_1-other", Refused: true}))
	must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, jobstest.Failed))
	wantStatus(t, w, ref, "failed", "failed")

	enqueue("")
	ref = take(lease())
	if err := w.Jobs.Result(t.Context(), runner.Caller, ref, returned); err == nil {
		t.Error("a job without a role was returned")
	}
	must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, jobstest.Failed))
	enqueue("ins_1-deployer")
	ref = take(lease())
	w.In(t, func(ctx context.Context, tx *store.Tx) error { return jobs.Cancel(ctx, tx, ref.Job, "by request") })
	must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, returned))
	wantStatus(t, w, ref, "cancelled", "failed")
}
