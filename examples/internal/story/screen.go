package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/hinshun/vt10x"
	"github.com/rogpeppe/go-internal/testscript"

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

// reading is the time before a key is pressed: a plan that has just appeared cannot be answered yet.
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
	seen := vt10x.New(vt10x.WithSize(terminalColumns, terminalRows))
	left := acts
	shown, err := onTerminal(command, testtime.Limit, func(part []byte, press func(string)) {
		_, _ = seen.Write(part) // it never fails
		if len(left) > 0 && left[0].sees.MatchString(seen.String()) {
			keys := left[0].keys
			left = left[1:]
			time.AfterFunc(reading, func() { press(keys) })
		}
	})
	s.said.Write(shown)
	s.said.WriteString(seen.String())
	switch {
	case len(left) > 0:
		ts.Fatalf("%s never showed %q, but\n%s", shellWords(args[end+1:]), left[0].sees, seen)
	case err != nil || !command.ProcessState.Success():
		ts.Fatalf("%s: %v, %v, showing\n%s", shellWords(args[end+1:]), err, command.ProcessState, seen)
	}
}
