package review

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

var plainTheme = screen.NewTheme(false, false, screen.Unknown)

// screen returns a frame without styles.
func (s *stage) screen() string { return ansi.Strip(s.View()) }

func (s *stage) shows(t testing.TB, want string) {
	t.Helper()
	if !strings.Contains(s.screen(), want) {
		t.Errorf("no %q on\n%s", want, s.screen())
	}
}

// sent returns the answers that were sent.
func (s *stage) sent() []string {
	var out []string
	for _, a := range s.notes.asked {
		if strings.HasPrefix(a, "approve ") || strings.HasPrefix(a, "reject ") {
			out = append(out, strings.TrimSpace(a))
		}
	}
	return out
}

// TestAnswers checks that an approval and a rejection go to the plan on the
// screen, with the digest that was shown, once.
func TestAnswers(t *testing.T) {
	all := several()
	mild, grim := all[0], all[1]
	for name, c := range map[string]struct {
		do   func(s *stage)
		want []string
		says string
	}{
		"yes": {func(s *stage) { s.press("a") }, []string{"approve apr_1 " + mild.ContentDigest}, ""},
		"yes, twice": {func(s *stage) { s.press("a", "a") }, []string{"approve apr_1 " + mild.ContentDigest},
			"the answer is being sent"},
		"no": {func(s *stage) { s.press("r"); s.write("no time"); s.press("enter") },
			[]string{"reject apr_1 " + mild.ContentDigest + " no time"}, ""},
		"no, no reason":  {func(s *stage) { s.press("r", " ", "enter") }, nil, "> "},
		"no, after all":  {func(s *stage) { s.press("r"); s.write("no time"); s.press("esc") }, nil, "a approve"},
		"grave, unasked": {func(s *stage) { open(s, grim); s.press("a") }, nil, "Type web to approve"},
		"grave, named": {func(s *stage) { open(s, grim); s.press("a"); s.write("web"); s.press("enter") },
			[]string{"approve apr_2 " + grim.ContentDigest}, ""},
		"grave, misnamed": {func(s *stage) { open(s, grim); s.press("a"); s.write("wbe"); s.press("enter") }, nil,
			"Type web to approve"},
		"grave, not": {func(s *stage) { open(s, grim); s.press("a", "esc") }, nil, "a approve"},
		"unread":     {func(s *stage) { s.press("J", "a") }, nil, "the plan is not loaded yet"},
		"just up": {func(s *stage) { s.press("J"); s.send(openedOf(grim)); s.press("a") }, nil,
			"the plan has just appeared"},
		"a flood": {func(s *stage) { s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("ja")}) }, nil,
			"metrics on hello/acme"},
		"pasted": {func(s *stage) { s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("JJ"), Paste: true}) },
			nil, "metrics on hello/acme"},
		"said by the terminal": {func(s *stage) {
			s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("]"), Alt: true})
			s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("11;rgb:aaaa/aaaa/aaaa")})
		}, nil, "metrics on hello/acme"},
		"answered before": {func(s *stage) {
			s.press("a")
			mild.Status = api.ApprovalStatusApproved
			s.send(answered{id: mild.ID, answer: api.ResponseAnswerApprove, approval: mild})
			s.press("a")
		}, []string{"approve apr_1 " + mild.ContentDigest}, "this plan is no longer waiting"},
		"gone": {func(s *stage) { s.send(listOf(all[1:])); s.press("a") }, nil, "This plan is no longer waiting."},
		"gone meanwhile": {
			func(s *stage) { open(s, grim); s.press("a"); s.write("web"); s.send(listOf(all[:1])); s.press("enter") },
			nil, "This plan is no longer waiting."},
		"gone while typing": {func(s *stage) {
			open(s, grim)
			s.press("K")
			s.pass(time.Second)
			s.press("r")
			s.send(listOf(all[1:]))
			s.write("Just wait a bit, quickly")
			s.press("a")
		}, nil, "your answer was not sent"},
		"another one now": {func(s *stage) {
			other := mild
			other.ContentDigest = "sha256:other"
			s.send(listOf([]api.Approval{other}))
			s.press("a")
		}, nil, "the plan is not loaded yet"},
		"nobody there": {func(s *stage) { s.send(listed{err: errors.New("gone")}); s.press("a", "r") }, nil,
			"control plane unreachable"},
		"nobody for long": {func(s *stage) { s.now = s.now.Add(time.Minute); s.press("a") }, nil, "No response for 1m"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(plainTheme, 100, 30, all...)
			c.do(s)
			if d := cmp.Diff(c.want, s.sent()); d != "" {
				t.Errorf("answers (-want +got)\n%s", d)
			}
			s.shows(t, c.says)
			if s.mode == confirming && len(c.want) > 0 {
				t.Error("it asks again")
			}
		})
	}
}

