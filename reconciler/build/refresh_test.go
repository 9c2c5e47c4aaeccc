package build_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// refresh starts a refresh and returns its id.
func (b *bench) refresh(r build.RefreshRequest) (id string, err error) {
	b.t.Helper()
	r.Actor = "ada"
	err = b.store.InTx(b.t.Context(), b.org, func(ctx context.Context, tx *store.Tx) (err error) {
		row, err := tx.LockApp(ctx, b.org, b.app)
		if err != nil {
			return err
		}
		id, err = b.builder.Refresh(ctx, tx, row, r)
		return err
	})
	return id, err
}

// refreshParts returns the components of a refresh.
func (b *bench) refreshParts(id string) (parts []store.ModuleRefreshComponentsRow) {
	b.t.Helper()
	b.in(func(ctx context.Context, tx *store.Tx) (err error) {
		parts, err = tx.ModuleRefreshComponents(ctx, b.org, id)
		return err
	})
	return parts
}

// endRefresh simulates a runner that ends the job of a refresh's only component, and returns the
// refresh.
func (b *bench) endRefresh(id string, result api.JobResult) (ended store.ModuleRefresh) {
	b.t.Helper()
	parts := b.refreshParts(id)
	if len(parts) != 1 {
		b.t.Fatalf("the refresh is of %d components", len(parts))
	}
	part := parts[0].ModuleRefreshComponent
	job := store.Job{OrgID: b.org, ID: part.JobID, OwnerKind: build.RefreshOwnerKind, OwnerID: part.ID}
	b.in(func(ctx context.Context, tx *store.Tx) error {
		if err := (build.Refreshes{}).JobAccepted(ctx, tx, job); err != nil {
			return err
		}
		if err := (build.Refreshes{}).JobEnded(ctx, tx, job, result); err != nil {
			return err
		}
		var err error
		ended, err = tx.ViewModuleRefresh(ctx, b.org, b.app, id)
		return err
	})
	return ended
}

func resolved(all ...api.ResolvedModule) api.JobResult {
	return api.JobResult{Status: api.JobResultStatusSucceeded, Build: api.BuildResult{Modules: forTerraform(all...)}}
}

