package render

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// MissingDots returns the expressions that probably should read a value but lack the leading dot, such
// as {{nuon.install.id}}. In a text without `.nuon` they are literal text, so that the braces
// appear in the result; in any other text they are rejected. Path is the canonical path that the
// expression would read with the dot.
func MissingDots(text string) []Use {
	if !strings.Contains(text, "nuon.") || !strings.Contains(text, "{{") {
		return nil
	}
	var uses []Use
	lines := linesOf(text)
	for at := range words(text) {
		written := text[at.start:at.end]
		keys, ok := strings.CutPrefix(written, "nuon.")
		if !ok || len(keys) > maxPathBytes {
			continue
		}
		path := Path(strings.Split(keys, "."))
		if len(path) > maxPathKeys || slices.Contains(path, "") {
			continue
		}
		use := lines.place(at)
		use.Path = Canonical(path)
		uses = append(uses, use)
	}
	return uses
}

// words iterates over the spans of the words inside actions: names, fields and chains of them,
// outside of quotes and comments. It also works on texts that do not parse.
func words(text string) iter.Seq[span] {
	return func(yield func(span) bool) {
		for at, isWord := range tokens(text) {
			if isWord && !yield(at) {
				return
			}
		}
	}
}

// tokens iterates over the spans of all tokens inside actions, and whether each is a word.
func tokens(text string) iter.Seq2[span, bool] {
	return func(yield func(span, bool) bool) {
		for at := 0; ; {
			open := strings.Index(text[at:], "{{")
			if open < 0 {
				return
			}
			at += open + len("{{")
			for at < len(text) && !strings.HasPrefix(text[at:], "}}") {
				width, isWord := token(text[at:])
				if !yield(span{at, at + width}, isWord) {
					return
				}
				at += width
			}
		}
	}
}

// tooMuchCode reports whether the actions of a text contain more than the parser should process. A
// comment or a quoted text counts little, because the parser creates one node for each.
func tooMuchCode(text string) bool {
	code := 0
	for at, isWord := range tokens(text) {
		if !isWord {
			code++
		} else {
			code += at.end - at.start
		}
		if code > maxCode {
			return true
		}
	}
	return false
}

// token returns the length of the first token of a text inside an action, at least one byte, and
// whether it is a word.
func token(text string) (width int, isWord bool) {
	switch {
	case strings.HasPrefix(text, "/*"):
		return enclosedLength(text, 2, "*/"), false
	case text[0] == '`':
		return enclosedLength(text, 1, "`"), false
	case text[0] == '"', text[0] == '\'':
		return quotedWidth(text), false
	}
	for width < len(text) && isWordByte(text[width]) {
		width++
	}
	return max(width, 1), width > 0
}

func isWordByte(b byte) bool {
	return b == '.' || b == '_' || b == '$' || b >= utf8.RuneSelf ||
		'0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// enclosedLength returns the length of a comment or a raw string whose opening has skip bytes. One that
// does not end extends to the end of the text.
func enclosedLength(text string, skip int, end string) int {
	if n := strings.Index(text[skip:], end); n >= 0 {
		return skip + n + len(end)
	}
	return len(text)
}

// quotedWidth returns the length of a quoted string, which ends at the end of its line at the
// latest.
func quotedWidth(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\n':
			return i
		case text[0]:
			return i + 1
		}
	}
	return len(text)
}