// open selects the second plan and shows its report.
func open(s *stage, a api.Approval) {
	s.press("J")
	s.send(openedOf(a))
	s.pass(time.Second)
}

// TestSomebodyElseWasFirst checks that the second person to answer sees who
// answered first and when.
func TestSomebodyElseWasFirst(t *testing.T) {
	s := newStage(plainTheme, 100, 30, several()...)
	s.press("a")
	s.send(
		answered{id: "apr_1", answer: api.ResponseAnswerApprove,
			err: &apiclient.Problem{Problem: api.Problem{Status: 409, Code: "approval_gone",
				Title: "this plan of metrics no longer waits for an answer: rejected"}}})
	s.shows(t, "this plan of metrics no longer waits for an answer: rejected")
	if got := s.notes.asked[len(s.notes.asked)-2:]; got[0] != "open apr_1" {
		t.Errorf("asked for %q", got)
	}
	a := several()[0]
	a.Status, a.Response = api.ApprovalStatusRejected,
		api.GivenResponse{Actor: "ann", Reason: "not\x1b[2J today", At: s.now.Add(-12 * time.Second)}
	s.send(openedOf(a))
	s.shows(t, "Rejected by ann: not [2J today, 12s ago.")
	s.note.Text = ""
	s.shows(t, "enter open; next if ended  ? help")
	if strings.Contains(s.screen(), "a approve") {
		t.Error("what is over is still offered for an answer")
	}
	s.press("enter")
	s.shows(t, "web on hello/acme ──")
}

// TestLeavingMeanwhile checks that a user who leaves while an answer is in flight gets a message.
func TestLeavingMeanwhile(t *testing.T) {
	s := newStage(plainTheme, 100, 30, several()...)
	if cmd := s.press("a", "q"); cmd != nil && cmd() == tea.Quit() {
		t.Error("q leaves before the answer has arrived")
	}
	s.shows(t, "an answer is being sent")
	if cmd := s.press("ctrl+c"); cmd == nil || cmd() != tea.Quit() || !s.interrupted {
		t.Error("ctrl+c does not leave")
	}
	if err := s.unheard(130); exitcode.CodeOf(err) != 130 ||
		!strings.Contains(err.Error(),
			"the answer to metrics on hello/acme was being sent; check with `nuon review apr_1 --print`") {
		t.Errorf("says %v", err)
	}
	done := several()[0]
	done.Status = api.ApprovalStatusApproved
	s.send(answered{id: done.ID, answer: api.ResponseAnswerApprove, approval: done})
	if err := s.unheard(0); err != nil {
		t.Errorf("says %v", err)
	}
}

