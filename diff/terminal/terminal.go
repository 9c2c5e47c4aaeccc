// Package terminal renders a diff.Report for a terminal: counts first, then each change with its fields, what destroys in red,
// what stays folded and counted. Without colour its output is plain text with no escape codes at all.
//
// It knows nothing but the Report: it cannot show what the report does not hold, and every text goes out neutralised. The command
// line and the screens call it.
package terminal

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/nuon-toolkit/nuon/diff"
)

// Options of a rendering. The zero value is plain text of any width.
type Options struct {
	// Color writes escape codes (the sixteen colours of every terminal).
	Color bool
	// Width is the number of columns; longer lines are continued on the next. 0 means no bound, and less than 40 counts as 40.
	Width int
	// All shows what is folded inside changes: the fields of what is destroyed, and values that are known after apply, one by
	// one.
	All bool
}

const (
	minWidth = 40
	// maxColumn is how far a name pushes what stands beside it to the right.
	maxColumn = 48
	indent    = "      "
)

// Render writes the report. The only errors are those of w.
func Render(w io.Writer, r *diff.Report, o Options) error {
	if o.Width > 0 {
		o.Width = max(o.Width, minWidth)
	}
	buf := bufio.NewWriter(w)
	s := &screen{out: buf, style: newStyles(buf, o.Color), options: o}
	s.summary(r)
	s.changes(r.Changes, diff.Change.Headline)
	s.outputs(r.Outputs)
	s.section("Changed by others since the last apply:", r.Drift, diff.Change.Happened)
	s.section("Left for a later plan:", r.Deferred, diff.Change.Headline)
	return buf.Flush()
}

type screen struct {
	out     *bufio.Writer
	style   styles
	options Options
}

// summary writes the counts, what was folded, and the notes.
func (s *screen) summary(r *diff.Report) {
	style := s.style.bold
	if r.Destructive() {
		style = s.style.destroy
	}
	line := []span{{r.Summary(), style}}
	if folded := r.FoldedSummary(); folded != "" {
		line = append(line, span{"   (" + folded + ")", s.style.faint})
	}
	s.line("  ", line...)
	for _, n := range r.Notes {
		s.line("  ", span{diff.Neutral(n), s.style.warn})
	}
}

func (s *screen) changes(list []diff.Change, words func(diff.Change) string) {
	if len(list) == 0 {
		return
	}
	s.blank()
	column := 0
	for _, c := range list {
		column = max(column, lipgloss.Width(c.Title()))
	}
	column = min(column, maxColumn)
	for _, c := range list {
		s.change(c, words(c), column)
	}
}

func (s *screen) section(title string, list []diff.Change, words func(diff.Change) string) {
	if len(list) == 0 {
		return
	}
	s.blank()
	s.line("  ", span{title, s.style.bold})
	s.changes(list, words)
}

// change writes a change in words and its fields.
func (s *screen) change(c diff.Change, words string, column int) {
	style := s.style.of(c)
	s.line("", span{fmt.Sprintf("%3s ", c.Symbol()), style},
		span{pad(c.Title(), column), s.style.bold}, span{"  " + words, style})
	var shown []diff.FieldChange
	var quiet []string
	folded := 0
	for _, f := range c.Fields {
		switch {
		case s.options.All:
			shown = append(shown, f)
		case c.Action == diff.Destroy || c.Action == diff.Forget:
			folded++
		case f.Quiet(c.Action):
			quiet = append(quiet, f.Name())
		default:
			shown = append(shown, f)
		}
	}
	s.fields(c, shown)
	if len(quiet) > 0 {
		s.line(indent, span{"known after apply: " + strings.Join(quiet, ", "), s.style.faint})
	}
	if folded > 0 {
		s.line(indent, span{diff.Plural(folded, "field", "fields") + ", folded", s.style.faint})
	}
}

func (s *screen) fields(c diff.Change, fields []diff.FieldChange) {
	column := 0
	for _, f := range fields {
		column = max(column, lipgloss.Width(f.Name()))
	}
	column = min(column, maxColumn)
	for _, f := range fields {
		s.field(c, f, column)
	}
}

// field writes one difference: on one line if it fits, on a line for each side if not, and line by line for a text of several
// lines.
func (s *screen) field(c diff.Change, f diff.FieldChange, column int) {
	name := span{pad(f.Name(), column), s.style.plain}
	var forces span
	if f.ForcesReplace {
		forces = span{"  (forces replacement)", s.style.replace}
	}
	if len(f.Lines) > 0 {
		s.line(indent, span{f.Name(), s.style.plain}, forces)
		s.lines(f.Lines)
		return
	}
	before, after := f.Sides(c.Action)
	if before == "" {
		s.line(indent, name, span{"  " + after, s.style.after(c, f)}, forces)
		return
	}
	one := []span{name, {"  " + before, s.style.before}, {" → ", s.style.faint}, {after, s.style.after(c, f)}, forces}
	if s.options.Width == 0 || width(one)+len(indent) <= s.options.Width {
		s.line(indent, one...)
		return
	}
	s.line(indent, span{f.Name(), s.style.plain}, forces)
	s.line(indent+"  ", span{"- " + before, s.style.before})
	s.line(indent+"  ", span{"+ " + after, s.style.after(c, f)})
}

func (s *screen) lines(lines []diff.Line) {
	for _, l := range lines {
		style := s.style.faint
		switch l.Op {
		case diff.LineAdded:
			style = s.style.create
		case diff.LineRemoved:
			style = s.style.before
		}
		s.line(indent+"  ", span{l.Display(), style})
	}
}

// outputs writes the outputs that change. A plain one takes one line.
func (s *screen) outputs(list []diff.Change) {
	if len(list) == 0 {
		return
	}
	s.blank()
	column := 0
	for _, c := range list {
		column = max(column, lipgloss.Width(diff.Neutral(c.Name)))
	}
	column = min(column, maxColumn)
	for _, c := range list {
		s.output(c, column)
	}
}

func (s *screen) output(c diff.Change, column int) {
	head := []span{{fmt.Sprintf("%3s ", c.Symbol()), s.style.of(c)}, {"output " + pad(diff.Neutral(c.Name), column), s.style.bold}}
	if len(c.Fields) == 1 && c.Fields[0].Path == "" && len(c.Fields[0].Lines) == 0 {
		before, after := c.Fields[0].Sides(c.Action)
		line := slices.Concat(head, []span{{"  ", s.style.plain}})
		if before != "" {
			line = append(line, span{before, s.style.before}, span{" → ", s.style.faint})
		}
		s.line("", append(line, span{after, s.style.after(c, c.Fields[0])})...)
		return
	}
	s.line("", append(head, span{"  " + c.Headline(), s.style.of(c)})...)
	s.fields(c, c.Fields)
}
