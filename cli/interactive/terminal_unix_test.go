//go:build unix

package interactive

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/screentest"
	"github.com/nuon-toolkit/nuon/cli/terminit"
)

// childIs is the environment variable that makes the test binary run as `nuon`.
const childIs = "NUON_TEST_INTERACTIVE"

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

// child does what the command does.
func child() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client, err := apiclient.New(contexts.Context{URL: os.Getenv("NUON_URL"), Token: "tok"})
	if err != nil {
		return err
	}
	c := console.System()
	o := Options{Follow: func(ctx context.Context, line func(string), _ ...string) error {
		for _, l := range logLines(30) {
			line(l)
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	switch {
	case os.Getenv(childIs) == "plain":
		return Read(ctx, c, client, o)
	case !screen.Available(c):
		return errors.New("no terminal")
	}
	return Open(ctx, c, client, o)
}

// sit opens the screens on a terminal.
func sit(t *testing.T, p *plane, mode, shell string) (*screentest.Seat, *exec.Cmd) {
	t.Helper()
	counted, rounds := screentest.Counted(p)
	server := httptest.NewServer(counted)
	t.Cleanup(server.Close)
	c := exec.Command(os.Args[0])
	if shell != "" {
		c = exec.Command("sh", "-c", shell)
	}
	c.Env = append(os.Environ(), childIs+"="+mode, "NUON_URL="+server.URL, "SELF="+os.Args[0])
	s := screentest.Sit(t, c, false)
	s.Rounds = rounds
	return s, c
}

// TestOnATerminal walks through the screens like a user, with the review, and resizes.
func TestOnATerminal(t *testing.T) {
	t.Parallel()
	s, _ := sit(t, newPlane(t), "yes", "")
	s.Sees("needs you")
	s.Sees("deploy web on acme")
	s.Presses("R", "nuon review")
	s.Sees("web on hello/acme")
	s.Keys(":inst")
	s.Sees(": inst")
	s.Keys("alls\r")
	s.Sees("› installs")
	s.Keys("\x1b")
	s.Sees("needs you")
	s.Presses("R", "web on hello/acme")
	s.Keys("\x1b")
	s.Sees("needs you")
	s.Keys(":workflow wfl_1\r")
	s.Sees("✗ apply    db")
	s.Sees("the quota is exceeded")
	s.Keys("L")
	s.Sees("line 29 ")
	s.Size(140, 45)
	s.Sees("apply web")
	s.Size(20, 5)
	s.Sees("too small")
	s.Size(80, 24)
	s.Sees("line 29 ")
	s.Keys("q")
	s.Leaves(exitcode.Done)
	if strings.Contains(s.Raw(), "owned\a") {
		t.Error("a name set the title of the terminal")
	}
	for _, on := range []string{"\x1b[?1002h", "\x1b[?1006h"} {
		if off := strings.Replace(on, "h", "l", 1); strings.LastIndex(s.Raw(), off) < strings.LastIndex(s.Raw(), on) {
			t.Errorf("the mouse is not given back: %q", off)
		}
	}
}

// TestTheTerminalIsRestored checks that the terminal is restored for every way in which the
// screens end.
func TestTheTerminalIsRestored(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(s *screentest.Seat, c *exec.Cmd)
		code int
	}{
		"ctrl-c":  {func(s *screentest.Seat, _ *exec.Cmd) { s.Keys("\x03") }, 130},
		"sigterm": {func(_ *screentest.Seat, c *exec.Cmd) { _ = c.Process.Signal(syscall.SIGTERM) }, 130},
		"ctrl-c in a line": {func(s *screentest.Seat, _ *exec.Cmd) {
			s.Keys(":inst")
			s.Sees(": inst")
			s.Keys("\x03")
		}, 130},
		"ctrl-c in a review": {func(s *screentest.Seat, _ *exec.Cmd) {
			s.Presses("R", "nuon review")
			s.Keys("\x03")
		}, 130},
		"quit in the palette": {func(s *screentest.Seat, _ *exec.Cmd) { s.Keys(":quit\r") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, command := sit(t, newPlane(t), "yes", "")
			s.Sees("needs you")
			c.end(s, command)
			s.Leaves(c.code)
		})
	}
}

// TestSuspend checks that ctrl+z goes to the shell and back, also to a terminal that has another
// size by then.
func TestSuspend(t *testing.T) {
	t.Parallel()
	s, _ := sit(t, newPlane(t), "yes", `set -m; "$SELF"; echo "stopped"; read -r go; fg >/dev/null; echo "ended $?"`)
	s.Sees("needs you")
	s.Keys("\x1a")
	s.Told("stopped")
	s.Size(140, 45)
	s.Keys("\n")
	s.Sees("needs you")
	s.Sees("LAST WORKFLOW") // a column that 80 columns have no room for
	s.Keys("q")
	s.Sees("ended 0")
	s.Leaves(0)
}

// TestUnreachable checks that the screens open without a control plane, and show it when it comes
// back.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.down = true
	s, _ := sit(t, p, "yes", "")
	s.Sees("responded with 502")
	p.mu.Lock()
	p.down = false
	p.mu.Unlock()
	s.Sees("needs you")
	s.Sees("globex")
	s.Keys("q")
	s.Leaves(0)
}

// TestPlain reads the screens as lines: nothing is drawn over, and rows are opened by number.
func TestPlain(t *testing.T) {
	t.Parallel()
	s, _ := sit(t, newPlane(t), "plain", "")
	s.Sees("> ")
	s.Keys("installs\n")
	s.Told("3. initech, app hello, status stalled")
	s.Keys("1\n")
	s.Told("components, 3 rows.")
	s.Keys("77\n")
	s.Told("there is no row 77")
	s.Keys("nowhere\n")
	s.Told(`there is no screen "nowhere"`)
	s.Keys("back\nquit\n")
	s.Leaves(0)
	if raw := s.Raw(); strings.Contains(raw, "\x1b") {
		t.Errorf("it draws: %q", raw)
	}
}

// TestOddTerminals checks that a dumb terminal gets no screen, that a pipe which is closed ends plain
// mode, and that the screens open on a terminal that is too small for them.
func TestOddTerminals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ mode, shell, keys, sees string }{
		"dumb":          {"yes", `TERM=dumb "$SELF"; echo "ended $?"`, "", "no terminal"},
		"a closed pipe": {"plain", `"$SELF" | head -n 1; echo "ended"`, "apps\napps\n", "ended"},
		"too small":     {"yes", `stty rows 5 cols 20; "$SELF"; echo "ended $?"`, "q", "ended 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := sit(t, newPlane(t), c.mode, c.shell)
			switch c.keys {
			case "q":
				s.Told("too small")
			case "":
			default:
				s.Sees("home")
			}
			s.Keys(c.keys)
			s.Sees(c.sees)
			s.Leaves(0)
		})
	}
}

// TestNoTerminal checks that the screens do not open in a pipe or on a dumb terminal, and that
// plain mode ends with its input.
func TestNoTerminal(t *testing.T) {
	server := httptest.NewServer(newPlane(t))
	defer server.Close()
	run := func(mode, input string) (string, error) {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), childIs+"="+mode, "NUON_URL="+server.URL)
		c.Stdin = strings.NewReader(input)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := run("yes", ""); err == nil || !strings.Contains(out, "no terminal") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := run("plain", "apps\n"); err != nil || !strings.Contains(out, "1. hello, release 7 (99ab3c4)") {
		t.Errorf("%v: %s", err, out)
	}
}
