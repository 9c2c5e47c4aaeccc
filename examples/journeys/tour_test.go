package journeys_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/examples/fleet"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

var update = flag.Bool("update", false, "write what the commands of docs/tour.md print into it")

// TestTour pastes docs/tour.md into a shell, line by line, and compares what is printed with what stands there. What differs each
// time (ids, times, places) is made equal on both sides.
func TestTour(t *testing.T) {
	const file = "../../docs/tour.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := openShell(t)
	var seen strings.Builder
	lines := strings.SplitAfter(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		seen.WriteString(lines[i])
		if lines[i] != "```console\n" {
			continue
		}
		for i++; i < len(lines) && lines[i] != "```\n"; i++ {
			command, is := strings.CutPrefix(lines[i], "$ ")
			if !is {
				continue // what was printed when it was written
			}
			seen.WriteString(lines[i] + s.paste(strings.TrimSuffix(command, "\n")))
		}
		seen.WriteString("```\n")
	}
	if *update {
		if err := os.WriteFile(file, []byte(seen.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if d := cmp.Diff(string(text), seen.String()); d != "" {
		t.Errorf("the tour goes otherwise than %s says (go test -update):\n%s", file, d)
	}
}

// shell is a shell on a terminal as wide as the tour.
type shell struct {
	t        *testing.T
	dir, bin string
	in       io.Writer
	streams  []*bufio.Reader // its screen, and what it says on stderr
	hangUp   func()          // ends the reading of both
	dev      *exec.Cmd
	ended    chan error
}

// mark ends what a command prints.
const mark = "=-=-= that was it =-=-="

func openShell(t *testing.T) *shell {
	t.Helper()
	bin, err := fleet.Programs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := fleet.Place()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &shell{t: t, dir: dir, bin: bin}
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 50, Cols: 120}); err != nil {
		t.Fatal(err)
	}
	remarks, remarked, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "--noprofile", "--norc")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, s.environment(), tty, remarked
	if s.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; install bash", err)
	}
	_, _ = tty.Close(), remarked.Close()
	s.hangUp = func() { _, _ = screen.Close(), remarks.Close() }
	s.streams = []*bufio.Reader{bufio.NewReader(screen), bufio.NewReader(remarks)}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		s.hangUp()
		s.stop()
	})
	return s
}

func (s *shell) environment() []string {
	env := []string{
		"PATH=" + s.bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + filepath.Join(s.dir, "home"), "NUON_CONFIG=" + filepath.Join(s.dir, "home", "nuon.toml"),
		"TERM=xterm-256color", "NO_COLOR=1", "USER=vera", "TZ=UTC", "LANG=C.UTF-8", "GIT_CONFIG_GLOBAL=/dev/null",
		// So that commits are called the same in every run.
		"GIT_AUTHOR_DATE=2026-05-04T12:00:00Z", "GIT_COMMITTER_DATE=2026-05-04T12:00:00Z",
		"GIT_AUTHOR_NAME=Vera Vendor", "GIT_AUTHOR_EMAIL=vera@vendor.example", "GIT_COMMITTER_NAME=Vera Vendor", "GIT_COMMITTER_EMAIL=vera@vendor.example",
	}
	for _, name := range []string{"NUON_TERRAFORM", "NUON_POSTGRES_BIN", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// paste runs a line and gives what it printed: what a person is told beside it comes last. `nuon dev` runs beside the shell, as in a
// terminal of its own.
func (s *shell) paste(line string) string {
	s.t.Helper()
	if line == "nuon dev" {
		return s.start()
	}
	if _, err := fmt.Fprintf(s.in, "{ %s\n} </dev/null; echo '%s'; echo '%s' >&2\n", line, mark, mark); err != nil {
		s.t.Fatalf("%s: %v", line, err)
	}
	late := time.AfterFunc(testtime.Limit, s.hangUp) //walltime: this is the limit that ends a hang
	defer late.Stop()
	var printed strings.Builder
	for _, stream := range s.streams {
		for {
			text, err := stream.ReadString('\n')
			if err != nil {
				s.t.Fatalf("%s: not done within %s, or its shell has gone: %v; it printed\n%s", line, testtime.Limit, err, printed.String())
			}
			text = strings.ReplaceAll(text, "\r", "")
			if strings.TrimSpace(text) == mark {
				break
			}
			printed.WriteString(text)
		}
	}
	return s.equal(printed.String())
}

// start brings `nuon dev` up, as the line in the tour does but where it disturbs nobody.
func (s *shell) start() string {
	ready := filepath.Join(s.dir, "ready.json")
	s.dev = exec.CommandContext(context.WithoutCancel(s.t.Context()), filepath.Join(s.bin, "nuon"), "dev", "--data-dir", filepath.Join(s.dir, "dev"),
		"--listen", "127.0.0.1:0", "--runner-listen", "127.0.0.1:0", "--registry-listen", "127.0.0.1:0", "--poll", "500ms", "--ready-file", ready)
	s.dev.Dir, s.dev.Env = filepath.Join(s.dir, "hello"), s.environment()
	var log strings.Builder
	s.dev.Stdout, s.dev.Stderr = &log, &log
	s.dev.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.dev.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan error, 1)
	go func() { s.ended <- s.dev.Wait() }()
	err := fleet.Until(s.t.Context(), testtime.Limit, "nuon dev is ready", func() (bool, error) {
		select {
		case err := <-s.ended:
			s.ended <- err
			return false, fmt.Errorf("nuon dev has ended: %w\n%s", err, log.String())
		default:
		}
		_, err := os.Stat(ready)
		return err == nil, nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return "…\nnuon dev is ready\n…\n"
}

// stop ends `nuon dev` as Ctrl-C does.
func (s *shell) stop() {
	if s.dev == nil {
		return
	}
	if err := s.dev.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Error(err)
	}
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Errorf("nuon dev ended with %v", err)
		}
	case <-testtime.After():
		_ = syscall.Kill(-s.dev.Process.Pid, syscall.SIGKILL)
		_ = <-s.ended // it was killed
		s.t.Error("nuon dev did not stop")
	}
}

// same makes equal what differs from run to run.
var same = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\x1b\[[0-9;?]*[a-zA-Z]`), ""},
	{regexp.MustCompile(`\b([a-z]{3})_[0-9a-v]{26}\b`), "${1}_…"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "12:00:00"},
	{regexp.MustCompile(`\b(after|for) ` + span), "$1 2s"},
	{regexp.MustCompile(`\b` + span + ` ago`), "2s ago"},
	{regexp.MustCompile(`\(` + span + `\)`), "(2s)"},
	{regexp.MustCompile(`\bversion \d+\.\d+\.\d+[-.\w]*`), "version 1.0.0"},
	{regexp.MustCompile(` +\n`), "\n"},
}

// span is a stretch of time as nuon prints it.
const span = `(?:\d+m)?\d+(?:\.\d+)?(?:ms|s|m|h)\b`

func (s *shell) equal(printed string) string {
	printed = strings.ReplaceAll(printed, s.dir, "/home/vera")
	for _, r := range same {
		printed = r.what.ReplaceAllString(printed, r.with)
	}
	return printed
}
