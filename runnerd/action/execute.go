package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// execute runs one program in a process group of its own, with its output in the log. When ctx ends the group is interrupted, and
// killed after the grace. What the program started ends with it in any case.
func (r *run) execute(ctx context.Context, dir string, argv, environ []string) error {
	program, err := lookUp(argv[0], dir, environ)
	if err != nil {
		return err
	}
	command := exec.Command(program)
	command.Args, command.Env, command.Dir = argv, environ, dir
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := r.stream(api.Info)
	if err != nil {
		return err
	}
	stderr, err := r.stream(api.Warn)
	if err != nil {
		stdout.finish()
		return err
	}
	command.Stdout, command.Stderr = stdout.write, stderr.write
	err = command.Start()
	if err == nil {
		err = r.wait(ctx, command)
	}
	stdout.finish()
	stderr.finish()
	if ctx.Err() != nil {
		return fmt.Errorf("it was interrupted: %w", context.Cause(ctx))
	}
	return said(argv[0], err)
}

// wait waits for the program, and ends its group.
func (r *run) wait(ctx context.Context, command *exec.Cmd) error {
	group := command.Process.Pid
	gone := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() { // waits for the end of ctx or of the program
		select {
		case <-gone:
			return
		case <-ctx.Done():
		}
		_ = syscall.Kill(-group, syscall.SIGINT) // fails when all are gone, which is what we want
		patience := time.NewTimer(r.env.Timing.ToolGrace)
		defer patience.Stop()
		select {
		case <-gone:
		case <-patience.C:
			r.env.Log.Warn("the step did not end after an interrupt; it was killed")
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
	})
	err := command.Wait()
	close(gone)
	watcher.Wait()
	if syscall.Kill(-group, syscall.SIGKILL) == nil {
		r.env.Log.Warn("the step had left processes behind; they were killed")
	}
	return err
}

// said turns the end of a program into words.
func said(program string, err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return fmt.Errorf("%s ended with exit code %d; this job's log has its output", filepath.Base(program), exit.ExitCode())
	case errors.As(err, &exit):
		return fmt.Errorf("%s was ended by a signal (%s); this job's log has its output", filepath.Base(program), exit.ProcessState)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("run %s: what its first line names is not on this runner; install it, or name another interpreter", filepath.Base(program))
	}
	return fmt.Errorf("run %s: %w", filepath.Base(program), err)
}

// lookUp finds a program as a shell would: on the PATH of the step, or, when the name has a slash, below its directory.
func lookUp(name, dir string, environ []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		found, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("there is no program %s; check its path", name)
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
	return "", fmt.Errorf("there is no program %s on the runner's PATH; install it, or use one that is there", name)
}

// stream brings what is written to a pipe into the log, line by line.
type stream struct {
	write, read *os.File
	to          io.WriteCloser
	drained     chan struct{}
}

func (r *run) stream(level api.LogLineL) (*stream, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	made := &stream{write: write, read: read, to: r.env.Log.Writer(level), drained: make(chan struct{})}
	go func() { // waits for the end of the pipe, or for the deadline of finish
		defer close(made.drained)
		_, _ = io.Copy(made.to, read) // a log that cannot be written is in Log.Trouble
	}()
	return made, nil
}

// drainLimit is how long output that was written may take to be read. A process that left the group can hold the pipe open for
// ever.
const drainLimit = 2 * time.Second

func (s *stream) finish() {
	_ = s.write.Close()
	_ = s.read.SetReadDeadline(time.Now().Add(drainLimit))
	<-s.drained
	_ = s.to.Close()
	_ = s.read.Close()
}
