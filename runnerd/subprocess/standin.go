package subprocess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/execretry"
)

// StandIn runs a program through a library that starts it by its own means: that makes its pipes, gives
// it one interrupt, and has the kernel kill it when this process dies. The library starts this process's
// executable instead, which runs the program as Program.Run does: in a separate process group, as the
// user of Setup, for as long as it takes. The stand-in passes on the output, the exit code and one
// interrupt, and ends last. It survives the death of this process, because the program must.
//
// The library runs the stand-in within Run, with the results of Command.
type StandIn struct {
	// Path is the absolute path of the program, and Name its name in messages.
	Path, Name string
	// Dir is the working directory of the program. The library gets one that programs cannot replace: the user of the
	// program, and not root, follows the links that lead to Dir.
	Dir string
	// Grace is how long the program may take to end after an interrupt.
	Grace time.Duration
	// Answers maps arguments, joined by spaces, to the output with which the stand-in answers them
	// itself, without starting the program.
	Answers map[string]string
	// Warn writes a line to the job's log.
	Warn func(format string, args ...any)
}

// varStandIn makes a process of a program that links this package a stand-in.
const varStandIn = "NUON_STAND_IN"

// order is the value of varStandIn.
type order struct {
	Path, Name, Dir string
	Grace           time.Duration
	Answers         map[string]string
	User            *User
	// Parent is the process that gave the order.
	Parent int
}

// endMargin is how long a stand-in may take to kill a program and to read its last output.
const endMargin = 3*drainLimit + 2*time.Second

// WaitDelay returns how long the library must wait between its interrupt and its SIGKILL, so that it never
// kills a stand-in that still has a program to kill.
func (s StandIn) WaitDelay() time.Duration { return s.Grace + endMargin }

// Command returns the executable to give to the library and the environment to start it with.
// env is the complete environment of the program.
func (s StandIn) Command(env map[string]string) (executable string, environ map[string]string, err error) {
	encoded, err := json.Marshal(order{Path: s.Path, Name: s.Name, Dir: s.Dir, Grace: s.Grace, Answers: s.Answers,
		User: setup.User, Parent: os.Getpid()})
	if err != nil {
		return "", nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	if executable, err = ownExecutable(); err != nil {
		return "", nil, fmt.Errorf("find this program: %w", err)
	}
	environ = maps.Clone(env)
	if setup.User != nil {
		environ = map[string]string{}
		for _, entry := range setup.User.environ(entriesOf(env)) {
			name, value, _ := strings.Cut(entry, "=")
			environ[name] = value
		}
	}
	if environ == nil {
		environ = map[string]string{}
	}
	environ[varStandIn] = string(encoded)
	return executable, environ, nil
}

func entriesOf(env map[string]string) []string {
	entries := make([]string, 0, len(env))
	for name, value := range env {
		entries = append(entries, name+"="+value)
	}
	return entries
}

// Run calls start, which runs the stand-in to its end with the library, for that time. The library gets the
// context and the standard error that start gets; stderr receives what the program writes there. The
// returned error is the *exec.ExitError of a program that failed, a *SignalError, or another error of start. When Run
// returns, no process of the program's process group is running.
func (s StandIn) Run(ctx context.Context, stderr io.Writer,
	start func(ctx context.Context, stderr io.Writer) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	run := &standInRun{StandIn: s, to: stderr, started: make(chan struct{})}
	// The library returns at once when its context ends while it starts a process, and leaves the
	// process behind. Therefore its context does not end before the program has started.
	inner, interrupt := context.WithCancel(context.WithoutCancel(ctx))
	defer interrupt()
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() { // passes the interrupt on, until the run has ended
		defer close(watched)
		select {
		case <-ctx.Done():
		case <-ended:
			return
		}
		select {
		case <-run.started:
			interrupt()
		case <-ended:
		}
	}()
	err := start(inner, run)
	close(ended)
	<-watched
	return run.result(err)
}

// standInRun is one run of a stand-in. As an io.Writer it reads the stand-in's standard error, whose first
// line is the process id of the program.
type standInRun struct {
	StandIn
	to      io.Writer
	started chan struct{} // closed when the program has started
	line    []byte        // the first line, until it is complete
	group   int           // the program's process group, when it has started
	seen    bool          // the first line was read
}

// Write reads the first line and passes on the rest.
func (r *standInRun) Write(text []byte) (int, error) {
	if r.seen {
		_, _ = r.to.Write(text) // as for a Program, an error of the log does not block the program
		return len(text), nil
	}
	r.line = append(r.line, text...)
	first, rest, complete := strings.Cut(string(r.line), "\n")
	if !complete {
		return len(text), nil
	}
	r.seen = true
	pid, err := strconv.Atoi(first)
	if err != nil || pid <= 1 {
		_, _ = r.to.Write(r.line) // the program did not start, and this is the reason
		return len(text), nil     //nolint:nilerr // the text is the error of the program
	}
	r.group = pid
	close(r.started)
	if setup.Started != nil {
		if trouble := setup.Started(); trouble != nil {
			r.Warn("cannot write down which processes %s has: %v", r.Name, trouble)
		}
	}
	_, _ = r.to.Write([]byte(rest))
	return len(text), nil
}

// SignalError is the error of a program that was ended by a signal that this package did not send.
type SignalError struct{ Signal syscall.Signal }

// Error describes the signal as an *exec.ExitError does.
func (s *SignalError) Error() string { return "signal: " + s.Signal.String() }

// signalExit is added to a signal to make the exit code of a stand-in whose program was ended by it,
// as in shells.
const signalExit = 128

// result returns the error of the program from that of the library.
func (r *standInRun) result(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &exit):
		if errors.Is(err, context.Canceled) && r.group != 0 {
			return nil // the program was interrupted, and has succeeded nevertheless
		}
		return err
	case exit.ExitCode() > signalExit:
		return &SignalError{Signal: syscall.Signal(exit.ExitCode() - signalExit)}
	case exit.ExitCode() >= 0:
		return exit
	}
	// The stand-in itself was killed.
	r.endProgram()
	signal := syscall.SIGKILL
	if status, ok := exit.Sys().(syscall.WaitStatus); ok {
		signal = status.Signal()
	}
	return &SignalError{Signal: signal}
}