// TestALateListChangesNothing checks that a list from before an answer, and
// one of another install, do not change a plan.
func TestALateListChangesNothing(t *testing.T) {
	all := several()
	s := newStage(plainTheme, 100, 30, all...)
	s.press("a")
	done := all[0]
	done.Status = api.ApprovalStatusApproved
	s.send(answered{id: done.ID, answer: api.ResponseAnswerApprove, approval: done})
	s.send(listOf(all))
	if n, _ := s.queue.waiting(); n != 2 {
		t.Errorf("%d wait", n)
	}
	s.shows(t, "✓ hello/acme metrics")
	s.shows(t, "approved: metrics on hello/acme; 2 more plans waiting")
	s.send(listOf(all[1:2]))
	if strings.Contains(s.screen(), "2 more plans waiting") {
		t.Error("it still says how many wait")
	}
	s.send(listOf(all[1:]))
	s.send(listOf(all))
	part := listOf(all[2:])
	part.where.install = all[2].InstallID
	s.send(part)
	if n, _ := s.queue.waiting(); n != 2 {
		t.Errorf("%d wait after a look at one install", n)
	}
}

// TestQueueStaysSmall checks that ended plans are removed in the end, and that the selection stays.
func TestQueueStaysSmall(t *testing.T) {
	s := newStage(plainTheme, 100, 30, several()...)
	for i := range 100 {
		s.send(
			listOf(append(several(),
				approvalOf(fmt.Sprint("apr_x", i), "hello", fmt.Sprint("i", i), "web", mildReport(1)))))
		if i == 10 {
			s.press("G")
		}
	}
	if n := len(s.queue.items); n > maxEnded+4 {
		t.Errorf("%d plans are kept", n)
	}
	if got := s.queue.current().lead().approval.ID; got != "apr_x10" {
		t.Errorf("%s is chosen", got)
	}
	s.send(listOf(several()))
	s.pass(2 * keepEnded)
	s.send(listOf(several()))
	if n := len(s.queue.items); n != 4 {
		t.Errorf("%d plans are kept for long", n)
	}
	for i := range 30 {
		a := approvalOf(fmt.Sprint("apr_y", i), "hello", "acme", "web", mildReport(1))
		s.send(listOf(append(several(), a)))
		s.press("G")
		s.send(openedOf(a))
		s.pass(time.Second)
	}
	open := 0
	for _, i := range s.queue.items {
		if i.view != nil {
			open++
		}
	}
	if open > maxPages+1 {
		t.Errorf("%d reports are kept", open)
	}
}

// TestMoving checks moves by change, row and page and to both ends, and the messages at the ends.
func TestMoving(t *testing.T) {
	all := []api.Approval{approvalOf("apr_1", "hello", "acme", "web", mildReport(40))}
	s := newStage(plainTheme, 100, 30, all...)
	s.press("tab", "n", "n")
	s.shows(t, "change 3 of 40")
	s.press("p", "p", "p")
	s.shows(t, "first change")
	s.press("G")
	s.shows(t, "change 40 of 40 · 100%")
	s.shows(t, "thing[00039]")
	s.press(" ", "j")
	if v := s.queue.current().reading().view; len(v.visible()) != v.height {
		t.Errorf("%d rows of %d are seen at the end", len(v.visible()), v.height)
	}
	s.press("n")
	s.shows(t, "last change")
	s.press("g")
	s.shows(t, "change 1 of 40 · 0%")
	s.press(" ")
	s.shows(t, "thing[00008]")
	s.press("b")
	s.shows(t, "deploy web on hello/acme   apr_1")
	s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("jjj")})
	if s.queue.current().reading().view.top != (place{2, 0}) {
		t.Errorf("three keys in one piece moved to %v", s.queue.current().reading().view.top)
	}
	s.press("/")
	s.write("THING[00020]")
	s.press("enter")
	s.shows(t, `"THING[00020]" not found`)
	s.press("/")
	s.write("thing[0002")
	s.press("enter")
	s.shows(t, "change 21 of 40")
	s.press("ctrl+n")
	s.shows(t, "change 22 of 40")
	s.press("ctrl+p", "ctrl+p")
	s.shows(t, "change 30 of 40")
	s.shows(t, "continued from the other end")
	s.press("esc", "ctrl+n")
	s.shows(t, "no search yet")
}

