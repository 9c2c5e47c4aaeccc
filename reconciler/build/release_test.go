package build_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// releaseRows returns the app's releases, the oldest first.
func (b *bench) releaseRows() (all []store.ViewReleasesRow) {
	b.t.Helper()
	b.in(func(ctx context.Context, tx *store.Tx) (err error) {
		all, err = tx.ViewReleases(ctx, store.ViewReleasesParams{
			OrgID: b.org, AppID: b.app, Before: 1 << 30, Most: 100,
		})
		return err
	})
	slices.Reverse(all)
	return all
}

// releases returns the app's releases as "number status" and why they are not complete, the oldest
// first.
func (b *bench) releases() []string {
	b.t.Helper()
	var all []string
	for _, r := range b.releaseRows() {
		line := fmt.Sprintf("%d %s", r.Number, r.Status)
		if r.Reason != "" {
			line += ": " + r.Reason
		}
		all = append(all, line)
	}
	return all
}

func (b *bench) wantReleases(want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.releases()); diff != "" {
		b.t.Error(diff)
	}
}

// contents returns the build number of each component of a release; 0 for one that cannot be built.
func (b *bench) contents(number int32) map[string]int32 {
	b.t.Helper()
	all := map[string]int32{}
	b.in(func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.ReleaseByNumber(ctx, b.org, b.app, number)
		if err != nil {
			return err
		}
		rows, err := tx.ReleaseComponents(ctx, b.org, r.ID)
		for _, row := range rows {
			all[row.Name] = row.Build
		}
		return err
	})
	return all
}

// TestReleasesFollowDigests checks that a push of code or config makes a release, that one that
// changes nothing makes none, and that a revert makes a new number with the old digests. No release
// changes afterwards.
func TestReleasesFollowDigests(t *testing.T) {
	repo := hello(t)
	b := newBench(t, repo)
	b.connect(true)
	want := func(number int32, builds map[string]int32) {
		t.Helper()
		if diff := cmp.Diff(builds, b.contents(number)); diff != "" {
			t.Errorf("release %d: %s", number, diff)
		}
	}
	b.sync()
	b.succeed("sandbox", "web", "metrics")
	b.wantReleases("1 complete")

	repo.Write("README.md", "# hello there")
	b.push("words")
	repo.Write("app/components/web.toml", "# a comment\n"+component("web", "modules/web"))
	b.push("a comment")
	b.wantReleases("1 complete")

	old := "output \"port\" { value = 1 }\n" // hello has it
	repo.Write("modules/metrics/main.tf", "output \"port\" { value = 2 }\n")
	b.push("code alone")
	b.wantReleases("1 complete", "2 building: build 2 of metrics has not ended")
	b.succeed("metrics")
	b.wantReleases("1 complete", "2 complete")
	code := b.releaseRows()[1]
	if words := "commit " + repo.Head()[:7] +
		` ("code alone") changed modules/metrics/main.tf`; !strings.Contains(code.Cause, words) {
		t.Errorf("the cause is %q, want %q", code.Cause, words)
	}
	var commits []release.Commit
	if err := json.Unmarshal(code.Commits, &commits); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(
		[]release.Commit{{Repository: repo.URL(), Ref: "main", Commit: repo.Head(), Subject: "code alone"}}, commits,
	); diff != "" {
		t.Error(diff)
	}

	repo.Write("app/components/web.toml", "max_auto_retries = 1\n"+component("web", "modules/web"))
	b.push("config alone")
	repo.Write("modules/metrics/main.tf", old)
	b.push("the code as it was")
	b.wantReleases("1 complete", "2 complete", "3 complete", "4 complete")
	want(1, map[string]int32{"sandbox": 1, "web": 1, "metrics": 1})
	want(2, map[string]int32{"sandbox": 1, "web": 1, "metrics": 2})
	want(3, map[string]int32{"sandbox": 1, "web": 1, "metrics": 2})
	want(4, map[string]int32{"sandbox": 1, "web": 1, "metrics": 1})
	if cause := b.releaseRows()[3].Cause; cause != "metrics is built from unchanged sources" {
		t.Errorf("the cause of the revert is %q", cause)
	}
}

