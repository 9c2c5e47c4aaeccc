package manifest

import "bytes"

// value reads the value of the last started block, up to its last line. The
// value is at p, on a line that ends at end; the following line starts at next.
// Column is that of the block, below which no line of the value may start.
func (o *outliner) value(p, end, next, column int) bool {
	top := o.top()
	top.flags &^= open
	var ok bool
	switch o.data[p] {
	case '|', '>':
		o.pos, ok = o.blockScalar(p, end, next, column)
	case '"', '\'':
		o.pos, ok = o.quoted(p)
	case '{', '[':
		o.pos, ok = next, flowEnds(o.data[p:end])
	case '&', '*', '!', '%', '@', '`', '}', ']', ',', '\t':
		return false
	default:
		o.pos, ok = o.plainScalar(p, end, next, column)
	}
	if ok && o.pos > next {
		top.flags |= long
	}
	return ok
}

// nothingMore reports whether only spaces and a comment follow a value on its line.
func nothingMore(rest []byte) bool {
	trimmed := bytes.TrimLeft(rest, " ")
	return len(trimmed) == 0 || trimmed[0] == '#' && len(trimmed) < len(rest)
}

// plainScalar reads a scalar without quotes, and the following lines that
// belong to it: those indented deeper than the block.
func (o *outliner) plainScalar(p, end, next, column int) (int, bool) {
	c := o.data[p]
	if (c == '-' || c == '?' || c == ':') && (p+1 == end || isBlank(o.data[p+1])) {
		return 0, false
	}
	ended, ok := plainLine(o.data[p:end])
	for after := next; ok && !ended && after < len(o.data); {
		lineStart, stop := after, 0
		stop, after = lineBounds(o.data, lineStart)
		q := skipSpaces(o.data, lineStart, stop)
		if q == stop {
			continue
		}
		if q-lineStart <= column || o.data[q] == '#' {
			break
		}
		if o.data[q] == '\t' {
			return 0, false
		}
		ended, ok = plainLine(o.data[q:stop])
		next = after
	}
	return next, ok
}

// plainLine reports whether a comment ends the scalar on this line, and
// whether the line is valid in it: a colon that would make it a key is not.
func plainLine(line []byte) (ended, ok bool) {
	for from := 0; ; {
		i := bytes.IndexByte(line[from:], ':')
		if i < 0 {
			break
		}
		from += i + 1
		if from == len(line) || isBlank(line[from]) {
			return false, false
		}
	}
	for from := 0; ; {
		i := bytes.IndexByte(line[from:], '#')
		if i < 0 {
			return false, true
		}
		from += i + 1
		if i := from - 2; i >= 0 && isBlank(line[i]) {
			return true, true
		}
	}
}

// quoted reads a scalar in quotes, which may have several lines, and checks
// that nothing follows it.
func (o *outliner) quoted(p int) (int, bool) {
	i := closingQuote(o.data[p:])
	if i < 0 {
		return 0, false
	}
	after := p + i + 1
	end, next := lineBounds(o.data, after)
	return next, nothingMore(o.data[after:end])
}

// flowEnds reports whether a list or mapping in brackets ends on its line,
// with nothing after it, and has no anchor, alias or tag.
func flowEnds(line []byte) bool {
	depth := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '"', '\'':
			if !mayBegin(line[:i]) {
				continue
			}
			n := closingQuote(line[i:])
			if n < 0 {
				return false
			}
			i += n
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return nothingMore(line[i+1:])
			}
		case '&', '*', '!', '#', '|', '>', '%', '@', '`', '?', '\t':
			return false
		}
	}
	return false
}

// mayBegin reports whether a value can start after this text in brackets, so
// that a quote there opens one.
func mayBegin(before []byte) bool {
	before = bytes.TrimRight(before, " ")
	return len(before) > 0 && bytes.IndexByte([]byte("[{,:"), before[len(before)-1]) >= 0
}

// blockScalar reads a literal or folded scalar: its header, and the lines that are indented deeper.
func (o *outliner) blockScalar(p, end, next, column int) (int, bool) {
	indent, ok := blockHeader(o.data[p:end])
	if !ok {
		return 0, false
	}
	if indent > 0 {
		indent += column
	}
	blank := 0 // the largest number of spaces on a blank line before the content
	for after := next; after < len(o.data); {
		start, stop := after, 0
		stop, after = lineBounds(o.data, start)
		q := start
		for q < stop && o.data[q] == ' ' && (indent == 0 || q-start < indent) {
			q++
		}
		spaces := q - start
		switch {
		case q == stop:
			blank = max(blank, spaces)
			continue
		case indent == 0 && o.data[q] == '\t', indent > 0 && spaces < indent && o.data[q] == '\t':
			return 0, false
		case indent == 0 && spaces <= column:
			return next, blank <= column+1
		case indent == 0 && blank > spaces:
			return 0, false
		case indent == 0:
			indent = spaces
		case spaces < indent:
			return next, true
		}
		next = after
	}
	return next, true
}

// blockHeader reads | or > and what may follow: a digit for the indentation,
// + or - for the newlines at the end, a comment.
func blockHeader(line []byte) (indent int, ok bool) {
	i, signs := 1, 0
	for ; i < len(line) && i < 3; i++ {
		switch c := line[i]; {
		case (c == '+' || c == '-') && signs == 0:
			signs++
			continue
		case '1' <= c && c <= '9' && indent == 0:
			indent = int(c - '0')
			continue
		}
		break
	}
	return indent, nothingMore(line[i:])
}
