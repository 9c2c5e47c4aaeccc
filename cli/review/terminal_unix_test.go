//go:build unix

package review

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/screentest"
	"github.com/nuon-toolkit/nuon/cli/terminit"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// childIs is the environment variable that makes the test binary run as `nuon
// review`. With "bomb" the key X makes it panic; with "hasty" it does not wait
// long for the terminal's background report.
const childIs = "NUON_TEST_REVIEW"

func TestMain(m *testing.M) {
	terminit.Restore()
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
	if !screen.Available(c) {
		return errors.New("no terminal")
	}
	if os.Getenv(childIs) == "bomb" {
		d := newRequester(ctx, client, func(api.Approval) bool { return true })
		defer d.Close()
		first, _ := d.list(scope{})().(listed)
		return draw(ctx, c, bomb{newModel(d, screen.NewTheme(true, false, screen.Unknown), "test", time.Now, first)})
	}
	// A terminal that does not answer must not take as long as the limit of the test: then the screen
	// stays empty, and the test fails without a cause.
	patience := testtime.Limit / 8
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
	*screentest.Seat
	t       *testing.T
	command *exec.Cmd
}

// sit opens the screen on a terminal, with the plans of p. With a shell the program is a job of
// that shell. In mode "hasty" the terminal does not answer queries.
func sit(t *testing.T, p *plane, mode, shell string) *seat {
	t.Helper()
	counted, rounds := screentest.Counted(p)
	server := httptest.NewServer(counted)
	t.Cleanup(server.Close)
	c := exec.Command(os.Args[0])
	if shell != "" {
		c = exec.Command("sh", "-c", shell)
	}
	c.Env = append(os.Environ(), childIs+"="+mode, "NUON_URL="+server.URL, "SELF="+os.Args[0])
	made := screentest.Sit(t, c, mode == "hasty")
	made.Rounds = rounds
	return &seat{made, t, c}
}

// onLight is the style of the selected plan in the light theme, and in no other.
const onLight = "48;5;153"

// TestALateAnswer checks that a background report after the screen opened changes the
// theme and counts as no key.
func TestALateAnswer(t *testing.T) {
	t.Parallel()
	p := &plane{approvals: several()}
	s := sit(t, p, "hasty", "")
	s.Sees("deploy metrics on hello/acme")
	if strings.Contains(s.Raw(), onLight) {
		t.Error("there is a light theme before the terminal has answered")
	}
	s.answer("r", "Reason (shown to everyone")
	s.Keys("not today")
	s.Sees("> not today")
	s.Keys(screentest.LightBackground)
	s.Told(onLight)
	s.Submits("\r", "Reason (shown to everyone", "Rejected by vera: not today", func() {
		s.answer("r", "Reason (shown to everyone")
		s.Keys("not today")
	})
	s.Keys("q")
	s.Leaves(exitcode.Done)
	if d := cmp.Diff([]string{"apr_1 reject true not today"}, p.answered()); d != "" {
		t.Errorf("answers (-want +got)\n%s", d)
	}
}

// TestOnATerminal reads, approves, rejects and leaves like a user.
func TestOnATerminal(t *testing.T) {
	t.Parallel()
	p := &plane{approvals: several()}
	s := sit(t, p, "yes", "")
	s.Sees("deploy metrics on hello/acme")
	s.Sees("3 plans waiting, 1 to approve by name")
	if !strings.Contains(s.Raw(), onLight) {
		t.Errorf("a terminal with a light background does not get the light theme:\n%q", s.Raw())
	}
	s.Keys("J")
	s.Sees("deploy web on hello/acme")
	s.Size(140, 45)
	s.Sees("┬")
	s.Size(20, 5)
	s.Sees("too small")
	s.Size(80, 24)
	s.Sees(`"10.42.0.10" → "10.42.0.20"`)
	s.Answers("a", "Type web to approve", "web\r", "Approved by vera")
	s.Keys("\r")
	s.Sees("metrics on hello/globex ──")
	s.Sees("change 1 of 40")
	s.Answers("r", "Reason (shown to everyone", "not today\r", "Rejected by vera: not today")
	s.Keys("w")
	s.Sees("└─ build 2 of web (succeeded)")
	s.Keys("q")
	s.Sees("Rejected by vera")
	s.Keys("q")
	s.Leaves(exitcode.Done)
	s.Sees("approved: web")
	s.Sees("rejected: metrics")
	if d := cmp.Diff([]string{"apr_2 approve true ", "apr_3 reject true not today"}, p.answered()); d != "" {
		t.Errorf("answers (-want +got)\n%s", d)
	}
	if strings.Contains(s.Raw(), "owned\a") {
		t.Error("a plan set the title of the terminal")
	}
}

