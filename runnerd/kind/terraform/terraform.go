package terraform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/terraform-exec/tfexec"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
)

// terraform runs commands in one working directory and logs their output.
type terraform struct {
	env      *job.Env
	tool     tfbinary.Tool
	dir      string
	environ  map[string]string
	location location
	standIn  subprocess.StandIn
	library  *tfexec.Terraform // since init
	// dumped is a state that Terraform printed because it could not write it.
	dumped []byte
}

// openTerraform finds the executable of the version and prepares it for dir, which need not exist
// before init. product is the one that the artifact was built with, or "". own are the variables of
// the component and of the endpoint.
func openTerraform(ctx context.Context, env *job.Env, product tfbinary.Product, asked, dir string,
	own map[string]string) (*terraform, error) {
	found, err := tfbinary.Find(ctx,
		tfbinary.Options{Root: env.Root, Version: asked, Product: product, Logf: env.Log.Info})
	if err != nil {
		return nil, err
	}
	return &terraform{env: env, tool: found, dir: dir, environ: found.Environ(own),
		standIn: found.StandIn(env.Timing.ToolGrace, env.Log.Warn)}, nil
}

// oldestJSONInit is the first version whose init can print JSON.
var oldestJSONInit = version.Must(version.NewVersion("1.9.0"))

// initOptions are options of init.
type initOptions struct {
	// backend configures the backend.
	backend bool
	// packed means that all modules are in place, so that none is fetched.
	packed bool
	// fetches means that it may fill the provider cache that all jobs of this runner share.
	fetches bool
}

// init initializes the directory from its lock file.
func (t *terraform) init(ctx context.Context, options initOptions) error {
	if cache := t.tool.PluginCache(); cache != "" {
		if err := tfbinary.MakePluginCache(cache); err != nil {
			return err
		}
		if options.fetches {
			release, err := filelock.Wait(ctx, cache+".lock", nil)
			if err != nil {
				return err
			}
			defer release()
		}
	}
	has, err := version.NewVersion(t.tool.Version)
	if err != nil {
		return fmt.Errorf("read the version of %s: %w", t.tool.Path, err)
	}
	if t.library, err = tfbinary.Library(t.standIn, t.dir, t.environ); err != nil {
		return err
	}
	chosen := []tfexec.InitOption{tfexec.Backend(options.backend), tfexec.Get(!options.packed)}
	_, err = t.runParsed(ctx, "init", func(ctx context.Context, shown io.Writer) error {
		if has.Core().LessThan(oldestJSONInit) {
			t.library.SetStdout(shown)
			return t.library.Init(ctx, chosen...)
		}
		return t.library.InitJSON(ctx, shown, chosen...)
	})
	return err
}

// validate returns an error that lists all problems, each with file and line.
func (t *terraform) validate(ctx context.Context) error {
	screen, valid := &outputParser{log: t.env.Log, location: t.location}, false
	err := t.run(ctx, func(ctx context.Context) error {
		t.library.SetStdout(nil)
		found, err := t.library.Validate(ctx)
		if err != nil {
			return err
		}
		valid = found.Valid
		for _, problem := range found.Diagnostics {
			said := diagnostic{Severity: string(problem.Severity), Summary: problem.Summary, Detail: problem.Detail}
			if problem.Range != nil {
				said.Range.Filename, said.Range.Start.Line = problem.Range.Filename, problem.Range.Start.Line
			}
			screen.addDiagnostic(said)
		}
		return nil
	})
	if err != nil {
		return t.commandError(ctx, "validate", err, nil)
	}
	if valid {
		return nil
	}
	return t.diagnosticsError("validate", screen)
}

// lockTimeout returns how long Terraform retries to get a state lock that another attempt holds:
// as long as an ending attempt tries to free it.
func (t *terraform) lockTimeout() string { return t.env.Timing.UnlockTimeout.String() }

// plan writes a plan file to the path to.
func (t *terraform) plan(ctx context.Context, to string, destroy bool, varFiles []string) error {
	options := []tfexec.PlanOption{tfexec.Out(to), tfexec.LockTimeout(t.lockTimeout()), tfexec.Destroy(destroy)}
	for _, file := range varFiles {
		options = append(options, tfexec.VarFile(file))
	}
	// Where programs run as another user, the file is created first, and Terraform cannot
	// change it after this job has read it.
	if subprocess.HasOtherUser() {
		if err := errors.Join(os.WriteFile(to, nil, 0o600), subprocess.GrantOwnership(to)); err != nil {
			return fmt.Errorf("make the plan file: %w", err)
		}
	}
	_, err := t.runParsed(ctx, "plan", func(ctx context.Context, shown io.Writer) error {
		_, err := t.library.PlanJSON(ctx, shown, options...)
		return err
	})
	return err
}

// show returns the JSON of a plan file. It contains secrets in plain text. The library is not used: it
// decodes the plan into its own types, which lack fields that a report shows, takes several
// times the memory, and has no limit.
func (t *terraform) show(ctx context.Context, plan string) ([]byte, error) {
	if err := subprocess.GrantRead(plan); err != nil {
		return nil, err
	}
	raw := &subprocess.Output{Max: maxPlan}
	stderr := t.env.Log.Writer(api.Warn)
	err := t.runDirectly(ctx, raw, stderr, "show", "-json", "-no-color", plan)
	_ = stderr.Close()
	if raw.Exceeded() {
		return nil, errPlanTooLarge
	}
	if err != nil {
		return nil, t.commandError(ctx, "show", err, nil)
	}
	return raw.Bytes(), nil
}

