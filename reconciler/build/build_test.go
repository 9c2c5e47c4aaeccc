package build_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

func TestOnePushAllTheWayToBuilds(t *testing.T) {
	repo := hello(t)
	b := newBench(t, repo)
	b.connect(true)

	first := b.sync()
	b.wantBuilds(map[string]int{"sandbox": 1, "web": 1, "metrics": 1})
	for _, word := range []string{
		"app hello: the config changed: app version 1", "component web: first input, build 1",
	} {
		if !strings.Contains(first.Outcome, word) {
			t.Errorf("the outcome %q does not say %q", first.Outcome, word)
		}
	}
	b.wantReleases(
		"1 building: build 1 of sandbox has not ended; build 1 of metrics has not ended; build 1 of web has not ended",
	)
	b.packedSource(b.builds("web")[0], []string{"modules/shared/main.tf", "modules/web/main.tf"})
	b.succeed("sandbox", "web", "metrics")

	// Outside all components: nothing is built, and the revision records why.
	repo.Write("README.md", "# hello there")
	if got := b.push("words").Outcome; got != "app hello: changed README.md only: no component is built from it" {
		t.Errorf("the outcome is %q", got)
	}
	repo.Write("app/components/web.toml", "# a comment\n"+component("web", "modules/web"))
	if got := b.push("comment").Outcome; got != "app hello: changed app/components/web.toml only: the config is "+
		"equivalent, and no component is built from it" {
		t.Errorf("the outcome is %q", got)
	}
	b.wantBuilds(map[string]int{"sandbox": 1, "web": 1, "metrics": 1})

	// Inside one module: one build.
	repo.Write("modules/metrics/main.tf", "output \"port\" { value = 2 }\n")
	if got := b.push("port").Outcome; got != "app hello: component metrics: input changed, build 2" {
		t.Errorf("the outcome is %q", got)
	}
	b.wantBuilds(map[string]int{"sandbox": 1, "web": 1, "metrics": 2})
	reason := b.builds("metrics")[1].Reason
	if want := "commit " + repo.Head()[:7] +
		` ("port") changed modules/metrics/main.tf, which component metrics is built from`; reason != want {
		t.Errorf("the reason is %q, want %q", reason, want)
	}

	// A module that another one calls: its caller is built.
	repo.Write("modules/shared/main.tf", "output \"name\" { value = \"other\" }\n")
	b.push("shared")
	b.wantBuilds(map[string]int{"sandbox": 1, "web": 2, "metrics": 2})
	if reason := b.builds("web")[1].Reason; !strings.Contains(reason,
		"changed modules/shared/main.tf, which component web is built from") {
		t.Errorf("the reason is %q", reason)
	}

	// Another poll changes nothing.
	before := b.sync()
	if again := b.sync(); again.ID != before.ID || again.Outcome != before.Outcome {
		t.Errorf("a look at nothing new made %+v of %+v", again, before)
	}
	b.wantBuilds(map[string]int{"sandbox": 1, "web": 2, "metrics": 2})
}

// packedSource checks what a build runner would pull, and its spec.
func (b *bench) packedSource(built store.Build, want []string) {
	b.t.Helper()
	repository, err := oci.Open(b.vendor.Base.Child(b.org+"/sources/"+built.ComponentID), b.vendor.Credential)
	if err != nil {
		b.t.Fatal(err)
	}
	pulled, err := repository.Pull(b.t.Context(), built.SourceDigest)
	if err != nil {
		b.t.Fatal(err)
	}
	files, err := pulled.Files(artifact.Limits{})
	if err != nil {
		b.t.Fatal(err)
	}
	var paths []string
	for _, file := range files {
		paths = append(paths, file.Path)
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		b.t.Fatal(diff)
	}
	b.in(func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ViewJobs(ctx, b.org, []string{*built.JobID})
		if err != nil {
			return err
		}
		var spec api.JobSpec
		if err := json.Unmarshal(rows[0].Job.Spec, &spec); err != nil {
			return err
		}
		if spec.Build.Source.Digest != built.SourceDigest || spec.Build.Directory != "modules/web" ||
			spec.Build.TerraformVersion != "1.11.4" ||
			spec.Build.Repository != b.org+"/builds/"+built.ComponentID ||
			pulled.Annotations[artifact.AnnotationTree] != spec.Build.Tree {
			b.t.Errorf("the job is %+v, the source's annotations are %v", spec.Build, pulled.Annotations)
		}
		return nil
	})
}

