package manifest

import (
	"bytes"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// scan reads the identity of an object from the lines of its document. It reads only
// lines at the left margin and inside metadata, and is sure only of plain block
// mappings with unique keys, a name and a kind. If it takes something inside quotes
// or brackets at the margin for a key, that key occurs twice, so it never confuses an
// object that the API accepts with another one. For a document of which it is sure,
// it also reports whether there may be words that are booleans only in YAML 1.1.
func scan(data []byte) (id identity, sure, oldWords bool) {
	s := &scanner{data: data, metadataAt: -1, scalarAt: -1}
	for s.pos < len(data) {
		if !s.line() {
			return s.id, false, false
		}
	}
	id = s.id
	return id, id.apiVersion != "" && id.kind != "" && (id.name != "" || id.generate != ""), s.oldWords
}

type scanner struct {
	data []byte
	pos  int
	id   identity

	// scalarAt is the column of the key whose value ended the last line, if
	// it is used: a deeper line would continue the value. -1 is none.
	scalarAt int
	// metadata means that the key was found; inMetadata is set in its lines.
	// Its keys are at column metadataAt, -1 before the first.
	metadata, inMetadata bool
	metadataAt           int
	// skip is the column right of which all lines belong to a block scalar
	// inside metadata; 0 is none.
	skip     int
	oldWords bool
}

// line reads the next line. It returns false if the document must be parsed.
func (s *scanner) line() bool {
	start := s.pos
	var end int
	end, s.pos = lineBounds(s.data, start)
	line := s.data[start:end]
	s.oldWords = s.oldWords || oldWordLine(line)
	if len(line) == 0 || s.scalarAt < 0 && !s.inMetadata && line[0] == ' ' {
		return true
	}
	trimmed := bytes.TrimLeft(line, " ")
	if len(trimmed) == 0 {
		return true
	}
	indent := len(line) - len(trimmed)
	if s.skip > 0 && indent >= s.skip {
		return true
	}
	s.skip = 0
	switch {
	case trimmed[0] == '#':
		return true
	case indent == 0:
		return s.margin(line)
	case s.scalarAt >= 0 && indent > s.scalarAt:
		return false
	}
	s.scalarAt = -1
	return !s.inMetadata || s.inside(trimmed, indent)
}

// margin reads a line that starts at the margin.
func (s *scanner) margin(line []byte) bool {
	if isMarker(line, "...") {
		return true
	}
	if line[0] == '-' && (len(line) == 1 || line[1] == ' ') {
		return !s.inMetadata && s.scalarAt < 0 // a list that is not indented below its key
	}
	s.scalarAt, s.inMetadata = -1, false
	key, value, ok := simpleEntry(line)
	if !ok {
		return false
	}
	switch string(key) {
	case "items":
		return false
	case "apiVersion":
		return s.take(&s.id.apiVersion, value, 0)
	case "kind":
		return s.take(&s.id.kind, value, 0)
	case "metadata":
		if s.metadata || !nothingMore(value) {
			return false
		}
		s.metadata, s.inMetadata = true, true
	}
	return true
}

// take reads a value of the identity, of a key at column.
func (s *scanner) take(into *string, value []byte, column int) bool {
	text, ok := simpleText(value)
	if !ok || *into != "" {
		return false
	}
	*into, s.scalarAt = text, column
	return true
}

// inside reads a line of metadata.
func (s *scanner) inside(line []byte, indent int) bool {
	if s.metadataAt < 0 {
		s.metadataAt = indent
	}
	if indent < s.metadataAt || line[0] == '\t' {
		return false
	}
	if indent > s.metadataAt || bytes.HasPrefix(line, []byte("- ")) {
		return s.nested(line, indent)
	}
	key, value, ok := simpleEntry(line)
	if !ok {
		return false
	}
	switch string(key) {
	case "name":
		return s.take(&s.id.name, value, indent)
	case "namespace":
		return s.take(&s.id.namespace, value, indent)
	case "generateName":
		return s.take(&s.id.generate, value, indent)
	}
	return s.harmless(value, indent)
}

// nested reads a line below a key of metadata: a label, an annotation.
func (s *scanner) nested(line []byte, indent int) bool {
	for line[0] == '-' && len(line) > 1 && line[1] == ' ' {
		trimmed := bytes.TrimLeft(line[1:], " ")
		indent += len(line) - len(trimmed)
		if line = trimmed; len(line) == 0 {
			return true
		}
	}
	if quote := line[0]; quote == '"' || quote == '\'' {
		i := closingQuote(line)
		if i < 0 {
			return false
		}
		if line = line[i+1:]; nothingMore(line) {
			return true
		}
	}
	_, value, found := bytes.Cut(line, []byte(": "))
	if !found {
		return bytes.IndexByte([]byte("{[&*!|>?"), line[0]) < 0
	}
	return s.harmless(value, indent)
}

// harmless reports whether a value ends on its line, or continues only in
// lines that are indented deeper. Column is that of its key.
func (s *scanner) harmless(value []byte, column int) bool {
	value = bytes.TrimLeft(value, " ")
	if len(value) == 0 {
		return true
	}
	switch value[0] {
	case '|', '>':
		s.skip = column + 1
	case '"', '\'':
		i := closingQuote(value)
		return i >= 0 && nothingMore(value[i+1:])
	case '{', '[':
		return flowEnds(value)
	case '&', '*', '!', '\t':
		return false
	}
	return true
}

// simpleEntry splits a line into a key of letters, digits and a few signs,
// and what follows its colon.
func simpleEntry(line []byte) (key, value []byte, ok bool) {
	i := bytes.IndexByte(line, ':')
	if i <= 0 || i+1 < len(line) && line[i+1] != ' ' || !isLetter(line[0]) {
		return nil, nil, false
	}
	for _, c := range line[:i] {
		if !isSimple(c) {
			return nil, nil, false
		}
	}
	return line[:i], line[i+1:], true
}

// simpleText returns a value of letters, digits and a few signs, optionally
// in quotes, that YAML reads as text.
func simpleText(value []byte) (string, bool) {
	value = bytes.TrimLeft(value, " ")
	if len(value) == 0 {
		return "", false
	}
	quoted := value[0] == '"' || value[0] == '\''
	end := 0
	if quoted {
		if end = closingQuote(value); end < 0 || !nothingMore(value[end+1:]) {
			return "", false
		}
		value = value[1:end]
	} else {
		for end < len(value) && value[end] != ' ' {
			end++
		}
		if !nothingMore(value[end:]) {
			return "", false
		}
		value = value[:end]
	}
	for _, c := range value {
		if !isSimple(c) && c != ':' {
			return "", false
		}
	}
	if len(value) == 0 || !isLetter(value[0]) && !isDigit(value[0]) || value[len(value)-1] == ':' {
		return "", false
	}
	if _, text := raw.String(plain(string(value))); !text && !quoted {
		return "", false
	}
	return string(value), true
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isSimple(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '-' || c == '.' || c == '_' || c == '/'
}
