package journeys_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// terminal is an interactive shell on a terminal. Pasted input arrives at once, so a command that
// reads from the terminal consumes the commands after it, as it would for a user.
type terminal struct {
	t        *testing.T
	dir, bin string
	screen   *os.File // the user's side of the pty
	dev      *exec.Cmd
	ended    chan error // of dev

	mutex   sync.Mutex
	shown   string        // output since the latest prompt
	ran     []outcome     // all commands that have ended
	changed chan struct{} // closed and replaced at every change
	gone    error         // why there is no more output
}

// outcome is a command that has ended, as in the shell's history.
type outcome struct {
	command string
	status  int
	shown   string // the output as it appears on a screen
}

// The size of the terminal that programs see, and of the screen on which the test reads their
// output. It is so large that nothing wraps or scrolls away.
const (
	columns, rows         = 120, 50
	readColumns, readRows = 400, 400
)

// openTerminal starts the shell.
func openTerminal(t *testing.T) *terminal {
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
	s := &terminal{t: t, dir: dir, bin: bin, changed: make(chan struct{})}
	cmd := exec.Command("bash", "--rcfile", s.write("bashrc", bashrc), "--noprofile", "-i")
	// Bracketed paste would hide the fault that this test is for.
	cmd.Dir, cmd.Env = dir, append(s.environment(), "INPUTRC="+s.write("inputrc", "set enable-bracketed-paste off\n"))
	if s.screen, err = pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		t.Fatalf("%v; install bash", err)
	}
	go s.read()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = s.screen.Close()
		s.stop()
	})
	s.waitFor("the first prompt", func() bool { return len(s.ran) > 0 })
	return s
}

// bashrc reports at each prompt the exit status and the text of the previous command. The terminal
// does not echo pasted text. make only prints its commands, because they take minutes.
const bashrc = `stty -echo
PS1= PS2=
PROMPT_COMMAND='printf "\033]ran;%d;%s\007" $? "$(history 1 | base64 -w 0)"'
unset HISTFILE
make() { command make -n -C "$REPOSITORY" "$@" >/dev/null; }
`

func (s *terminal) write(name, text string) string {
	file := filepath.Join(s.dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return file
}

func (s *terminal) environment() []string {
	repository, err := filepath.Abs("../../..")
	if err != nil {
		s.t.Fatal(err)
	}
	env := []string{
		"PATH=" + s.bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + filepath.Join(s.dir, "home"),
		"NUON_CONFIG=" + filepath.Join(s.dir, "home", "nuon.toml"),
		"TERM=xterm-256color", "NO_COLOR=1", "USER=vera", "TZ=UTC", "LANG=C.UTF-8", "GIT_CONFIG_GLOBAL=/dev/null",
		"REPOSITORY=" + repository,
		// Fixed times give commits the same ids in every run.
		"GIT_AUTHOR_DATE=2026-05-04T12:00:00Z", "GIT_COMMITTER_DATE=2026-05-04T12:00:00Z",
		"GIT_AUTHOR_NAME=Vera Vendor", "GIT_AUTHOR_EMAIL=vera@vendor.example", "GIT_COMMITTER_NAME=Vera Vendor",
		"GIT_COMMITTER_EMAIL=vera@vendor.example",
	}
	for _, name := range []string{"NUON_TERRAFORM", "NUON_POSTGRES_BIN", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// prompt matches the reports of bashrc.
var prompt = regexp.MustCompile(`\x1b\]ran;(\d+);([^\x07]*)\x07`)

// read collects the output until the shell has ended.
func (s *terminal) read() {
	part := make([]byte, 64<<10)
	for {
		n, err := s.screen.Read(part)
		s.mutex.Lock()
		s.shown += string(part[:n])
		for at := prompt.FindStringSubmatchIndex(s.shown); at != nil; at = prompt.FindStringSubmatchIndex(s.shown) {
			status, _ := strconv.Atoi(s.shown[at[2]:at[3]])
			entry, _ := base64.StdEncoding.DecodeString(s.shown[at[4]:at[5]])
			s.ran = append(s.ran, outcome{command: commandOf(string(entry)), status: status, shown: onScreen(s.shown[:at[0]])})
			s.shown = s.shown[at[1]:]
		}
		s.gone = err
		close(s.changed)
		s.changed = make(chan struct{})
		s.mutex.Unlock()
		if err != nil {
			return
		}
	}
}

// commandOf returns the command of an entry in the shell's history, which starts with its number.
func commandOf(entry string) string {
	return strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(entry), "0123456789"))
}

// onScreen returns output as it appears on a screen.
func onScreen(written string) string {
	vt := vt10x.New(vt10x.WithSize(readColumns, readRows))
	_, _ = vt.Write([]byte(written)) // it never fails
	var b strings.Builder
	for row := range strings.Lines(vt.String()) {
		b.WriteString(strings.TrimRight(row, " \n") + "\n")
	}
	if text := strings.TrimRight(b.String(), "\n"); text != "" {
		return text + "\n"
	}
	return ""
}

// waitFor waits until a condition is true. It evaluates the condition with the mutex held.
func (s *terminal) waitFor(what string, is func() bool) {
	s.t.Helper()
	late := testtime.After()
	for {
		s.mutex.Lock()
		so, gone, changed, shown := is(), s.gone, s.changed, s.shown
		s.mutex.Unlock()
		switch {
		case so:
			return
		case gone != nil:
			s.t.Fatalf("%s: the shell has gone: %v; its screen:\n%s", what, gone, onScreen(shown))
		}
		select {
		case <-changed:
		case <-late:
			s.t.Fatalf("%s: not within %s; the screen:\n%s", what, testtime.Limit, onScreen(shown))
		}
	}
}

// act is one step of a user on the screen of a command: wait for a text, and press keys until the
// screen reacts.
type act struct {
	sees *regexp.Regexp
	keys string
}

// paste pastes commands, all at once, performs acts on the screen of the last one, and requires
// that all of them ran and succeeded. `nuon dev` runs beside the shell, as in another terminal.
func (s *terminal) paste(b block, acts ...act) []outcome {
	s.t.Helper()
	if b.lines[0].command == "nuon dev" && len(b.lines) == 1 {
		return []outcome{{command: "nuon dev", shown: s.start()}}
	}
	var text strings.Builder
	for _, l := range b.lines {
		text.WriteString(l.command + "\n")
	}
	before := len(s.since(0))
	if _, err := s.screen.WriteString(text.String()); err != nil {
		s.t.Fatal(err)
	}
	for i, l := range b.lines {
		if i == len(b.lines)-1 {
			s.act(acts)
		}
		s.waitFor(l.command, func() bool { return len(s.ran) > before+i })
		done := s.since(before)[i]
		if done.command != l.command {
			s.t.Fatalf("pasted\n%s\nand of it %q did not run, but %q; all that ran is %+v", text.String(), l.command,
				done.command, s.since(before))
		}
		if !done.succeeded() {
			s.t.Fatalf("%s: exit status %d:\n%s", l.command, done.status, done.shown)
		}
	}
	all := s.since(before)
	for i := range all {
		all[i].shown = s.equal(all[i].shown)
	}
	return all
}

// since returns the commands that ended after the first before ones.
func (s *terminal) since(before int) []outcome {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.ran[before:])
}