// The same tree at another commit, in another repository, packs to the same source.
func TestTheSameSourceHasTheSameDigest(t *testing.T) {
	digests := map[string]bool{}
	for range 2 {
		repo := hello(t)
		repo.Git("commit", "--quiet", "--amend", "--message", "start "+id.New("x"))
		b := newBench(t, repo)
		b.connect(false)
		b.sync()
		digests[b.builds("web")[0].SourceDigest] = true
	}
	if len(digests) != 1 {
		t.Errorf("got the digests %v", digests)
	}
}

func TestARevertUsesTheBuildAgain(t *testing.T) {
	repo := hello(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "web", "metrics")
	first := b.component("metrics").InputID
	repo.Write("modules/metrics/main.tf", "output \"port\" { value = 2 }\n")
	b.push("two")
	b.succeed("metrics")
	repo.Git("revert", "--no-edit", "HEAD")
	if got := b.sync().Outcome; got != "app hello: component metrics: the same input as that of build 1, which is "+
		"used again" {
		t.Errorf("the outcome is %q", got)
	}
	if now := b.component("metrics").InputID; *now != *first {
		t.Error("the input is not the first one again")
	}
	b.wantBuilds(map[string]int{"metrics": 2})
}

func TestFailedBuildsStayFailedUntilAsked(t *testing.T) {
	repo := hello(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.end(b.builds("web")[0], api.JobResult{
		Status: api.JobResultStatusFailed, Error: "modules/web/main.tf:1: no\x00 \xff",
	})
	failed := b.builds("web")[0]
	if failed.Status != "failed" || !strings.HasPrefix(failed.Error, "modules/web/main.tf:1: no") ||
		failed.EndedAt == nil {
		t.Fatalf("got %+v", failed)
	}
	repo.Write("README.md", "more")
	b.push("words")
	b.wantBuilds(map[string]int{"web": 1})

	b.in(func(ctx context.Context, tx *store.Tx) error {
		if _, err := b.builder.Retry(ctx, tx, b.builds("metrics")[0].ID); !errors.Is(err, build.ErrNotFailed) {
			t.Errorf("a queued build was retried: %v", err)
		}
		if _, err := b.builder.Retry(ctx, tx, "bld_unknown"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an unknown build was retried: %v", err)
		}
		_, err := b.builder.Retry(ctx, tx, failed.ID)
		return err
	})
	b.in(func(ctx context.Context, tx *store.Tx) error {
		if _, err := b.builder.Retry(ctx, tx, failed.ID); !errors.Is(err, build.ErrHasBuild) {
			t.Errorf("a build was retried twice: %v", err)
		}
		return nil
	})
	again := b.builds("web")[1]
	if again.Number != 2 || again.InputID != failed.InputID || again.SourceDigest != failed.SourceDigest ||
		again.JobID == nil || !strings.Contains(again.Reason, "build 1") {
		t.Fatalf("got %+v", again)
	}
	b.succeed("web")
	if built := b.builds("web")[1]; built.Status != "succeeded" || built.ArtifactDigest == "" {
		t.Fatalf("got %+v", built)
	}
}

// The report of a runner is checked.
func TestForeignArtifactsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*api.JobResult){
		"another repository": func(r *api.JobResult) { r.Build.Artifact.Repository = "org_other/builds/cmp_other" },
		"no digest":          func(r *api.JobResult) { r.Build.Artifact.Digest = "latest" },
		"nothing":            func(r *api.JobResult) { r.Build = api.BuildResult{} },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, hello(t))
			b.connect(true)
			b.sync()
			built := b.builds("web")[0]
			result := succeeded(b.org, built)
			change(&result)
			b.end(built, result)
			if now := b.builds("web")[0]; now.Status != "failed" || now.ArtifactDigest != "" || now.Error == "" {
				t.Fatalf("got %+v", now)
			}
		})
	}
}

