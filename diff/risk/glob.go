package risk

import "strings"

// maxGlob bounds the patterns that are compared, in bytes. A longer pattern covers only itself.
const maxGlob = 2048

// globCovers reports whether the pattern outer matches every text that the pattern inner matches.
// The wildcard * matches any text and ? any one byte. False positives cannot occur.
func globCovers(outer, inner string) bool {
	if outer == inner || outer == "*" {
		return true
	}
	if len(outer) > maxGlob || len(inner) > maxGlob {
		return false
	}
	outer, inner = plainGlob(outer), plainGlob(inner)
	if !strings.Contains(outer, "*") && len(outer) != len(inner) {
		return false
	}
	// can[i] reports whether a suffix of outer covers inner[i:]; the suffix grows with each round.
	can := make([]bool, len(inner)+1)
	can[len(inner)] = true
	for j := len(outer) - 1; j >= 0; j-- {
		next := make([]bool, len(inner)+1)
		for i := len(inner); i >= 0; i-- {
			switch {
			case outer[j] == '*':
				next[i] = can[i] || i < len(inner) && next[i+1]
			case i == len(inner) || inner[i] == '*':
				// A star in inner can be any text, so only a star in outer covers it.
			case outer[j] == '?' || outer[j] == inner[i]:
				next[i] = can[i+1]
			}
		}
		can = next
	}
	return can[0]
}

// globsMeet reports whether some text matches both patterns. It returns true for patterns that are
// too long to compare.
func globsMeet(a, b string) bool {
	if len(a) > maxGlob || len(b) > maxGlob {
		return true
	}
	meet := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		next := make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				next[j] = true
			case i < len(a) && a[i] == '*':
				next[j] = meet[j] || j < len(b) && next[j+1]
			case j < len(b) && b[j] == '*':
				next[j] = next[j+1] || i < len(a) && meet[j]
			case i < len(a) && j < len(b) && (a[i] == b[j] || a[i] == '?' || b[j] == '?'):
				next[j] = meet[j+1]
			}
		}
		meet = next
	}
	return meet[0]
}

// plainGlob normalizes each run of wildcards: the question marks first, then at most one star.
func plainGlob(s string) string {
	if !strings.Contains(s, "**") && !strings.Contains(s, "*?") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		end := i
		for end < len(s) && (s[end] == '*' || s[end] == '?') {
			end++
		}
		if end == i {
			b.WriteByte(s[i])
			i++
			continue
		}
		run := s[i:end]
		b.WriteString(strings.Repeat("?", strings.Count(run, "?")))
		if strings.Contains(run, "*") {
			b.WriteByte('*')
		}
		i = end
	}
	return b.String()
}
