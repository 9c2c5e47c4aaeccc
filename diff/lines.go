package diff

import (
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/align"
)

// Line is one line of a line diff.
type Line struct {
	Op LineOp `json:"op"`
	// Text is the line without its end, cut to a sixteenth of MaskOptions.Limit around what differs. It is not neutralised.
	Text string `json:"text,omitempty"`
	// Size is the size of the whole line in bytes, if it is cut.
	Size int `json:"size,omitempty"`
	// Count is how many lines a LineSkipped or LineMore stands for.
	Count int `json:"count,omitempty"`
}

// LineOp is what happens to a line.
type LineOp string

// The operations. LineSkipped stands for lines that stay as they are, LineMore for changed lines beyond what a report shows.
const (
	LineSame    LineOp = "same"
	LineRemoved LineOp = "removed"
	LineAdded   LineOp = "added"
	LineSkipped LineOp = "skipped"
	LineMore    LineOp = "more"
)

// bytesPerLine times the most lines is how many bytes one field shows of its lines.
const bytesPerLine = 80

// isLines says that a side can be part of a line diff.
func isLines(text string, kind ValueType) bool {
	return kind == "" || (kind == TypeString && (text == "" || strings.Contains(text, "\n")))
}

// diffLines compares two strings line by line. A side that is not there has no lines. It is nil when neither side has more than
// one line.
func diffLines(was, is string, noBefore, noAfter bool, o MaskOptions) []Line {
	if !strings.Contains(was, "\n") && !strings.Contains(is, "\n") {
		return nil
	}
	var a, b []string
	if !noBefore {
		a = splitLines(was)
	}
	if !noAfter {
		b = splitLines(is)
	}
	spans := align.Sequences(a, b)
	w := lineWriter{lines: o.Lines, context: max(o.Context, 0), width: max(o.Limit/16, leastLine)}
	for i, s := range spans {
		if s.Same {
			w.same(a[s.A:s.AEnd], i > 0, i < len(spans)-1)
			continue
		}
		w.replaced(a[s.A:s.AEnd], b[s.B:s.BEnd])
	}
	w.flush()
	return w.out
}

// splitLines splits after each newline. A last newline ends the last line; a text without it gets a mark, because that is a
// difference, too.
func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	lines := strings.Split(strings.ToValidUTF8(s, "\uFFFD"), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		return lines[:last]
	} else {
		lines[last] += noNewline
		return lines
	}
}

const noNewline = " (no newline at the end)"

// leastLine is how many bytes of a line are shown at least.
const leastLine = 64

type lineWriter struct {
	lines, context int
	// width is how many bytes of one line are shown.
	width int

	out   []Line
	bytes int
	// more counts the changed lines that were left out.
	more int
}

// replaced writes lines that go, and those that come for them. What comes is what will be there: it has half of the room, if it needs
// that, however much goes.
func (w *lineWriter) replaced(removed, added []string) {
	lines, bytes := w.lines, w.lines*bytesPerLine
	if len(added) > 0 {
		needed := w.width // the last line that goes may be longer than the room for it
		for _, l := range added[:min(len(added), w.lines)] {
			needed += min(len(l), w.width)
		}
		lines = max(lines-len(added)-1, (len(w.out)+lines)/2) // one says what is left out
		bytes = max(bytes-needed, (w.bytes+bytes)/2)
	}
	w.changed(LineRemoved, removed, added, lines, bytes)
	if len(added) > 0 && !w.full() {
		w.flush()
	}
	w.changed(LineAdded, added, removed, w.lines, w.lines*bytesPerLine)
}

func (w *lineWriter) full() bool { return w.reaches(w.lines, w.lines*bytesPerLine) }

// reaches says that so many lines or bytes are written.
func (w *lineWriter) reaches(lines, bytes int) bool { return len(w.out) >= lines || w.bytes >= bytes }

// changed writes lines that go or come, until so many lines or bytes are written. Others are those that come or go for them: where a line is
// cut, what it does not share with its counterpart must be seen.
func (w *lineWriter) changed(op LineOp, lines, others []string, mostLines, mostBytes int) {
	for i, text := range lines {
		if w.reaches(mostLines, mostBytes) {
			w.more += len(lines) - i
			return
		}
		at := 0
		if i < len(others) && len(text) > w.width {
			at = commonPrefix(text, others[i])
		}
		w.put(op, text, at)
	}
}