func TestBuildsWaitForTheFirstRunner(t *testing.T) {
	b := newBench(t, hello(t))
	b.connect(false)
	if outcome := b.sync().Outcome; !strings.Contains(outcome,
		"build 1, which waits for the org's first build runner") {
		t.Errorf("the outcome is %q", outcome)
	}
	if built := b.builds("web")[0]; built.JobID != nil || built.Status != "queued" || built.SourceDigest == "" {
		t.Fatalf("got %+v", built)
	}
	b.addRunner()
	if err := b.builder.Reconcile(t.Context(), b.org, b.app); err != nil {
		t.Fatal(err)
	}
	if built := b.builds("web")[0]; built.JobID == nil {
		t.Fatal("the build was not given to the runner")
	}
	b.wantBuilds(map[string]int{"web": 1})
	b.succeed("web")
}

// A component that cannot be built reports why, keeps its input, and does not hold up the others.
func TestProblemsOfOneComponent(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*gittest.Repo)
		words  string
	}{
		"no directory": {func(r *gittest.Repo) { r.Remove("modules/web") }, "there is no directory modules/web"},
		"no files": {
			func(r *gittest.Repo) { r.Remove("modules/web").Write("modules/web/x", "x") },
			"no .tf files in modules/web",
		},
		"no module": {
			func(r *gittest.Repo) { r.Remove("modules/shared") }, `modules/web/main.tf:1: module "shared"`,
		},
		"module outside": {func(r *gittest.Repo) {
			r.Write("modules/web/main.tf", "module \"x\" {\n  source = \"../../../x\"\n}\n")
		}, "leads out of the repository"},
		"link outside": {func(r *gittest.Repo) { r.Symlink("/etc/passwd", "modules/web/passwd.tf") }, "passwd.tf"},
		"link up": {
			func(r *gittest.Repo) { r.Symlink("../../../../secret", "modules/web/secret") }, "modules/web/secret",
		},
		"a variable": {
			func(r *gittest.Repo) { r.Write("modules/web/size.tf", "variable \"size\" {}\n") },
			`vars: the module in modules/web needs a value for its variable "size" (set vars.size,`,
		},
		"broken": {func(r *gittest.Repo) { r.Write("modules/web/main.tf", "module {") }, "modules/web/main.tf:1"},
	} {
		t.Run(name, func(t *testing.T) {
			repo := hello(t)
			b := newBench(t, repo)
			b.connect(true)
			b.sync()
			b.succeed("sandbox", "web", "metrics")
			before := b.component("web")
			c.change(repo)
			repo.Write("modules/metrics/main.tf", "output \"port\" { value = 3 }\n")
			outcome := b.push("break web").Outcome
			after := b.component("web")
			if !strings.Contains(after.Problem, c.words) || *after.InputID != *before.InputID {
				t.Fatalf("got the problem %q and input %s", after.Problem, *after.InputID)
			}
			if !strings.Contains(outcome, "component web cannot be built: ") ||
				!strings.Contains(outcome, "component metrics: input changed, build 2") {
				t.Errorf("the outcome is %q", outcome)
			}
			b.wantBuilds(map[string]int{"web": 1, "metrics": 2})
			// The same problem is not reported again, and is cleared when its cause is fixed.
			repo.Write("README.md", "x")
			if outcome := b.push("words").Outcome; strings.Contains(outcome, "web") {
				t.Errorf("the outcome is %q", outcome)
			}
			repo.Git("revert", "--no-edit", "HEAD~1")
			b.sync()
			if mended := b.component("web"); mended.Problem != "" || *mended.InputID != *before.InputID {
				t.Errorf("got %+v", mended)
			}
			b.wantBuilds(map[string]int{"web": 1, "metrics": 2})
		})
	}
}

