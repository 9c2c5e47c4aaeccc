package style

import (
	"strings"
	"unicode/utf8"
)

const (
	// columns is the largest width of a line for an array on one line.
	columns = 100
	// longKey is the longest key that the = of adjacent lines is aligned to.
	longKey = 40
	// longLine is the longest line that the comments of adjacent lines are aligned to.
	longLine = 80
	// indent is the indentation of one level.
	indent = "  "
	// maxIndent bounds the levels that are indented, so that no text becomes much longer.
	maxIndent = 8
)

// writer writes formatted lines.
type writer struct {
	out    strings.Builder
	column int // runes since the last newline
}

func (w *writer) put(s string) {
	w.out.WriteString(s)
	if n := strings.LastIndexByte(s, '\n'); n >= 0 {
		w.column, s = 0, s[n+1:]
	}
	w.column += utf8.RuneCountInString(s)
}

func (w *writer) indent(depth int) { w.put(strings.Repeat(indent, min(depth, maxIndent))) }

func (w *writer) pad(n int) { w.put(strings.Repeat(" ", max(0, n))) }

// document writes a file.
func (w *writer) document(lines []line) {
	setBlankLines(lines)
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && sameBlock(lines[from], lines[to]) {
			to++
		}
		w.block(lines[from:to])
		from = to
	}
}

// setBlankLines decides which lines have a blank line before them.
func setBlankLines(lines []line) {
	above := 0 // index of the first comment directly above the line
	for i := range lines {
		l := &lines[i]
		if i == 0 || l.blankBefore || lines[i-1].kind != commentLine {
			above = i
		}
		if l.kind == header || l.kind == array {
			lines[above].blankBefore = above > 0
		} else if i > 0 && lines[i-1].kind != commentLine && lines[i-1].kind != pair {
			l.blankBefore = false // until the next header
		}
	}
}

// sameBlock reports whether a line belongs to the block that starts with first: one-line pairs and
// comments, without a gap.
func sameBlock(first, l line) bool {
	return first.inBlock() && l.inBlock() && !l.blankBefore
}

func (l line) inBlock() bool {
	return l.kind == commentLine || l.kind == pair && l.onOneLine()
}

// onOneLine reports whether a pair of a document is written on one line. It ignores the
// alignment, which itself depends on which pairs are on one line.
func (l line) onOneLine() bool {
	return l.value.fits(l.valueColumn())
}

// valueColumn returns the column of the value of a pair without alignment.
func (l line) valueColumn() int { return utf8.RuneCountInString(l.key) + len(" = ") }

// block writes lines with aligned =.
func (w *writer) block(lines []line) {
	keys := 0
	for _, l := range lines {
		if n := utf8.RuneCountInString(l.key); l.kind == pair && n <= longKey {
			keys = max(keys, n)
		}
	}
	comments := commentColumns(lines, keys)
	for i, l := range lines {
		if l.blankBefore {
			w.put("\n")
		}
		switch l.kind {
		case commentLine:
			w.put(l.comment)
		case header:
			w.put("[" + l.key + "]")
		case array:
			w.put("[[" + l.key + "]]")
		case pair:
			w.put(l.key)
			w.pad(l.padding(keys))
			w.put(" = ")
			w.value(l.value, 0, l.valueColumn())
		}
		if l.kind != commentLine && l.comment != "" {
			w.pad(comments[i] - w.column)
			w.put(" " + l.comment)
		}
		w.put("\n")
	}
}

// padding returns the number of blanks before the = in a block with keys of this width.
func (l line) padding(keys int) int {
	if !l.onOneLine() {
		return 0
	}
	return max(0, keys-utf8.RuneCountInString(l.key))
}

// commentColumns returns the column before each comment after a pair; 0 without alignment.
func commentColumns(lines []line, keys int) []int {
	columns := make([]int, len(lines))
	ends := func(l line) int {
		if l.kind != pair || l.comment == "" || !l.onOneLine() {
			return 0
		}
		return max(keys, utf8.RuneCountInString(l.key)) + len(" = ") + l.value.width
	}
	for from := 0; from < len(lines); {
		to, column := from, 0
		for ; to < len(lines) && ends(lines[to]) > 0; to++ {
			if end := ends(lines[to]); end <= longLine {
				column = max(column, end)
			}
		}
		for i := from; i < to; i++ {
			columns[i] = column
		}
		from = to + 1
	}
	return columns
}

// fits reports whether a value that starts at the column is written on one line.
func (v *value) fits(column int) bool {
	return v.width >= 0 && (v.open == 0 || column+v.width <= columns || v.open == '{' && !v.multiLine)
}

// value writes a value inside depth brackets. column is where it counts as starting, to decide
// whether it fits on the line.
func (w *writer) value(v value, depth, column int) {
	switch {
	case v.open == 0:
		w.put(v.text)
	case v.fits(column):
		w.flat(v)
	case v.open == '{' && !v.multiLine:
		w.inLine(v, func(l line) { w.element(l, depth, 0) })
	default:
		w.overLines(v, depth)
	}
}

// flat writes a value and its content on one line.
func (w *writer) flat(v value) {
	if v.open == 0 {
		w.put(v.text)
		return
	}
	w.inLine(v, func(l line) {
		w.name(l)
		w.flat(l.value)
	})
}

// inLine writes brackets and their elements after one another.
func (w *writer) inLine(v value, element func(line)) {
	blank := ""
	if v.open == '{' && len(v.lines) > 0 {
		blank = " "
	}
	w.put(string(v.open) + blank)
	for i, l := range v.lines {
		if i > 0 {
			w.put(", ")
		}
		element(l)
	}
	w.put(blank + string(v.close()))
}

// overLines writes brackets with one element per line.
func (w *writer) overLines(v value, depth int) {
	w.put(string(v.open))
	if v.opening != "" {
		w.put(" " + v.opening)
	}
	w.put("\n")
	for _, l := range v.lines {
		if l.blankBefore {
			w.put("\n")
		}
		w.indent(depth + 1)
		if l.kind == commentLine {
			w.put(l.comment + "\n")
			continue
		}
		w.element(l, depth+1, len(","))
		w.put(",")
		if l.comment != "" {
			w.put(" " + l.comment)
		}
		w.put("\n")
	}
	w.indent(depth)
	w.put(string(v.close()))
}

// element writes an element of brackets, with behind more columns after it.
func (w *writer) element(l line, depth, behind int) {
	w.name(l)
	w.value(l.value, depth, w.column+behind)
}

// name writes the key of an element, if it has one.
func (w *writer) name(l line) {
	if l.key != "" {
		w.put(l.key + " = ")
	}
}