// put writes a line, cut around byte at.
func (w *lineWriter) put(op LineOp, text string, at int) {
	size := 0
	if len(text) > w.width {
		start, end := window(text, w.width, at)
		cut := runeSlice(text, start, end)
		if start > 0 {
			cut = "…" + cut
		}
		if end < len(text) {
			cut += "…"
		}
		size = len(text)
		text = fmt.Sprintf("%s (%d bytes in all)", cut, size)
	}
	w.bytes += len(text)
	w.out = append(w.out, Line{Op: op, Text: text, Size: size})
}

// same writes the context at either end of a run of equal lines.
func (w *lineWriter) same(lines []string, changeBefore, changeAfter bool) {
	if w.full() {
		return
	}
	head, tail := 0, 0
	if changeBefore {
		head = min(w.context, len(lines))
	}
	if changeAfter {
		tail = min(w.context, len(lines)-head)
	}
	for _, l := range lines[:head] {
		w.put(LineSame, l, 0)
	}
	if skipped := len(lines) - head - tail; skipped > 0 {
		w.out = append(w.out, Line{Op: LineSkipped, Count: skipped})
	}
	for _, l := range lines[len(lines)-tail:] {
		w.put(LineSame, l, 0)
	}
}

// flush says how many changed lines were left out since it last did.
func (w *lineWriter) flush() {
	if w.more > 0 {
		w.out = append(w.out, Line{Op: LineMore, Count: w.more})
		w.more = 0
	}
}

// rewrittenLines is how many lines of a text change at least before they are counted.
const rewrittenLines = 40

// LineCounts is how many lines of a line diff come, go and stay. Changed lines that the report does not hold count as both.
func (f *FieldChange) LineCounts() (added, removed, same int) {
	for _, l := range f.Lines {
		switch l.Op {
		case LineAdded:
			added++
		case LineRemoved:
			removed++
		case LineMore:
			added, removed = added+l.Count, removed+l.Count
		case LineSame:
			same++
		case LineSkipped:
			same += l.Count
		}
	}
	return added, removed, same
}

// Rewritten reports whether so much of a text of several lines changes that its lines say less than their number.
func (f *FieldChange) Rewritten() bool {
	added, removed, same := f.LineCounts()
	return added > 0 && removed > 0 && added+removed >= rewrittenLines && 3*same < max(added, removed)
}

// LineSummary counts the lines of a large change of a text: "rewritten: 120 lines added, 80 removed". It is empty for a small one.
func (f *FieldChange) LineSummary() string {
	added, removed, _ := f.LineCounts()
	if added+removed < rewrittenLines {
		return ""
	}
	words := Plural(added, "line", "lines") + " added, " + fmt.Sprint(removed) + " removed"
	if f.Rewritten() {
		return "rewritten: " + words
	}
	return words
}

// DocumentSummary counts what changes in a document that a string holds, if that is much: "64 values: 20 added, 30 removed, 14 changed". The
// document is the first that a heading's path leads into behind skip; where it leads into none there, the summary is empty.
func (c *Change) DocumentSummary(path string, skip int) string {
	end := 0
	for _, into := range [...]string{"(json)", "(yaml)"} {
		if i := strings.Index(path[skip:], into); i >= 0 && (end == 0 || skip+i+len(into) < end) {
			end = skip + i + len(into)
		}
	}
	if end == 0 {
		return ""
	}
	path = path[:end]
	var n, added, removed int
	for i := range c.Fields {
		f := &c.Fields[i]
		if !strings.HasPrefix(f.Path, path) || f.Fold != "" {
			continue
		}
		n++
		switch {
		case f.Before.Absent:
			added++
		case f.After.Absent:
			removed++
		}
	}
	if n < rewrittenLines/2 {
		return ""
	}
	return fmt.Sprintf("%d values: %d added, %d removed, %d changed", n, added, removed, n-added-removed)
}
