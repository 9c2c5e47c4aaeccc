//go:build unix

package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"github.com/hinshun/vt10x"
	"golang.org/x/term"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/terminit"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// childIs is the environment variable that makes the test binary run as `nuon
// review`. With "bomb" the key X makes it panic; with "hasty" it does not wait
// long for the terminal's background report.
const childIs = "NUON_TEST_REVIEW"

func TestMain(m *testing.M) {
	terminit.Over()
	if os.Getenv(childIs) != "" {
		err := child()
		if err != nil && err.Error() != "" {
			fmt.Fprintln(os.Stderr, "error:", err)
		}
		os.Exit(exitcode.CodeOf(err))
	}
	os.Exit(m.Run())
}

// child does what the command does, and prints the answers that were given.
func child() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client, err := apiclient.New(contexts.Context{URL: os.Getenv("NUON_URL"), Token: "tok"})
	if err != nil {
		return err
	}
	c := console.System()
	if !Possible(c) {
		return errors.New("no terminal")
	}
	if os.Getenv(childIs) == "bomb" {
		d := newDesk(ctx, client, func(api.Approval) bool { return true })
		defer d.close()
		first, _ := d.list(scope{})().(listed)
		return draw(ctx, c, bomb{newModel(d, newTheme(true, false, unknown), "test", time.Now, first)})
	}
	patience := testtime.Limit
	if os.Getenv(childIs) == "hasty" {
		patience = time.Millisecond
	}
	given, err := openWithin(ctx, c, client, func(api.Approval) bool { return true }, patience)
	for _, a := range given.Approvals {
		fmt.Printf("%s: %s\n", a.Status, a.Component)
	}
	return err
}

// bomb is a model with a bug: X panics in Update, Y in a command.
type bomb struct{ *model }

func (b bomb) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch k, _ := msg.(tea.KeyMsg); k.String() {
	case "X":
		panic("X was pressed")
	case "Y":
		return b, func() tea.Msg { panic("Y was pressed") }
	}
	_, cmd := b.model.Update(msg)
	return b, cmd
}

// seat is a user at a terminal.
type seat struct {
	t       *testing.T
	tty     *os.File // the program's side
	screen  *os.File // the user's side
	command *exec.Cmd
	before  *term.State
	vt      vt10x.Terminal
	mute    bool          // the terminal does not answer queries automatically
	over    chan struct{} // closed when the screen has nothing more to show

	mu       sync.Mutex
	shown    bytes.Buffer
	shownTo  int // how many bytes of it were written to the emulated terminal
	answered int // how many queries were seen
}

// lightBackground is the terminal's answer to the background query.
const lightBackground = "\x1b]11;rgb:ffff/fafa/f0f0\x1b\\\x1b[?62c"

// sit opens the screen on a terminal, with the plans of p. With a shell the
// program is a job of that shell. The terminal answers the background query
// with a light background, except in mode "hasty". CI is set wherever the test
// runs, because a library takes it as a sign that there is no terminal.
func sit(t *testing.T, p *plane, mode, shell string) *seat {
	t.Helper()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	s := &seat{t: t, tty: tty, screen: screen, vt: vt10x.New(vt10x.WithSize(80, 24)), mute: mode == "hasty",
		over: make(chan struct{})}
	s.size(80, 24)
	if s.before, err = term.GetState(int(tty.Fd())); err != nil {
		t.Fatal(err)
	}
	s.command = exec.Command(os.Args[0])
	if shell != "" {
		s.command = exec.Command("sh", "-c", shell)
	}
	s.command.Stdin, s.command.Stdout, s.command.Stderr = tty, tty, tty
	s.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s.command.Env = append(os.Environ(), childIs+"="+mode, "NUON_URL="+server.URL, "SELF="+os.Args[0],
		"TERM=xterm-256color", "NO_COLOR=", "COLORTERM=", "NUON_THEME=", "COLORFGBG=", "CI=true",
		"CLICOLOR=", "CLICOLOR_FORCE=")
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	go s.read()
	t.Cleanup(func() {
		_ = s.command.Process.Kill() // it may have exited
		_ = s.tty.Close()
		_ = s.screen.Close()
		<-s.over
	})
	return s
}

// read copies the program's output to the emulated terminal until the terminal is closed.
func (s *seat) read() {
	defer close(s.over)
	part := make([]byte, 1<<16)
	for {
		n, err := s.screen.Read(part)
		if s.show(part[:n]) && !s.mute {
			_, _ = s.screen.WriteString(lightBackground) // fails if the program has exited
		}
		if err != nil {
			return
		}
	}
}

// show passes the program's output on and reports whether it contains a new
// background query. Output arrives in arbitrary pieces: a query may be split,
// and so may a character, which the emulated terminal would drop.
func (s *seat) show(part []byte) (asked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown.Write(part)
	all := s.shown.Bytes()
	to := len(all)
	for back := 1; back < utf8.UTFMax && back <= to-s.shownTo; back++ {
		if utf8.RuneStart(all[to-back]) && !utf8.FullRune(all[to-back:]) {
			to -= back
			break
		}
	}
	_, _ = s.vt.Write(all[s.shownTo:to]) // never fails
	s.shownTo = to
	was := s.answered
	s.answered = bytes.Count(all, []byte(question))
	return s.answered > was
}