// TestRefresh: a refresh resolves without the earlier record. A dry run changes nothing; otherwise
// what changed gets a build and a release with the same commit. The new versions stay.
func TestRefresh(t *testing.T) {
	repo := calling(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "metrics")
	if _, err := b.refresh(build.RefreshRequest{}); !refusedAs(err, "no_modules") {
		t.Errorf("before anything is built: %v", err)
	}
	first := b.succeedWith(forTerraform(vpc("1.0.0", "a")))
	b.wantReleases("1 complete")

	for _, c := range []struct {
		names []string
		code  string
	}{{[]string{"nothing"}, "not_found"}, {[]string{"metrics"}, "no_modules"}} {
		if _, err := b.refresh(build.RefreshRequest{Components: c.names}); !refusedAs(err, c.code) {
			t.Errorf("%v: %v, want %s", c.names, err, c.code)
		}
	}

	dry, err := b.refresh(build.RefreshRequest{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	var spec api.JobSpec
	b.in(func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ViewJobs(ctx, b.org, []string{b.refreshParts(dry)[0].ModuleRefreshComponent.JobID})
		if err != nil {
			return err
		}
		return json.Unmarshal(rows[0].Job.Spec, &spec)
	})
	if !spec.Build.ResolveOnly || spec.Build.Modules.Tool != "" || spec.Build.Source.Digest != first.SourceDigest {
		t.Errorf("the job is %+v", spec.Build)
	}
	if ended := b.endRefresh(dry, resolved(vpc("1.1.0", "b"))); ended.Status != "succeeded" || ended.Release != 0 {
		t.Errorf("got %+v", ended)
	}
	changes, err := build.Changes(b.refreshParts(dry)[0].ModuleRefreshComponent)
	want := []api.ModuleChange{{Key: "vpc", Before: vpc("1.0.0", "a"), After: vpc("1.1.0", "b")}}
	if diff := cmp.Diff(want, changes); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	b.wantBuilds(map[string]int{"web": 1})
	b.wantReleases("1 complete")

	same, err := b.refresh(build.RefreshRequest{})
	if err != nil {
		t.Fatal(err)
	}
	packed := vpc("1.0.0", "a")
	packed.Archive = vpc("1.0.0", "packed again").Archive
	if ended := b.endRefresh(same, resolved(packed)); ended.Status != "succeeded" || ended.Release != 0 {
		t.Errorf("nothing changed, and it made %+v", ended)
	}
	b.wantBuilds(map[string]int{"web": 1})

	newer, err := b.refresh(build.RefreshRequest{Components: []string{"web"}})
	if err != nil {
		t.Fatal(err)
	}
	if ended := b.endRefresh(newer, resolved(vpc("1.1.0", "b"))); ended.Status != "succeeded" || ended.Release != 2 {
		t.Fatalf("got %+v", ended)
	}
	b.wantBuilds(map[string]int{"web": 2, "metrics": 1, "sandbox": 1})
	second := b.builds("web")[1]
	if second.Commit != first.Commit || second.SourceDigest != first.SourceDigest ||
		b.refreshParts(newer)[0].ModuleRefreshComponent.BuildID != second.ID {
		t.Errorf("the build is %+v", second)
	}
	if diff := cmp.Diff(forTerraform(vpc("1.1.0", "b")), b.job(second).Build.Modules); diff != "" {
		t.Errorf("the build does not start from what was resolved: %s", diff)
	}
	const cause = "ada refreshed the modules of component web: vpc 1.0.0 → 1.1.0"
	all := b.releaseRows()
	if diff := cmp.Diff(string(all[0].Commits), string(all[1].Commits)); diff != "" || all[1].Cause != cause ||
		second.Reason != cause {
		t.Errorf("release 2 is of %s, because %q", all[1].Commits, all[1].Cause)
	}
	if _, err := b.refresh(build.RefreshRequest{}); !refusedAs(err, "not_built") {
		t.Errorf("while it is built: %v", err)
	}
	b.succeedWith(forTerraform(vpc("1.1.0", "b")))
	b.wantReleases("1 complete", "2 complete")

	// The pipeline finds the refreshed input again, and the next push starts from it.
	repo.Write("README.md", "more")
	b.push("words")
	b.wantBuilds(map[string]int{"web": 2})
	b.wantReleases("1 complete", "2 complete")
	repo.Write("modules/web/more.tf", "output \"more\" { value = 1 }\n")
	b.push("more")
	if diff := cmp.Diff(forTerraform(vpc("1.1.0", "b")), b.job(b.builds("web")[2]).Build.Modules); diff != "" {
		t.Errorf("the next push does not keep the versions: %s", diff)
	}
}

// TestOneRefreshAtATime: while a refresh of an app has not ended, dry or not, another one is refused and makes no job,
// and the schedule tries again soon.
func TestOneRefreshAtATime(t *testing.T) {
	b := newBench(t, withImage(t, `tag = "1.4"`))
	b.builder.RefreshEvery(time.Hour)
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "metrics")
	one := imageAt("1.4", "1.4", "one")
	b.succeedWith(one)
	jobs := func() int { return len(b.list("select id from jobs where owner_kind = 'refresh'")) }
	for _, dry := range []bool{true, false} {
		first, err := b.refresh(build.RefreshRequest{DryRun: dry})
		if err != nil {
			t.Fatal(err)
		}
		before := jobs()
		for _, again := range []build.RefreshRequest{{DryRun: true}, {}, {Components: []string{"web"}}} {
			_, err := b.refresh(again)
			var refused *refusal.Error
			if !errors.As(err, &refused) || refused.Code != "refresh_running" || refused.Kind != refusal.Conflict ||
				!strings.Contains(refused.Title, "which ada requested") ||
				!strings.Contains(refused.Remedy, "nuon builds cancel-refresh hello "+first) {
				t.Errorf("dry %t, then %+v: %v", dry, again, err)
			}
		}
		if err := b.builder.RefreshOnSchedule(t.Context(), b.org, b.app); err != nil {
			t.Errorf("the schedule: %v", err)
		}
		if n := jobs(); n != before {
			t.Errorf("there are %d jobs, before %d", n, before)
		}
		soon := b.list("select id from due where kind = 'images' and at < now() + interval '11 minutes'")
		if len(soon) != 1 {
			t.Errorf("due soon: %v", soon)
		}
		b.endRefresh(first, api.JobResult{Status: api.JobResultStatusSucceeded, Build: api.BuildResult{Modules: one}})
	}
}

