package tour

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/testprogram"
)

// TestTheTourIsTheOneOfTheDocs checks that the tour runs the commands of docs/tour.md, in order. A
// test of the docs runs them.
func TestTheTourIsTheOneOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/tour.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^(?:\$ |## )(.+)$`).FindAllStringSubmatch(string(page), -1) {
		want = append(want, m[1])
	}
	for _, s := range sections {
		got = append(append(got, s.title), s.commands...)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the tour is not that of the docs (-want +got):\n%s", d)
	}
}

// guideOf returns a guide for a person who types lines, with a program in place of nuon.
func guideOf(t *testing.T, typed, program string) (*guide, *bytes.Buffer) {
	t.Helper()
	var said bytes.Buffer
	c := &console.Console{In: iotest.OneByteReader(strings.NewReader(typed)), Out: &said, Err: &said,
		InIsTerminal: true, OutIsTerminal: true, ErrIsTerminal: true}
	root := t.TempDir()
	file := filepath.Join(root, "nuon")
	testprogram.Write(t, file, "#!/bin/sh\n"+program)
	return newGuide(c, file, root), &said
}

// TestWalk checks that commands run in their directory and with the tour's configuration, that a
// failure does not end the tour, and that commands are skipped and the tour is left by a key.
func TestWalk(t *testing.T) {
	g, said := guideOf(t, "\n\n\n\n\n\ns\nq\n", `echo "nuon $1, $NUON_CONFIG"`)
	err := g.walk(t.Context(), []section{{"One", "About one.", []string{"mkdir sub && echo made", "cd sub", "pwd",
		"nuon sync", "exit 3", "exit 7"}}, {"Two", "About two.", []string{"echo skipped by s >&2", "echo never", "echo no"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 of 2: One", "made\n", g.root + "/sub\n", "nuon sync, " + g.root + "/config.toml\n",
		"exit code 7", "2 of 2: Two"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if strings.Contains(said.String(), "exit code 3") || strings.Contains(said.String(), "\nskipped") ||
		strings.Contains(said.String(), "$ echo no") {
		t.Errorf("it printed\n%s", said)
	}
}

// TestControlPlane checks that nuon dev is started, is waited for and stops with the tour, and that
// the reason is shown when it does not start.
func TestControlPlane(t *testing.T) {
	const ready = `trap 'echo stopped >> "$0.log"; exit 0' INT
while [ "$1" != --ready-file ]; do shift; done
echo '{}' > "$2"
while :; do sleep 0.01; done
`
	g, said := guideOf(t, "\n", ready)
	if err := errors.Join(g.walk(t.Context(), []section{{"One", "", []string{startDev}}}), g.stop()); err != nil {
		t.Fatal(err)
	}
	if log, err := os.ReadFile(g.program + ".log"); err != nil || string(log) != "stopped\n" {
		t.Errorf("nuon dev was not stopped: %q, %v\n%s", log, err, said)
	}
	g, _ = guideOf(t, "\n", `echo "no PostgreSQL found" >&2; exit 1`)
	err := errors.Join(g.walk(t.Context(), []section{{"One", "", []string{startDev}}}), g.stop())
	if err == nil || !strings.Contains(err.Error(), "nuon doctor") ||
		!strings.Contains(err.Error(), "no PostgreSQL found") {
		t.Errorf("it ended with %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	g, _ = guideOf(t, "\n", "exec sleep 100")
	if err := errors.Join(g.start(stopped), g.stop()); !errors.Is(err, exitcode.Interrupted) {
		t.Errorf("Ctrl-C ended with %v", err)
	}
}

// TestNeedsATerminal checks that the tour does not start in a pipe.
func TestNeedsATerminal(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c := &console.Console{In: strings.NewReader("\n"), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}
	err := run(t.Context(), c, false)
	if exitcode.CodeOf(err) != exitcode.Usage {
		t.Errorf("it ended with %v", err)
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}
