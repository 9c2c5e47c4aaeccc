package child

import (
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Program is what to run.
type Program struct {
	// Path is the executable, absolute; Args are what it is called with, its own name first.
	Path string
	Args []string
	// Dir is where it runs, and Env all of its environment.
	Dir string
	Env []string
	// Stdin is what it reads; nil for nothing. Run does not close it.
	Stdin *os.File
	// Stdout and Stderr take what it prints, each from a goroutine of its own, until Run returns.
	Stdout, Stderr io.Writer
	// Name is the program in sentences.
	Name string
	// Group says that an interrupt is for all that it started, too; else only for the program, which has to see to the rest.
	Group bool
	// Grace is how long it may take to end after an interrupt.
	Grace time.Duration
	// Warn gets sentences for the job's log.
	Warn func(format string, args ...any)
}

// Setup is what holds for every program that this process runs.
type Setup struct {
	// Started, when set, is called when a program has been started. What it returns is told to Program.Warn.
	Started func() error
	// User is whom programs run as; nil for this process's own user.
	User *User
}

var setup Setup

// Configure sets what holds for every program from now on. A process calls it before it runs the first.
func Configure(s Setup) { setup = s }

// Run starts the program and waits for its end. When it has returned nothing of the program's process group runs any more. The
// error is an *exec.ExitError when the program did not succeed, and one of the start when it did not begin; after the end of ctx
// it is whatever came of that.
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
		stdout.began()
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
	err = start(command)
	stdout.began()
	stderr.began()
	if err == nil {
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

// wait waits for the program, or brings about its end.
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
	_ = syscall.Kill(to, syscall.SIGINT) // fails when it has just ended, which is what we want
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

// killGroup kills a process group, and tells whether there was anybody in it.
func killGroup(group int) bool { return syscall.Kill(-group, syscall.SIGKILL) == nil }
