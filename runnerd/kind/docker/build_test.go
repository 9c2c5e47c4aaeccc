package docker

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
)

// layoutScript writes the layout of an image with one layer, whose content is $LAYER, to $OUT.
const layoutScript = `
blob() { H=$(printf %s "$1" | /usr/bin/sha256sum); H=${H%% *}; printf %s "$1" >$OUT/blobs/sha256/$H; }
/bin/mkdir -p $OUT/blobs/sha256
blob "$LAYER"; L=$H; blob '{"os":"linux","architecture":"amd64"}'; C=$H
blob '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:'$C'","size":37},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"sha256:'$L'","size":'${#LAYER}'}]}'
printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:%s","size":1}]}' $H >$OUT/index.json
`

// TestBuildKit: buildctl and docker buildx get the context, the Dockerfile outside of it, all settings, and the
// order to attest.
func TestBuildKit(t *testing.T) {
	for name, want := range map[string][]string{
		"buildctl": {"build", "--progress", "plain", "--frontend", "dockerfile.v0", "--local", "context=WORK/source/app",
			"--local", "dockerfile=WORK/dockerfile", "--opt", "filename=Dockerfile", "--opt", "target=base", "--opt",
			"build-arg:A=1 2", "--opt", "build-arg:SOURCE_DATE_EPOCH=0", "--opt", "platform=linux/amd64,linux/arm64",
			"--opt", "attest:provenance=mode=min", "--opt", "attest:sbom=", "--secret", "id=NPM_TOKEN,env=NPM_TOKEN",
			"--output", "type=oci,tar=false,rewrite-timestamp=true,dest=WORK/image"},
		"docker": {"buildx", "build", "--progress", "plain", "--file", "WORK/dockerfile/Dockerfile", "--target", "base",
			"--build-arg", "A=1 2", "--build-arg", "SOURCE_DATE_EPOCH=0", "--platform", "linux/amd64,linux/arm64",
			"--provenance", "mode=min", "--sbom=true", "--secret", "id=NPM_TOKEN,env=NPM_TOKEN", "--output",
			"type=oci,tar=false,rewrite-timestamp=true,dest=WORK/image", "WORK/source/app"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.spec.Target, r.spec.BuildArgs = "base", map[string]string{"A": "1 2"}
			r.spec.Platforms, r.spec.Secrets = []string{"linux/amd64", "linux/arm64"}, []string{"NPM_TOKEN"}
			dir := r.standIn(name, `
case "$*" in "debug workers"|"buildx inspect") exit;; "--version"|"buildx version") echo "$0 v1.2.3"; exit;; esac
echo "${BUILDKIT_HOST:-none} ${NPM_TOKEN:-none} ${OTHER:-none}" >$D/environ
for word; do echo "$word"; done >$D/words
OUT=$PWD/image LAYER=layer`+layoutScript)
			r.environ = append(r.environ, "BUILDKIT_HOST=tcp://builder:1234", "NPM_TOKEN=hidden-token", "OTHER=1",
				jobenv.VarPassEnv+"=NPM_TOKEN")
			_, listed := r.mustBuild()
			if len(listed.Manifests) != 1 || !strings.Contains(r.log.String(), name+" v1.2.3") {
				t.Errorf("%+v\n%s", listed, &r.log)
			}
			words, err := os.ReadFile(filepath.Join(dir, "words"))
			r.must(err)
			got := strings.Split(strings.TrimSpace(string(words)), "\n")
			work := strings.TrimSuffix(got[slices.IndexFunc(got, func(s string) bool {
				return strings.Contains(s, "dest=")
			})], "/image")
			work = work[strings.Index(work, "dest=")+len("dest="):]
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], work, "WORK")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			environ, err := os.ReadFile(filepath.Join(dir, "environ"))
			r.must(err)
			if string(environ) != "tcp://builder:1234 hidden-token none\n" {
				t.Errorf("%s", environ)
			}
		})
	}
}

// standInBuild makes buildctl a stand-in whose builds run a script.
func (r *rig) standInBuild(script string) string {
	return r.standIn("buildctl", `
case "$*" in "debug workers") exit;; "--version") echo "buildctl v1"; exit;; esac
OUT=$PWD/image`+"\n"+script)
}

