package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/cli/screen"
)

var (
	noon  = Clock{Now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)}
	theme = screen.NewTheme(false, false, screen.Unknown)
)

func rows(names ...string) List {
	var out List
	for _, n := range names {
		out = append(out, Row{ID: n, Cells: []Text{T(n), {Text: "reason of " + n}}})
	}
	return out
}

// sample is a page with three sections, the second one empty.
func sample() Page {
	columns := Columns("NAME", "REASON?")
	return Page{Title: "sample", Facts: []Fact{{Label: "status", Text: "fine"}, {Text: "a fact"}}, Sections: []Section{
		{Title: "one", Columns: columns, Rows: rows("a", "b", "c")},
		{Title: "two", Columns: columns, Empty: "Nothing here."},
		{Title: "three", Columns: columns, Rows: rows("d", "e")},
	}}
}

func paneOf(p Page, width, height int) *Pane {
	var pane Pane
	pane.Resize(width, height, noon, theme)
	pane.Set(p, noon, theme)
	return &pane
}

func (p *Pane) text() string {
	var b strings.Builder
	p.Draw(&b, theme, noon)
	return ansi.Strip(b.String())
}

func selected(p *Pane) string {
	r, _ := p.Selected()
	return r.ID
}

// TestMoves checks that rows are selected across sections, and that sections are jumped to.
func TestMoves(t *testing.T) {
	p := paneOf(sample(), 60, 20)
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() {}, "a"}, {func() { p.Move(1) }, "b"}, {func() { p.Move(10) }, "e"}, {func() { p.Move(-1) }, "d"},
		{func() { p.Move(-1) }, "c"}, {func() { p.Section(1) }, "d"}, {func() { p.Section(1) }, "a"},
		{func() { p.Section(-1) }, "d"}, {func() { p.Section(-1) }, "a"}, {p.End, "e"}, {p.Home, "a"},
		{func() { p.Page(1) }, "e"}, {func() { p.Page(-1) }, "a"},
	} {
		if c.do(); selected(p) != c.want {
			t.Errorf("selected %q, want %q", selected(p), c.want)
		}
	}
	if text := p.text(); !strings.Contains(text, "Nothing here.") || !strings.Contains(text, "status  fine") {
		t.Errorf("it shows\n%s", text)
	}
}

// TestKeepsTheSelection checks that a row stays selected when the page changes, and that the last row
// is followed only until a person moves.
func TestKeepsTheSelection(t *testing.T) {
	p := paneOf(sample(), 60, 20)
	p.Move(3)
	now := sample()
	now.Sections[0].Rows = rows("x", "a", "y")
	if p.Set(now, noon, theme); selected(p) != "d" {
		t.Errorf("selected %q, want d", selected(p))
	}
	log := Page{Follow: true, Sections: []Section{{Columns: Columns("", ""), Rows: rows("1", "2")}}}
	f := paneOf(log, 60, 5)
	log.Sections[0].Rows = rows("1", "2", "3")
	if f.Set(log, noon, theme); selected(f) != "3" {
		t.Errorf("selected %q, want 3", selected(f))
	}
	f.Move(-1)
	log.Sections[0].Rows = rows("1", "2", "3", "4")
	if f.Set(log, noon, theme); selected(f) != "2" {
		t.Errorf("selected %q, want 2", selected(f))
	}
}

// TestColumns checks which columns are left out and cut where there is little room.
func TestColumns(t *testing.T) {
	s := Section{Columns: Columns("NAME", "MIDDLE?", "END?"), Rows: List{{ID: "1",
		Cells: []Text{T("a long name of a customer"), T("middle"), T("a longer text at the end")}}}}
	for width, want := range map[int]string{
		61: "a long name of a customer  middle  a longer text at the end",
		55: "a long name of a customer  middle  a longer text at …",
		38: "a long name of a customer  middle",
		28: "a long name of a customer", 20: "a long name of a …",
	} {
		got := strings.TrimSpace(paneOf(Page{Sections: []Section{s}}, width, 5).text())
		if _, row, _ := strings.Cut(got, "▌ "); strings.TrimSpace(row) != want {
			t.Errorf("%d columns: %q, want %q", width, row, want)
		}
	}
}

// TestPrint checks that a page is printed as numbered lines with the titles of the columns.
func TestPrint(t *testing.T) {
	var b strings.Builder
	p := sample()
	p.Sections[0].Rows = List{{Cells: []Text{T("a\x1b[2J"), Age(noon.Now.Add(-time.Hour))},
		Detail: []string{"more", "a [2J"}}}
	p.Sections[0].Columns = Columns("NAME", "AGE")
	found, err := p.Print(&b, noon)
	want := "sample\nstatus: fine\na fact\none, 1 row.\n1. a [2J, age 1h ago\n   more\ntwo, 0 rows.\nNothing here.\n" +
		"three, 2 rows.\n2. d, reason reason of d\n3. e, reason reason of e\n"
	if err != nil || b.String() != want || len(found) != 3 {
		t.Errorf("%v, %d rows:\n%s", err, len(found), b.String())
	}
}

