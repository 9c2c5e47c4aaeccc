package docker

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/imagebuilder"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/testbuffer"
	"github.com/nuon-toolkit/nuon/pkg/testprogram"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// rig is a build runner with a vendor's registry.
type rig struct {
	t       *testing.T
	log     testbuffer.Buffer
	vendor  *job.Registry
	environ []string
	// context are the files of the build context, by path.
	context map[string]string
	spec    api.DockerBuildSpec
}

const repository = "org/builds/api"

func newRig(t *testing.T) *rig {
	t.Helper()
	server := httptest.NewServer(ocitest.Handler(t.TempDir()))
	t.Cleanup(server.Close)
	return &rig{t: t, environ: os.Environ(), context: map[string]string{"app/hello.txt": "hello\n"},
		vendor: &job.Registry{
			Reference: artifact.Reference{Host: strings.TrimPrefix(server.URL, "http://"), PlainHTTP: true}},
		spec: api.DockerBuildSpec{Dockerfile: "FROM scratch\nCOPY . /srv/\n"},
	}
}

// buildahRig is a rig whose only builder is Buildah.
func buildahRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	found, err := imagebuilder.Find(t.Context(), onlyBuildah(t))
	if missing := (*imagebuilder.NotFoundError)(nil); errors.As(err, &missing) {
		t.Skip("Buildah is not installed: apt install buildah")
	}
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		t.Skip("Buildah with chroot isolation is tested as root")
	}
	t.Log(found.Version)
	r.environ = onlyBuildah(t)
	return r
}

// onlyBuildah returns the environment with no other builder than Buildah.
func onlyBuildah(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	for _, place := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(place, "buildah")
		if _, err := os.Stat(path); err == nil {
			if err := os.Symlink(path, filepath.Join(dir, "buildah")); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	return []string{"PATH=" + dir + ":/usr/sbin:/sbin", "HOME=" + t.TempDir()}
}

// standIn makes a script the only builder; it has the words of $* and the directory of the test in $D.
func (r *rig) standIn(name, script string) string {
	r.t.Helper()
	dir := r.t.TempDir()
	content := "#!/bin/sh\nD=" + dir + "\n" + script + "\n"
	testprogram.Write(r.t, filepath.Join(dir, name), content)
	r.environ = []string{"PATH=" + dir}
	return dir
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%v\n%s", err, &r.log)
	}
}

// env returns the Env of a build whose context is the directory app.
func (r *rig) env() *job.Env {
	r.t.Helper()
	var files []artifact.File
	for name, content := range r.context {
		files = append(files, artifact.File{Path: name, Content: []byte(content)})
	}
	packed, err := artifact.Pack(artifact.MediaSource, files, nil, artifact.Limits{})
	r.must(err)
	source, err := r.vendor.Push(r.t.Context(), "org/sources/api", packed)
	r.must(err)
	secrets := &redact.Set{}
	return &job.Env{
		Spec: api.JobSpec{Kind: api.JobSpecKindBuild, Org: "org_1", Build: api.BuildSpec{
			Component: "api", ComponentKind: "docker_build", Directory: "app", Repository: repository, Source: source,
			Docker: r.spec,
		}},
		Dir: r.t.TempDir(), Root: r.t.TempDir(), Log: job.NewLog(&r.log, secrets), Redact: secrets,
		Timing: timing.From(5 * time.Millisecond), Vendor: r.vendor,
	}
}

func (r *rig) build() (api.BuildResult, error) {
	r.t.Helper()
	result, err := Build{environ: r.environ}.Run(r.t.Context(), r.env())
	return result.Build, err
}

// mustBuild builds and returns what the artifact lists.
func (r *rig) mustBuild() (api.BuildResult, image.Image) {
	r.t.Helper()
	built, err := r.build()
	r.must(err)
	packed, err := r.vendor.Pull(r.t.Context(), built.Artifact)
	r.must(err)
	listed, err := image.Unpack(packed)
	r.must(err)
	to, err := r.vendor.Open(repository)
	r.must(err)
	for _, m := range listed.Manifests {
		_, err := to.Manifest(r.t.Context(), m.Digest)
		r.must(err)
	}
	return built, listed
}

// config returns the text of the config of an image for one platform.
func (r *rig) config(listed image.Image) string {
	r.t.Helper()
	to, err := r.vendor.Open(repository)
	r.must(err)
	config := listed.Root().Blobs[0]
	content, err := to.Blob(r.t.Context(), artifact.Blob{Digest: config.Digest, Size: config.Size})
	r.must(err)
	return string(content)
}