// TestFolding checks that a folded deletion can be shown in full and folded again.
func TestFolding(t *testing.T) {
	s := grave(plainTheme, 100, 40)
	s.shows(t, "2 fields, folded")
	s.press("o")
	s.shows(t, `id     "x"`)
	s.press("o", "O")
	s.shows(t, `id                   "old" → (known after apply)`)
	s.press("O")
	s.shows(t, "known after apply: id")
}

// TestSizes checks that no frame is larger than its screen, in any scene and after
// any resize, and that a screen that is too small reports it and can be quit.
func TestSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scene := rapid.SampledFrom(slices.Sorted(maps.Keys(scenes))).Draw(t, "scene")
		s := scenes[scene](plainTheme, 100, 30)
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			w, h := rapid.IntRange(1, 160).Draw(t, "width"), rapid.IntRange(1, 50).Draw(t, "height")
			s.send(tea.WindowSizeMsg{Width: w, Height: h})
			s.press(rapid.SampledFrom([]string{"j", "k", "n", "p", "G", "g", " ", "b", "tab", "J", "K", "o", "O", "?",
				"esc", "a", "r", "x", "enter", "/"}).Draw(t, "key"))
			frame := s.View()
			lines := strings.Split(frame, "\n")
			if len(lines) > h {
				t.Fatalf("%s: %d rows of %d", scene, len(lines), h)
			}
			for _, l := range lines {
				if got := ansi.StringWidth(l); got > w {
					t.Fatalf("%s at %d×%d: %d columns: %q", scene, w, h, got, l)
				}
			}
		}
	})
	for scene, show := range scenes {
		for _, width := range []int{screen.LeastWidth, 80, wide} {
			for height := screen.LeastHeight; height < 20; height++ {
				s := show(plainTheme, width, height)
				if fits(t, s.View(), width, height); t.Failed() {
					t.Fatalf("%s at %d×%d", scene, width, height)
				}
			}
		}
	}
	s := newStage(plainTheme, 20, 5, several()...)
	if got := strings.ReplaceAll(s.screen(), "\n", " "); !strings.HasPrefix(got, "terminal too small: 20×5") ||
		!strings.Contains(got, "Press q to quit") {
		t.Errorf("shows\n%s", got)
	}
	if cmd := s.press("a"); cmd != nil || len(s.sent()) > 0 {
		t.Error("something is answered that nobody sees")
	}
	if cmd := s.press("q"); cmd == nil || cmd() != tea.Quit() {
		t.Error("q does not quit")
	}
}

// TestHostileTexts checks that texts from the control plane cannot put control
// characters on the screen.
func TestHostileTexts(t *testing.T) {
	const evil = "\x1b[2J\x1b]52;c;ZXZpbA==\x07\u202e\u200b\x9b31m\r\n\t"
	r := reportOf(diff.Change{Address: "a" + evil, Action: diff.Destroy, ResourceKind: evil, Name: evil, Why: evil,
		Fields: []diff.FieldChange{
			{Path: evil, Before: text(evil), After: text(evil)},
			{Path: "l", Lines: []diff.Line{{Op: diff.LineAdded, Text: evil}}},
		}})
	r.Notes, r.Folded = []string{evil}, []diff.Fold{{Rule: evil, What: evil, Count: 2}}
	a := approvalOf("apr_1", "h"+evil, "i"+evil, "c"+evil, r)
	a.Because, a.Reason, a.ID = evil, evil, "apr_"+evil
	s := newStage(plainTheme, 140, 45, a)
	clean := func(when string) {
		t.Helper()
		for line := range strings.SplitSeq(s.screen(), "\n") {
			if strings.ContainsFunc(line,
				func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u200b' }) {
				t.Errorf("%s: %q", when, line)
			}
		}
	}
	clean("read")
	s.press("O")
	clean("unfolded")
	s.press("a")
	clean("asked")
	s.press("esc", "w")
	s.send(explained{plan: a.Plan, chain: []api.Cause{{Record: evil, Name: evil, Reason: evil}}})
	clean("explained")
	s.press("esc", "tab", "/")
	s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(evil), Paste: true})
	clean("searching")
	s.press("enter")
	a.Status, a.Reason = api.ApprovalStatusWithdrawn, evil
	a.Response = api.GivenResponse{Actor: evil, Reason: evil}
	s.send(openedOf(a))
	clean("over")
	s.send(listed{err: errors.New(evil), busy: []string{evil}})
	clean("lost")
}

