package subprocess

import (
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Program is a program to run.
type Program struct {
	// Path is the absolute path of the executable. Args are its arguments,
	// starting with its own name.
	Path string
	Args []string
	// Dir is the working directory, and Env the complete environment.
	Dir string
	Env []string
	// Stdin is the program's input; nil for none. Run does not close it.
	Stdin *os.File
	// Stdout and Stderr receive the output, each from a separate goroutine, until Run returns.
	Stdout, Stderr io.Writer
	// Name is the program's name in messages.
	Name string
	// Group sends an interrupt to the whole process group. Otherwise only the program gets it
	// and has to stop the processes that it started.
	Group bool
	// Grace is how long the program may take to end after an interrupt.
	Grace time.Duration
	// Warn writes a line to the job's log.
	Warn func(format string, args ...any)

	// announce, when set, is called with the process id when the program has started. It is set in a
	// stand-in, whose Env is already that of the user.
	announce func(pid int)
}

// Setup holds the settings for every program that this process runs.
type Setup struct {
	// Started, when set, is called after a program has been started. Its error
	// is passed to Program.Warn.
	Started func() error
	// User is the user that programs run as; nil for this process's own user.
	User *User
}

var setup Setup

// Configure sets the settings for all programs that are started later. A process calls it
// before it runs the first one.
func Configure(s Setup) { setup = s }

// Run starts the program and waits for its end. When it returns, no process of the program's
// process group is running. The error is an *exec.ExitError when the program failed,
// and a start error when it did not start. After the end of ctx the error is the one with which
// the interrupted program ended.
func (p Program) Run(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	stdout, err := newStream(p.Stdout)
	if err != nil {
		return err
	}
	stderr, err := newStream(p.Stderr)
	if err != nil {
		stdout.closeInherited()
		stdout.finish()
		return err
	}
	//nolint:noctx // ctx interrupts it, see wait
	command := exec.Command(p.Path)
	command.Args, command.Dir, command.Env = p.Args, p.Dir, p.Env
	command.Stdout, command.Stderr = stdout.write, stderr.write
	if p.Stdin != nil {
		command.Stdin = p.Stdin
	}
	for _, held := range []*os.File{stdout.spare, stderr.spare} {
		if held != nil {
			command.ExtraFiles = append(command.ExtraFiles, held)
		}
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if setup.User != nil && p.announce == nil {
		command.Env = setup.User.environ(command.Env)
	}
	err = start(command)
	stdout.closeInherited()
	stderr.closeInherited()
	if err == nil {
		if p.announce != nil {
			p.announce(command.Process.Pid)
		}
		if setup.Started != nil {
			if trouble := setup.Started(); trouble != nil {
				p.Warn("cannot write down which processes %s has: %v", p.Name, trouble)
			}
		}
		err = p.wait(ctx, command)
	}
	stdout.finish()
	stderr.finish()
	return err
}

// wait waits until the program ends, and stops it when ctx ends.
func (p Program) wait(ctx context.Context, command *exec.Cmd) (err error) {
	group, ended := command.Process.Pid, make(chan error, 1)
	go func() { ended <- command.Wait() }() // waits for the end of the program
	select {
	case err = <-ended:
		if killGroup(group) {
			p.Warn("%s had left processes behind; they were killed", p.Name)
		}
		return err
	case <-ctx.Done():
	}
	to := group
	if p.Group {
		to = -group
	}
	_ = syscall.Kill(to, syscall.SIGINT) // fails if the program has just ended, which is fine
	patience := time.NewTimer(p.Grace)
	defer patience.Stop()
	select {
	case err = <-ended:
		if killGroup(group) {
			p.Warn("%s had left processes behind; they were killed", p.Name)
		}
	case <-patience.C:
		p.Warn("%s did not end in %s after it was interrupted; it was killed with all that it had started", p.Name, p.Grace)
		killGroup(group)
		err = <-ended
	}
	return err
}

// killGroup kills a process group, and reports whether it had any process.
func killGroup(group int) bool { return syscall.Kill(-group, syscall.SIGKILL) == nil }
