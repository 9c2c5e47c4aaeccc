package module

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/terraform-exec/tfexec"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/tool"
)

// terraform runs the commands of one working directory, with their output in the job's log.
type terraform struct {
	env   *job.Env
	tool  tool.Tool
	run   *tfexec.Terraform
	place placing
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
	run, err := tfexec.NewTerraform(dir, found.Path)
	if err != nil {
		return nil, err
	}
	if err := run.SetEnv(found.Environ(own)); err != nil {
		return nil, err
	}
	if err := run.SetWaitDelay(env.Timing.ToolGrace); err != nil {
		return nil, err
	}
	return &terraform{env: env, tool: found, run: run}, nil
}

// oldestJSONInit is the first version whose init speaks JSON.
var oldestJSONInit = version.Must(version.NewVersion("1.9.0"))

// init prepares the directory from its lock file. fetches says that it may fill the cache of providers that all jobs of this
// runner share.
func (t *terraform) init(ctx context.Context, backend, fetches bool) error {
	if cache := t.tool.PluginCache(); cache != "" {
		if err := os.MkdirAll(cache, 0o755); err != nil {
			return fmt.Errorf("make the plugin cache: %w", err)
		}
		if fetches {
			release, err := tool.Lock(ctx, cache+".lock")
			if err != nil {
				return err
			}
			defer release()
		}
	}
	options := []tfexec.InitOption{tfexec.Backend(backend)}
	has, err := version.NewVersion(t.tool.Version)
	if err != nil {
		return fmt.Errorf("read the version of %s: %w", t.tool.Path, err)
	}
	return t.watched(ctx, "init", func(ctx context.Context, screen *screen) error {
		if has.Core().LessThan(oldestJSONInit) {
			t.run.SetStdout(screen)
			return t.run.Init(ctx, options...)
		}
		return t.run.InitJSON(ctx, screen, options...)
	})
}

// validate gives an error that lists what is wrong, each with file and line.
func (t *terraform) validate(ctx context.Context) error {
	found, err := t.run.Validate(ctx)
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
	options := []tfexec.PlanOption{tfexec.Out(to), tfexec.Destroy(destroy), tfexec.LockTimeout(t.patience())}
	for _, file := range varFiles {
		options = append(options, tfexec.VarFile(file))
	}
	return t.watched(ctx, "plan", func(ctx context.Context, screen *screen) error {
		_, err := t.run.PlanJSON(ctx, screen, options...)
		return err
	})
}

// show gives the JSON of a plan file. It holds secrets in plain.
func (t *terraform) show(ctx context.Context, plan string) ([]byte, error) {
	raw := &bounded{most: maxPlan}
	t.run.SetStdout(raw) // the library's own type leaves out what a report needs
	t.run.SetStderr(nil)
	defer t.run.SetStdout(nil)
	if _, err := t.run.ShowPlanFile(ctx, plan); err != nil {
		if raw.full {
			return nil, errPlanTooLarge
		}
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
	err = t.watched(ctx, "apply", func(ctx context.Context, screen *screen) error {
		err := t.run.ApplyJSON(ctx, screen, tfexec.DirOrPlan(plan), tfexec.LockTimeout(t.patience()))
		done = err == nil || screen.applied && len(screen.errors) == 0
		return err
	})
	if done {
		return true, nil
	}
	return false, err
}

// watched runs a command with its output in the log, and kills what is left of it when it was interrupted.
func (t *terraform) watched(ctx context.Context, verb string, command func(context.Context, *screen) error) error {
	t.env.Log.Info("terraform %s (%s, version %s)", verb, filepath.Base(t.tool.Path), t.tool.Version)
	shown := &screen{log: t.env.Log, place: t.place}
	stderr := t.env.Log.Writer(api.Warn)
	t.run.SetStderr(stderr)
	watching := watchGroups(ctx, t.env.Timing.ToolGrace, t.env.Log)
	err := command(ctx, shown)
	watching.finish()
	t.run.SetStdout(nil)
	t.run.SetStderr(nil)
	_ = stderr.Close()
	shown.flush()
	t.dumped = shown.state
	if err == nil {
		return nil
	}
	return t.ended(ctx, verb, err, shown)
}

// ended gives the error of a command. After an interrupt the library's error must not be printed: it can be a nil inside.
func (t *terraform) ended(ctx context.Context, verb string, err error, shown *screen) error {
	if ctx.Err() != nil {
		return fmt.Errorf("terraform %s was interrupted: %w", verb, context.Cause(ctx))
	}
	if shown != nil && len(shown.errors) > 0 {
		return t.failed(verb, shown)
	}
	return fmt.Errorf("terraform %s: %w; read this job's log", verb, err)
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