// succeeded reports whether a command succeeded. A command that waits exits with exitcode.Waiting when a
// plan needs the approval of a person.
func (r outcome) succeeded() bool {
	return r.status == exitcode.Done || r.status == exitcode.Waiting &&
		strings.HasSuffix(r.shown, "waiting for an approval; review it with `nuon review`\n")
}

// act performs the acts of a user. It presses a key again until the next text appears, because a
// plan that has just appeared cannot be answered yet.
func (s *terminal) act(acts []act) {
	s.t.Helper()
	for i, a := range acts {
		s.waitFor(a.sees.String(), func() bool { return a.sees.MatchString(onScreen(s.shown)) })
		if i == len(acts)-1 {
			s.press(a.keys)
			return
		}
		err := fleet.Until(s.t.Context(), testtime.Limit, acts[i+1].sees.String()+" is shown", func() (bool, error) {
			s.mutex.Lock()
			text, gone := onScreen(s.shown), s.gone
			s.mutex.Unlock()
			if gone != nil {
				return false, gone
			}
			if acts[i+1].sees.MatchString(text) {
				return true, nil
			}
			if a.sees.MatchString(text) {
				s.press(a.keys)
			}
			return false, nil
		})
		if err != nil {
			s.t.Fatalf("%v; the screen:\n%s", err, onScreen(s.shown))
		}
	}
}

func (s *terminal) press(keys string) {
	if _, err := s.screen.WriteString(keys); err != nil {
		s.t.Error(err)
	}
}

// start starts `nuon dev` as in the tour, but with ports and directories of the test.
func (s *terminal) start() string {
	ready := filepath.Join(s.dir, "ready.json")
	s.dev = exec.CommandContext(context.WithoutCancel(s.t.Context()), filepath.Join(s.bin, "nuon"), "dev", "--data-dir",
		filepath.Join(s.dir, "dev"),
		"--listen", "127.0.0.1:0", "--runner-listen", "127.0.0.1:0", "--registry-listen", "127.0.0.1:0", "--poll", "500ms",
		"--ready-file", ready)
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
func (s *terminal) stop() {
	if s.dev == nil || s.dev.Process == nil {
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

// same replaces what differs from run to run.
var same = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b([a-z]{3}_|ins)[0-9a-v]{26}\b`), "${1}…"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "12:00:00"},
	{regexp.MustCompile(`\b(after|for) ` + span), "$1 2s"},
	{regexp.MustCompile(`\b` + span + ` ago`), "2s ago"},
	{regexp.MustCompile(`\(` + span + `\)`), "(2s)"},
	{regexp.MustCompile(`\bversion \d+\.\d+\.\d+[-.\w]*`), "version 1.0.0"},
}

// span matches a duration as nuon prints it.
const span = `(?:\d+m)?\d+(?:\.\d+)?(?:ms|s|m|h)\b`

func (s *terminal) equal(printed string) string {
	printed = strings.ReplaceAll(printed, s.dir, "/home/vera")
	for _, r := range same {
		printed = r.what.ReplaceAllString(printed, r.with)
	}
	return printed
}