// TestAnySize checks that a pane fills its window exactly, and that the selected row is visible,
// after any moves, on any size.
func TestAnySize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		page := sample()
		page.Sections[2].Rows = rows(strings.Fields(strings.Repeat("漢字👋 e ", rapid.IntRange(0, 40).Draw(t, "rows")))...)
		p := paneOf(page, 20, 5)
		for range 20 {
			switch by := rapid.IntRange(-9, 9).Draw(t, "by"); rapid.IntRange(0, 6).Draw(t, "do") {
			case 0:
				p.Move(by)
			case 1:
				p.Page(by)
			case 2:
				p.Section(max(min(by, 1), -1) | 1)
			case 3:
				p.Resize(rapid.IntRange(1, 90).Draw(t, "width"), rapid.IntRange(1, 30).Draw(t, "height"), noon, theme)
			case 4:
				p.Filter(rapid.SampledFrom([]string{"", "e", "漢", "zz"}).Draw(t, "filter"), noon, theme)
			case 5:
				p.Click(by)
			case 6:
				p.End()
			}
			lines := strings.Split(strings.TrimSuffix(p.text(), "\n"), "\n")
			if len(lines) != p.height {
				t.Fatalf("%d lines of %d", len(lines), p.height)
			}
			for _, l := range lines {
				if w := ansi.StringWidth(l); w > p.width {
					t.Fatalf("%d columns of %d: %q", w, p.width, l)
				}
			}
			if _, any := p.Selected(); any && !strings.Contains(fmt.Sprint(lines), "▌") && p.width > 1 {
				t.Fatalf("the selected row is not visible:\n%s", strings.Join(lines, "\n"))
			}
		}
	})
}

// TestSelect checks which row is selected when the page changes: the named one until a person
// selects one, and then that one.
func TestSelect(t *testing.T) {
	now := sample()
	now.Select = "b"
	p := paneOf(now, 60, 20)
	if got := selected(p); got != "b" {
		t.Errorf("%q is selected at first", got)
	}
	now.Select = "d"
	p.Set(now, noon, theme)
	if got := selected(p); got != "d" {
		t.Errorf("%q is selected when the page names another row", got)
	}
	p.Move(-1)
	later := sample() // with sections of its own
	later.Select, later.Sections[0].Rows = "d", rows("new", "a", "b", "c")
	p.Set(later, noon, theme)
	if got := selected(p); got != "c" {
		t.Errorf("%q is selected after a person selected c", got)
	}
	early := paneOf(Page{Sections: sample().Sections[2:]}, 60, 20)
	early.Set(sample(), noon, theme)
	if got := selected(early); got != "a" {
		t.Errorf("%q is selected when rows appear above the first one", got)
	}
}

// TestColumnsUseTheRoom checks that a wide column is cut only where there is not enough room.
func TestColumnsUseTheRoom(t *testing.T) {
	long := strings.Repeat("long ", 12)
	of := Page{Sections: []Section{{Columns: Columns("WHAT", "AGE"), Rows: List{{Cells: []Text{T(long), T("1m")}}}}}}
	if got := paneOf(of, 100, 5).text(); !strings.Contains(got, long) {
		t.Errorf("the column is cut:\n%s", got)
	}
	if got := paneOf(of, 55, 5).text(); !strings.Contains(got, "…") || !strings.Contains(got, "1m") {
		t.Errorf("the column is not cut:\n%s", got)
	}
}

// TestALongDetail checks that a frame needs no more work for a row whose detail names 100,000 installs than for a short
// one, and shows that the text continues.
func TestALongDetail(t *testing.T) {
	work := func(names int) float64 {
		row := Row{ID: "1", Cells: []Text{T("1")}, Detail: []string{strings.Repeat("漢字-👋 ", names), "more"}}
		p := paneOf(Page{Sections: []Section{{Columns: Columns("NAME"), Rows: List{row}}}}, 80, 5)
		lines := p.Detail(theme, noon, 3)
		if len(lines) != 3 || strings.TrimSpace(lines[2][0].Text) != "…" {
			t.Errorf("%d names: %d lines, the last one is %v", names, len(lines), lines[len(lines)-1])
		}
		return testing.AllocsPerRun(5, func() { p.Detail(theme, noon, 3) })
	}
	if few, lots := work(1000), work(100_000); lots > few {
		t.Errorf("%.0f allocations for 100,000 names, %.0f for 1,000", lots, few)
	}
}

// TestALongFactLeavesRoomForTheSections checks that a long fact is cut above sections, visibly, and complete without
// sections and in the lines for a screen reader.
func TestALongFactLeavesRoomForTheSections(t *testing.T) {
	long := strings.Repeat("word ", 100) + "end"
	p := sample()
	p.Facts = []Fact{{Label: "status", Text: long}}
	shown := func(p Page) string { return paneOf(p, 80, 24).text() }
	if got := shown(p); strings.Count(got, "word") > 3*80/len("word ") || !strings.Contains(got, "word …") {
		t.Errorf("above sections it is\n%s", got)
	}
	var read strings.Builder
	if _, err := p.Print(&read, noon); err != nil || !strings.Contains(read.String(), long) {
		t.Errorf("a screen reader gets %v\n%s", err, read.String())
	}
	p.Sections = nil
	if got := shown(p); !strings.Contains(got, "end") || strings.Contains(got, "…") {
		t.Errorf("without sections it is\n%s", got)
	}
}
