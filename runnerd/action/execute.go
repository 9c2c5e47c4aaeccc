package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/execretry"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

// execute runs one program with its output in the log. When ctx ends, the program and its
// process group are interrupted, and killed after the grace period. All processes that the
// program started end with it in any case.
func (r *run) execute(ctx context.Context, dir string, argv, environ []string) error {
	program, err := lookUp(argv[0], dir, environ)
	if err != nil {
		return err
	}
	stdout, stderr := r.env.Log.Writer(api.Info), r.env.Log.Writer(api.Warn)
	step := subprocess.Program{
		Path: program, Args: argv, Dir: dir, Env: environ, Stdout: stdout, Stderr: stderr,
		Name: "the step", Group: true, Grace: r.env.Timing.ToolGrace, Warn: r.env.Log.Warn,
	}
	// A script was just written, and a program of the bundle was just unpacked, so starting
	// them may fail for a moment.
	err = execretry.Retry(ctx, func() error { return step.Run(ctx) })
	_ = stdout.Close() // errors of the log are in Log.Trouble
	_ = stderr.Close()
	if ctx.Err() != nil {
		return fmt.Errorf("it was interrupted: %w", context.Cause(ctx))
	}
	return exitError(argv[0], err)
}

// exitError explains how a program ended.
func exitError(program string, err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return fmt.Errorf("%s ended with exit code %d; this job's log has its output", filepath.Base(program),
			exit.ExitCode())
	case errors.As(err, &exit):
		return fmt.Errorf("%s was ended by a signal (%s); this job's log has its output", filepath.Base(program),
			exit.ProcessState)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("run %s: what its first line names is not on this runner; install it, or name another interpreter",
			filepath.Base(program))
	}
	return fmt.Errorf("run %s: %w", filepath.Base(program), err)
}

// lookUp finds a program as a shell does: on the PATH of the step or, when the name has
// a slash, relative to its directory.
func lookUp(name, dir string, environ []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		found, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("program %s not found; check its path", name)
		}
		return found, nil
	}
	for _, line := range environ {
		list, isPath := strings.CutPrefix(line, "PATH=")
		if !isPath {
			continue
		}
		for _, place := range filepath.SplitList(list) {
			if found, err := exec.LookPath(filepath.Join(place, name)); filepath.IsAbs(place) && err == nil {
				return found, nil
			}
		}
	}
	return "", fmt.Errorf("program %s not found on the runner's PATH; install it, or use another one", name)
}
