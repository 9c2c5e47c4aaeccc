package manifest

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"
	"unsafe"

	"go.yaml.in/yaml/v3"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// maxDirect is how deep blocks may nest to be read from their lines. The
// library, which applies the exact limit, reads deeper ones.
const maxDirect = maxDepth / 2

// sideOf outlines a text whose blocks can be read from their lines. It
// returns false if only the library can read the text.
func sideOf(data []byte) (*side, bool) {
	if bytes.IndexByte(data, '\r') >= 0 {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	if !printableYAML(data) {
		return nil, false
	}
	blocks, ok := outline(data)
	if !ok || len(blocks) == 0 {
		return nil, false
	}
	return &side{data: data, whole: sharedString(data), blocks: blocks}, true
}

// sharedString returns data as a string without a copy: the bytes of a source never change (see
// Source.Data), and a copy of them would be a large part of the memory of a comparison.
func sharedString(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }

// release makes the blocks available for the next text. Values that were read do not refer to them.
func (s *side) release() {
	blocks := s.blocks
	s.blocks = nil
	spareBlocks.Put(&blocks)
}

// printableYAML reports whether the library accepts every character of a text.
func printableYAML(data []byte) bool {
	for i := 0; i < len(data); {
		c := data[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(data[i:])
			if r < 0xa0 || r == 0xfffe || r == 0xffff || r == utf8.RuneError && size == 1 {
				return false
			}
			i += size
			continue
		case c < ' ' && c != '\n' && c != '\t', c == 0x7f:
			return false
		}
		if i++; i+wordSize <= len(data) && printableWord(binary.LittleEndian.Uint64(data[i:])) {
			i += wordSize
		}
	}
	return true
}

// wordSize is the number of bytes that printableWord checks.
const wordSize = 8

// printableWord reports whether each byte of a word is a printable character of ASCII. It may also
// report false where each is.
func printableWord(w uint64) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	low := w - ' '*ones // a byte below ' ' borrows, which sets its high bit
	last := w + 1*ones  // 0x7f becomes 0x80
	return (w|low|last)&high == 0
}

// direct reads the value of a text from its lines. It returns false if only the library can
// interpret the text, or if oldWords is set and a word in it is a boolean only in YAML 1.1.
func (t text) direct(oldWords bool) (v raw.Value, ok bool) {
	s, ok := sideOf(t.data)
	if !ok {
		return v, false
	}
	defer s.release()
	root := s.root()
	if t.form == elementForm {
		if !s.blocks[0].is(element) || int(s.blocks[0].next) != len(s.blocks) {
			return v, false
		}
		v, ok = s.blockValue(0, 1)
		return v, ok && (!oldWords || !s.oldWords)
	}
	v, ok = s.value(root, 1)
	return v, ok && (!oldWords || !s.oldWords)
}

// value returns the mapping or the list that consists of the given blocks.
// Cuts are in it as their marks.
func (s *side) value(c children, depth int) (v raw.Value, ok bool) {
	if depth > maxDirect {
		return v, false
	}
	n := 0
	for i := c.first; i < c.end; i = s.after(i) {
		n++
	}
	if s.blocks[c.first].is(element) {
		return s.listValue(c, n, depth)
	}
	fields := make([]raw.Field, 0, n)
	for i := c.first; i < c.end; i = s.after(i) {
		cut, isCut := s.cuts[i]
		if isCut && cut.last != i {
			mark := s.marks.name(cut)
			fields = append(fields, raw.Field{Key: mark, Value: raw.OfText(mark)})
			continue
		}
		var f raw.Field
		if f.Key, ok = s.name(i); !ok || f.Key == "<<" {
			return v, false
		}
		if isCut {
			f.Value = raw.OfText(s.marks.name(cut))
		} else if f.Value, ok = s.blockValue(i, depth); !ok {
			return v, false
		}
		fields = append(fields, f)
	}
	return raw.OfObject(fields) // not if a key is repeated
}

// after returns the next block on the same level. It skips a run of blocks that was cut at i.
func (s *side) after(i int32) int32 {
	if cut, found := s.cuts[i]; found {
		i = cut.last
	}
	return s.blocks[i].next
}

