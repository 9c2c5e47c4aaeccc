// Package truncate bounds texts from elsewhere that become part of messages, logs and reports.
package truncate

import "strings"

// ellipsis marks a text whose end was cut off.
const ellipsis = "…"

// Text returns the text, or its first most bytes without half a character at their end, and "…". A text that is cut
// loses its invalid bytes, too.
func Text(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + ellipsis
}