// TestASecretIsNeverInALayer: an image with the value of a secret is not pushed.
func TestASecretIsNeverInALayer(t *testing.T) {
	r := newRig(t)
	r.spec.Secrets = []string{"NPM_TOKEN"}
	r.standInBuild(`LAYER="x$NPM_TOKEN"` + layoutScript)
	if _, err := r.build(); err == nil || !strings.Contains(err.Error(), "--pass-env NPM_TOKEN") {
		t.Error(err)
	}
	r.environ = append(r.environ, "NPM_TOKEN=hidden-token")
	if _, err := r.build(); err == nil || !strings.Contains(err.Error(), "--pass-env NPM_TOKEN") {
		t.Errorf("a variable that its owner does not pass on is a secret of builds: %v", err)
	}
	r.environ = append(r.environ, jobenv.VarPassEnv+"=OTHER,NPM_TOKEN")
	built, err := r.build()
	if err == nil || !strings.Contains(err.Error(), "the image contains the secret NPM_TOKEN") ||
		strings.Contains(err.Error(), "hidden") || built.Artifact.Digest != "" {
		t.Errorf("%v %v", built, err)
	}
	r.spec.Secrets = nil
	if _, err := r.build(); err != nil {
		t.Errorf("a build without secrets: %v", err)
	}
	for _, text := range []string{`a\"b<c\\d&e`, `a\"b\u003cc\\d\u0026e`} { // as a config has it
		r.spec.Secrets = []string{"NPM_TOKEN"}
		r.standInBuild("LAYER='x" + text + "'" + layoutScript)
		r.environ = append(r.environ, `NPM_TOKEN=a"b<c\d&e`, jobenv.VarPassEnv+"=NPM_TOKEN")
		if _, err := r.build(); err == nil || !strings.Contains(err.Error(), "the image contains the secret NPM_TOKEN") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestWithoutABuilder: the error names what was tried, and the remedy.
func TestWithoutABuilder(t *testing.T) {
	r := newRig(t)
	r.standIn("docker", `case "$*" in "buildx inspect") echo "Driver: docker"; exit;; esac`)
	_, err := r.build()
	for _, want := range []string{"buildctl: not installed", "docker: its builder has the driver docker",
		"docker buildx create --use", "buildah: not installed", "install Buildah (apt install buildah"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	r.standIn("buildctl", "echo 'error: cannot reach buildkitd' >&2; exit 1")
	if _, err := r.build(); err == nil || !strings.Contains(err.Error(), "buildctl: error: cannot reach buildkitd") {
		t.Error(err)
	}
}

// TestABuildThatHangs: the end of the job ends the builder with all that it started.
func TestABuildThatHangs(t *testing.T) {
	r := newRig(t)
	dir := r.standInBuild("trap '' INT; /bin/sleep 1000 & echo $! >$D/pid.new; /bin/mv $D/pid.new $D/pid; wait; wait")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	env := r.env()
	go func() {
		_, err := Build{environ: r.environ}.Run(ctx, env)
		ended <- err
	}()
	testtime.Until(t, "the builder runs", func() bool {
		_, err := os.Stat(filepath.Join(dir, "pid"))
		return err == nil
	})
	cancel(context.DeadlineExceeded)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "was interrupted") {
		t.Error(err)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	r.must(err)
	testtime.Until(t, "the builder's process is gone", func() bool {
		content, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		return err != nil || strings.Contains(string(content), ") Z ")
	})
}

// TestHostileBuilders: what a builder leaves behind is not trusted.
func TestHostileBuilders(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"nothing":    {":", "read the built image"},
		"a failure":  {"echo 'error: no space left' >&2; exit 1", "error: no space left"},
		"a link out": {"/bin/mkdir -p $OUT; /bin/ln -s /etc/passwd $OUT/index.json", "read the built image"},
		"a pipe":     {"/bin/mkdir -p $OUT; /usr/bin/mkfifo $OUT/index.json", "index.json is no file"},
		"a pipe as a layer": {"LAYER=x" + layoutScript + "/bin/rm $OUT/blobs/sha256/$L; " +
			"/usr/bin/mkfifo $OUT/blobs/sha256/$L", "has 0 bytes instead of 1"},
		"two images": {"/bin/mkdir -p $OUT; echo '{\"manifests\":[{},{}]}' >$OUT/index.json", "has 2 images"},
		"a path as a digest": {"/bin/mkdir -p $OUT; " +
			"echo '{\"manifests\":[{\"digest\":\"sha256:../../x\"}]}' >$OUT/index.json", "instead of one"},
		"another content":       {"LAYER=x" + layoutScript + "echo more >>$OUT/blobs/sha256/$H", "has the bytes of"},
		"a layer that was lost": {"LAYER=x" + layoutScript + "/bin/rm $OUT/blobs/sha256/$L", "no such file"},
		"a layer that grew":     {"LAYER=x" + layoutScript + "echo more >>$OUT/blobs/sha256/$L", "has 6 bytes instead of 1"},
		"a layer that lies":     {"LAYER=x" + layoutScript + "printf y >$OUT/blobs/sha256/$L", "digest"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.standInBuild(test.script)
			built, err := r.build()
			if err == nil || !strings.Contains(err.Error(), test.want) || built.Artifact.Digest != "" {
				t.Errorf("%v, %v", built, err)
			}
		})
	}
}
