package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// command returns the program with arguments as a process that has not been
// started; see TestAsNuon.
func command(t *testing.T, url string, args ...string) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAsNuon$")
	c.Env = append(os.Environ(), asNuon+"="+string(text), "NUON_URL="+url, "NUON_TOKEN=tok", "NUON_CONTEXT=",
		"NUON_CONFIG="+t.TempDir()+"/none.toml", "TERM=xterm")
	return c
}

// stuck starts a control plane that receives a request, reports it on asked, and never answers.
func stuck(t *testing.T) (url string, asked <-chan struct{}) {
	t.Helper()
	came, over := make(chan struct{}, 16), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		came <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(func() {
		close(over)
		s.Close()
	})
	return s.URL, came
}

// full starts a control plane with the given number of apps. Their names hold
// quotes, wide characters and control sequences.
func full(t *testing.T, many int) string {
	t.Helper()
	var l api.AppList
	for i := range many {
		l.Items = append(l.Items, api.App{Name: fmt.Sprintf("app-%d \"日本🚀\" \x1b[31m\n", i),
			Repository: "https://git.example/" + strings.Repeat("long/", 10)})
	}
	s := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(l) }))
	t.Cleanup(s.Close)
	return s.URL
}

// TestSignals checks that a signal during an unanswered request ends the program at once, without a
// message, with the exit code 128+signal.
func TestSignals(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for _, line := range []string{"apps list", "apps list --watch", "builds retry bld_1 --wait",
			"workflows watch wfl_1", "credentials create x --from env:HOME", "logs job_1 -f"} {
			url, asked := stuck(t)
			c := command(t, url, strings.Fields(line)...)
			var out, remarks bytes.Buffer
			c.Stdout, c.Stderr = &out, &remarks
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			<-asked
			if err := c.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait() // only the exit code matters
			if code := c.ProcessState.ExitCode(); code != 128+int(signal) || out.Len() > 0 || remarks.Len() > 0 {
				t.Errorf("%v ended nuon %s with %d, printed %q, said %q", signal, line, code,
					out.String(), remarks.String())
			}
		}
	}
}

// TestAClosedPipe checks that the program ends without a message when the reader of its
// output closes the pipe: it is killed by SIGPIPE like any other program, or exits with
// the same code where SIGPIPE is ignored.
func TestAClosedPipe(t *testing.T) {
	url := full(t, 300)
	for _, ignored := range []bool{false, true} {
		for _, format := range []string{"table", "json", "yaml", "name"} {
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			_ = read.Close()
			c := command(t, url, "apps", "list", "-o", format)
			if ignored {
				c.Path, c.Args = "/bin/sh", []string{"sh", "-c", `trap "" PIPE; exec "$0" "$@"`, c.Path, c.Args[1]}
			}
			var remarks bytes.Buffer
			c.Stdout, c.Stderr = write, &remarks
			err = c.Run()
			_ = write.Close()
			status := c.ProcessState.Sys().(syscall.WaitStatus)
			died := status.Signaled() && status.Signal() == syscall.SIGPIPE
			if !died && status.ExitStatus() != 141 || remarks.Len() > 0 {
				t.Errorf("ignored %v, -o %s: %v, said %q", ignored, format, err, remarks.String())
			}
		}
	}
}

// terminal runs the program on a pseudo-terminal of a given size and records
// everything that it draws.
type terminal struct {
	hand *os.File
	cmd  *exec.Cmd
	done chan struct{} // closed when all output was read

	lock sync.Mutex
	text string
}

