package main

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hinshun/vt10x"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// act is one step of a person at a screen: wait for a text, then press keys.
type act struct {
	sees *regexp.Regexp
	keys string
}

// The size of the terminals of the stories.
const (
	terminalColumns = 100
	terminalRows    = 40
)

// reading is how long the screen must show what a person waits for before they press a key: a plan that has
// just appeared cannot be answered yet.
const reading = 500 * time.Millisecond

// screen runs nuon on a terminal and reads its output as a person does: screen 'regexp' KEYS
// 'regexp' KEYS … -- nuon …. Keys may contain Go's escapes. The command must succeed, and restore
// the cursor.
func (s *teller) screen(ts *testscript.TestScript, _ bool, args []string) {
	end := slices.Index(args, "--")
	if end < 2 || end%2 != 0 || len(args) < end+2 {
		ts.Fatalf("usage: screen 'regexp' KEYS … -- nuon …")
	}
	var acts []act
	for pair := range slices.Chunk(args[:end], 2) {
		keys, err := strconv.Unquote(`"` + pair[1] + `"`)
		ts.Check(err)
		acts = append(acts, act{regexp.MustCompile(pair[0]), keys})
	}
	fmt.Fprintf(s.loud, "\n\033[36m$ %s\033[0m   \033[2m(on a screen)\033[0m\n", shellWords(args[end+1:]))
	command := exec.Command(filepath.Join(s.bin, "nuon"), args[end+2:]...)
	for _, name := range []string{"HOME", "NUON_CONFIG", "PATH", "NUON_PAGER"} {
		command.Env = append(command.Env, name+"="+ts.Getenv(name))
	}
	command.Env = append(command.Env, "TERM=xterm-256color", "NUON_THEME=dark")
	r := newReader(vt10x.New(vt10x.WithSize(terminalColumns, terminalRows)), acts)
	shown, err := onTerminal(command, testtime.Limit, r.watch)
	s.said.Write(shown)
	s.said.WriteString(r.seen.String())
	// What is missing comes last, because the ends of long messages are read first.
	switch left := r.unfinished(); {
	case len(left) > 0:
		ts.Fatalf("%s\n%s never showed %q, act %d of %d (%v)", r.seen, shellWords(args[end+1:]),
			left[0].sees, len(acts)-len(left)+1, len(acts), err)
	case err != nil || !command.ProcessState.Success():
		ts.Fatalf("%s\n%s: %v, %v", r.seen, shellWords(args[end+1:]), err, command.ProcessState)
	}
}

// reader reads a screen as a person does, and presses keys.
type reader struct {
	seen vt10x.Terminal
	out  io.Writer // to seen, which would drop a character that arrives in two parts

	mu      sync.Mutex
	reading bool // the screen shows what the next act waits for, and is being read
	left    []act
}

func newReader(screen vt10x.Terminal, acts []act) *reader {
	return &reader{seen: screen, out: transform.NewWriter(screen, runes.ReplaceIllFormed()), left: acts}
}

// watch reads a part of the output.
func (r *reader) watch(part []byte, press func(keys string)) {
	_, _ = r.out.Write(part) // it never fails
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reading || !r.sees() {
		return
	}
	r.reading = true
	time.AfterFunc(reading, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.reading = false; !r.sees() {
			return // it was half of a frame, or has changed again
		}
		keys := r.left[0].keys
		r.left = r.left[1:]
		press(keys)
	})
}

// sees reports whether the screen shows what the next act waits for.
func (r *reader) sees() bool { return len(r.left) > 0 && r.left[0].sees.MatchString(r.seen.String()) }

// unfinished returns the acts that the screen gave no reason for.
func (r *reader) unfinished() []act {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left
}
