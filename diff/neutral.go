package diff

import (
	"strconv"
	"strings"
)

// Neutral makes text safe to print on one line of a terminal or a page: every character that does not print (control and escape
// sequences, line ends, direction overrides, zero-width characters) is written as an escape. What prints stays as it is. Every
// renderer passes every text of a report through it.
func Neutral(s string) string {
	clean := true
	for _, r := range s {
		if !strconv.IsPrint(r) {
			clean = false
			break
		}
	}
	if clean {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for _, r := range s {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
