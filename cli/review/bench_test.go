package review

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/bubbles/viewport"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// manyLines returns a report of about this many screen lines: 3 for each change.
func manyLines(lines int) *diff.Report { return mildReport(lines / 3) }

// moves are the keys of a typical reader: down a row, next change, page down,
// to both ends and back.
var moves = []string{"j", "n", " ", "j", "n", "G", "k", "b", "p", "g"}

// BenchmarkFrame measures one key press and the following frame, with a diff of
// 50,000 lines on a screen of 140×45. The peer is the screen library's own viewport
// with the same diff as text and the same moves; it has only text and draws no queue.
func BenchmarkFrame(b *testing.B) {
	s := newStage(screen.NewTheme(true, true, screen.Dark), 140, 45,
		approvalOf("apr_1", "hello", "acme", "web", manyLines(50_000)))
	if s.queue.current().reading().view.len() < 50_000 {
		b.Fatal("the diff is too short")
	}
	s.press("tab")
	peer := newPeer(b, manyLines(50_000))
	var ours, theirs []time.Duration
	size := 0
	for b.Loop() {
		for _, k := range moves {
			t := time.Now()
			s.press(k)
			size += len(s.View())
			ours = append(ours, time.Since(t))
			t = time.Now()
			move(peer, k)
			size += len(peer.View())
			theirs = append(theirs, time.Since(t))
		}
	}
	if size == 0 {
		b.Fatal("nothing was drawn")
	}
	report(b, ours, theirs, "frame")
}

// BenchmarkCrowd measures one key press and the following frame with a thousand
// alike plans in the queue, with the group closed and open. The peer is the
// screen library's own viewport with the rows of the open queue as text.
func BenchmarkCrowd(b *testing.B) {
	s := newStage(screen.NewTheme(true, true, screen.Dark), 140, 45, crowd(1000)...)
	s.press("m")
	var text strings.Builder
	for _, a := range crowd(1000) {
		text.WriteString(a.App + "/" + a.Install + "\n")
	}
	peer := viewport.New(140, 45)
	peer.SetContent(text.String())
	var ours, theirs []time.Duration
	size := 0
	for b.Loop() {
		for _, k := range []string{"j", "j", "G", "k", "g", "m", "m"} {
			t := time.Now()
			s.press(k)
			size += len(s.View())
			ours = append(ours, time.Since(t))
			t = time.Now()
			move(&peer, k)
			size += len(peer.View())
			theirs = append(theirs, time.Since(t))
		}
	}
	if size == 0 {
		b.Fatal("nothing was drawn")
	}
	report(b, ours, theirs, "frame")
}

// BenchmarkOpen measures the time from a plan's JSON to its first frame. The
// peer only decodes the same JSON.
func BenchmarkOpen(b *testing.B) {
	a := approvalOf("apr_1", "hello", "acme", "web", manyLines(50_000))
	var ours, theirs []time.Duration
	for b.Loop() {
		s := newStage(screen.NewTheme(true, true, screen.Dark), 140, 45)
		s.send(listed{waiting: []api.Approval{a}})
		t := time.Now()
		s.send(openedOf(a))
		if len(s.View()) == 0 {
			b.Fatal("nothing was drawn")
		}
		ours = append(ours, time.Since(t))
		t = time.Now()
		var v any
		if err := json.Unmarshal(a.Report, &v); err != nil {
			b.Fatal(err)
		}
		theirs = append(theirs, time.Since(t))
	}
	report(b, ours, theirs, "open")
}

func report(b *testing.B, ours, theirs []time.Duration, what string) {
	b.ReportMetric(0, "ns/op") // hides ns/op, which would include both
	mine, peer := median(ours), median(theirs)
	b.ReportMetric(1000*mine.Seconds(), "ms/"+what)
	b.ReportMetric(1000*ours[len(ours)*95/100].Seconds(), "ms/"+what+"-95%")
	b.ReportMetric(1000*peer.Seconds(), "ms/peer")
	b.ReportMetric(mine.Seconds()/peer.Seconds(), "ratio")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func newPeer(t testing.TB, r *diff.Report) *viewport.Model {
	var text strings.Builder
	if err := terminal.Render(&text, r, terminal.Options{Color: true, Width: 100}); err != nil {
		t.Fatal(err)
	}
	v := viewport.New(140, 45)
	v.SetContent(text.String())
	return &v
}

func move(v *viewport.Model, k string) {
	switch k {
	case "G":
		v.GotoBottom()
	case "g":
		v.GotoTop()
	case "n":
		v.ScrollDown(3)
	case "p":
		v.ScrollUp(3)
	default:
		*v, _ = v.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)})
	}
}

// TestAFrameCostsWhatIsSeen checks that a diff a hundred times as long takes
// no more work to draw, and that nothing is laid out in advance.
func TestAFrameCostsWhatIsSeen(t *testing.T) {
	work := func(lines int) float64 {
		s := newStage(plainTheme, 140, 45, approvalOf("apr_1", "hello", "acme", "web", manyLines(lines)))
		s.press("tab", "G")
		return testing.AllocsPerRun(5, func() {
			for _, k := range []string{"k", "j", "p", "n", "b", " "} {
				s.press(k)
				_ = s.View()
			}
		})
	}
	short, long := work(120), work(12_000)
	if long > short*1.1 {
		t.Errorf("%.0f allocations with a long diff, %.0f with a short one", long, short)
	}
	a := approvalOf("apr_1", "hello", "acme", "web", manyLines(12_000))
	r, err := ReportOf(a)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1, func() { terminal.NewPage(r, terminal.PageOptions{}) }); n > 12_000 {
		t.Errorf("opening a page makes %.0f allocations", n)
	}
}