func TestARegistryThatRefuses(t *testing.T) {
	b := newBench(t, hello(t))
	b.connect(true)
	b.refuse.Store(true)
	if _, err := b.catalog.SyncNow(t.Context(), b.org, b.app); err == nil ||
		!strings.Contains(err.Error(), "forbidden") {
		t.Fatalf("got %v, want the registry's refusal", err)
	}
	web := b.component("web")
	if !strings.Contains(web.Problem, "could not be stored") ||
		!strings.Contains(web.Problem, "forbidden") || web.InputID != nil {
		t.Fatalf("got %+v", web)
	}
	b.wantReleases()
	b.wantBuilds(map[string]int{"web": 0})
	b.refuse.Store(false)
	b.sync()
	if web := b.component("web"); web.Problem != "" || web.InputID == nil {
		t.Fatalf("got %+v", web)
	}
	b.wantBuilds(map[string]int{"web": 1, "metrics": 1, "sandbox": 1})
}

// A config with errors leaves the earlier version and its builds unchanged.
func TestABrokenConfigKeepsTheOldVersion(t *testing.T) {
	repo := hello(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	before := b.appRow()
	repo.Write("app/components/web.toml", "name = \n", "modules/metrics/main.tf", "output \"port\" { value = 4 }\n")
	revision := b.push("oops")
	after := b.appRow()
	if *after.VersionID != *before.VersionID || *after.RevisionID != revision.ID {
		t.Fatalf("got %+v", after)
	}
	if !strings.Contains(string(after.Diagnostics), "components/web.toml") ||
		!strings.Contains(revision.Outcome, "app version 1 stays") {
		t.Errorf("got the diagnostics %s and the outcome %q", after.Diagnostics, revision.Outcome)
	}
	b.wantBuilds(map[string]int{"web": 1, "metrics": 1})

	repo.Write("app/components/web.toml", component("web", "modules/web"))
	revision = b.push("mended")
	if after = b.appRow(); *after.VersionID != *before.VersionID ||
		strings.Contains(string(after.Diagnostics), "components/web.toml") {
		t.Fatalf("got %+v", after)
	}
	b.wantBuilds(map[string]int{"web": 1, "metrics": 2})
	if reason := b.builds("metrics")[1].Reason; !strings.Contains(reason,
		"the code in modules/metrics, which component metrics is built from, changed at commit "+
			revision.Commit[:7]) {
		t.Errorf("the reason is %q", reason)
	}
}

func TestConfigChanges(t *testing.T) {
	repo := hello(t)
	repo.Write("modules/web/variables.tf", "variable \"x\" {\n  default = \"0\"\n}\n").Commit("take x")
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "web", "metrics")
	one := b.appRow()

	// A variable is not part of a build, but changes the app version.
	repo.Write("app/components/web.toml", component("web", "modules/web")+"[vars]\nx = \"1\"\n")
	if outcome := b.push("var").Outcome; outcome != "app hello: the config changed: app version 2" {
		t.Errorf("the outcome is %q", outcome)
	}
	two := b.appRow()
	if *two.VersionID == *one.VersionID {
		t.Fatalf("got %+v", two)
	}
	b.wantBuilds(map[string]int{"sandbox": 1, "web": 1, "metrics": 1})

	// Terraform's version is.
	repo.Write("app/components/web.toml", strings.Replace(component("web", "modules/web"), "1.11.4", "1.11.3", 1))
	b.push("terraform")
	b.wantBuilds(map[string]int{"web": 2, "metrics": 1})
	if reason := b.builds(
		"web",
	)[1].Reason; reason != "app version 3 builds component web with Terraform 1.11.3 instead of 1.11.4" {
		t.Errorf("the reason is %q", reason)
	}

	// A removed component is no longer present; the old config is the old version again.
	repo.Remove("app/components/metrics.toml")
	b.push("without metrics")
	b.in(func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ComponentsOfApp(ctx, b.org, b.app)
		if len(rows) != 2 || rows[0].Name != "sandbox" || rows[1].Name != "web" {
			t.Errorf("the components are %+v", rows)
		}
		return err
	})
	repo.Git("checkout", "--quiet", "HEAD~3", "--", "app")
	revision := b.push("as it was")
	if now := b.appRow(); *now.VersionID != *one.VersionID {
		t.Error("the first version is not current again")
	}
	if !strings.Contains(revision.Outcome, "the config is that of app version 1 again") ||
		!strings.Contains(revision.Outcome, "component web: the same input as that of build 1, which is used again") {
		t.Errorf("the outcome is %q", revision.Outcome)
	}
	b.wantBuilds(map[string]int{"web": 2, "metrics": 1})
}