// size changes the size of both sides at once: the program's response is read only after that.
func (s *seat) size(columns, rows int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := pty.Setsize(s.screen, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil { //nolint:gosec // a terminal is not that large
		s.t.Fatal(err)
	}
	s.vt.Resize(columns, rows)
}

func (s *seat) keys(text string) {
	s.t.Helper()
	if _, err := s.screen.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

func (s *seat) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vt.String()
}

func (s *seat) raw() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

// sees waits until a text is on the screen.
func (s *seat) sees(want string) {
	s.t.Helper()
	s.wait(func() bool { return strings.Contains(s.seen(), want) }, fmt.Sprintf("no %q", want))
}

// told waits until a text was written to the screen at any time, for messages that disappear.
func (s *seat) told(want string) {
	s.t.Helper()
	s.wait(func() bool { return strings.Contains(s.raw(), want) }, "it was never told "+want)
}

func (s *seat) wait(until func() bool, without string) {
	s.t.Helper()
	testtime.UntilNoError(s.t, "the screen", func() error {
		if until() {
			return nil
		}
		return fmt.Errorf("%s on\n%s", without, s.seen())
	})
}

// leaves waits for the program to exit and checks the exit code and that the terminal was restored.
func (s *seat) leaves(code int) {
	s.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.command.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-testtime.After():
		_ = s.command.Process.Kill()
		s.t.Fatalf("it does not end:\n%s", s.seen())
	}
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		s.t.Fatal(err)
	}
	if got := s.command.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit code %d, want %d", got, code)
	}
	s.restored()
}

// restored checks that the terminal's modes, screen, cursor and paste mode are as before.
func (s *seat) restored() {
	s.t.Helper()
	after, err := term.GetState(int(s.tty.Fd()))
	if err != nil || !reflect.DeepEqual(s.before, after) {
		s.t.Errorf("the terminal's modes are others than before: %v", err)
	}
	for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?25l": "\x1b[?25h",
		"\x1b[?2004h": "\x1b[?2004l"} {
		s.wait(func() bool { return strings.LastIndex(s.raw(), off) >= strings.LastIndex(s.raw(), on) },
			fmt.Sprintf("%q is never undone", on))
	}
}

// onLight is the style of the selected plan in the light theme, and in no other.
const onLight = "48;5;153"

// TestALateAnswer checks that a background report after the screen opened changes the
// theme and counts as no key.
func TestALateAnswer(t *testing.T) {
	t.Parallel()
	p := &plane{approvals: several()}
	s := sit(t, p, "hasty", "")
	s.sees("deploy metrics on hello/acme")
	if strings.Contains(s.raw(), onLight) {
		t.Error("there is a light theme before the terminal has answered")
	}
	s.answer("r", "Reason (shown to everyone")
	s.keys("not today")
	s.sees("> not today")
	s.keys(lightBackground)
	s.told(onLight)
	s.keys("\r")
	s.sees("Rejected by vera: not today")
	s.keys("q")
	s.leaves(exitcode.Done)
	if d := cmp.Diff([]string{"apr_1 reject true not today"}, p.answered()); d != "" {
		t.Errorf("answers (-want +got)\n%s", d)
	}
}

// TestOnATerminal reads, approves, rejects and leaves like a user.
func TestOnATerminal(t *testing.T) {
	t.Parallel()
	p := &plane{approvals: several()}
	s := sit(t, p, "yes", "")
	s.sees("deploy metrics on hello/acme")
	s.sees("3 plans waiting, 1 to approve by name")
	if !strings.Contains(s.raw(), onLight) {
		t.Errorf("a terminal with a light background does not get the light theme:\n%q", s.raw())
	}
	s.keys("J")
	s.sees("deploy web on hello/acme")
	s.size(140, 45)
	s.sees("┬")
	s.size(20, 5)
	s.sees("too small")
	s.size(80, 24)
	s.sees(`"10.42.0.10" → "10.42.0.20"`)
	s.answer("a", "Type web to approve")
	s.keys("web\r")
	s.sees("Approved by vera")
	s.keys("\r")
	s.sees("metrics on hello/globex ──")
	s.sees("change 1 of 40")
	s.answer("r", "Reason (shown to everyone")
	s.keys("not today\r")
	s.sees("Rejected by vera: not today")
	s.keys("w")
	s.sees("└─ build 2 of web (succeeded)")
	s.keys("q")
	s.sees("Rejected by vera")
	s.keys("q")
	s.leaves(exitcode.Done)
	s.sees("approved: web")
	s.sees("rejected: metrics")
	if d := cmp.Diff([]string{"apr_2 approve true ", "apr_3 reject true not today"}, p.answered()); d != "" {
		t.Errorf("answers (-want +got)\n%s", d)
	}
	if strings.Contains(s.raw(), "owned\a") {
		t.Error("a plan set the title of the terminal")
	}
}