// TestCancelRefresh: a cancelled refresh fails and changes nothing.
func TestCancelRefresh(t *testing.T) {
	repo := calling(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "metrics")
	b.succeedWith(forTerraform(vpc("1.0.0", "a")))
	started, err := b.refresh(build.RefreshRequest{})
	if err != nil {
		t.Fatal(err)
	}
	cancel := func() error {
		return b.store.InTx(t.Context(), b.org, func(ctx context.Context, tx *store.Tx) error {
			row, err := tx.ViewModuleRefresh(ctx, b.org, b.app, started)
			if err != nil {
				return err
			}
			return b.builder.CancelRefresh(ctx, tx, row, "vera cancelled the refresh")
		})
	}
	for range 2 { // the second time while the first waits for the owner to be notified
		if err := cancel(); err != nil {
			t.Fatal(err)
		}
	}
	b.in(func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ViewJobs(ctx, b.org, []string{b.refreshParts(started)[0].ModuleRefreshComponent.JobID})
		if err == nil && (rows[0].Job.Status != "cancelled" || !strings.Contains(rows[0].Job.Error, "vera cancelled")) {
			t.Errorf("the job is %s: %s", rows[0].Job.Status, rows[0].Job.Error)
		}
		return err
	})
	ended := b.endRefresh(started, api.JobResult{Status: api.JobResultStatusCancelled})
	if ended.Status != "failed" || ended.Error != "web: it was cancelled" || ended.Release != 0 {
		t.Errorf("got %+v", ended)
	}
	if err := cancel(); !refusedAs(err, "ended") {
		t.Errorf("after its end: %v", err)
	}
	b.wantBuilds(map[string]int{"web": 1})
}

// TestRefreshBackAndForth: a refresh that comes back to an earlier resolution uses its build again.
func TestRefreshBackAndForth(t *testing.T) {
	b := newBench(t, calling(t))
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "metrics")
	b.succeedWith(forTerraform(vpc("1.0.0", "a")))
	for i, version := range []string{"1.1.0", "1.0.0", "1.1.0"} {
		id, err := b.refresh(build.RefreshRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if ended := b.endRefresh(id, resolved(vpc(version, version))); ended.Release != int32(i+2) {
			t.Fatalf("%s: %+v", version, ended)
		}
		if all := b.builds("web"); all[len(all)-1].Status == "queued" {
			b.succeedWith(forTerraform(vpc(version, version)))
		}
		b.sync()
	}
	b.wantBuilds(map[string]int{"web": 3})
	if got := b.contents(4)["web"]; got != 2 {
		t.Errorf("release 4 has build %d, want 2", got)
	}
}

// TestRefreshThatFails: nothing changes if a component cannot be resolved, reports nonsense, or has
// other code by then. A build that failed because of changed content is repaired by a refresh.
func TestRefreshThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		result api.JobResult
		push   bool
		want   string
	}{
		"not resolved": {api.JobResult{Status: api.JobResultStatusFailed, Error: "the registry is down"}, false,
			"web: the registry is down"},
		"nonsense": {resolved(api.ResolvedModule{Key: "../x"}), false, "web: the runner reported an invalid"},
		"nothing":  {resolved(), false, "web: the runner reported"},
		"other code": {resolved(vpc("1.1.0", "b")), true,
			"web: another push changed what it is built from in the meantime"},
	} {
		t.Run(name, func(t *testing.T) {
			repo := calling(t)
			b := newBench(t, repo)
			b.connect(true)
			b.sync()
			b.succeed("sandbox", "metrics")
			b.succeedWith(forTerraform(vpc("1.0.0", "a")))
			id, err := b.refresh(build.RefreshRequest{})
			if err != nil {
				t.Fatal(err)
			}
			builds := 1
			if c.push {
				repo.Write("modules/web/more.tf", "output \"more\" { value = 1 }\n")
				b.push("more")
				builds = 2
			}
			ended := b.endRefresh(id, c.result)
			if ended.Status != "failed" || !strings.Contains(ended.Error, c.want) || ended.Release != 0 {
				t.Errorf("got %+v, want %q", ended, c.want)
			}
			b.wantBuilds(map[string]int{"web": builds})
			if all := b.releases(); len(all) != builds {
				t.Errorf("the releases are %q", all)
			}
		})
	}
	t.Run("repairs", func(t *testing.T) {
		repo := calling(t)
		b := newBench(t, repo)
		b.connect(true)
		b.sync()
		b.succeed("sandbox", "metrics")
		b.succeedWith(forTerraform(vpc("1.0.0", "a")))
		repo.Write("modules/web/more.tf", "output \"more\" { value = 1 }\n")
		b.push("more")
		b.succeedWith(forTerraform(vpc("1.0.0", "b")))
		if all := b.releases(); !slices.Contains(all, "2 incomplete: build 2 of web failed") {
			t.Fatalf("the releases are %q", all)
		}
		id, err := b.refresh(build.RefreshRequest{})
		if err != nil {
			t.Fatal(err)
		}
		b.endRefresh(id, resolved(vpc("1.0.0", "b")))
		b.succeedWith(forTerraform(vpc("1.0.0", "b")))
		all := b.releases()
		if all[len(all)-1] != "3 complete" {
			t.Errorf("the releases are %q", all)
		}
	})
}

