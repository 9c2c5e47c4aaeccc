package helm_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/kind/helm"
)

// builder is a build runner with the vendor's registry.
type builder struct {
	t      *testing.T
	vendor *job.Registry
	log    bytes.Buffer
}

func newBuilder(t *testing.T) *builder {
	t.Helper()
	return &builder{t: t, vendor: &job.Registry{Reference: ocitest.Registry(t).Child("vendor")}}
}

// run runs one build job.
func (b *builder) run(spec api.BuildSpec) (api.ArtifactRef, error) {
	b.t.Helper()
	spec.Repository, spec.ComponentKind, spec.Tree = "web", "helm_chart", "sha256:0123"
	env := &job.Env{Dir: b.t.TempDir(), Vendor: b.vendor, Redact: &redact.Set{}, Log: job.NewLog(&b.log, &redact.Set{})}
	env.Spec.Kind, env.Spec.Build = api.JobSpecKindBuild, spec
	result, err := helm.BuildAs("acme", "s3cret").Run(b.t.Context(), env)
	return result.Build.Artifact, err
}

// build builds the chart in deploy/web, from a tree given as pairs of path and content.
func (b *builder) build(pairs ...string) (api.ArtifactRef, error) {
	b.t.Helper()
	var files []artifact.File
	for i := 0; i < len(pairs); i += 2 {
		files = append(files, artifact.File{Path: pairs[i], Content: []byte(pairs[i+1])})
	}
	rand.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	packed, err := artifact.Pack(artifact.MediaSource, files, nil, artifact.Limits{})
	if err != nil {
		b.t.Fatal(err)
	}
	pushed, err := b.vendor.Push(b.t.Context(), "source", packed)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.run(api.BuildSpec{Source: pushed, Directory: "deploy/web"})
}

// webChart is a small repository with a chart that depends on another.
var webChart = []string{
	"README.md", "not a part of it",
	"deploy/web/Chart.yaml",
	"apiVersion: v2\nname: web\nversion: 1.2.3\ndependencies:\n  - name: common\n    version: ^0.1\n    repository: " +
		"file://../common\n",
	"deploy/web/values.yaml", "name: web\n",
	"deploy/web/.helmignore", "*.bak\n",
	"deploy/web/old.bak", "left behind",
	"deploy/web/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include \"common.name\" . }}\n",
	"deploy/common/Chart.yaml", "apiVersion: v2\nname: common\nversion: 0.1.5\ntype: library\n",
	"deploy/common/templates/_x.tpl", "{{- define \"common.name\" }}{{ .Values.name }}{{ end }}",
}

func TestBuildOfAChart(t *testing.T) {
	b := newBuilder(t)
	built, err := b.build(webChart...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.vendor.Pull(t.Context(), built)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"dev.nuon.kind": "helm_chart", "dev.nuon.tree": "sha256:0123", "dev.nuon.format": "1"}
	if diff := cmp.Diff(want, got.Annotations); diff != "" || got.Type != artifact.MediaChart {
		t.Error(diff, got.Type)
	}
	files, err := got.Files(artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, file.Path)
	}
	if diff := cmp.Diff([]string{".helmignore", "Chart.lock", "Chart.yaml", "charts/common/Chart.yaml",
		"charts/common/templates/_x.tpl", "templates/a.yaml", "values.yaml"}, names); diff != "" {
		t.Error(diff)
	}
	for _, words := range []string{"chart web 1.2.3 from deploy/web", "web needs common 0.1.5 from deploy/common",
		"of the 1024 KiB", built.Digest} {
		if !strings.Contains(b.log.String(), words) {
			t.Errorf("the log has no %q:\n%s", words, b.log.String())
		}
	}
	// Another runner and another order of the files.
	again, err := newBuilder(t).build(webChart...)
	if err != nil || again.Digest != built.Digest {
		t.Errorf("one source, two digests: %s and %s, %v", built.Digest, again.Digest, err)
	}
}

func TestBuildOfAChartRefuses(t *testing.T) {
	b := newBuilder(t)
	// Letters in random order, which compress badly.
	random, letters := rand.NewChaCha8([32]byte{1}), make([]byte, 3<<20)
	_, _ = random.Read(letters)
	for i := range letters {
		letters[i] = 'a' + letters[i]%26
	}
	for name, test := range map[string]struct {
		files []string
		want  []string
	}{
		"a template": {[]string{"deploy/web/templates/b.yaml", "\n{{ .Values. }}"},
			[]string{"deploy/web/templates/b.yaml:2", "fix the template"}},
		"values": {[]string{"deploy/web/values.yaml", "a: [\n"}, []string{"deploy/web/values.yaml:"}},
		"too large": {[]string{"deploy/web/data.txt", string(letters)},
			[]string{"at most 1024 KiB", ".helmignore", `"data.txt" (3072 KiB)`}},
		"no dependency": {[]string{"deploy/common/Chart.yaml", "apiVersion: v2\nname: common\nversion: 1.0.0\n"},
			[]string{"deploy/web/Chart.yaml:6", `"common"`, "helm dependency update deploy/web"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.build(with(webChart, test.files...)...)
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got  %v\nwant %s", err, want)
				}
			}
		})
	}
}

// with replaces or adds files.
func with(pairs []string, more ...string) []string {
	made := map[string]string{}
	for _, list := range [][]string{pairs, more} {
		for i := 0; i < len(list); i += 2 {
			made[list[i]] = list[i+1]
		}
	}
	var joined []string
	for name, content := range made {
		joined = append(joined, name, content)
	}
	return joined
}

// TestBuildWarns: a problem that an install's values can fix does not fail the build.
func TestBuildWarns(t *testing.T) {
	b := newBuilder(t)
	if _, err := b.build(with(webChart, "deploy/web/templates/b.yaml",
		"{{ required \"domain is needed\" .Values.domain }}")...); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.log.String(), "domain is needed") ||
		!strings.Contains(b.log.String(), "the values of the install") {
		t.Error(b.log.String())
	}
}

func TestBuildFromARepositoryThatIsPrivate(t *testing.T) {
	b := newBuilder(t)
	repository := fmt.Sprintf("oci://%s/charts", b.vendor.Reference.Host)
	_, err := b.run(api.BuildSpec{Chart: api.ChartSource{Repository: repository, Chart: "web", Version: "1.0.0"}})
	if err == nil || !strings.Contains(err.Error(), "NUON_CHARTS_PRIVATE=1") {
		t.Error(err)
	}
	t.Setenv("NUON_CHARTS_PRIVATE", "1")
	_, err = b.run(api.BuildSpec{Chart: api.ChartSource{Repository: repository, Chart: "web", Version: "1.0.0"}})
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Error(err)
	}
}
