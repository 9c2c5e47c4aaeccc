package build_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/gittest"
)

const dockerText = "type = \"docker_build\"\nname = \"image\"\ndockerfile = \"Dockerfile\"\n" +
	"[public_repo]\nrepo = \".\"\ndirectory = \"svc\"\n"

// withDockerfile returns hello with an image that is built.
func withDockerfile(t *testing.T) *gittest.Repo {
	t.Helper()
	repo := hello(t).Write("app/components/image.toml", dockerText,
		"svc/Dockerfile", "FROM scratch\nCOPY . /\n", "svc/.dockerignore", "*.md\ntest\nDockerfile\n!KEEP.md\n",
		"svc/main.txt", "one\n", "svc/README.md", "read\n", "svc/KEEP.md", "keep\n", "svc/test/a.txt", "a\n")
	repo.Commit("an image")
	return repo
}

// TestDockerBuilds: an image is built from its context without what the ignore file lists. A push that changes
// nothing in it is no build.
func TestDockerBuilds(t *testing.T) {
	repo := withDockerfile(t)
	b := newBench(t, repo)
	b.connect(true)
	b.sync()
	first := b.builds("image")[0]
	job := b.job(first)
	want := api.DockerBuildSpec{Dockerfile: "FROM scratch\nCOPY . /\n"}
	if diff := cmp.Diff(want, job.Build.Docker); diff != "" || job.Build.Directory != "svc" || job.TimeoutSeconds != 3600 {
		t.Errorf("%+v %s", job, diff)
	}
	files := slices.Sorted(maps.Keys(b.sourceOf(first)))
	if got := strings.Join(files, " "); got != "svc/.dockerignore svc/KEEP.md svc/main.txt" {
		t.Errorf("the context has %s", got)
	}
	b.succeed("sandbox", "web", "metrics", "image")

	repo.Write("svc/README.md", "more\n", "svc/test/b.txt", "b\n", "modules/metrics/more.tf", "# more\n")
	b.push("nothing in the context")
	b.wantBuilds(map[string]int{"image": 1})
	for i, change := range []struct {
		file, text, reason string
	}{
		{"svc/main.txt", "two\n", "changed svc/main.txt, which component image is built from"},
		{"svc/Dockerfile", "FROM scratch\nCOPY main.txt /\n",
			"changed svc/Dockerfile, which component image is built from"},
		{"app/components/image.toml", "target = \"base\"\n" + dockerText,
			"app version 2 builds stage base of component image"},
		{"app/components/image.toml", "target = \"base\"\n" + dockerText + "[build_args]\nA = \"1\"\n",
			"app version 3 changes the build arguments of component image"},
		{"app/components/image.toml", "target = \"base\"\nplatforms = [\"linux/arm64\"]\n" + dockerText +
			"[build_args]\nA = \"1\"\n", "app version 4 changes the platforms of component image"},
	} {
		repo.Write(change.file, change.text)
		b.push(change.file)
		builds := b.builds("image")
		if len(builds) != i+2 || !strings.Contains(builds[i+1].Reason, change.reason) {
			t.Errorf("%s: %d builds, the last one because %s", change.file, len(builds), builds[len(builds)-1].Reason)
		}
	}
	spec := b.job(b.builds("image")[5]).Build.Docker
	want = api.DockerBuildSpec{Dockerfile: "FROM scratch\nCOPY main.txt /\n", Target: "base",
		BuildArgs: map[string]string{"A": "1"}, Platforms: []string{"linux/arm64"}}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Error(diff)
	}
}

// TestHostileContexts: what cannot be a context is the problem of the component, and is not packed.
func TestHostileContexts(t *testing.T) {
	many := []string{}
	for i := range 20_001 {
		many = append(many, fmt.Sprintf("svc/files/%d", i), "")
	}
	for name, test := range map[string]struct {
		prepare func(repo *gittest.Repo)
		want    string
	}{
		"no Dockerfile": {func(r *gittest.Repo) { r.Remove("svc/Dockerfile") }, "there is no Dockerfile svc/Dockerfile in"},
		"a link out":    {func(r *gittest.Repo) { r.Symlink("../../../etc/passwd", "svc/passwd") }, "svc/passwd"},
		"a pattern that is none": {func(r *gittest.Repo) { r.Write("svc/.dockerignore", "[a\n") },
			"svc/.dockerignore: syntax error in pattern; correct it"},
		"too many patterns": {func(r *gittest.Repo) { r.Write("svc/.dockerignore", strings.Repeat("a*b*c\n", 501)) },
			"it has 501 patterns, and 500 are the most"},
		"a Dockerfile that is a link": {func(r *gittest.Repo) {
			r.Remove("svc/Dockerfile").Symlink("main.txt", "svc/Dockerfile")
		},
			"svc/Dockerfile is no file"},
		"a context over the limit": {func(r *gittest.Repo) { r.Write("svc/large", strings.Repeat("x", 33<<20)) },
			"list what the image does not need in .dockerignore"},
		"too many files": {func(r *gittest.Repo) { r.Write(many...) },
			"list what the image does not need in .dockerignore"},
	} {
		t.Run(name, func(t *testing.T) {
			repo := withDockerfile(t)
			test.prepare(repo)
			repo.Commit(name)
			b := newBench(t, repo)
			b.connect(true)
			outcome := b.sync().Outcome
			if !strings.Contains(outcome, test.want) || len(b.builds("image")) != 0 {
				t.Errorf("%d builds: %s", len(b.builds("image")), outcome)
			}
		})
	}
}