// TestBuildsOfSupersededReleasesFinish checks that they complete their releases, and that installs
// continue to follow the newest release.
func TestBuildsOfSupersededReleasesFinish(t *testing.T) {
	repo := hello(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "web", "metrics")
	repo.Write("modules/metrics/main.tf", "output \"port\" { value = 2 }\n")
	b.push("two")
	slow := b.builds("metrics")[1]
	repo.Write("modules/metrics/main.tf", "output \"port\" { value = 3 }\n")
	b.push("three")
	fast := b.builds("metrics")[2]
	b.end(fast, succeeded(b.org, fast))
	b.wantReleases("1 complete", "2 building: build 2 of metrics has not ended", "3 complete")
	b.end(slow, succeeded(b.org, slow))
	b.wantReleases("1 complete", "2 complete", "3 complete")
}

// TestPartialReleases checks that a component that cannot be built keeps the code and config of the
// last complete release, that a new one is left out, and that a complete release replaces the
// partial one once everything can be built.
func TestPartialReleases(t *testing.T) {
	repo := hello(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	refused := func(code string) {
		t.Helper()
		err := b.store.InTx(t.Context(), b.org, func(ctx context.Context, tx *store.Tx) error {
			_, err := b.builder.ReleasePartial(ctx, tx, b.appRow(), "ada")
			return err
		})
		var p *refusal.Error
		if !errors.As(err, &p) || p.Code != code {
			t.Errorf("refused with %v, want %q", err, code)
		}
	}
	refused("building")
	b.succeed("sandbox", "web", "metrics")
	refused("complete")

	repo.Write(
		"modules/web/main.tf", "module \"far\" {\n  source = \"../../../far\"\n}\n", "app/components/web.toml",
		"max_auto_retries = 1\n"+component("web", "modules/web"),
		"modules/metrics/main.tf", "output \"port\" { value = 2 }\n", "app/components/late.toml",
		component("late", "modules/late"),
	)
	b.push("web and late cannot be built")
	b.succeed("metrics")
	all := b.releases()
	if last := all[len(all)-1]; !strings.HasPrefix(last, "2 incomplete: late cannot be built: ") ||
		!strings.Contains(last, "web cannot be built: ") {
		t.Fatalf("the releases are %q", all)
	}
	var made *store.Release
	b.in(func(ctx context.Context, tx *store.Tx) (err error) {
		made, err = b.builder.ReleasePartial(ctx, tx, b.appRow(), "ada")
		if err != nil {
			return err
		}
		config, err := release.Config(ctx, tx, *made)
		if err != nil {
			return err
		}
		web, _ := config.Component("web")
		if _, has := config.Component("late"); has || web.MaxAutoRetries != 0 {
			t.Errorf("the config is %+v", config)
		}
		return nil
	})
	if made.Status != release.Complete || !made.Partial || made.Number != 3 ||
		made.Cause != "ada requested a partial release of release 2: late is left out; web stays as in release 1" {
		t.Errorf("got %+v", made)
	}
	if diff := cmp.Diff(map[string]int32{"sandbox": 1, "web": 1, "metrics": 2}, b.contents(3)); diff != "" {
		t.Error(diff)
	}
	refused("nothing_new")

	repo.Write("README.md", "# hello there")
	b.push("words")
	if all = b.releases(); len(all) != 3 {
		t.Errorf("the same code as that of release 2 made another release: %q", all)
	}
	repo.Write("modules/web/main.tf", "output \"x\" { value = 1 }\n")
	repo.Remove("app/components/late.toml")
	b.push("it can be built")
	b.succeed("web")
	if all = b.releases(); len(all) != 4 || all[3] != "4 complete" {
		t.Errorf("the releases are %q", all)
	}
}

// TestWhatAPartialReleaseLackedIsBuilt checks that a retried build completes its release, which
// then replaces the partial one.
func TestWhatAPartialReleaseLackedIsBuilt(t *testing.T) {
	repo := hello(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "web", "metrics")
	repo.Write("modules/web/main.tf", "output \"x\" { value = 1 }\n", "modules/metrics/main.tf",
		"output \"port\" { value = 2 }\n")
	b.push("both")
	b.succeed("metrics")
	failed := b.builds("web")[1]
	b.end(failed, api.JobResult{Status: api.JobResultStatusFailed, Error: "main.tf:1: no"})
	b.wantReleases("1 complete", "2 incomplete: build 2 of web failed")
	b.in(func(ctx context.Context, tx *store.Tx) error {
		if _, err := b.builder.ReleasePartial(ctx, tx, b.appRow(), "ada"); err != nil {
			return err
		}
		_, err := b.builder.Retry(ctx, tx, failed.ID)
		return err
	})
	b.wantReleases("1 complete", "2 building: build 3 of web has not ended", "3 complete")
	b.succeed("web")
	b.sync() // as the queued work does
	b.wantReleases("1 complete", "2 complete", "3 complete", "4 complete")
	if cause := b.releaseRows()[3].Cause; cause !=
		"the missing parts of release 2 were built; it replaces release 3, which was partial" {
		t.Errorf("the cause is %q", cause)
	}
	if diff := cmp.Diff(b.contents(2), b.contents(4)); diff != "" {
		t.Error(diff)
	}
}

// TestOtherRepositoriesAreRecorded checks that a release records them, and that a push to only one
// of them makes a release.
func TestOtherRepositoriesAreRecorded(t *testing.T) {
	repo, other := hello(t), gittest.New(t)
	other.Write("modules/metrics/main.tf", "output \"port\" { value = 1 }\n").Commit("start")
	repo.Write("app/components/metrics.toml",
		strings.Replace(component("metrics", "modules/metrics"), `repo = "."`,
			"repo = \""+other.URL()+"\"\nbranch = \"main\"", 1)).Commit("elsewhere")
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "web", "metrics")
	other.Write("modules/metrics/main.tf", "output \"port\" { value = 2 }\n").Commit("over there")
	b.sync()
	rows := b.releaseRows()
	if len(rows) != 2 {
		t.Fatalf("the releases are %q", b.releases())
	}
	commits, err := release.Commits(store.Release{Commits: rows[1].Commits})
	want := []release.Commit{
		{Repository: repo.URL(), Ref: "main", Commit: repo.Head(), Subject: "elsewhere"},
		{Repository: other.URL(), Ref: "main", Commit: other.Head(), Subject: "over there"},
	}
	if diff := cmp.Diff(want, commits); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestBuildsThatEndAtOnce checks that they complete their release, whichever commits last, also
// while a push makes the next release of them.
func TestBuildsThatEndAtOnce(t *testing.T) {
	repo := hello(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	repo.Write("app/components/web.toml",
		"max_auto_retries = 1\n"+component("web", "modules/web")).Commit("another config, and the same code")
	var running []store.Build
	for _, name := range []string{"sandbox", "web", "metrics"} {
		running = append(running, b.builds(name)...)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, err := b.catalog.SyncNow(t.Context(), b.org, b.app); err != nil {
			t.Error(err)
		}
	})
	for _, built := range running {
		wait.Go(func() {
			job := store.Job{OrgID: b.org, ID: *built.JobID, OwnerKind: build.OwnerKind, OwnerID: built.ID}
			err := b.store.InTx(t.Context(), b.org, func(ctx context.Context, tx *store.Tx) error {
				if err := b.builder.JobAccepted(ctx, tx, job); err != nil {
					return err
				}
				return b.builder.JobEnded(ctx, tx, job, succeeded(b.org, built))
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	b.wantReleases("1 complete", "2 complete")
}
