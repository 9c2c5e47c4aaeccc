//go:build unix

// Package screentest runs a program on a terminal for a test: the test types keys and reads the screen.
package screentest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"golang.org/x/term"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// Seat is a user at a terminal.
type Seat struct {
	// Rounds, if set, returns how many requests the control plane of the test has answered. A wait ends
	// when enough of them did not change the screen (rounds.go). Without it, a wait ends at testtime.Limit.
	Rounds func() int

	t       *testing.T
	tty     *os.File // the program's side
	screen  *os.File // the user's side
	command *exec.Cmd
	before  *term.State
	vt      vt10x.Terminal
	out     io.Writer     // to vt, which would drop a character that arrives in two parts
	mute    bool          // the terminal does not answer queries automatically
	over    chan struct{} // closed when the screen has nothing more to show

	mu       sync.Mutex
	shown    bytes.Buffer
	answered int // how many queries were seen
}

// LightBackground is the terminal's answer to the background query.
const LightBackground = "\x1b]11;rgb:ffff/fafa/f0f0\x1b\\\x1b[?62c"

// Sit starts a command on a terminal of 80×24. Unless mute is set, the terminal answers the
// background query with a light background. CI is set wherever the test runs, because a library
// takes it as a sign that there is no terminal.
func Sit(t *testing.T, command *exec.Cmd, mute bool) *Seat {
	t.Helper()
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	s := &Seat{t: t, tty: tty, screen: screen, vt: vt10x.New(vt10x.WithSize(80, 24)), mute: mute,
		over: make(chan struct{}), command: command}
	s.out = transform.NewWriter(s.vt, runes.ReplaceIllFormed())
	s.Size(80, 24)
	if s.before, err = term.GetState(int(tty.Fd())); err != nil {
		t.Fatal(err)
	}
	s.command.Stdin, s.command.Stdout, s.command.Stderr = tty, tty, tty
	s.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s.command.Env = append(s.command.Environ(), "TERM=xterm-256color", "NO_COLOR=", "COLORTERM=", "NUON_THEME=",
		"COLORFGBG=", "CI=true", "CLICOLOR=", "CLICOLOR_FORCE=")
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	go s.read()
	t.Cleanup(func() {
		if t.Failed() {
			s.describe()
		}
		_ = s.command.Process.Kill() // it may have exited
		_ = s.tty.Close()
		_ = s.screen.Close()
		<-s.over
	})
	return s
}

// read copies the program's output to the emulated terminal until the terminal is closed.
func (s *Seat) read() {
	defer close(s.over)
	part := make([]byte, 1<<16)
	for {
		n, err := s.screen.Read(part)
		if s.show(part[:n]) && !s.mute {
			_, _ = s.screen.WriteString(LightBackground) // fails if the program has exited
		}
		if err != nil {
			return
		}
	}
}

// show passes the program's output on and reports whether it contains a new
// background query. Output arrives in arbitrary pieces, so a query may be split.
func (s *Seat) show(part []byte) (asked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown.Write(part)
	_, _ = s.out.Write(part) // never fails
	was := s.answered
	s.answered = bytes.Count(s.shown.Bytes(), []byte(screen.Question))
	return s.answered > was
}

// Size changes the size of both sides at once: the program's response is read only after that.
func (s *Seat) Size(columns, rows int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := pty.Setsize(s.screen, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil { //nolint:gosec // a terminal is not that large
		s.t.Fatal(err)
	}
	s.vt.Resize(columns, rows)
}

// Keys types text.
func (s *Seat) Keys(text string) {
	s.t.Helper()
	if _, err := s.screen.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// refusals are parts of the messages with which screens refuse keys because what they show may not be current. On a
// busy machine any answer of the control plane can be late.
var refusals = []string{"control plane unreachable", "has just ", "not loaded yet", "is being sent"}

// refusedFor is how long a refusal must have been on the screen before the keys are pressed again.
const refusedFor = time.Second

// Presses types keys and waits until a text is on the screen. If the screen refuses the keys because it is not current,
// they are typed again, as a user would.
func (s *Seat) Presses(keys, want string) {
	s.t.Helper()
	s.Keys(keys)
	last := time.Now()
	s.Wait(func() bool {
		seen := s.Seen()
		if strings.Contains(seen, want) {
			return true
		}
		if refused(seen) && time.Since(last) > refusedFor {
			s.Keys(keys)
			last = time.Now()
		}
		return false
	}, fmt.Sprintf("no %q after %q", want, keys))
}

// refused reports whether a screen shows that it refused keys.
func refused(seen string) bool {
	return slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(seen, r) })
}

