package journeys_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// TestTour pastes the blocks of docs/tour.md into a terminal, and compares the output of each
// command with the page. Values that differ each time (ids, times, places) are normalized on both
// sides.
func TestTour(t *testing.T) {
	t.Parallel()
	const file = "../../../docs/tour.md"
	page, blocks := blocksOf(t, file)
	s := openTerminal(t)
	var seen strings.Builder
	end := 0
	for _, b := range blocks {
		seen.WriteString(page[end:b.from])
		typed, acts := agreed(b.lines[len(b.lines)-1])
		for _, r := range s.paste(b, acts...) {
			seen.WriteString("$ " + r.command + "\n" + question.ReplaceAllString(r.shown, "${1} "+typed+"\n"))
		}
		end = b.to
	}
	seen.WriteString(page[end:])
	golden.Check(t, file, seen.String())
}

// question matches the prompt of a command that approves; the terminal does not echo the answer.
var question = regexp.MustCompile(`(\[y/N\]|Type \S+ to approve:) ?`)

// agreed returns the input of a user for a command that approves: y, or the name in the page.
func agreed(l line) (typed string, acts []act) {
	if !strings.HasPrefix(l.command, "nuon approve ") {
		return "", nil
	}
	typed = "y"
	if _, component, named := strings.Cut(l.command, "/"); named &&
		strings.Contains(l.prints, "Type "+component+" to approve:") {
		typed = component
	}
	return typed, []act{{question, typed + "\n"}}
}

// TestReadme pastes the blocks of README.md into a terminal. Every command must succeed and print
// the lines below it.
func TestReadme(t *testing.T) {
	t.Parallel()
	_, blocks := blocksOf(t, "../../../README.md")
	s := openTerminal(t)
	sees := func(what, keys string) act { return act{regexp.MustCompile(what), keys} }
	for _, b := range blocks {
		var acts []act
		if b.lines[len(b.lines)-1].command == "nuon review" {
			acts = []act{
				sees(`deploy sandbox on hello/acme`, "a"), sees(`Approved by(?s:.*)deploy sandbox`, "J"),
				sees(`deploy web on hello/acme`, "a"), sees(`Approved by(?s:.*)deploy web`, "q"),
			}
		}
		for i, r := range s.paste(b, acts...) {
			shown := r.shown
			for line := range strings.Lines(b.lines[i].prints) {
				if strings.TrimSpace(line) == "…" {
					continue
				}
				_, after, found := strings.Cut(shown, line)
				if !found {
					t.Errorf("%s: README.md says that it shows %q, but it shows\n%s", r.command, line, r.shown)
					break
				}
				shown = after
			}
		}
	}
	s.pasteOverQuestions()
}

// pasteOverQuestions pastes commands that ask a person if their arguments are missing, each of which is followed by
// more pasted text. None of them may take that text for an answer: each fails with what is missing, and the next one
// runs.
func (s *terminal) pasteOverQuestions() {
	s.t.Helper()
	before := len(s.since(0))
	commands := []string{"cd ..", "nuon apps create", "nuon installs create", "nuon deploy", "nuon installs rollback",
		"nuon sync", "nuon apps list -o name"}
	s.press(strings.Join(commands, "\n") + "\n")
	s.waitFor("the last pasted command", func() bool { return len(s.ran) >= before+len(commands) })
	for i, ran := range s.since(before) {
		asks := i > 0 && i < len(commands)-1
		if ran.command != commands[i] || (ran.status == exitcode.Usage) != asks {
			s.t.Errorf("pasted %q; %q ran with exit status %d:\n%s", commands[i], ran.command, ran.status, ran.shown)
		}
		if asks && !strings.Contains(ran.shown, "name the ") && !strings.Contains(ran.shown, "name that directory") {
			s.t.Errorf("%s does not state what is missing:\n%s", ran.command, ran.shown)
		}
	}
	if last := s.since(before)[len(commands)-1]; last.shown != "hello\n" {
		s.t.Errorf("the last command printed %q", last.shown)
	}
}
