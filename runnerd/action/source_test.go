package action

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess/childtest"
)

// withRegistry adds the registries of the vendor and of the install to the rig.
func (r *rig) withRegistry() {
	registry := &job.Registry{Reference: ocitest.Registry(r.T)}
	r.env.Vendor, r.env.Install = registry, registry
}

// pack pushes files as an artifact of the vendor.
func (r *rig) pack(repository string, media artifact.Media, files ...artifact.File) api.ArtifactRef {
	r.Helper()
	packed, err := artifact.Pack(media, files, nil, artifact.Limits{})
	if err != nil {
		r.Fatal(err)
	}
	made, err := r.env.Vendor.Push(r.Context(), repository, packed)
	if err != nil {
		r.Fatal(err)
	}
	return made
}

// build runs a build of the code in a directory.
func (r *rig) build(directory string, files ...artifact.File) (api.ArtifactRef, error) {
	r.Helper()
	env := *r.env
	env.Spec.Kind = api.JobSpecKindBuild
	env.Spec.Build = api.BuildSpec{
		Build: "bld_1", Component: "actions:scripts", ComponentKind: appconfig.KindActionSource, Directory: directory,
		Tree: "sha256:tree", Repository: "dev/builds/cmp_1",
		Source: r.pack("dev/sources/cmp_1", artifact.MediaSource, files...),
	}
	result, err := (Build{}).Run(r.Context(), &env)
	return result.Build.Artifact, err
}

// sourceStep returns a step that runs a command in the directory scripts of an artifact.
func sourceStep(name, command string, from api.ArtifactRef) api.ActionStep {
	return api.ActionStep{Name: name, Command: command, Source: api.ActionSource{
		Name: "actions:scripts", Commit: "0123456789abcdef", Directory: "scripts", From: from,
		Artifact: api.ArtifactRef{Repository: "dev/installs/acme/artifacts/cmp_1", Digest: from.Digest},
	}}
}

func program(path, body string) artifact.File {
	return artifact.File{Path: path, Executable: true, Content: []byte("#!/bin/sh\nset -eu\n" + body + "\n")}
}

// TestSources: steps run programs of a repository in their directory of it, also through links, each with a
// separate copy, and the log names what ran.
func TestSources(t *testing.T) {
	r := newRig(t)
	r.withRegistry()
	made, err := r.build("scripts",
		program("scripts/run.sh", `echo "$PWD" | grep '/scripts$'
./lib/say.sh "$1"; echo changed >run.sh; echo "$(cat ../notes)"`),
		artifact.File{Path: "scripts/lib", Link: "../shared"}, program("shared/say.sh",
			`echo "said=$1" >>"$NUON_ACTIONS_OUTPUT_FILEPATH"`),
		artifact.File{Path: "notes", Content: []byte("beside the directory\n")},
		artifact.File{Path: "scripts/plain.txt", Content: []byte("#!/bin/sh\n")})
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.build("scripts", program("scripts/run.sh", "true"))
	if err != nil || again.Digest == made.Digest {
		t.Fatal(again, err)
	}
	inline := sourceStep("inline", "", made)
	inline.InlineContents = "#!/bin/sh\ntest -x run.sh && ! test -x plain.txt && " +
		"echo inline=yes >>$NUON_ACTIONS_OUTPUT_FILEPATH\n"
	got, err := r.run(t.Context(), sourceStep("first", "./run.sh '{{.nuon.inputs.inputs.name}}'", made),
		sourceStep("in/out", "./run.sh once", made), inline)
	if err != nil {
		t.Fatal(err, r.log)
	}
	if want := `{"first":{"said":"two words"},"in/out":{"said":"once"},"inline":{"inline":"yes"}}`; got["steps"] != want {
		t.Errorf("got %s, want %s", got["steps"], want)
	}
	for _, line := range []string{"source actions:scripts at commit 0123456789abcdef, artifact " + made.Digest,
		"beside the directory"} {
		if !strings.Contains(r.log.String(), line) {
			t.Errorf("%s is not in the log:\n%s", line, r.log)
		}
	}
	if _, err := r.env.Install.Pull(t.Context(), sourceStep("", "", made).Source.Artifact); err != nil {
		t.Errorf("the install's registry has no copy: %v", err)
	}
}

