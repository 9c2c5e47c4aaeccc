package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/jobstore"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Action is the handler of action jobs.
type Action struct{}

// run is one run of an action.
type run struct {
	env        *job.Env
	spec       api.ActionSpec
	values     *values.Values
	work       string // the directory of all steps
	kubeConfig string // the kubeconfig that was written for this run; empty for none
	own        string // the copy of the runner's own kubeconfig that programs can read; empty for none
}

// Run runs the steps in order and stops at the first that fails. The error names the step.
// The time limit of the job applies to all steps together.
func (Action) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	spec := env.Spec.Action
	opened, err := values.Open(spec.InstallID, spec.Values, env.Key, env.Redact)
	if err != nil {
		return api.JobResult{}, err
	}
	if err := jobstore.AddTo(ctx, env, opened, spec.InstallID, spec.Values.Secrets, false); err != nil {
		return api.JobResult{}, err
	}
	work, err := env.CreateWorkDir()
	if err != nil {
		return api.JobResult{}, err
	}
	limited := ctx
	if env.Spec.TimeoutSeconds > 0 {
		var stop context.CancelFunc
		limited, stop = context.WithTimeout(ctx, time.Duration(env.Spec.TimeoutSeconds)*time.Second)
		defer stop()
	}
	running := &run{env: env, spec: spec, values: opened, work: work}
	if err := running.openCluster(limited); err != nil {
		return api.JobResult{}, err
	}
	var all []stepOutputs
	for i, step := range spec.Steps {
		given, err := running.step(limited, i, step)
		if limited.Err() != nil && ctx.Err() == nil {
			return api.JobResult{}, fmt.Errorf("step %q: action %s took longer than %d s; make it quicker, or raise its timeout",
				step.Name, spec.Action, env.Spec.TimeoutSeconds)
		}
		if err != nil {
			return api.JobResult{}, fmt.Errorf("step %q: %w", step.Name, err)
		}
		all = append(all, stepOutputs{step: step.Name, values: given})
	}
	outputs, err := running.outputs(all)
	if err != nil {
		return api.JobResult{}, err
	}
	return api.JobResult{Status: job.Succeeded, Action: api.ActionResult{Outputs: outputs}}, nil
}

// step runs one step and returns its outputs.
func (r *run) step(ctx context.Context, number int, step api.ActionStep) (map[string]any, error) {
	root, err := r.createRoot()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(root, fmt.Sprintf("step-%d", number+1))
	outputs := filepath.Join(r.work, fmt.Sprintf("outputs-%d", number+1))
	if err := os.WriteFile(outputs, nil, 0o600); err != nil {
		return nil, err
	}
	if err := subprocess.GrantOwnership(outputs); err != nil {
		return nil, err
	}
	argv, err := r.argv(number, step)
	if err != nil {
		return nil, err
	}
	environ, err := r.environ(step, outputs)
	if err != nil {
		return nil, err
	}
	r.env.Log.Info("step %s", step.Name)
	if step.Source.Name != "" {
		if dir, err = r.openSource(ctx, number, step); err != nil {
			return nil, err
		}
	}
	if err := r.execute(ctx, dir, argv, environ); err != nil {
		return nil, err
	}
	return readOutputs(outputs)
}

// createRoot creates the directory that all steps share, with a subdirectory for each, and returns
// its path. Steps own it. The files that the runner reads or shows are stored beside it,
// where steps cannot replace them.
func (r *run) createRoot() (string, error) {
	root := filepath.Join(r.work, "root")
	if _, err := os.Lstat(root); err == nil {
		return root, nil
	}
	for i := range r.spec.Steps {
		if err := os.MkdirAll(filepath.Join(root, fmt.Sprintf("step-%d", i+1)), 0o700); err != nil {
			return "", err
		}
	}
	if err := os.Mkdir(filepath.Join(root, "tmp"), 0o700); err != nil {
		return "", err
	}
	return root, subprocess.GrantOwnership(root)
}

// argv returns the command line of a step: the script, written to a file, or the command.
func (r *run) argv(number int, step api.ActionStep) ([]string, error) {
	switch {
	case step.InlineContents != "" && step.Command != "":
		return nil, errors.New("it has both inline_contents and command; keep one of them")
	case step.InlineContents != "":
		script, err := r.script(number, step.InlineContents)
		return []string{script}, err
	case step.Command != "":
		return r.command(step.Command)
	}
	return nil, errors.New("it has nothing to run; give it inline_contents or command")
}
