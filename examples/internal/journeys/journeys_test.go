// Package journeys_test checks that every command of nuon runs in a story against the real system.
package journeys_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryCommandIsTold checks that each command of the reference runs in a story, of this
// directory or of another example.
func TestEveryCommandIsTold(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../*/story*.txtar", "../../*/story*.txtar"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) < 2 {
			t.Fatalf("%s found the stories %v, %v", pattern, found, err)
		}
		files = append(files, found...)
	}
	told := map[string]bool{}
	commands := reference(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		script, _, _ := strings.Cut(string(text), "\n-- ")
		for line := range strings.Lines(script) {
			if name := ran(line, commands); name != "" {
				told[name] = true
			}
		}
	}
	for name := range commands {
		if !told[name] {
			t.Errorf("no story runs `%s`: add a line to one of %s", name, strings.Join(files, ", "))
		}
	}
}

// reference returns the commands of docs/cli.md that do something themselves.
func reference(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for section := range strings.SplitSeq(string(text), "\n#") {
		title, body, _ := strings.Cut(section, "\n")
		name := strings.TrimSpace(strings.TrimLeft(title, "#"))
		_, usage, found := strings.Cut(body, "```\n")
		usage, _, _ = strings.Cut(usage, "\n")
		if found && strings.HasPrefix(name, "nuon ") && !strings.HasSuffix(usage, " COMMAND") {
			all[name] = true
		}
	}
	if len(all) < 40 {
		t.Fatalf("the reference has only the commands %v", all)
	}
	return all
}

// ran returns the command that a line of a story runs: the longest one whose words it contains.
// `dev start` is `nuon dev`.
func ran(line string, commands map[string]bool) string {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] == "#" {
		return ""
	}
	if words[0] == "dev" {
		return "nuon dev"
	}
	for i, w := range words {
		if w != "nuon" {
			continue
		}
		rest := words[i+1:]
		for n := min(len(rest), 3); n > 0; n-- {
			if name := "nuon " + strings.Join(rest[:n], " "); commands[name] {
				return name
			}
		}
	}
	return ""
}

// TestRan checks that a command is found anywhere in a line, and that no other one is.
func TestRan(t *testing.T) {
	commands := map[string]bool{"nuon apps list": true, "nuon status": true, "nuon dev": true}
	for line, want := range map[string]string{
		"nuon apps list -o name": "nuon apps list", "code 2 nuon status": "nuon status",
		"until 60s 'x y' nuon apps list": "nuon apps list", "! nuon apps get x": "", "dev start": "nuon dev",
		"# nuon status": "", "": "", "exec nuon status -o json": "nuon status", "keep X id nuon status": "nuon status",
	} {
		if got := ran(line, commands); got != want {
			t.Errorf("%q runs %q, want %q", line, got, want)
		}
	}
}