// TestHostileSources: nothing of code outside of a step's directory is run or unpacked.
func TestHostileSources(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary")
	touch := "touch " + canary
	r := newRig(t)
	r.withRegistry()
	made, err := r.build("scripts", program("scripts/run.sh", "true"), program("outside.sh", touch),
		artifact.File{Path: "scripts/plain.txt", Content: []byte("#!/bin/sh\n" + touch)})
	if err != nil {
		t.Fatal(err)
	}
	wrong := sourceStep("s", "./run.sh", made)
	wrong.Source.Artifact.Digest = sha256digest.Of([]byte("other"))
	climbing := sourceStep("s", "./run.sh", made)
	climbing.Source.Directory = "../scripts"
	missing := sourceStep("s", "./run.sh", made)
	missing.Source.Directory = "gone"
	for name, c := range map[string]struct {
		step api.ActionStep
		want string
	}{
		"..":                  {sourceStep("s", "../outside.sh", made), "outside of the step's directory"},
		"absolute":            {sourceStep("s", "/bin/sh -c '"+touch+"'", made), "outside of the step's directory"},
		"rendered ..":         {sourceStep("s", "{{.nuon.inputs.inputs.climb}}", made), "outside of the step's directory"},
		"not executable":      {sourceStep("s", "./plain.txt", made), "not found"},
		"not there":           {sourceStep("s", "./gone.sh", made), "not found"},
		"another digest":      {wrong, "bug in the control plane"},
		"a directory outside": {climbing, "bug in the control plane"},
		"no directory":        {missing, "holds no directory gone"},
		"another type": {sourceStep("s", "./run.sh", r.pack("dev/builds/cmp_1", artifact.MediaTerraform,
			program("scripts/run.sh", touch))), "is of type"},
		"unknown artifact": {sourceStep("s", "./run.sh", api.ArtifactRef{Repository: "dev/builds/cmp_1",
			Digest: sha256digest.Of([]byte("none"))}), "does not have"},
	} {
		t.Run(name, func(t *testing.T) {
			r := *r
			r.env.Dir = t.TempDir()
			r.env.Spec.Action.Values.Plain = []byte(`{"inputs":{"inputs":{"climb":"../outside.sh"}}}`)
			if _, err := r.run(t.Context(), c.step); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a program outside of the directory ran")
	}
	if _, err := r.build("gone", program("scripts/run.sh", "true")); err == nil ||
		!strings.Contains(err.Error(), "holds no directory gone") {
		t.Errorf("got %v", err)
	}
}

// TestSourcesOfAnotherUser: where programs run as another user, the code of a step belongs to that user, and no
// step can change the code of a later one.
func TestSourcesOfAnotherUser(t *testing.T) {
	root := childtest.UseOtherUser(t)
	r := newRig(t)
	r.withRegistry()
	r.env.Root, r.env.Dir = root, filepath.Join(root, "spool", "job_1.1")
	if err := os.MkdirAll(r.env.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	made, err := r.build("scripts", program("scripts/run.sh", `
echo "user=$(id -u)" >>$NUON_ACTIONS_OUTPUT_FILEPATH
echo x >written
mkdir -p ../../source-$1/scripts 2>/dev/null && echo planted=yes >>$NUON_ACTIONS_OUTPUT_FILEPATH
ln -s /etc ../../source-$1 2>/dev/null && echo planted=link >>$NUON_ACTIONS_OUTPUT_FILEPATH
true`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.run(t.Context(), sourceStep("first", "./run.sh 2", made), sourceStep("second", "./run.sh 3", made))
	if err != nil {
		t.Fatal(err, r.log)
	}
	if want := `{"first":{"user":"65534"},"second":{"user":"65534"}}`; got["steps"] != want {
		t.Errorf("got %s, want %s", got["steps"], want)
	}
}