func (s *side) listValue(c children, n, depth int) (raw.Value, bool) {
	list := make([]raw.Value, 0, n)
	for i := c.first; i < c.end; i = s.blocks[i].next {
		v, ok := s.blockValue(i, depth)
		if !ok || !s.blocks[i].is(element) {
			return raw.Value{}, false
		}
		list = append(list, v)
	}
	return raw.OfList(list), true
}

// blockValue returns the value of one block on a level.
func (s *side) blockValue(i int32, depth int) (raw.Value, bool) {
	b := &s.blocks[i]
	switch c, parent := s.in(i); {
	case parent:
		return s.value(c, depth+1)
	case b.is(open):
		return raw.Value{}, true
	}
	written := strings.TrimLeft(s.whole[b.colon()+1:s.end(i)], " ")
	switch written[0] {
	case '"', '\'':
		return s.quotedValue(written)
	case '|', '>':
		return s.blockScalarValue(written, int(b.column))
	case '{', '[':
		return s.flowValue(firstLineOf(written))
	}
	v, ok := plainText(written, b.is(long))
	if !ok {
		return raw.Value{}, false
	}
	if _, old := oldBoolean(v); old {
		s.oldWords = true
	}
	return plain(v), true
}

func firstLineOf(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// plainText returns a scalar without quotes, with its lines folded. The
// library reads texts with tabs.
func plainText(written string, long bool) (string, bool) {
	first, more, _ := strings.Cut(written, "\n")
	first, ended := withoutComment(first)
	if !long || ended {
		return first, strings.IndexByte(first, '\t') < 0
	}
	var b strings.Builder
	b.WriteString(first)
	breaks := 0
	for line := range strings.Lines(more) {
		line, ended := withoutComment(strings.Trim(line, " \n"))
		switch {
		case line == "" && !ended:
			breaks++
			continue
		case line == "": // a comment, which ends the text
			return b.String(), strings.IndexByte(b.String(), '\t') < 0
		case breaks == 0:
			b.WriteByte(' ')
		}
		for ; breaks > 0; breaks-- {
			b.WriteByte('\n')
		}
		b.WriteString(line)
		if ended {
			break
		}
	}
	return b.String(), strings.IndexByte(b.String(), '\t') < 0
}

// withoutComment returns a line without the comment and the spaces at its
// end. Ended means that there was a comment.
func withoutComment(line string) (text string, ended bool) {
	if strings.HasPrefix(line, "#") {
		return "", true
	}
	if i := strings.Index(line, " #"); i >= 0 {
		line, ended = line[:i], true
	}
	return strings.TrimRight(line, " "), ended
}

// quotedValue returns a scalar in quotes. The library reads rare escapes and multi-line texts.
func (s *side) quotedValue(written string) (raw.Value, bool) {
	end := closingQuoteOf(written)
	if end < 0 {
		return raw.Value{}, false
	}
	inner := written[1:end]
	switch {
	case strings.ContainsAny(inner, "\n\t"):
	case written[0] == '\'':
		return raw.OfText(strings.ReplaceAll(inner, "''", "'")), true
	case strings.IndexByte(inner, '\\') < 0:
		return raw.OfText(inner), true
	default:
		if v, ok := unescaped(inner); ok {
			return raw.OfText(v), true
		}
	}
	return s.parsed(written[:end+1])
}

// closingQuoteOf is closingQuote for a string.
func closingQuoteOf(s string) int {
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case quote == '"' && s[i] == '\\':
			i++
		case s[i] != quote:
		case quote == '\'' && i+1 < len(s) && s[i+1] == '\'':
			i++
		default:
			return i
		}
	}
	return -1
}