// endProgram ends a program whose stand-in was killed, in the same way as the stand-in would have.
func (r *standInRun) endProgram() {
	if r.group == 0 {
		return
	}
	r.Warn("the process that ran %s was killed; %s is interrupted", r.Name, r.Name)
	_ = syscall.Kill(r.group, syscall.SIGINT) // fails if the program has just ended, which is fine
	patience := time.NewTimer(r.Grace)
	defer patience.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for killed := false; reapGroup(r.group); {
		select {
		case <-look.C:
			continue
		case <-patience.C:
		}
		if killed {
			return // a process that another one has to reap looks as if it were alive
		}
		r.Warn("%s did not end in %s after it was interrupted; it was killed with all that it had started", r.Name, r.Grace)
		killGroup(r.group)
		patience.Reset(endMargin)
		killed = true
	}
}

// reapGroup reports whether a process group has a process that has not ended. It reaps those that have ended and that
// became children of this process when their parent died.
func reapGroup(group int) bool {
	for {
		pid, err := syscall.Wait4(-group, nil, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) || err == nil && pid > 0 {
			continue
		}
		return syscall.Kill(-group, 0) == nil
	}
}

// A stand-in begins while the packages of its program are being initialized: of the time until main of
// runnerd it needs a fifth. And no main has to call it: a program that uses a StandIn and did not do that would
// start itself for ever.
func init() {
	if text, found := os.LookupEnv(varStandIn); found {
		os.Exit(beStandIn(text)) //nolint:forbidigo // this process is not the program whose main this replaces
	}
}

// beStandIn runs the program of an order, and returns the exit code.
func beStandIn(text string) int {
	var told order
	err := json.Unmarshal([]byte(text), &told)
	if err == nil {
		err = survive(told.Parent)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the program of a job:", err)
		return 1
	}
	if answer, found := told.Answers[strings.Join(os.Args[1:], " ")]; found {
		if _, err := io.WriteString(os.Stdout, answer); err != nil {
			return 1
		}
		return 0
	}
	err = told.run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		fmt.Fprintf(os.Stderr, "start %s: %v\n", told.Name, err)
		return 1
	case exit.ExitCode() >= 0:
		return exit.ExitCode()
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok {
		return signalExit + int(status.Signal())
	}
	return 1
}

// run runs the program until it ends.
func (o order) run() error {
	// SIGPIPE is caught, because the program must come to its end when nobody reads its output any more.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	go func() { // ends with this process
		for caught := range signals {
			// When the parent is dead, runnerd interrupts the program itself, and a second
			// interrupt would make Terraform stop immediately.
			if caught != syscall.SIGPIPE && os.Getppid() == o.Parent {
				interrupt()
			}
		}
	}()
	var environ []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, varStandIn+"=") {
			environ = append(environ, entry)
		}
	}
	Configure(Setup{User: o.User})
	stderr := &gatedWriter{to: os.Stderr, left: maxStderr, opened: make(chan struct{})}
	return execretry.Retry(ctx, func() error {
		return Program{
			Path: o.Path, Args: append([]string{filepath.Base(o.Path)}, os.Args[1:]...), Dir: o.Dir, Env: environ,
			Stdout: os.Stdout, Stderr: stderr, Name: o.Name, Grace: o.Grace,
			Warn: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
			announce: func(pid int) {
				fmt.Fprintln(os.Stderr, pid)
				close(stderr.opened)
			},
		}.Run(ctx)
	})
}

// maxStderr bounds how much of a program's standard error a stand-in passes on, in bytes, because libraries collect
// it in memory.
const maxStderr = 16 << 20

// gatedWriter holds back what a program writes until its process id was written.
type gatedWriter struct {
	to     io.Writer
	left   int           // in bytes
	opened chan struct{} // closed when it was written
}

// Write passes on text as long as there is room.
func (w *gatedWriter) Write(text []byte) (int, error) {
	<-w.opened
	text = text[:min(len(text), w.left)]
	w.left -= len(text)
	return w.to.Write(text)
}
