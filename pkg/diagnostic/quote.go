package diagnostic

import (
	"strconv"
	"unicode/utf8"
)

// Quote quotes text from an author, shortened to fit on a line.
func Quote(s string) string {
	const maxLength = 60
	if len(s) > maxLength {
		cut := maxLength
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return strconv.Quote(s)
}
