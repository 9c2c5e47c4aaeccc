package diff

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// EscapeText makes text safe to print on one line of a terminal or a page. It escapes every
// character that does not print or is invisible (control and escape sequences, line ends,
// direction overrides, zero-width characters, fillers), and every one that looks like another:
// a Cyrillic letter in a Latin word, a combining mark separate from its letter. It leaves all
// other characters as they are. Every renderer passes every text of a report through it.
func EscapeText(s string) string {
	if isASCII(s) && strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7F }) < 0 {
		return s
	}
	text := []rune(s)
	like := lookAlikePositions(text)
	var b strings.Builder
	b.Grow(len(s) + 16)
	previous := ' '
	for i, r := range text {
		switch {
		case isVisible(r, previous) && !like[i]:
			b.WriteRune(r)
		case !strconv.IsPrint(r):
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		previous = r
	}
	return b.String()
}

// isVisible reports whether a character is visible after the previous one. Fillers,
// the Braille blank, joiners and variation selectors count as printable in
// Unicode but are invisible: two names that differ only by one of them look
// the same. An emoji variation selector is visible only after a symbol.
// https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt, Default_Ignorable_Code_Point
func isVisible(r, previous rune) bool {
	switch {
	case r < 0x034F:
		return strconv.IsPrint(r)
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x2800, r == 0x3164, r == 0xFFA0:
		return false
	case r == 0xFE0E, r == 0xFE0F:
		return unicode.Is(unicode.So, previous)
	case r >= 0x180B && r <= 0x180F, r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF:
		return false
	}
	return strconv.IsPrint(r)
}