// A component's own repository changes independently.
func TestAComponentOfAnotherRepository(t *testing.T) {
	repo, other := hello(t), gittest.New(t)
	other.Write("tf/main.tf", "output \"a\" { value = 1 }\n").Commit("start")
	text := strings.Replace(component("metrics", "tf"), `repo = "."`,
		"repo = \""+other.URL()+"\"\nbranch = \"main\"", 1)
	repo.Write("app/components/metrics.toml", text).Commit("elsewhere")
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.wantBuilds(map[string]int{"web": 1, "metrics": 1})
	if built := b.builds("metrics")[0]; built.Repository != other.URL() || built.Commit != other.Head() {
		t.Fatalf("got %+v", built)
	}
	b.succeed("sandbox", "web", "metrics")
	other.Write("tf/main.tf", "output \"a\" { value = 2 }\n").Commit("two")
	b.sync()
	b.wantBuilds(map[string]int{"web": 1, "metrics": 2})
	other.Write("README.md", "x").Commit("words")
	b.sync()
	b.wantBuilds(map[string]int{"web": 1, "metrics": 2})
	b.in(func(ctx context.Context, tx *store.Tx) error {
		watch, err := tx.WatchByID(ctx, b.org, *b.component("metrics").WatchID)
		if err != nil {
			return err
		}
		revision, err := tx.WatchRevision(ctx, b.org, *watch.RevisionID)
		if revision.Outcome != "app hello: changed README.md only: no component is built from it" {
			t.Errorf("the outcome is %q", revision.Outcome)
		}
		return err
	})
	// A variable that the module requires and the config does not set is found before anything is
	// built, in the words of nuon validate.
	other.Write("tf/main.tf", "variable \"size\" {}\n").Commit("size")
	b.sync()
	want := `vars: the module in tf needs a value for its variable "size" (set vars.size, or give the variable a default at tf/main.tf:1)`
	if got := b.component("metrics").Problem; got != want {
		t.Errorf("the problem is %q, want %q", got, want)
	}
	repo.Write("app/components/metrics.toml", text+"[vars]\nsice = 1\n").Commit("size")
	b.sync()
	if got := b.component("metrics").Problem; !strings.HasPrefix(got,
		`vars.sice: the module in tf has no variable "sice" (did you mean "size"?)`) {
		t.Errorf("the problem is %q", got)
	}
	repo.Write("app/components/metrics.toml", text).Commit("no size")
	other.Write("tf/main.tf", "output \"a\" { value = 2 }\n").Commit("no size")
	b.sync()
	if got := b.component("metrics").Problem; got != "" {
		t.Errorf("the problem is still %q", got)
	}
	b.wantBuilds(map[string]int{"web": 1, "metrics": 2})
	// The config has errors now, which does not prevent the build of components from other
	// repositories.
	repo.Write("app/metadata.toml", "version = ").Commit("oops")
	other.Write("tf/main.tf", "output \"a\" { value = 3 }\n").Commit("three")
	b.sync()
	b.wantBuilds(map[string]int{"web": 1, "metrics": 3})
	if err := os.Rename(other.Dir, filepath.Join(filepath.Dir(other.Dir), "gone")); err != nil {
		t.Fatal(err)
	}
	b.sync()
	b.wantBuilds(map[string]int{"web": 1, "metrics": 3})
}