// unescaped decodes the usual escapes of double quotes.
func unescaped(s string) (string, bool) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, `\`)
		b.WriteString(before)
		if !found {
			return b.String(), true
		}
		if rest == "" {
			return "", false
		}
		switch rest[0] {
		case '"', '\\':
			b.WriteByte(rest[0])
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		default:
			return "", false
		}
		s = rest[1:]
	}
}

// blockScalarValue returns a literal (|) or folded (>) scalar of a block at a
// column. The library reads multi-line folded ones, and those whose header
// sets the indentation or keeps the newlines at the end, which is rare.
func (s *side) blockScalarValue(written string, column int) (raw.Value, bool) {
	header, lines, _ := strings.Cut(written, "\n")
	header, _ = withoutComment(header)
	indent := contentIndent(lines)
	switch {
	case indent <= column: // it is empty, and a comment follows
	case header == "|", header == "|-":
		return raw.OfText(literal(lines, indent, header == "|-")), true
	case header == ">", header == ">-":
		v, ok := s.parsed("k: " + written)
		text, _ := v.Get("k")
		_, isText := raw.String(text)
		return text, ok && isText && len(v.Fields()) == 1
	}
	return raw.Value{}, false
}

// contentIndent returns the indentation of the first line that is not blank, or -1 if all are.
func contentIndent(lines string) int {
	start := 0
	for i := range len(lines) {
		switch lines[i] {
		case '\n':
			start = i + 1
		case ' ':
		default:
			return i - start
		}
	}
	return -1
}

// literal returns the content of a block scalar, up to the first line with less indentation,
// which is a comment. It drops the blank lines at the end and, with strip, also the last newline.
func literal(lines string, indent int, strip bool) string {
	end := 0
	var b strings.Builder
	b.Grow(len(lines))
	for line := range strings.Lines(lines) {
		spaces := len(line) - len(strings.TrimLeft(line, " "))
		blank := spaces == len(line) || line[spaces] == '\n'
		if spaces < indent && !blank {
			break
		}
		if blank && spaces <= indent {
			b.WriteByte('\n')
			continue
		}
		b.WriteString(line[indent:])
		end = b.Len()
	}
	text := b.String()[:end]
	if strip {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}

// flowValue returns a value in brackets, which ends on its line.
func (s *side) flowValue(line string) (raw.Value, bool) {
	switch bare, _ := withoutComment(line); bare {
	case "{}":
		return raw.OfObject(nil)
	case "[]":
		return raw.OfList(nil), true
	}
	if line[0] == '[' {
		if items, ok := s.flowWords(line[1:]); ok {
			return raw.OfList(items), true
		}
	}
	return s.parsed(line)
}

// flowWords returns the items of a list in brackets, behind the opening one: texts in quotes and plain
// words, as in the rules of roles. It returns false for what only the library reads, which takes 12 KiB
// for each text that it is given.
func (s *side) flowWords(line string) (items []raw.Value, ok bool) {
	items = make([]raw.Value, 0, 1+strings.Count(line, ","))
	for {
		line = strings.TrimLeft(line, " ")
		item, rest, ok := s.flowWord(line)
		if !ok {
			return nil, false
		}
		items = append(items, item)
		line = strings.TrimLeft(rest, " ")
		switch {
		case strings.HasPrefix(line, ","):
			line = line[1:]
		case line == "]" || strings.HasPrefix(line, "] "):
			after, _ := withoutComment(line[1:])
			return items, strings.TrimLeft(after, " ") == ""
		default:
			return nil, false
		}
	}
}

// flowWord returns the first item of a list in brackets, and what follows it.
func (s *side) flowWord(line string) (item raw.Value, rest string, ok bool) {
	if line == "" {
		return raw.Value{}, "", false
	}
	if line[0] == '"' || line[0] == '\'' {
		end := closingQuoteOf(line)
		if end < 0 {
			return raw.Value{}, "", false
		}
		item, ok = s.quotedValue(line[:end+1])
		return item, line[end+1:], ok
	}
	end := 0
	for end < len(line) && isWordByte(line[end]) {
		end++
	}
	word := line[:end]
	if _, old := oldBoolean(word); end == 0 || old || !isLetter(word[0]) {
		return raw.Value{}, "", false
	}
	return plain(word), line[end:], true
}

// isWordByte reports whether a byte has no meaning in YAML inside of a plain word.
func isWordByte(c byte) bool {
	return isLetter(c) || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.' || c == '/'
}

// parsed returns the library's result for a value.
func (s *side) parsed(written string) (raw.Value, bool) {
	node, err := text{data: []byte(written)}.node()
	if err != nil || node == nil {
		return raw.Value{}, false
	}
	repeated := false
	c := &converter{limit: aliasFloor, oldWord: func(place) { s.oldWords = true }, repeated: func(place) {
		repeated = true
	}}
	v, _, err := c.value(node, maxDirect)
	return v, err == nil && !repeated && node.Kind != yaml.AliasNode
}
