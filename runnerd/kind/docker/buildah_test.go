package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuildah: the same context results in the same image on any runner; arguments and the stage count, and a
// change sends only the layers that differ.
func TestBuildah(t *testing.T) {
	r := buildahRig(t)
	r.spec.Dockerfile = "FROM scratch AS base\nARG VERSION=1\nCOPY hello.txt /srv/\nCOPY . /srv/\n" +
		"LABEL version=$VERSION\n" +
		"FROM base AS other\nLABEL stage=other\n"
	r.spec.Target, r.spec.BuildArgs = "base", map[string]string{"VERSION": "2"}
	built, listed := r.mustBuild()
	config := r.config(listed)
	if !strings.Contains(config, `"version":"2"`) || strings.Contains(config, "other") ||
		!strings.Contains(config, `"created":"1970-01-01T00:00:00Z"`) {
		t.Error(config)
	}
	if listed.Repository != "api" || listed.Tag != "" || listed.Platform == nil || listed.Platform.OS != "linux" {
		t.Errorf("%+v", listed)
	}
	if built.Bytes != listed.Bytes() || !strings.Contains(r.log.String(), "building with buildah version") ||
		!strings.Contains(r.log.String(), "listed the software of ") {
		t.Errorf("%d bytes\n%s", built.Bytes, &r.log)
	}
	again, _ := r.mustBuild()
	if again.Artifact != built.Artifact {
		t.Errorf("the same context became %s and %s", built.Artifact.Digest, again.Artifact.Digest)
	}
	r.context["app/other.txt"] = "other\n"
	changed, other := r.mustBuild()
	if changed.Artifact == built.Artifact || other.Root().Blobs[1] != listed.Root().Blobs[1] {
		t.Errorf("%+v became %+v", listed, other)
	}
}

// TestBuildahPlatforms: an image for two platforms is an index.
func TestBuildahPlatforms(t *testing.T) {
	r := buildahRig(t)
	r.spec.Platforms = []string{"linux/amd64", "linux/arm64"}
	built, listed := r.mustBuild()
	if len(listed.Manifests) != 6 || listed.Platform != nil || !strings.Contains(listed.Root().MediaType, "image.index") {
		t.Errorf("%+v", listed)
	}
	if again, _ := r.mustBuild(); again.Artifact != built.Artifact {
		t.Errorf("the same context became %s and %s", built.Artifact.Digest, again.Artifact.Digest)
	}
}

// TestBuildahConfinesTheContext: a Dockerfile cannot read what is outside of its context, neither by a path nor
// as an image that is no registry's.
func TestBuildahConfinesTheContext(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "x.tar")
	if err := os.WriteFile(outside, make([]byte, 1024), 0o600); err != nil { // an empty archive
		t.Fatal(err)
	}
	for name, dockerfile := range map[string]string{
		"a path":          "FROM scratch\nCOPY ../secret.txt /\n",
		"an absolute one": "FROM scratch\nCOPY /etc/passwd /\n",
		"ADD":             "FROM scratch\nADD ../secret.txt /\n",
		"a broken file":   "FROM scratch\nCOPPY . /\n",
		"an archive":      "FROM tarball:" + outside + "\n",
		"a stage of one":  "FROM scratch\nCOPY --from=tarball:" + outside + " / /\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := buildahRig(t)
			r.context["secret.txt"] = "not in the context"
			r.spec.Dockerfile = dockerfile
			built, err := r.build()
			if err == nil || built.Artifact.Digest != "" ||
				!strings.Contains(err.Error(), "buildah could not build the image: ") ||
				!strings.Contains(err.Error(), "the build context is app without what its ignore file lists") {
				t.Errorf("%v, %v", built, err)
			}
		})
	}
}
