package build_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

const (
	chartText = "type = \"helm_chart\"\nname = \"api\"\nchart_name = \"hello-api\"\nbuild_timeout = \"90s\"\n" +
		"[public_repo]\nrepo = \".\"\ndirectory = \"charts/api\"\n"
	fetchedText = "type = \"helm_chart\"\nname = \"cache\"\nchart_name = \"hello-cache\"\n[helm_repo]\nrepo_url = " +
		"\"oci://charts.example.com/acme\"\nchart = \"cache\"\n"
	manifestText = "type = \"kubernetes_manifest\"\nname = \"quota\"\nnamespace = \"hello\"\nmanifest = \"./quota.yaml\"\n"
	kustomText   = "type = \"kubernetes_manifest\"\nname = \"edge\"\nnamespace = \"hello\"\n[kustomize]\npath = " +
		"\"./overlays/a\"\npatches = [\"patches/more.yaml\"]\n" +
		"[public_repo]\nrepo = \".\"\ndirectory = \"deploy\"\n"
	quotaText = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: quota}\ndata: {id: '{{.nuon.install.id}}'}\n"
)

// cluster returns hello with a component of each other deployed kind, from each place that it can
// be built from.
func cluster(t testing.TB) *gittest.Repo {
	t.Helper()
	repo := hello(t).Write(
		"app/components/api.toml", chartText,
		"app/components/cache.toml", fetchedText,
		"app/components/quota.toml", manifestText, "app/components/quota.yaml", quotaText,
		"app/components/edge.toml", kustomText,
		"charts/api/Chart.yaml", "apiVersion: v2\nname: api\nversion: 1.0.0\ndependencies:\n- name: common\n  version: "+
			"1.0.0\n  repository: file://../common\n",
		"charts/api/templates/a.yaml", "a: b\n",
		"charts/common/Chart.yaml", "apiVersion: v2\nname: common\nversion: 1.0.0\ntype: library\n",
		"charts/other/Chart.yaml", "apiVersion: v2\nname: other\nversion: 1.0.0\n",
		"deploy/base/kustomization.yaml", "resources: [a.yaml]\n", "deploy/base/a.yaml", "a: b\n",
		"deploy/overlays/a/kustomization.yaml", "resources: [../../base]\n",
		"deploy/overlays/b/kustomization.yaml", "resources: [../../base]\n",
		"deploy/patches/more.yaml", "a: c\n",
	)
	repo.Commit("kinds")
	return repo
}

// job returns the spec of a build's job.
func (b *bench) job(built store.Build) (spec api.JobSpec) {
	b.t.Helper()
	b.in(func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ViewJobs(ctx, b.org, []string{*built.JobID})
		if err != nil {
			return err
		}
		return json.Unmarshal(rows[0].Job.Spec, &spec)
	})
	return spec
}

// sourceOf returns the files that a build would find, by path.
func (b *bench) sourceOf(built store.Build) map[string]string {
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
	all := map[string]string{}
	for _, file := range files {
		all[file.Path] = string(file.Content)
	}
	return all
}