// refusedAs reports whether an error is the refusal with a code.
func refusedAs(err error, code string) bool {
	var refused *refusal.Error
	return errors.As(err, &refused) && refused.Code == code
}

// TestImagesAreRefreshedOnSchedule: the images of an app are resolved again at intervals. A tag that moved is a release
// with its cause, the same digest is none, and without an interval nothing is due.
func TestImagesAreRefreshedOnSchedule(t *testing.T) {
	repo := withImage(t, `tag = "1.4"`)
	b := newBench(t, repo)
	b.connect(true)
	due := func() (all []string) { return b.list("select id from due where kind = 'images'") }
	b.sync()
	b.succeed("sandbox", "metrics")
	one, two := imageAt("1.4", "1.4", "one"), imageAt("1.4", "1.4", "two")
	b.succeedWith(one)
	if err := b.builder.Schedule(t.Context(), b.org); err != nil || len(due()) != 0 {
		t.Fatalf("without an interval %v is due, %v", due(), err)
	}
	b.builder.RefreshEvery(time.Hour)
	for range 2 { // a time that is set stays
		if err := b.builder.Schedule(t.Context(), b.org); err != nil || len(due()) != 1 || due()[0] != b.app {
			t.Fatalf("%v is due, %v", due(), err)
		}
	}
	run := func(found api.ModuleResolution) store.ModuleRefresh {
		t.Helper()
		if err := b.builder.RefreshOnSchedule(t.Context(), b.org, b.app); err != nil {
			t.Fatal(err)
		}
		var last store.ModuleRefresh
		b.in(func(ctx context.Context, tx *store.Tx) (err error) {
			last, err = tx.LastRefresh(ctx, b.org, b.app)
			return err
		})
		if last.Status != "running" {
			t.Fatalf("the refresh is %+v", last)
		}
		if parts := b.refreshParts(last.ID); len(parts) != 1 || parts[0].Name != "web" {
			t.Errorf("it refreshes %+v", parts)
		}
		return b.endRefresh(last.ID, api.JobResult{Status: api.JobResultStatusSucceeded,
			Build: api.BuildResult{Modules: found}})
	}
	if ended := run(one); ended.Release != 0 {
		t.Errorf("the same digest is release %d", ended.Release)
	}
	if ended := run(two); ended.Release != 2 {
		t.Errorf("another digest: %+v", ended)
	}
	all := b.builds("web")
	want := "the schedule refreshed the image of component web: tag 1.4 of ghcr.io/acme/web moved from "
	if got := all[len(all)-1].Reason; !strings.HasPrefix(got, want) {
		t.Errorf("the reason is %s", got)
	}
	// While a build has not ended, no refresh starts, and the next try is soon.
	if err := b.builder.RefreshOnSchedule(t.Context(), b.org, b.app); err != nil {
		t.Fatal(err)
	}
	if soon := b.list("select id from due where kind = 'images' and at < now() + interval '11 minutes'"); len(soon) != 1 {
		t.Errorf("due soon: %v", soon)
	}
	b.builder.RefreshEvery(0)
	if err := b.builder.RefreshOnSchedule(t.Context(), b.org, b.app); err != nil || len(due()) != 0 {
		t.Errorf("%v is due, %v", due(), err)
	}
}
