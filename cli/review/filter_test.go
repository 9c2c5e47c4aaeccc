package review

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// queued returns the rows of the queue.
func queued(s *stage) []string {
	var out []string
	for _, r := range s.queue.rows {
		out = append(out, r.name())
	}
	return out
}

// TestFilter checks which plans / shows, that a group is split into the plans that match, and that an
// answer goes to these only.
func TestFilter(t *testing.T) {
	s := newStage(plainTheme, 120, 30, alike()...)
	if got := queued(s); len(got) != 3 {
		t.Fatalf("the queue has %q", got)
	}
	for words, want := range map[string][]string{
		"metrics hello": {"metrics on 5 installs of hello", "metrics on hello/wayne"},
		"ACME":          {"metrics on hello/acme", "web on hello/acme"},
		"hello/acme/w":  {"web on hello/acme"},
		"nothing":       nil,
		"":              {"metrics on 5 installs of hello", "metrics on hello/wayne", "web on hello/acme"},
	} {
		s.press("/")
		for range 20 {
			s.press("backspace")
		}
		s.write(words)
		s.press("enter")
		if d := cmp.Diff(want, queued(s)); d != "" {
			t.Errorf("%q shows (-want +got)\n%s", words, d)
		}
	}
	s.press("/")
	s.write("nothing")
	s.press("enter", "a")
	s.shows(t, "No waiting plan contains these words")
	s.shows(t, "no plan is shown; press esc to show all")
	s.press("esc")
	if got := queued(s); len(got) != 3 {
		t.Errorf("esc shows %q", got)
	}
}

// TestAFilterKeepsTheSelection checks that a poll does not select another row, though the filter does
// not show the selected one any more, and that a row which the filter selected cannot be answered by
// a key that was pressed for another one.
func TestAFilterKeepsTheSelection(t *testing.T) {
	all := several()
	s := newStage(plainTheme, 120, 30, all...)
	open(s, all[2])
	s.pass(time.Second)
	s.press("/")
	s.write("globex")
	s.press("enter")
	if got := s.queue.current().name(); got != "metrics on hello/globex" {
		t.Fatalf("%s is selected", got)
	}
	s.press("/", "esc", "K", "K")
	s.pass(time.Second)
	s.press("/")
	s.write("globex")
	s.press("enter", "a")
	s.shows(t, "the plan has just appeared")
	all[2].Because = "another reason"
	s.queue.filter = filter{"artifact"}
	s.send(listOf(all))
	if got := s.queue.current().name(); got != "metrics on hello/globex" {
		t.Errorf("a poll selected %s", got)
	}
	if got := s.sent(); len(got) > 0 || !strings.Contains(s.screen(), "queue / artifact") {
		t.Errorf("sent %q\n%s", got, s.screen())
	}
}
