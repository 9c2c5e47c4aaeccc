package diff

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/testprogram"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// TestPagerCommand checks that NUON_PAGER has precedence over PAGER, and that
// either can disable the pager.
func TestPagerCommand(t *testing.T) {
	for _, c := range []struct {
		set  map[string]string
		want string
	}{
		{nil, "less"},
		{map[string]string{"PAGER": "most"}, "most"},
		{map[string]string{"PAGER": "most", "NUON_PAGER": " less -S "}, "less -S"},
		{map[string]string{"PAGER": "most", "NUON_PAGER": ""}, ""},
		{map[string]string{"PAGER": "cat"}, ""},
		{map[string]string{"PAGER": ""}, ""},
	} {
		if got := pagerCommand(func(name string) (string, bool) { v, ok := c.set[name]; return v, ok }); got != c.want {
			t.Errorf("%v: %q, want %q", c.set, got, c.want)
		}
	}
	if a, b := lessOptions(""), lessOptions("-iM"); a != "FRX" || b != "-R -iM" {
		t.Errorf("less gets %q and %q", a, b)
	}
}

// TestFits checks that wrapped lines count as several rows, and that one row
// is left for the prompt.
func TestFits(t *testing.T) {
	p := &pager{height: 4}
	for text, want := range map[string]bool{
		"":                                  true,
		"a\nb\nc\n":                         true,
		"a\nb\nc\nd\n":                      false,
		"a\n\n\n\n":                         false,
		"0123456789\nb\nc\n":                true,
		"0123456789x\nb\n":                  true,
		"0123456789x\nb\nc\n":               false,
		"\x1b[31m0123456789\x1b[0m\nb\nc\n": true,
		"漢漢漢漢漢漢\nb\nc\n":                    false,
	} {
		if got := p.fits([]byte(text), 10); got != want {
			t.Errorf("%q fits: %t", text, got)
		}
	}
}

// screen is a pseudo-terminal that records what is written to it.
type screen struct {
	tty  *os.File
	seen chan string
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	hand, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 5, Cols: 40}); err != nil {
		t.Fatal(err)
	}
	s := &screen{tty: tty, seen: make(chan string, 1)}
	go func() { // reads until the terminal is closed
		all, _ := io.ReadAll(hand)
		s.seen <- strings.ReplaceAll(string(all), "\r\n", "\n")
		_ = hand.Close()
	}()
	return s
}

// text closes the terminal and returns everything that was written to it.
func (s *screen) text() string {
	_ = s.tty.Close()
	return <-s.seen
}

func (s *screen) console() *console.Console {
	return &console.Console{Out: s.tty, Err: io.Discard, OutIsTerminal: true, Width: 40}
}

// program writes an executable script and returns its path.
func program(t *testing.T, script string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pager")
	testprogram.Write(t, name, "#!/bin/sh\n"+script)
	return name
}

// TestPager checks that only a long text goes through the pager, that the pager's exit
// code is ignored, and that a missing pager is no error.
func TestPager(t *testing.T) {
	t.Setenv("LESS", "")
	t.Setenv("TERM", "xterm")
	long := strings.Repeat("line\n", 10)
	for name, c := range map[string]struct {
		pager, mode, text, want string
	}{
		"long":              {"sed s/^/p:/", pagerAuto, long, strings.ReplaceAll(long, "line", "p:line")},
		"short":             {"sed s/^/p:/", pagerAuto, "line\n", "line\n"},
		"short, but always": {"sed s/^/p:/", pagerAlways, "line\n", "p:line\n"},
		"never":             {"sed s/^/p:/", pagerNever, long, long},
		"cat":               {"cat", pagerAlways, long, long},
		"one word":          {program(t, "echo $LESS; exec head -n 1"), pagerAuto, long, "FRX\nline\n"},
		"not there":         {"/none/pager", pagerAuto, long, long},
		"no such command":   {"no-such-pager-anywhere -x", pagerAuto, long, long},
		"not to be run":     {place(t, "pager") + "/pager", pagerAuto, long, long},
		"ends early":        {"head -n 1", pagerAuto, strings.Repeat("line\n", 1<<18), "line\n"},
		"fails":             {"exit 3", pagerAuto, long, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NUON_PAGER", c.pager)
			s := newScreen(t)
			if err := page(t.Context(), s.console(), c.mode, []byte(c.text)); err != nil {
				t.Error(err)
			}
			if got := s.text(); got != c.want {
				t.Errorf("shows %.200q, want %.200q", got, c.want)
			}
		})
	}
}

// TestNoPager checks that no pager is used in a pipe or on a dumb terminal.
func TestNoPager(t *testing.T) {
	t.Setenv("NUON_PAGER", "sed s/^/p:/")
	t.Setenv("TERM", "xterm")
	if pagerFor(&console.Console{Out: &bytes.Buffer{}, OutIsTerminal: true}, pagerAlways) != nil {
		t.Error("pages what is no file")
	}
	s := newScreen(t)
	c := s.console()
	if p := pagerFor(c, pagerAlways); p == nil || p.height != 5 {
		t.Errorf("%+v", p)
	}
	c.OutIsTerminal = false
	if pagerFor(c, pagerAlways) != nil {
		t.Error("pages a pipe")
	}
	t.Setenv("TERM", "dumb")
	if pagerFor(s.console(), pagerAlways) != nil {
		t.Error("pages on a dumb terminal")
	}
	s.text()
}

// TestCtrlCInAPager checks that the command waits for the pager however often Ctrl-C is
// pressed, so that the pager can restore the terminal, and that it passes SIGTERM on.
func TestCtrlCInAPager(t *testing.T) {
	t.Setenv("TERM", "xterm")
	for name, cause := range map[string]error{"Ctrl-C": exitcode.Interrupted, "SIGTERM": exitcode.Terminated} {
		t.Run(name, func(t *testing.T) {
			begun := filepath.Join(t.TempDir(), "begun")
			release := begun + ".over"
			script := "trap 'echo terminated; exit 1' TERM\ncat >/dev/null\n: >" + begun + "\nwhile ! [ -e " + release +
				" ]; do sleep 0.01; done\necho restored\n"
			t.Setenv("NUON_PAGER", program(t, script))
			ctx, end := context.WithCancelCause(t.Context())
			s, done := newScreen(t), make(chan error, 1)
			c := s.console()
			go func() { done <- page(ctx, c, pagerAlways, []byte("line\n")) }()
			await(t, begun)
			end(cause)
			want := "terminated\n"
			if errors.Is(cause, exitcode.Interrupted) {
				want = "restored\n"
				for range 3 {
					if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
						t.Fatal(err)
					}
				}
				select {
				case err := <-done:
					t.Fatalf("did not wait: %v", err)
				case <-time.After(50 * time.Millisecond): //walltime: nothing says that nothing comes
				}
				if err := os.WriteFile(release, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("ended with %v", err)
			}
			if got := s.text(); got != want {
				t.Errorf("shows %q", got)
			}
		})
	}
}

// await waits until a file exists.
func await(t *testing.T, name string) {
	t.Helper()
	testtime.UntilNoError(t, "the pager starts", func() error {
		_, err := os.Stat(name)
		return err
	})
}
