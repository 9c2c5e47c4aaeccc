package installstack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Placeholder is a value that is known only when the customer creates the stack.
type Placeholder string

// The placeholders.
const (
	NoPlaceholder Placeholder = ""
	Region        Placeholder = "region"
	Account       Placeholder = "account" // account, project or subscription
)

// longestValue bounds the length of the value of a placeholder.
const longestValue = 36

// Characters around a placeholder in a text. They are in the private area of Unicode, which no cloud accepts in the
// texts of a stack.
const (
	openPlaceholder  = "\uE0F0"
	closePlaceholder = "\uE0F1"
)

// Text returns the placeholder as a part of a text.
func (p Placeholder) Text() string { return openPlaceholder + string(p) + closePlaceholder }

// Words returns the placeholder for people.
func (p Placeholder) Words() string { return "(the " + string(p) + " of this stack)" }

// Part is a piece of a text: literal text or a placeholder.
type Part struct {
	Text        string
	Placeholder Placeholder
}

// Split returns the parts of a text. Joined, they are the text.
func Split(text string) []Part {
	var parts []Part
	for text != "" {
		before, rest, found := strings.Cut(text, openPlaceholder)
		if before != "" {
			parts = append(parts, Part{Text: before})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, closePlaceholder)
		if p := Placeholder(name); closed && slices.Contains([]Placeholder{Region, Account}, p) {
			parts, text = append(parts, Part{Placeholder: p}), after
			continue
		}
		text = rest
	}
	return parts
}

// Plain returns a text of at most limit bytes for people: placeholders become words, and control characters spaces.
func Plain(text string, limit int) string {
	var plain strings.Builder
	for _, part := range Split(text) {
		if part.Placeholder != NoPlaceholder {
			plain.WriteString(part.Placeholder.Words())
			continue
		}
		plain.WriteString(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, strings.ToValidUTF8(part.Text, "?")))
	}
	text = strings.TrimSpace(plain.String())
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}

// Hash returns some hexadecimal digits that depend on all of a text.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// Fit returns a name of at most limit characters, of which allowed reports those that names may have. A name that is
// too long, or has another character, is shortened and ends with a hash of the whole name.
func Fit(name string, limit int, allowed func(r rune) bool) string {
	fitted := strings.Map(func(r rune) rune {
		if allowed(r) {
			return r
		}
		return '-'
	}, name)
	if fitted == name && len(name) <= limit {
		return name
	}
	suffix := "-" + Hash(name)
	return strings.TrimRight(fitted[:min(len(fitted), limit-len(suffix))], "-") + suffix
}

// IsWord reports whether a character is a letter, a digit or _ of ASCII.
func IsWord(r rune) bool {
	return r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}

// IDs returns an identifier of letters and digits for each name. Names that would share one, and those whose identifier
// would be another one with a suffix, get a hash.
func IDs(names []string, suffixes ...string) []string {
	all, taken := make([]string, len(names)), map[string]int{}
	for i, name := range names {
		all[i] = camel(name)
		taken[strings.ToLower(all[i])]++
	}
	for i, name := range names {
		id := strings.ToLower(all[i])
		if id == "" || taken[id] > 1 || slices.ContainsFunc(suffixes, func(suffix string) bool {
			base, has := strings.CutSuffix(id, strings.ToLower(suffix))
			return has && taken[base] > 0
		}) {
			all[i] += strings.ToUpper(Hash(name))
		}
	}
	return all
}

// camel returns the letters and digits of a name, at most 40, each word with a capital.
func camel(name string) string {
	var id strings.Builder
	start := true
	for _, r := range name {
		switch {
		case !IsWord(r) || r == '_':
			start = true
			continue
		case start:
			r = unicode.ToUpper(r)
		}
		start = false
		id.WriteRune(r)
	}
	text := id.String()
	if len(text) > 40 {
		text = text[:32] + strings.ToUpper(Hash(name))
	}
	return text
}

// quoted returns a text for a message, at most 80 characters of it.
func quoted(text string) string { return fmt.Sprintf("%.80q", Plain(text, 200)) }
