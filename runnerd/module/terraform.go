package module

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/terraform-exec/tfexec"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/runnerd/child"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/tool"
)

// terraform runs the commands of one working directory, with their output in the job's log.
type terraform struct {
	env     *job.Env
	tool    tool.Tool
	dir     string
	environ map[string]string
	place   placing
	// dumped is a state that Terraform printed because it could not write it.
	dumped []byte
}

// openTerraform finds the executable of that version and prepares it for dir. own are the component's variables and the
// endpoint's.
func openTerraform(ctx context.Context, env *job.Env, asked, dir string, own map[string]string) (*terraform, error) {
	found, err := tool.Find(ctx, tool.Options{Root: env.Root, Version: asked, Say: env.Log.Info})
	if err != nil {
		return nil, err
	}
	return &terraform{env: env, tool: found, dir: dir, environ: found.Environ(own)}, nil
}

// oldestJSONInit is the first version whose init speaks JSON.
var oldestJSONInit = version.Must(version.NewVersion("1.9.0"))

// init prepares the directory from its lock file. fetches says that it may fill the cache of providers that all jobs of this
// runner share.
func (t *terraform) init(ctx context.Context, backend, fetches bool) error {
	if cache := t.tool.PluginCache(); cache != "" {
		if err := tool.MakePluginCache(cache); err != nil {
			return err
		}
		if fetches {
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
	args := []string{"-backend=" + strconv.FormatBool(backend)}
	if !has.Core().LessThan(oldestJSONInit) {
		args = append(args, "-json")
	}
	_, err = t.watched(ctx, "init", args...)
	return err
}

// validate gives an error that lists what is wrong, each with file and line.
func (t *terraform) validate(ctx context.Context) error {
	executable, environ, err := child.StandIn(t.tool.Path, t.environ)
	if err != nil {
		return err
	}
	run, err := tfexec.NewTerraform(t.dir, executable)
	if err != nil {
		return err
	}
	if err := run.SetEnv(environ); err != nil {
		return err
	}
	if err := run.SetWaitDelay(t.env.Timing.ToolGrace); err != nil {
		return err
	}
	found, err := run.Validate(ctx)
	if err != nil {
		return t.ended(ctx, "validate", err, nil)
	}
	screen := &screen{log: t.env.Log, place: t.place}
	for _, problem := range found.Diagnostics {
		said := diagnostic{Severity: string(problem.Severity), Summary: problem.Summary, Detail: problem.Detail}
		if problem.Range != nil {
			said.Range.Filename, said.Range.Start.Line = problem.Range.Filename, problem.Range.Start.Line
		}
		screen.problem(said)
	}
	if found.Valid {
		return nil
	}
	return t.failed("validate", screen)
}

// patience is how long Terraform asks again for a state lock that another attempt holds: as long as one that is just ending tries
// to free it.
func (t *terraform) patience() string { return t.env.Timing.UnlockTry.String() }

// plan writes a plan file.
func (t *terraform) plan(ctx context.Context, to string, destroy bool, varFiles []string) error {
	args := []string{"-json", "-out=" + to, "-lock-timeout=" + t.patience()}
	if destroy {
		args = append(args, "-destroy")
	}
	for _, file := range varFiles {
		args = append(args, "-var-file="+file)
	}
	// Where programs run as another user, Terraform finds the file there, and may not change it after this.
	if child.Separate() {
		if err := errors.Join(os.WriteFile(to, nil, 0o600), child.Give(to)); err != nil {
			return fmt.Errorf("make the plan file: %w", err)
		}
	}
	_, err := t.watched(ctx, "plan", args...)
	return err
}

// show gives the JSON of a plan file. It holds secrets in plain.
func (t *terraform) show(ctx context.Context, plan string) ([]byte, error) {
	if err := child.Show(plan); err != nil {
		return nil, err
	}
	raw := &bounded{most: maxPlan}
	stderr := t.env.Log.Writer(api.Warn)
	err := t.run(ctx, raw, stderr, "show", "-json", "-no-color", plan)
	_ = stderr.Close()
	if raw.full {
		return nil, errPlanTooLarge
	}
	if err != nil {
		return nil, t.ended(ctx, "show", err, nil)
	}
	return raw.kept.Bytes(), nil
}

// maxPlan bounds a plan, as a file and as JSON.
const maxPlan = 256 << 20

// errPlanTooLarge is about either.
var errPlanTooLarge = fmt.Errorf("the plan has more than %d MiB; divide the component into smaller ones", maxPlan>>20)

// bounded keeps what is written up to a number of bytes, and then errors.
type bounded struct {
	most int
	kept bytes.Buffer
	full bool
}

// Write takes all of text or nothing.
func (b *bounded) Write(text []byte) (int, error) {
	if b.kept.Len()+len(text) > b.most {
		b.full = true
		return 0, errPlanTooLarge
	}
	return b.kept.Write(text)
}

// apply applies a plan file. done says that Terraform finished all of it, which counts more than that it was interrupted at the
// same time.
func (t *terraform) apply(ctx context.Context, plan string) (done bool, err error) {
	shown, err := t.watched(ctx, "apply", "-json", "-lock-timeout="+t.patience(), plan)
	if err == nil || shown.applied && len(shown.errors) == 0 {
		return true, nil
	}
	return false, err
}

// watched runs a command with its output in the log, and gives what it showed.
func (t *terraform) watched(ctx context.Context, verb string, args ...string) (*screen, error) {
	t.env.Log.Info("terraform %s (%s, version %s)", verb, filepath.Base(t.tool.Path), t.tool.Version)
	shown := &screen{log: t.env.Log, place: t.place}
	stderr := t.env.Log.Writer(api.Warn)
	err := t.run(ctx, shown, stderr, append([]string{verb, "-input=false", "-no-color"}, args...)...)
	_ = stderr.Close()
	shown.flush()
	t.dumped = shown.state
	if err == nil {
		return shown, nil
	}
	return shown, t.ended(ctx, verb, err, shown)
}

// run runs one command to its end. Whatever becomes of it, neither Terraform nor a provider runs any more when this returns.
func (t *terraform) run(ctx context.Context, stdout, stderr io.Writer, args ...string) error {
	environ := maps.Clone(t.environ)
	environ["TF_IN_AUTOMATION"] = "1"
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		lines = append(lines, name+"="+environ[name])
	}
	return child.Program{
		Path: t.tool.Path, Args: append([]string{filepath.Base(t.tool.Path)}, args...), Dir: t.dir, Env: lines,
		Stdout: stdout, Stderr: stderr, Name: "Terraform", Grace: t.env.Timing.ToolGrace, Warn: t.env.Log.Warn,
	}.Run(ctx)
}

// ended gives the error of a command. After an interrupt the error of a library must not be printed: it can be a nil inside.
func (t *terraform) ended(ctx context.Context, verb string, err error, shown *screen) error {
	if ctx.Err() != nil {
		return fmt.Errorf("terraform %s was interrupted: %w", verb, context.Cause(ctx))
	}
	if shown != nil && len(shown.errors) > 0 {
		return t.failed(verb, shown)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() < 0 {
		return &signalled{verb: verb, how: exit.String()}
	}
	return fmt.Errorf("terraform %s: %w; read this job's log", verb, err)
}

// signalled is a command that a signal ended, and not one of ours: the kernel when memory ran out, or a person.
type signalled struct{ verb, how string }

// Error says what to look at: an apply may have made things that no state has.
func (s *signalled) Error() string {
	text := fmt.Sprintf("terraform %s was ended by a signal that nuon did not send (%s); see whether the machine ran out of memory", s.verb, s.how)
	if s.verb == "apply" {
		text += ", and look at what exists before the next plan is approved: what Terraform made since it last wrote its state is in no state"
	}
	return text
}

// failure is a command that failed with diagnostics.
type failure struct {
	verb   string
	errors []string
}

// Error gives the first diagnostics, at most three.
func (f *failure) Error() string {
	shown := f.errors[:min(len(f.errors), 3)]
	text := fmt.Sprintf("terraform %s: %s", f.verb, strings.Join(shown, "\n"))
	if more := len(f.errors) - len(shown); more > 0 {
		text += fmt.Sprintf("\nand %d more; this job's log has them all", more)
	}
	return text
}

func (t *terraform) failed(verb string, shown *screen) error {
	if len(shown.errors) == 0 {
		return fmt.Errorf("terraform %s did not succeed and does not say why; read this job's log", verb)
	}
	return &failure{verb: verb, errors: shown.errors}
}

// isSavedPlanStale tells whether Terraform refused a plan because the state moved.
func isSavedPlanStale(err error) bool {
	var failed *failure
	if !errors.As(err, &failed) {
		return false
	}
	for _, text := range failed.errors {
		if strings.Contains(text, "Saved plan is stale") || strings.Contains(text, "Saved plan does not match the given state") {
			return true
		}
	}
	return false
}