// A component that moves to another repository is not rolled out with its old code and the new
// config, and reports why it waits.
func TestAComponentThatMovesToAnotherRepository(t *testing.T) {
	repo, other := hello(t), gittest.New(t)
	other.Write("modules/metrics/main.tf", "output \"port\" { value = 1 }\n").Commit("start")
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "web", "metrics")
	first := b.component("metrics").InputID
	text := strings.Replace(component("metrics", "modules/metrics"), `repo = "."`,
		"repo = \""+other.URL()+"\"\nbranch = \"later\"", 1)
	repo.Write("app/components/metrics.toml", text)
	b.push("elsewhere")
	moved := b.component("metrics")
	if moved.InputID != nil || !strings.Contains(moved.Problem, `has no branch or tag "later"`) {
		t.Fatalf("got the input %v and the problem %q", moved.InputID, moved.Problem)
	}
	releases := b.releases()
	if last := releases[len(releases)-1]; !strings.HasPrefix(last, "2 incomplete: metrics cannot be built: ") {
		t.Errorf("the releases are %q", releases)
	}
	other.Git("branch", "later")
	b.sync()
	if moved = b.component("metrics"); moved.InputID == nil || *moved.InputID != *first || moved.Problem != "" {
		t.Fatalf("the same code elsewhere is another input: %+v", moved)
	}
	b.wantBuilds(map[string]int{"metrics": 1})
}

// A build runner that is offline, or never registered, gets no builds while another is online.
func TestBuildsGoToARunnerThatIsThere(t *testing.T) {
	b := newBench(t, hello(t))
	b.connect(true)
	var there store.Runner
	b.in(func(ctx context.Context, tx *store.Tx) (err error) {
		if there, _, err = runners.Create(ctx, tx, runners.NewRunner{
			Name: "second", Kind: runners.KindBuild,
		}); err != nil {
			return err
		}
		_, err = tx.SetRunnerKey(ctx, store.SetRunnerKeyParams{
			OrgID: b.org, ID: there.ID, KeyHash: []byte("k"), Capacity: 1, Identity: []byte("{}"),
		})
		return err
	})
	b.sync()
	b.in(func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ViewJobs(ctx, b.org, []string{*b.builds("web")[0].JobID})
		if err == nil && rows[0].Runner.ID != there.ID {
			t.Errorf("the build went to runner %s", rows[0].Runner.Name)
		}
		return err
	})
}

// Two replicas that see the same push create one revision, one version and one build of each
// component.
func TestTwoReplicas(t *testing.T) {
	repo := hello(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	_, other, _ := b.replica()
	for round := range 3 {
		repo.Write("modules/metrics/main.tf", "output \"port\" { value = "+strings.Repeat("1", round+2)+" }\n",
			"app/components/web.toml",
			component("web", "modules/web")+"[vars]\nx = \""+strings.Repeat("x", round+1)+"\"\n")
		repo.Commit("more")
		var wait sync.WaitGroup
		for range 2 {
			for _, one := range []func() error{
				func() error { _, err := b.catalog.SyncNow(t.Context(), b.org, b.app); return err },
				func() error { _, err := other.SyncNow(t.Context(), b.org, b.app); return err },
			} {
				wait.Go(func() {
					if err := one(); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wait.Wait()
		b.wantBuilds(map[string]int{"sandbox": 1, "web": 1, "metrics": round + 2})
		if revision := b.sync(); int(revision.Number) != round+2 {
			t.Errorf("round %d ended with revision %d", round, revision.Number)
		}
		b.in(func(ctx context.Context, tx *store.Tx) error {
			version, err := tx.AppVersionByID(ctx, b.org, *b.appRow().VersionID)
			if int(version.Number) != round+2 {
				t.Errorf("round %d ended with app version %d", round, version.Number)
			}
			return err
		})
	}
}

// A mirror that is lost between the poll and the build is created again.
func TestALostMirror(t *testing.T) {
	repo := hello(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.observer, b.catalog, b.builder = b.replica() // with another mirror directory, which is empty
	repo.Write("modules/metrics/main.tf", "output \"port\" { value = 9 }\n")
	if got := b.push("nine").Outcome; got != "app hello: component metrics: input changed, build 2" {
		t.Errorf("the outcome is %q", got)
	}
}