// TestAGroupOnATerminal answers a group after its number was typed, while one
// of its plans ends, and answers the exception separately.
func TestAGroupOnATerminal(t *testing.T) {
	t.Parallel()
	p := &plane{approvals: alike(), refuse: "apr_4"}
	s := sit(t, p, "yes", "")
	s.Sees("▸ hello metrics · 5 installs")
	s.Sees("the page of ‹own name›")
	p.end("apr_2", "superseded: a newer commit")
	s.Sees("▸ hello metrics · 4 installs")
	s.Sees("No longer in the group (1 withdrawn): globex.")
	s.Keys("m")
	s.Sees("▾ hello metrics · 4 installs")
	s.Keys("m")
	s.Sees("▸ hello metrics · 4 installs")
	s.Answers("a", "Type 4 to approve", "4\r",
		"These plans are no longer waiting (3 approved, 1 rejected, 1 withdrawn).") // after the next poll
	s.Told("approved: metrics on 3 of 4; not initech: this plan of metrics is no")
	s.Keys("J")
	s.Sees("deploy metrics on hello/wayne")
	s.Answers("r", "Reason (shown to everyone", "not like the others\r", "Rejected by vera: not like the others")
	s.Keys("q")
	s.Leaves(exitcode.Done)
	want := []string{"apr_1 approve true ", "apr_3 approve true ", "apr_5 approve true ",
		"apr_6 reject true not like the others"}
	got := p.answered()
	slices.Sort(got) // several are in flight at once
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("answers (-want +got)\n%s", d)
	}
}

// answer presses a key for a visible plan and waits for its effect. It first waits out justNow, which saves a refusal.
func (s *seat) answer(key, want string) {
	s.t.Helper()
	<-time.After(justNow) //walltime: a pause; if the plan is not long enough on the screen, Presses tries again
	s.Presses(key, want)
}

// TestUnderYourEyes covers a plan that becomes stale, one that somebody else
// answers, and a control plane that becomes unreachable and comes back.
func TestUnderYourEyes(t *testing.T) {
	t.Parallel()
	p := &plane{approvals: several(), refuse: "apr_3"}
	s := sit(t, p, "yes", "")
	s.Sees("deploy metrics on hello/acme")
	p.end("apr_1", "superseded: a newer commit")
	s.Sees("This plan is stale and can no longer be approved: superseded: a newer")
	s.Keys("a")
	s.Sees("this plan is no longer waiting; press enter")
	p.turn(true)
	s.Sees("Control plane unreachable since")
	p.turn(false)
	s.Sees("●")
	s.Keys("JJ")
	s.Sees("metrics on hello/globex ──")
	s.Sees("change 1 of 40")
	s.answer("a", "Rejected by ann: not today")
	s.Keys("\x03")
	s.Leaves(130)
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
		"ctrl-c":               {"yes", func(s *seat) { s.Keys("\x03") }, 130},
		"sigterm":              {"yes", func(s *seat) { _ = s.command.Process.Signal(syscall.SIGTERM) }, 130},
		"sigint":               {"yes", func(s *seat) { _ = s.command.Process.Signal(syscall.SIGINT) }, 130},
		"ctrl-c in a question": {"yes", func(s *seat) { s.answer("r", "Reason (shown to everyone"); s.Keys("no\x03") }, 130},
		"panic":                {"bomb", func(s *seat) { s.Keys("X") }, 1},
		"panic in a command":   {"bomb", func(s *seat) { s.Keys("Y") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sit(t, &plane{approvals: several()}, c.mode, "")
			s.Sees("deploy metrics on hello/acme")
			c.end(s)
			s.Leaves(c.code)
		})
	}
}

// TestSuspend checks that ctrl+z goes to the shell and back, and that without
// a shell it does nothing.
func TestSuspend(t *testing.T) {
	t.Parallel()
	s := sit(t, &plane{approvals: several()}, "yes", `set -m; "$SELF"; echo "stopped"; fg >/dev/null; echo "ended $?"`)
	s.Sees("deploy metrics on hello/acme")
	s.Keys("\x1a")
	s.Wait(func() bool { return strings.Contains(s.Raw(), "stopped") }, "it was never stopped")
	s.Sees("deploy metrics on hello/acme")
	s.Keys("q")
	s.Sees("ended 0")
	s.Leaves(0)

	alone := sit(t, &plane{approvals: several()}, "yes", "")
	alone.Sees("deploy metrics on hello/acme")
	alone.Keys("\x1a")
	alone.Told("cannot suspend: no shell")
	alone.Keys("q")
	alone.Leaves(0)
}

// TestNobodyThere checks that an unreachable control plane is an error before the screen opens.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	s := sit(t, &plane{down: true}, "yes", "")
	s.Leaves(exitcode.Unreachable)
	if strings.Contains(s.Raw(), "\x1b[?1049h") {
		t.Error("the screen was opened")
	}
}
