package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/execretry"
	"github.com/nuon-toolkit/nuon/pkg/imagebuilder"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/kind/image"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

// Build is the handler of build jobs: it builds an image and pushes it to the vendor's registry.
type Build struct {
	// environ replaces the environment of the process, in tests.
	environ []string
}

// Run builds the image.
func (b Build) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	environ := b.environ
	if environ == nil {
		environ = os.Environ()
	}
	w, err := newWorkspace(ctx, env, environ)
	if err != nil {
		return api.JobResult{}, err
	}
	builder, err := imagebuilder.Find(ctx, w.environ)
	if err != nil {
		return api.JobResult{}, err
	}
	env.Log.Info("building with %s (%s)", builder.Version, builder.Path)
	if err := w.build(ctx, builder); err != nil {
		return api.JobResult{}, err
	}
	var attest image.Attest
	if builder.Name == imagebuilder.Buildah { // the others attach their own
		attest = w.attest
	}
	layout, err := image.ReadLayout(ctx, env, w.path("image"), env.Spec.Build.Component, attest)
	if err != nil {
		return api.JobResult{}, err
	}
	defer func() { _ = layout.Close() }()
	if err := checkSecrets(layout, w.secrets); err != nil {
		return api.JobResult{}, err
	}
	env.Log.Info("image %s", layout.Image().Digest)
	result := api.JobResult{Status: job.Succeeded}
	if result.Build, err = layout.Push(ctx, env, env.Spec.Build.Repository); err != nil {
		return api.JobResult{}, err
	}
	env.Log.Info("artifact %s", result.Build.Artifact.Digest)
	return result, nil
}

// workspace is the directory of one build.
type workspace struct {
	env     *job.Env
	spec    api.BuildSpec
	dir     string
	environ []string          // of the builder
	secrets map[string]string // values by name
	bases   []base            // images that were pulled, as far as the builder says which
}

// newWorkspace unpacks the context and writes the Dockerfile beside it.
func newWorkspace(ctx context.Context, env *job.Env, environ []string) (*workspace, error) {
	w := &workspace{env: env, spec: env.Spec.Build, secrets: map[string]string{}}
	for _, name := range w.spec.Docker.Secrets {
		value := jobenv.Lookup(environ, name)
		if value == "" || !jobenv.IsPassed(environ, name) {
			return nil, fmt.Errorf("the build runner has no secret %s: start it with that variable and --pass-env %s, or "+
				"remove it from secrets", name, name)
		}
		w.secrets[name] = value
	}
	for name, value := range jobenv.ToolEnv(environ) {
		w.environ = append(w.environ, name+"="+value)
	}
	for _, name := range imagebuilder.Variables {
		if value := jobenv.Lookup(environ, name); value != "" && jobenv.Lookup(w.environ, name) == "" {
			w.environ = append(w.environ, name+"="+value)
		}
	}
	source, err := env.Vendor.Pull(ctx, w.spec.Source)
	if err != nil {
		return nil, err
	}
	if source.Type != artifact.MediaSource {
		return nil, fmt.Errorf("the source is of type %s; this is a bug in the control plane; report it", source.Type)
	}
	work, err := env.CreateWorkDir()
	if err != nil {
		return nil, err
	}
	w.dir = filepath.Join(work, "build")
	if err := source.Extract(w.path("source"), artifact.Limits{}); err != nil {
		return nil, fmt.Errorf("unpack the source: %w", err)
	}
	// The ignore file was applied when the context was packed. Builders prefer the one beside the Dockerfile.
	files := []artifact.File{{Path: dockerfile, Content: []byte(w.spec.Docker.Dockerfile)},
		{Path: ignoreFile, Content: []byte("# applied\n")}}
	if err := artifact.WriteTree(files, w.path("dockerfile"), artifact.Limits{}); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(w.context(), 0o700); err != nil { // it is missing if the context is empty
		return nil, err
	}
	return w, subprocess.GrantOwnership(w.dir)
}

const (
	dockerfile = "Dockerfile"
	ignoreFile = dockerfile + ".dockerignore"
)

func (w *workspace) path(name string) string { return filepath.Join(w.dir, name) }

// context returns the directory of the context.
func (w *workspace) context() string {
	return filepath.Join(w.path("source"), filepath.FromSlash(path.Clean("/"+w.spec.Directory)))
}

// run runs one command of a builder with its output in the log. The error has the last line of it.
func (w *workspace) run(ctx context.Context, builder imagebuilder.Builder, arguments []string) error {
	return w.runTo(ctx, nil, builder, arguments)
}

// runTo is run with the standard output in stdout, unless it is nil.
func (w *workspace) runTo(ctx context.Context, stdout io.Writer, builder imagebuilder.Builder,
	arguments []string) error {
	output, last := w.env.Log.Writer(api.Info), &lastLine{}
	if stdout == nil {
		stdout = output
	}
	program := subprocess.Program{
		Path: builder.Path, Args: append([]string{string(builder.Name)}, arguments...), Dir: w.dir,
		Env: w.environ, Stdout: stdout, Stderr: &tee{output, last},
		Name: string(builder.Name), Group: true, Grace: w.env.Timing.ToolGrace, Warn: w.env.Log.Warn,
	}
	err := execretry.Retry(ctx, func() error { return program.Run(ctx) })
	_ = output.Close() // errors of the log are in Log.Trouble
	if ctx.Err() != nil {
		return fmt.Errorf("the build of the image was interrupted: %w", context.Cause(ctx))
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return fmt.Errorf("%s could not build the image: %s; the job's log has all of its output, and the build context is "+
			"%s without what its ignore file lists", builder.Name,
			strings.ReplaceAll(w.env.Log.Redacted(last.String()), w.path("source")+"/", ""), w.spec.Directory)
	}
	return err
}

// tee writes to both.
type tee struct {
	output interface{ Write(p []byte) (int, error) }
	last   *lastLine
}

// Write writes p.
func (t *tee) Write(p []byte) (int, error) {
	_, _ = t.last.Write(p)
	return t.output.Write(p)
}

// lastLine keeps the last line of an output that is not empty.
type lastLine struct {
	mu   sync.Mutex
	text []byte
}

// maxLine bounds the line.
const maxLine = 2 << 10

// Write adds p.
func (l *lastLine) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if trimmed := strings.TrimRight(string(l.text), "\r\n "); strings.Contains(trimmed, "\n") {
		l.text = l.text[strings.LastIndexByte(trimmed, '\n')+1:]
	}
	if len(l.text) > maxLine {
		l.text = slices.Clone(l.text[len(l.text)-maxLine:])
	}
	return len(p), nil
}

// String returns the line.
func (l *lastLine) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimPrefix(strings.ToValidUTF8(strings.TrimSpace(string(l.text)), "\uFFFD"), "Error: ")
}