// TestEntry checks the editing keys of a typed line.
func TestEntry(t *testing.T) {
	s := newStage(plainTheme, 60, 20, several()...)
	s.press("r")
	s.write("not todya")
	s.press("backspace", "backspace", "a", "y", "ctrl+w")
	s.write("now, 漢字 👋")
	s.press("left", "backspace", "home")
	s.write("well: ")
	if got := s.typed.String(); got != "well: not now, 漢字👋" {
		t.Errorf("typed %q", got)
	}
	s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("home")}) // typed so fast that it arrives at once
	if got := s.typed.String(); got != "well: homenot now, 漢字👋" {
		t.Errorf("typed %q", got)
	}
	s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(strings.Repeat("漢", 2000)), Paste: true})
	if n := len([]rune(s.typed.String())); n != screen.MostTyped {
		t.Errorf("%d characters are taken", n)
	}
	fits(t, s.View(), 60, 20)
}

// TestRepaint checks that a late report of the terminal's background does not
// count as a key, and that it sets the theme if it was still expected.
func TestRepaint(t *testing.T) {
	const said = "11;rgb:ffff/fafa/f0f0"
	for name, c := range map[string]struct {
		owed, paste bool
		keys        string
		want        *theme
	}{
		"owed":           {true, false, said, screen.NewTheme(true, true, screen.Light)},
		"owed, and dark": {true, false, "11;rgb:1e1e/1e1e/2e2e", screen.NewTheme(true, true, screen.Dark)},
		"owed, other":    {true, false, "12;rgb:ffff/fafa/f0f0", nil},
		"owed, more":     {true, false, said + "a", nil},
		"settled":        {false, false, said, nil},
		"pasted":         {true, true, said, nil},
	} {
		t.Run(name, func(t *testing.T) {
			first := screen.NewTheme(true, true, screen.Unknown)
			first.AwaitsReport = c.owed
			if c.want == nil {
				c.want = first
			}
			s := newStage(first, 100, 30, several()...)
			s.press("r")
			s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(c.keys), Paste: c.paste})
			if *s.theme != *c.want {
				t.Errorf("the theme is %+v, want %+v", *s.theme, *c.want)
			}
			if typed := s.typed.String(); c.keys == said && (typed == said) != c.paste {
				t.Errorf("%q was typed", typed)
			}
		})
	}
}

// TestWhatEndedElsewhereCarriesItsOwnMark checks that a plan that somebody else
// approved is fetched and not marked as withdrawn, even if it is not selected.
func TestWhatEndedElsewhereCarriesItsOwnMark(t *testing.T) {
	t.Parallel()
	all := several()
	s := newStage(plainTheme, 110, 30, all...)
	s.send(listOf(all[:1]))
	for _, id := range []string{"apr_2", "apr_3"} {
		if !slices.Contains(s.notes.asked, "open "+id) {
			t.Errorf("nobody asked how %s ended: %q", id, s.notes.asked)
		}
	}
	s.shows(t, "· hello/acme web")
	for n, status := range map[int]api.ApprovalStatus{1: api.ApprovalStatusApproved, 2: api.ApprovalStatusWithdrawn} {
		all[n].Status = status
		s.send(openedOf(all[n]))
	}
	s.shows(t, "✓ hello/acme web")
	s.shows(t, "○ hello/globex metrics")
	before := len(s.notes.asked)
	s.send(listOf(all[:1]))
	if slices.Contains(s.notes.asked[before:], "open apr_2") {
		t.Error("it is looked up again and again")
	}
}
