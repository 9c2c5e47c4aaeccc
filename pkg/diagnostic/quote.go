package diagnostic

import (
	"strconv"
	"unicode/utf8"
)

// Quote quotes what an author wrote, cut to a length that a line can bear.
func Quote(s string) string {
	const most = 60
	if len(s) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return strconv.Quote(s)
}