func onTerminal(t *testing.T, columns, rows uint16, c *exec.Cmd) *terminal {
	t.Helper()
	hand, err := pty.StartWithSize(c, &pty.Winsize{Cols: columns, Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{hand: hand, cmd: c, done: make(chan struct{})}
	go func() { // reads until the program has exited
		defer close(term.done)
		b := make([]byte, 4<<10)
		for {
			n, err := hand.Read(b)
			term.lock.Lock()
			term.text += string(b[:n])
			term.lock.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = hand.Close() })
	return term
}

func (term *terminal) drawn() string {
	term.lock.Lock()
	defer term.lock.Unlock()
	return term.text
}

// until waits until the screen shows a text.
func (term *terminal) until(t *testing.T, text string) {
	t.Helper()
	testtime.UntilNoError(t, fmt.Sprintf("the screen shows %q", text), func() error {
		if strings.Contains(term.drawn(), text) {
			return nil
		}
		select {
		case <-term.done:
			if !strings.Contains(term.drawn(), text) {
				t.Fatalf("ended without %q:\n%q", text, term.drawn())
			}
		default:
		}
		return fmt.Errorf("it shows\n%q", term.drawn())
	})
}

// ends waits for the program to exit and returns its exit code.
func (term *terminal) ends(t *testing.T) int {
	t.Helper()
	var failed *exec.ExitError
	if err := term.cmd.Wait(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	<-term.done
	return term.cmd.ProcessState.ExitCode()
}

// TestSmallTerminal checks at 20 columns and 5 rows that a table is printed in
// full, that a watched table fits the screen, and that both restore the terminal.
func TestSmallTerminal(t *testing.T) {
	url := full(t, 40)
	list := onTerminal(t, 20, 5, command(t, url, "apps", "list"))
	if code := list.ends(t); code != 0 || !strings.Contains(list.drawn(), "NAME") ||
		strings.Count(list.drawn(), "日本🚀") != 40 || strings.Contains(list.drawn(), "\x1b[31m") {
		t.Errorf("ended with %d, drew %q", code, list.drawn())
	}
	watched := onTerminal(t, 20, 5, command(t, url, "apps", "list", "--watch"))
	watched.until(t, "more lines")
	if err := watched.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := watched.ends(t); code != 130 {
		t.Errorf("Ctrl-C ended it with %d", code)
	}
	text := watched.drawn()
	if hidden, shown := strings.LastIndex(text, "\x1b[?25l"), strings.LastIndex(text, "\x1b[?25h"); shown < hidden {
		t.Errorf("the cursor stays hidden: %q", text)
	}
	if strings.Contains(text, "app-3") || strings.Contains(text, "\x1b[31m") {
		t.Errorf("draws more than there is room for, or what a name says: %q", text)
	}
}

// TestQuestions checks that Ctrl-C, typed or sent as SIGTERM, cancels a prompt: nothing is
// done, and the terminal is restored.
func TestQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		line, prompt, typed string
		signal              syscall.Signal
		code                int
		says                string
	}{
		"no":                   {"apps delete hello", "[y/N]", "n\n", 0, 4, "canceled"},
		"Ctrl-C":               {"apps delete hello", "[y/N]", "\x03", 0, 130, ""},
		"SIGTERM":              {"apps delete hello", "[y/N]", "", syscall.SIGTERM, 143, ""},
		"Ctrl-C at a secret":   {"credentials create x", "(hidden)", "hush\x03", 0, 130, ""},
		"SIGTERM at a secret":  {"credentials create x", "(hidden)", "", syscall.SIGTERM, 143, ""},
		"the end of the input": {"apps delete hello", "[y/N]", "\x04", 0, 4, "canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			term := onTerminal(t, 80, 24, command(t, "http://127.0.0.1:1", strings.Fields(c.line)...))
			term.until(t, c.prompt)
			if _, err := io.WriteString(term.hand, c.typed); err != nil {
				t.Fatal(err)
			}
			if c.signal != 0 {
				if err := term.cmd.Process.Signal(c.signal); err != nil {
					t.Fatal(err)
				}
			}
			code := term.ends(t)
			text := term.drawn()
			if code != c.code || !strings.Contains(text, c.says) || strings.Contains(text, "hush") ||
				strings.Contains(text, "error:") {
				t.Errorf("ended with %d, drew %q", code, text)
			}
		})
	}
}