// Answers presses the key that opens a question, types the answer, and waits until a text is on the screen. If the
// screen refuses the answer, which closes the question, it starts over.
func (s *Seat) Answers(key, question, answer, want string) {
	s.t.Helper()
	s.Presses(key, question)
	s.Submits(answer, question, want, func() { s.Presses(key, question) })
}

// Submits is the last part of Answers, for an open question: reopen opens it again.
func (s *Seat) Submits(answer, question, want string, reopen func()) {
	s.t.Helper()
	for done := false; !done; {
		s.Keys(answer)
		typed := time.Now()
		s.Wait(func() bool {
			seen := s.Seen()
			done = strings.Contains(seen, want)
			return done || refused(seen) && !strings.Contains(seen, question) && time.Since(typed) > refusedFor
		}, fmt.Sprintf("no %q after %q", want, answer))
		if !done {
			reopen()
		}
	}
}

// Seen returns the text on the screen.
func (s *Seat) Seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vt.String()
}

// Raw returns everything that the program has written.
func (s *Seat) Raw() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

// Sees waits until a text is on the screen.
func (s *Seat) Sees(want string) {
	s.t.Helper()
	s.Wait(func() bool { return strings.Contains(s.Seen(), want) }, fmt.Sprintf("no %q", want))
}

// Told waits until a text was written to the screen at any time, for messages that disappear.
func (s *Seat) Told(want string) {
	s.t.Helper()
	s.Wait(func() bool { return strings.Contains(s.Raw(), want) }, "it was never told "+want)
}

// Wait waits until a condition holds; without describes what is missing if it never does.
func (s *Seat) Wait(until func() bool, without string) {
	s.t.Helper()
	var still stillness
	testtime.UntilNoError(s.t, "the screen", func() error {
		if until() {
			return nil
		}
		if s.Rounds != nil && still.over(len(s.Raw()), s.Rounds()) {
			s.t.Fatalf("%s, and the screen does not change any more:\n%s", without, s.Seen())
		}
		if s.t.Failed() {
			s.t.FailNow() // something that the program needs has failed, such as a fake control plane
		}
		return fmt.Errorf("%s on\n%s", without, s.Seen())
	})
}

// Leaves waits for the program to exit and checks the exit code and that the terminal was restored.
func (s *Seat) Leaves(code int) {
	s.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.command.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-testtime.After():
		_ = s.command.Process.Kill()
		s.t.Fatalf("it does not end:\n%s", s.Seen())
	}
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		s.t.Fatal(err)
	}
	if got := s.command.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit code %d, want %d", got, code)
	}
	s.Restored()
}

// dumpWithin is how long a failed test waits for the stacks of its program.
const dumpWithin = 10 * time.Second

// describe logs what the program has written and, if it still runs, the stacks of its goroutines,
// which the Go runtime prints after SIGQUIT. Without them a hang has no cause that can be found.
func (s *Seat) describe() {
	if s.command.ProcessState != nil || s.command.Process.Signal(syscall.SIGQUIT) != nil {
		s.t.Logf("the program has ended: %v\n%q", s.command.ProcessState, s.Raw())
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- s.command.Wait() }()
	select {
	case err := <-ended:
		s.t.Logf("the program ended after SIGQUIT: %v\n%q", err, s.Raw())
	case <-time.After(dumpWithin): //walltime: only a test that has failed waits for this
		s.t.Logf("the program does not end after SIGQUIT\n%q", s.Raw())
	}
}

// Restored checks that the terminal's modes, screen, cursor and paste mode are as before.
func (s *Seat) Restored() {
	s.t.Helper()
	after, err := term.GetState(int(s.tty.Fd()))
	if err != nil || !reflect.DeepEqual(s.before, after) {
		s.t.Errorf("the terminal's modes are others than before: %v", err)
	}
	for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?25l": "\x1b[?25h",
		"\x1b[?2004h": "\x1b[?2004l"} {
		s.Wait(func() bool { return strings.LastIndex(s.Raw(), off) >= strings.LastIndex(s.Raw(), on) },
			fmt.Sprintf("%q is never undone", on))
	}
}