// TestAGroupOnATerminal answers a group after its number was typed, while one
// of its plans ends, and answers the exception separately.
func TestAGroupOnATerminal(t *testing.T) {
	t.Parallel()
	p := &plane{approvals: alike(), refuse: "apr_4"}
	s := sit(t, p, "yes", "")
	s.sees("▸ hello metrics · 5 installs")
	s.sees("the page of ‹own name›")
	p.end("apr_2", "superseded: a newer commit")
	s.sees("▸ hello metrics · 4 installs")
	s.sees("No longer in the group (1 withdrawn): globex.")
	s.keys("m")
	s.sees("▾ hello metrics · 4 installs")
	s.keys("m")
	s.sees("▸ hello metrics · 4 installs")
	<-time.After(justNow) //walltime: the plan has to be on the screen for longer than this
	s.keys("a")
	s.sees("Type 4 to approve")
	s.keys("4\r")
	s.told("approved: metrics on 3 of 4; not initech: this plan of metrics is no")
	s.sees("These plans are no longer waiting (3 approved, 1 rejected, 1 withdrawn).") // after the next poll
	s.keys("J")
	s.sees("deploy metrics on hello/wayne")
	s.answer("r", "Reason (shown to everyone")
	s.keys("not like the others\r")
	s.sees("Rejected by vera: not like the others")
	s.keys("q")
	s.leaves(exitcode.Done)
	want := []string{"apr_1 approve true ", "apr_3 approve true ", "apr_5 approve true ",
		"apr_6 reject true not like the others"}
	got := p.answered()
	slices.Sort(got) // several are in flight at once
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("answers (-want +got)\n%s", d)
	}
}

// answer presses a key for a visible plan and waits for its effect. It first waits out justNow.
func (s *seat) answer(key, want string) {
	s.t.Helper()
	<-time.After(justNow) //walltime: the plan has to be on the screen for longer than this
	s.keys(key)
	s.sees(want)
}

// TestUnderYourEyes covers a plan that becomes stale, one that somebody else
// answers, and a control plane that becomes unreachable and comes back.
func TestUnderYourEyes(t *testing.T) {
	t.Parallel()
	p := &plane{approvals: several(), refuse: "apr_3"}
	s := sit(t, p, "yes", "")
	s.sees("deploy metrics on hello/acme")
	p.end("apr_1", "superseded: a newer commit")
	s.sees("This plan is stale and can no longer be approved: superseded: a newer")
	s.keys("a")
	s.sees("this plan is no longer waiting; press enter")
	p.turn(true)
	s.sees("Control plane unreachable since")
	p.turn(false)
	s.sees("●")
	s.keys("JJ")
	s.sees("metrics on hello/globex ──")
	s.sees("change 1 of 40")
	s.answer("a", "Rejected by ann: not today")
	s.keys("\x03")
	s.leaves(130)
	if got := p.answered(); len(got) > 0 {
		t.Errorf("answered %q", got)
	}
}

// TestTheTerminalIsRestored checks that the terminal is restored for every way
// in which the screen ends.
func TestTheTerminalIsRestored(t *testing.T) {
	for name, c := range map[string]struct {
		mode string
		end  func(s *seat)
		code int
	}{
		"ctrl-c":               {"yes", func(s *seat) { s.keys("\x03") }, 130},
		"sigterm":              {"yes", func(s *seat) { _ = s.command.Process.Signal(syscall.SIGTERM) }, 130},
		"sigint":               {"yes", func(s *seat) { _ = s.command.Process.Signal(syscall.SIGINT) }, 130},
		"ctrl-c in a question": {"yes", func(s *seat) { s.answer("r", "Reason (shown to everyone"); s.keys("no\x03") }, 130},
		"panic":                {"bomb", func(s *seat) { s.keys("X") }, 1},
		"panic in a command":   {"bomb", func(s *seat) { s.keys("Y") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sit(t, &plane{approvals: several()}, c.mode, "")
			s.sees("deploy metrics on hello/acme")
			c.end(s)
			s.leaves(c.code)
		})
	}
}

// TestSuspend checks that ctrl+z goes to the shell and back, and that without
// a shell it does nothing.
func TestSuspend(t *testing.T) {
	t.Parallel()
	s := sit(t, &plane{approvals: several()}, "yes", `set -m; "$SELF"; echo "stopped"; fg >/dev/null; echo "ended $?"`)
	s.sees("deploy metrics on hello/acme")
	s.keys("\x1a")
	s.wait(func() bool { return strings.Contains(s.raw(), "stopped") }, "it was never stopped")
	s.sees("deploy metrics on hello/acme")
	s.keys("q")
	s.sees("ended 0")
	s.leaves(0)

	alone := sit(t, &plane{approvals: several()}, "yes", "")
	alone.sees("deploy metrics on hello/acme")
	alone.keys("\x1a")
	alone.told("cannot suspend: no shell")
	alone.keys("q")
	alone.leaves(0)
}

// TestNobodyThere checks that an unreachable control plane is an error before the screen opens.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	s := sit(t, &plane{down: true}, "yes", "")
	s.leaves(exitcode.Unreachable)
	if strings.Contains(s.raw(), "\x1b[?1049h") {
		t.Error("the screen was opened")
	}
}