// maxPlan bounds a plan in bytes, both as a file and as JSON.
const maxPlan = 256 << 20

// errPlanTooLarge is the error for both.
var errPlanTooLarge = fmt.Errorf("the plan has more than %d MiB; divide the component into smaller ones", maxPlan>>20)

// apply applies a plan file. done means that Terraform finished all of it, which counts even if
// it was interrupted at the same time.
func (t *terraform) apply(ctx context.Context, plan string) (done bool, err error) {
	shown, err := t.runParsed(ctx, "apply", func(ctx context.Context, shown io.Writer) error {
		return t.library.ApplyJSON(ctx, shown, tfexec.LockTimeout(t.lockTimeout()), tfexec.DirOrPlan(plan))
	})
	if err == nil || shown.applied && len(shown.errors) == 0 {
		return true, nil
	}
	return false, err
}

// runParsed runs a command of the library with its output in the log, and returns its parsed output.
func (t *terraform) runParsed(ctx context.Context, verb string,
	start func(ctx context.Context, shown io.Writer) error) (*outputParser, error) {
	t.env.Log.Info("terraform %s (%s, version %s)", verb, filepath.Base(t.tool.Path), t.tool.Version)
	shown := &outputParser{log: t.env.Log, location: t.location}
	err := t.run(ctx, func(ctx context.Context) error { return start(ctx, shown) })
	shown.flush()
	t.dumped = shown.state
	if err == nil {
		return shown, nil
	}
	return shown, t.commandError(ctx, verb, err, shown)
}

// run runs one command of the library to its end. When it returns, neither Terraform nor
// a provider is running.
func (t *terraform) run(ctx context.Context, start func(ctx context.Context) error) error {
	stderr := t.env.Log.Writer(api.Warn)
	defer func() { _ = stderr.Close() }()
	return t.standIn.Run(ctx, stderr, func(ctx context.Context, stderr io.Writer) error {
		t.library.SetStderr(stderr)
		return start(ctx)
	})
}

// runDirectly is like run, without the library.
func (t *terraform) runDirectly(ctx context.Context, stdout, stderr io.Writer, args ...string) error {
	environ := maps.Clone(t.environ)
	environ["TF_IN_AUTOMATION"] = "1"
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		lines = append(lines, name+"="+environ[name])
	}
	return subprocess.Program{
		Path: t.tool.Path, Args: append([]string{filepath.Base(t.tool.Path)}, args...), Dir: t.dir, Env: lines,
		Stdout: stdout, Stderr: stderr, Name: "Terraform", Grace: t.env.Timing.ToolGrace, Warn: t.env.Log.Warn,
	}.Run(ctx)
}

// commandError returns the error of a command. After an interrupt it does not format the library's
// error, which may hold a nil pointer.
func (t *terraform) commandError(ctx context.Context, verb string, err error, shown *outputParser) error {
	if ctx.Err() != nil {
		return fmt.Errorf("terraform %s was interrupted: %w", verb, context.Cause(ctx))
	}
	if shown != nil && len(shown.errors) > 0 {
		return t.diagnosticsError(verb, shown)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() < 0 {
		return &signaledError{verb: verb, how: exit.String()}
	}
	if ended := (*subprocess.SignalError)(nil); errors.As(err, &ended) {
		return &signaledError{verb: verb, how: ended.Error()}
	}
	return fmt.Errorf("terraform %s: %w; read this job's log", verb, err)
}

// signaledError is the error of a command that was ended by a foreign signal: by the kernel when
// memory ran out, or by a person.
type signaledError struct{ verb, how string }

// Error includes what to check: an apply may have created objects that are in no state.
func (s *signaledError) Error() string {
	text := fmt.Sprintf("terraform %s was ended by a signal that nuon did not send (%s); see whether the machine ran "+
		"out of memory", s.verb, s.how)
	if s.verb == "apply" {
		text += ", and look at what exists before the next plan is approved: what Terraform made since it last wrote its " +
			"state is in no state"
	}
	return text
}

// diagnosticsFailure is the error of a command that failed with diagnostics.
type diagnosticsFailure struct {
	verb   string
	errors []string
}

// Error returns the first diagnostics, at most three.
func (f *diagnosticsFailure) Error() string {
	shown := f.errors[:min(len(f.errors), 3)]
	text := fmt.Sprintf("terraform %s: %s", f.verb, strings.Join(shown, "\n"))
	if more := len(f.errors) - len(shown); more > 0 {
		text += fmt.Sprintf("\nand %d more; this job's log has them all", more)
	}
	return text
}

func (t *terraform) diagnosticsError(verb string, shown *outputParser) error {
	if len(shown.errors) == 0 {
		return fmt.Errorf("terraform %s failed without an error message; read this job's log", verb)
	}
	return &diagnosticsFailure{verb: verb, errors: shown.errors}
}

// isSavedPlanStale reports whether Terraform rejected a plan because the state has changed.
func isSavedPlanStale(err error) bool {
	var failed *diagnosticsFailure
	if !errors.As(err, &failed) {
		return false
	}
	for _, text := range failed.errors {
		if strings.Contains(text, "Saved plan is stale") ||
			strings.Contains(text, "Saved plan does not match the given state") {
			return true
		}
	}
	return false
}
