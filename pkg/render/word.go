package render

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// Undotted finds the expressions that were meant to read a value but lack the leading dot, such as {{nuon.install.id}}. In a text
// without `.nuon` they are literal text, so that the braces appear in the result; in any other they are refused. Path is what the
// same words read with the dot, canonical.
func Undotted(text string) []Use {
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

// words gives the spans of the words inside actions: names, fields and chains of them, without what stands in quotes or comments. It
// works on texts that do not parse, too.
func words(text string) iter.Seq[span] {
	return func(yield func(span) bool) {
		for at, isWord := range tokens(text) {
			if isWord && !yield(at) {
				return
			}
		}
	}
}

// tokens gives the spans of everything inside actions, and which are words.
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

// tooMuchCode says whether there is more inside the actions of a text than the parser should see. Comments and quoted texts count
// little, because the parser makes one node of each.
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

// token gives the size of what a text inside an action begins with, at least one byte, and whether it is a word.
func token(text string) (width int, isWord bool) {
	switch {
	case strings.HasPrefix(text, "/*"):
		return enclosed(text, 2, "*/"), false
	case text[0] == '`':
		return enclosed(text, 1, "`"), false
	case text[0] == '"', text[0] == '\'':
		return quotedWidth(text), false
	}
	for width < len(text) && wordByte(text[width]) {
		width++
	}
	return max(width, 1), width > 0
}

func wordByte(b byte) bool {
	return b == '.' || b == '_' || b == '$' || b >= utf8.RuneSelf ||
		'0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// enclosed is the size of a comment or a raw string that opens with skip bytes. One that does not end takes the rest.
func enclosed(text string, skip int, end string) int {
	if n := strings.Index(text[skip:], end); n >= 0 {
		return skip + n + len(end)
	}
	return len(text)
}

// quotedWidth is the size of a quoted string, which ends with its line at the latest.
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
