package runners

import (
	"strings"
	"unicode"
)

// maxShort bounds short texts that runners report about themselves, in runes.
const maxShort = 64

// PrintableShort makes a short text from a runner fit for a column and a screen: printable, one line,
// bounded.
func PrintableShort(text string) string { return Printable(text, maxShort) }

// Printable removes what is not printable from a text and cuts it to at most most runes.
func Printable(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}
