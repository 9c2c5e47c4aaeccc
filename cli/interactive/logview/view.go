package logview

import (
	"fmt"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// lines makes the rows of a log on demand.
type lines []line

// Len returns the number of lines.
func (l lines) Len() int { return len(l) }

// Row returns the row of a line.
func (l lines) Row(i int) page.Row {
	at := l[i]
	clock := ""
	if !at.T.IsZero() {
		clock = at.T.Local().Format("15:04:05.000")
	}
	level := page.Status(at.L)
	text := page.Text{Text: at.M}
	if level.Ink != page.Plain {
		text.Ink = level.Ink
	}
	return page.Row{ID: fmt.Sprint(at.n), Copy: at.M,
		Cells: []page.Text{{Text: clock, Ink: page.Faint}, level, {Text: at.Of, Ink: page.Faint}, text}}
}

// Widths of the columns of a log. They do not depend on the lines, so that a long log costs no
// more than a short one.
const (
	clockWidth, levelWidth, sourceWidth = 12, 5, 16
)

// Page returns the log, which stays at its end while lines arrive.
func (s *Screen) Page(time.Time) page.Page {
	p := page.Page{Title: "log", Command: s.command(), Follow: true}
	if s.lost > 0 {
		p.Facts = []page.Fact{{Text: fmt.Sprintf("The first %d lines are left out here: %s", s.lost, p.Command)}}
	}
	source := page.Column{Width: sourceWidth, Optional: true}
	if len(s.args) > 0 && !s.several() {
		source.Width = 1
	}
	p.Sections = []page.Section{{Rows: s.lines, Empty: "No lines yet.",
		Columns: []page.Column{{Width: clockWidth}, {Width: levelWidth}, source, {Width: 1}}}}
	return p
}

// Actions returns what can be done with a log.
func (s *Screen) Actions() []page.Action {
	return []page.Action{{Key: screen.Bind("s", "save", "s"), Save: s.save}}
}

// save returns a file with the lines that are shown, without control characters.
func (s *Screen) save() (file string, content []byte) {
	words := []string{"nuon"}
	for _, a := range s.args {
		if a = strings.TrimLeft(a, "-"); a != "step" {
			words = append(words, notInNames.ReplaceAllString(a, "-"))
		}
	}
	var b strings.Builder
	for _, l := range s.lines {
		of := ""
		if l.Of != "" {
			of = l.Of + " | "
		}
		at := l.T.UTC().Format("2006-01-02T15:04:05.000Z07:00")
		b.WriteString(console.Line(fmt.Sprintf("%s %-5s %s%s", at, l.L, of, l.M)) + "\n")
	}
	return strings.Join(words, "-") + ".log", []byte(b.String())
}

// notInNames are the characters that the name of a file does not get.
var notInNames = lazyregexp.New(`[^a-zA-Z0-9_.-]`)

// several reports whether the lines have sources.
func (s *Screen) several() bool { return len(s.lines) > 0 && s.lines[0].Of != "" }
