package manifest

import "bytes"

// span is the range of one document in a source, with the directives before it and its markers.
type span struct{ start, end int }

// split finds the documents of a stream. A marker at the start of a line ends a document
// in any context: YAML allows no such content there, even in block scalars or quotes.
func split(data []byte) []span {
	var out []span
	start, begun := 0, false // begun: the document at start has its marker, or content
	for _, m := range markers(data) {
		begun = begun || hasContent(data[start:m.start])
		switch {
		case m.ends && (begun || hasText(data[start:m.end])):
			out = append(out, span{start, m.end})
			start, begun = m.end, false
		case m.ends:
			start = m.end
		case begun:
			out = append(out, span{start, m.start})
			start = m.start
		case !hasText(data[start:m.start]):
			start = m.start
		}
		begun = begun || !m.ends
	}
	return append(out, span{start, len(data)})
}

// marker is a line that starts a document (---) or ends one (...). For an
// ending line, end includes the newline.
type marker struct {
	start, end int
	ends       bool
}

// markers finds all markers in order.
func markers(data []byte) []marker {
	var out []marker
	for start := 0; start < len(data); {
		next := lineEnd(data, start)
		switch c := data[start]; {
		case c == '-' && isMarker(data[start:next], "---"):
			out = append(out, marker{start: start, end: start})
		case c == '.' && isMarker(data[start:next], "..."):
			out = append(out, marker{start: start, end: next, ends: true})
		}
		start = next
	}
	return out
}

// isMarker reports whether a line starts with three dashes or dots, and not with a longer word.
func isMarker(line []byte, what string) bool {
	if !bytes.HasPrefix(line, []byte(what)) {
		return false
	}
	return len(line) == len(what) || isBlank(line[len(what)])
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// lineEnd returns the offset after the newline of the line at offset.
func lineEnd(data []byte, offset int) int {
	if i := bytes.IndexByte(data[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(data)
}

// lineBounds returns where the text of the line at offset ends, without its
// line end, and where the next line starts.
func lineBounds(data []byte, offset int) (end, next int) {
	i := bytes.IndexByte(data[offset:], '\n')
	if i < 0 {
		end, next = len(data), len(data)
	} else {
		end, next = offset+i, offset+i+1
	}
	if end > offset && data[end-1] == '\r' {
		end--
	}
	return end, next
}

// hasText reports whether a line is neither blank nor a comment; hasContent reports
// whether such a line is also no directive, so that a document has started.
func hasText(data []byte) bool { return skipComments(data) < len(data) }

func hasContent(data []byte) bool {
	for offset := 0; offset < len(data); {
		offset += skipComments(data[offset:])
		if offset < len(data) && data[offset] != '%' {
			return true
		}
		offset = lineEnd(data, offset)
	}
	return false
}

// skipComments returns the start of the first line that is neither blank nor a comment.
func skipComments(data []byte) int {
	for offset := 0; offset < len(data); offset = lineEnd(data, offset) {
		i := offset
		for i < len(data) && isBlank(data[i]) && data[i] != '\n' {
			i++
		}
		if i < len(data) && data[i] != '\n' && data[i] != '#' {
			return offset
		}
	}
	return len(data)
}

// withoutMarker skips a marker with nothing except a comment next to it, and
// the comments before the document.
func withoutMarker(data []byte) int {
	offset := skipComments(data)
	if isMarker(data[offset:], "---") {
		rest := data[offset+3 : lineEnd(data, offset)]
		if hasText(rest) {
			return offset
		}
		offset = lineEnd(data, offset)
		offset += skipComments(data[offset:])
	}
	return offset
}
