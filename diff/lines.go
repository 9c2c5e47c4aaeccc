package diff

import (
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/align"
)

// Line is one line of a line diff.
type Line struct {
	Op LineOp `json:"op"`
	// Text is the line without its line end, cut to a sixteenth of MaskOptions.Limit around the
	// difference. It is not escaped: see EscapeText.
	Text string `json:"text,omitempty"`
	// Size is the size of the whole line in bytes, if it is cut.
	Size int `json:"size,omitempty"`
	// Count is the number of lines that a LineSkipped or LineMore replaces.
	Count int `json:"count,omitempty"`
}

// LineOp is what happens to a line.
type LineOp string

// The operations. LineSkipped replaces unchanged lines, LineMore changed
// lines beyond the limit of a report.
const (
	LineSame    LineOp = "same"
	LineRemoved LineOp = "removed"
	LineAdded   LineOp = "added"
	LineSkipped LineOp = "skipped"
	LineMore    LineOp = "more"
)

// bytesPerLine times the limit of lines is the limit of bytes for the lines of one field.
const bytesPerLine = 80

// isLines reports whether a side can be part of a line diff.
func isLines(text string, kind ValueType) bool {
	return kind == "" || (kind == TypeString && (text == "" || strings.Contains(text, "\n")))
}

// diffLines compares two strings line by line. An absent side has no lines.
// It returns nil when neither side has more than one line.
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
	w := lineWriter{lines: o.Lines, context: max(o.Context, 0), width: max(o.Limit/16, minLine)}
	w.expect(spans)
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

// splitLines splits after each newline. A trailing newline ends the last
// line; a text without one gets a mark, because that is a difference too.
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

// minLine is the smallest number of bytes of a line that are shown.
const minLine = 64

type lineWriter struct {
	lines, context int
	// width is the largest number of bytes of one line that are shown.
	width int

	out   []Line
	bytes int
	// more counts the changed lines that were left out.
	more int
}

// expect allocates memory for the lines of some spans.
func (w *lineWriter) expect(spans []align.Span) {
	n := 0
	for _, s := range spans {
		if s.Same {
			n += min(s.AEnd-s.A, 2*w.context+1)
		} else {
			n += s.AEnd - s.A + s.BEnd - s.B
		}
	}
	w.out = make([]Line, 0, min(n, w.lines+2*w.context+2))
}

// replaced writes removed lines and the added lines that replace them. The
// added lines are the future content, so up to half of the available space is
// reserved for them, however many lines are removed.
func (w *lineWriter) replaced(removed, added []string) {
	lines, bytes := w.lines, w.lines*bytesPerLine
	if len(added) > 0 {
		needed := w.width // the last removed line may exceed its space
		for _, l := range added[:min(len(added), w.lines)] {
			needed += min(len(l), w.width)
		}
		lines = max(lines-len(added)-1, (len(w.out)+lines)/2) // one line counts what is left out
		bytes = max(bytes-needed, (w.bytes+bytes)/2)
	}
	w.changed(LineRemoved, removed, added, lines, bytes)
	if len(added) > 0 && !w.full() {
		w.flush()
	}
	w.changed(LineAdded, added, removed, w.lines, w.lines*bytesPerLine)
}

func (w *lineWriter) full() bool { return w.reaches(w.lines, w.lines*bytesPerLine) }

// reaches reports whether this many lines or bytes have been written.
func (w *lineWriter) reaches(lines, bytes int) bool { return len(w.out) >= lines || w.bytes >= bytes }

// changed writes removed or added lines until the given number of lines or
// bytes is written. Others are the lines on the opposite side: a line is cut
// such that its difference from its counterpart is shown.
func (w *lineWriter) changed(op LineOp, lines, others []string, maxLines, maxBytes int) {
	for i, text := range lines {
		if w.reaches(maxLines, maxBytes) {
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

// flush writes how many changed lines were left out since the previous flush.
func (w *lineWriter) flush() {
	if w.more > 0 {
		w.out = append(w.out, Line{Op: LineMore, Count: w.more})
		w.more = 0
	}
}

// rewrittenLines is the smallest number of changed lines of a text for which they are counted.
const rewrittenLines = 40

// LineCounts returns the number of added, removed and unchanged lines of a line
// diff. Changed lines that the report does not hold count as both added and removed.
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

// IsRewritten reports whether so much of a multi-line text changes that a count
// is more useful than the lines.
func (f *FieldChange) IsRewritten() bool {
	added, removed, same := f.LineCounts()
	return added > 0 && removed > 0 && added+removed >= rewrittenLines && 3*same < max(added, removed)
}

// LineSummary counts the lines of a large change of a text: "rewritten: 120
// lines added, 80 removed". It is empty for a small one.
func (f *FieldChange) LineSummary() string {
	added, removed, _ := f.LineCounts()
	if added+removed < rewrittenLines {
		return ""
	}
	words := Plural(added, "line", "lines") + " added, " + fmt.Sprint(removed) + " removed"
	if f.IsRewritten() {
		return "rewritten: " + words
	}
	return words
}

// DocumentSummary counts the changes in a document inside a string, if there are many:
// "64 values: 20 added, 30 removed, 14 changed". The document is the first one that the
// heading's path enters after skip; the summary is empty if the path enters none there.
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