// TestChartsAndManifests checks that they are built from what they name and from nothing else: what
// a build finds, its spec, and what causes another build.
func TestChartsAndManifests(t *testing.T) {
	repo := cluster(t)
	b := newBench(t, repo)
	b.connect(true)
	outcome := b.sync().Outcome
	all := map[string]int{"sandbox": 1, "web": 1, "metrics": 1, "api": 1, "cache": 1, "quota": 1, "edge": 1}
	b.wantBuilds(all)
	if !strings.Contains(outcome, "component quota: first input, build 1") {
		t.Errorf("the outcome is %q", outcome)
	}
	for name, want := range map[string]struct {
		files   string
		spec    api.BuildSpec
		seconds int
	}{
		"api": {
			"charts/api/Chart.yaml charts/api/templates/a.yaml charts/common/Chart.yaml",
			api.BuildSpec{ComponentKind: "helm_chart", Directory: "charts/api"}, 90,
		},
		"quota": {"manifest.yaml", api.BuildSpec{ComponentKind: "kubernetes_manifest", Directory: "."}, 300},
		"edge": {
			"deploy/base/a.yaml deploy/base/kustomization.yaml deploy/overlays/a/kustomization.yaml deploy/patches/more.yaml",
			api.BuildSpec{
				ComponentKind: "kubernetes_manifest", Directory: "deploy/overlays/a",
				Kustomize: api.KustomizeSpec{
					Path: "deploy/overlays/a", Patches: []string{"deploy/patches/more.yaml"},
					LoadRestrictor: "rootOnly",
				},
			}, 300,
		},
		"cache": {
			"",
			api.BuildSpec{
				ComponentKind: "helm_chart", Directory: ".",
				Chart: api.ChartSource{Repository: "oci://charts.example.com/acme", Chart: "cache"},
			}, 300,
		},
		"sandbox": {
			"modules/sandbox/main.tf",
			api.BuildSpec{ComponentKind: "sandbox", Directory: "modules/sandbox", TerraformVersion: "1.11.4"}, 1800,
		},
	} {
		built := b.builds(name)[0]
		spec := b.job(built)
		want.spec.Build, want.spec.Component, want.spec.Repository = built.ID, name, b.org+"/builds/"+built.ComponentID
		if want.files != "" {
			want.spec.Source = api.ArtifactRef{
				Repository: b.org + "/sources/" + built.ComponentID, Digest: built.SourceDigest,
			}
			if diff := cmp.Diff(strings.Fields(want.files), slices.Sorted(maps.Keys(b.sourceOf(built)))); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		if !strings.HasPrefix(spec.Build.Tree, "sha256:") {
			t.Errorf("%s: the source is called %q", name, spec.Build.Tree)
		}
		spec.Build.Tree = ""
		if diff := cmp.Diff(want.spec, spec.Build); diff != "" || spec.TimeoutSeconds != want.seconds {
			t.Errorf("%s: %d seconds, %s", name, spec.TimeoutSeconds, diff)
		}
		if built.Repository != repo.URL() || built.Commit != repo.Head() {
			t.Errorf("%s: the build is of %s at %s", name, built.Repository, built.Commit)
		}
	}
	if text := b.sourceOf(b.builds("quota")[0])["manifest.yaml"]; text != quotaText {
		t.Errorf("the manifest is %q", text)
	}
	if reason := b.builds("cache")[0].Reason; !strings.Contains(reason,
		": the newest version of chart cache of oci://charts.example.com/acme") {
		t.Errorf("the reason is %q", reason)
	}
	b.succeed("sandbox", "web", "metrics", "api", "cache", "quota", "edge")

	for _, step := range []struct {
		name    string
		write   []string
		rebuilt string // the one component that gets another build
		reason  string
	}{
		{
			"what nothing is built from",
			[]string{
				"charts/other/Chart.yaml", "a: b\n", "deploy/overlays/b/kustomization.yaml",
				"resources: []\n", "README.md", "x",
			}, "", "",
		},
		{
			"what only a deploy uses",
			[]string{
				"app/components/quota.toml", manifestText + "deploy_timeout = \"3m\"\n", "app/components/api.toml",
				chartText + "[values]\na = 1\n",
			}, "", "",
		},
		{
			"a manifest", []string{"app/components/quota.yaml", quotaText + "# more\n"}, "quota",
			"changes the manifest of component quota",
		},
		{
			"a chart below", []string{"charts/common/values.yaml", "a: b\n"}, "api",
			"changed charts/common/values.yaml, which component api is built from",
		},
		{
			"a base", []string{"deploy/base/a.yaml", "a: d\n"}, "edge",
			"changed deploy/base/a.yaml, which component edge is built from",
		},
		{
			"an option",
			[]string{
				"app/components/edge.toml",
				strings.Replace(kustomText, "[public_repo]", "enable_helm = true\n[public_repo]", 1),
			}, "edge", "changes the kustomize options of component edge",
		},
		{"a version", []string{"app/components/cache.toml", fetchedText + "version = \"1.2.3\"\n"}, "cache",
			"builds component cache from chart cache 1.2.3 of oci://charts.example.com/acme instead of the newest version of " +
				"chart cache of oci://charts.example.com/acme"},
		{"a chart of one's own",
			[]string{
				"app/components/cache.toml",
				strings.NewReplacer(`"api"`, `"cache"`, "hello-api", "hello-cache").Replace(chartText),
			}, "cache",
			"builds component cache from charts/api instead of chart cache 1.2.3 of oci://charts.example.com/acme"},
		{"a chart of others",
			[]string{"app/components/cache.toml", strings.Replace(fetchedText, "oci", "https", 1)}, "cache",
			"builds component cache from the newest version of chart cache of https://charts.example.com/acme instead of " +
				"charts/api"},
		{"a text for a kustomization",
			[]string{"app/components/edge.toml", strings.Replace(manifestText, "quota", "edge", 1)}, "edge",
			"builds component edge from a manifest in the config instead of deploy/overlays/a"},
	} {
		repo.Write(step.write...)
		b.push(step.name)
		if app := b.appRow(); string(app.Diagnostics) != "[]" && strings.Contains(string(app.Diagnostics), `"error"`) {
			t.Fatalf("%s: %s", step.name, app.Diagnostics)
		}
		if step.rebuilt != "" {
			all[step.rebuilt]++
		}
		b.wantBuilds(all)
		if step.rebuilt == "" {
			continue
		}
		builds := b.builds(step.rebuilt)
		if reason := builds[len(builds)-1].Reason; !strings.Contains(reason, step.reason) {
			t.Errorf("%s: the reason is %q", step.name, reason)
		}
		b.succeed(step.rebuilt)
	}
}

// TestAFailedBuildOfAFetchedChart checks that a retry has the same spec and the current timeout.
func TestAFailedBuildOfAFetchedChart(t *testing.T) {
	repo := cluster(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	first := b.builds("cache")[0]
	b.end(first, api.JobResult{Status: api.JobResultStatusFailed, Error: "charts.example.com cannot be reached"})
	repo.Write("app/components/cache.toml",
		strings.Replace(fetchedText, "[helm_repo]", "build_timeout = \"2m\"\n[helm_repo]", 1))
	b.push("longer")
	b.wantBuilds(map[string]int{"cache": 1})
	b.in(func(ctx context.Context, tx *store.Tx) error {
		_, err := b.builder.Retry(ctx, tx, first.ID)
		return err
	})
	was, now := b.job(first), b.job(b.builds("cache")[1])
	if now.Build.Chart != was.Build.Chart || now.Build.Source != (api.ArtifactRef{}) || now.TimeoutSeconds != 120 {
		t.Errorf("got %+v for %d seconds", now.Build, now.TimeoutSeconds)
	}
}

// TestAnUploadedAppWithoutCode checks that what is built from the config alone needs no repository.
func TestAnUploadedAppWithoutCode(t *testing.T) {
	elsewhere := gittest.New(t).Write("sandbox/main.tf", "")
	elsewhere.Commit("start")
	b := newBench(t, elsewhere)
	b.app = id.New("app")
	b.in(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.AddApp(ctx, store.AddAppParams{OrgID: b.org, ID: b.app, Name: "hello", Directory: "."})
		return err
	})
	b.addRunner()
	upload := func(quota string) {
		t.Helper()
		packed, err := artifact.Tarball([]artifact.File{
			{Path: "components/cache.toml", Content: []byte(fetchedText)},
			{Path: "components/quota.toml", Content: []byte(manifestText)},
			{Path: "components/quota.yaml", Content: []byte(quota)},
			{Path: "metadata.toml", Content: []byte("version = \"v2\"\n")},
			{
				Path: "sandbox.toml",
				Content: []byte("terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \"" + elsewhere.URL() +
					"\"\ndirectory = \"sandbox\"\nbranch = \"main\"\n"),
			},
		}, artifact.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if found, err := b.catalog.Upload(
			t.Context(), b.org, b.app, "uploaded by ada", bytes.NewReader(packed),
			func(context.Context, *store.Tx) error { return nil },
		); err != nil || found.HasErrors() {
			t.Fatalf("%v, %v", found, err)
		}
	}
	upload(quotaText)
	b.wantBuilds(map[string]int{"sandbox": 1, "cache": 1, "quota": 1})
	built := b.builds("quota")[0]
	if built.Repository != "" || built.Commit != "" ||
		built.Reason != "the first input of component quota, at app version 1" ||
		b.sourceOf(built)["manifest.yaml"] != quotaText {
		t.Errorf("got %+v", built)
	}
	if all := b.releases(); len(all) != 1 {
		t.Errorf("the releases are %q", all)
	}
	upload(quotaText)
	upload(quotaText + "# more\n")
	b.wantBuilds(map[string]int{"sandbox": 1, "cache": 1, "quota": 2})
	if reason := b.builds("quota")[1].Reason; reason != "app version 2 changes the manifest of component quota" {
		t.Errorf("the reason is %q", reason)
	}
}

// TestLinkedCode checks that the target of a chart's links is packed with the chart, and rebuilds
// it when it changes.
func TestLinkedCode(t *testing.T) {
	repo := cluster(t)
	repo.Symlink("../../other", "charts/api/charts/other").Write("charts/api/charts/README.md", "x").Commit("link")
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	if files := b.sourceOf(b.builds("api")[0]); files["charts/other/Chart.yaml"] == "" {
		t.Errorf("the source has no charts/other, but %v", slices.Sorted(maps.Keys(files)))
	}
	repo.Write("charts/other/Chart.yaml", "apiVersion: v2\nname: other\nversion: 1.1.0\n")
	b.push("another version")
	b.wantBuilds(map[string]int{"api": 2})
}

// TestAChartThatCannotBeBuilt checks that its earlier build stays and the other components
// continue.
func TestAChartThatCannotBeBuilt(t *testing.T) {
	repo := cluster(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	before := b.component("api")
	repo.Write("charts/api/Chart.yaml",
		"apiVersion: v2\nname: api\nversion: 1.0.0\ndependencies:\n- name: up\n  repository: file://../../../up\n",
		"deploy/base/a.yaml", "b: c\n")
	outcome := b.push("climb").Outcome
	after := b.component("api")
	if !strings.Contains(after.Problem, `charts/api/Chart.yaml:6: dependency "up" leads out of the repository`) ||
		*after.InputID != *before.InputID {
		t.Errorf("got the problem %q", after.Problem)
	}
	if !strings.Contains(outcome, "component api cannot be built: charts/api/Chart.yaml:6") ||
		!strings.Contains(outcome, "component edge: input changed, build 2") {
		t.Errorf("the outcome is %q", outcome)
	}
	b.wantBuilds(map[string]int{"api": 1, "edge": 2})
}

// TestDraftsOfChartsAndManifests checks that the builds are known before anything is committed,
// also of code in other repositories.
func TestDraftsOfChartsAndManifests(t *testing.T) {
	repo, other := cluster(t), gittest.New(t)
	other.Write("chart/Chart.yaml", "apiVersion: v2\nname: far\nversion: 1.0.0\n", "k/kustomization.yaml",
		"resources: []\n").Commit("start")
	elsewhere := "[public_repo]\nrepo = \"" + other.URL() + "\"\nbranch = \"main\"\ndirectory = "
	far := "type = \"helm_chart\"\nname = \"far\"\nchart_name = \"hello-far\"\n" + elsewhere + "\"chart\"\n"
	away := "type = \"kubernetes_manifest\"\nname = \"away\"\nnamespace = \"x\"\n[kustomize]\npath = \"k\"\n" +
		elsewhere + "\".\"\n"
	repo.Write("app/components/far.toml", far, "app/components/away.toml", away).Commit("elsewhere")
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	b.succeed("sandbox", "web", "metrics", "api", "cache", "quota", "edge", "far", "away")
	for _, step := range []struct {
		write []string
		want  map[string]string // the reasons of the components that would be rebuilt
	}{
		{nil, map[string]string{}},
		{
			[]string{"app/components/quota.yaml", quotaText + "# more\n"},
			map[string]string{"quota": "this config changes the manifest of component quota"},
		},
		{
			[]string{"charts/common/values.yaml", "a: b\n"},
			map[string]string{
				"quota": "this config changes the manifest of component quota",
				"api":   "the code in charts/common would change",
			},
		},
		{
			[]string{
				"app/components/quota.yaml", quotaText, "app/components/far.toml", far + "[values]\na = 1\n",
				"app/components/away.toml", strings.Replace(away, "[public", "enable_helm = true\n[public", 1),
			},
			map[string]string{
				"api":  "the code in charts/common would change",
				"away": "this config changes the kustomize options of component away",
			},
		},
		{
			[]string{"app/components/away.toml", strings.Replace(away, "path = \"k\"", "path = \"l\"", 1)},
			map[string]string{
				"api":  "the code in charts/common would change",
				"away": "it is built from . in " + other.URL() + " at main, which a sync reads",
			},
		},
	} {
		repo.Write(step.write...)
		drafts := b.drafts()
		got := map[string]string{}
		for name, draft := range drafts {
			if draft.Problem != "" || draft.Rebuild != draft.InputChanged {
				t.Errorf("%s: %+v", name, draft)
			}
			if draft.Rebuild {
				got[name] = draft.Reason
			}
		}
		if diff := cmp.Diff(step.want, got); diff != "" || len(drafts) != 9 {
			t.Errorf("%d drafts, %s", len(drafts), diff)
		}
	}
}

// drafts returns the effect of the files as they are in the repository's directory.
func (b *bench) drafts() (drafts map[string]build.DryRun) {
	b.t.Helper()
	files, err := artifact.ReadDir(b.repo.Dir,
		artifact.ReadOptions{Skip: func(name string, _ fs.DirEntry) bool { return name == ".git" }})
	if err != nil {
		b.t.Fatal(err)
	}
	packed, err := artifact.Tarball(files, artifact.Limits{})
	if err != nil {
		b.t.Fatal(err)
	}
	draft, err := b.catalog.DryRun(b.t.Context(), b.org, b.app, "app", packed)
	if err != nil || draft.Config == nil {
		b.t.Fatalf("%v, %v", draft.Diagnostics, err)
	}
	b.in(func(ctx context.Context, tx *store.Tx) (err error) {
		drafts, err = build.DryRunBuilds(ctx, tx, b.app, draft.Config, draft.Tree)
		return err
	})
	return drafts
}
