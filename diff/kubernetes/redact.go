package kubernetes

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// setting is NAME=VALUE or NAME: VALUE in a text, where the name is that of a secret: in a file of properties, a script, a list of options.
type setting struct {
	name       string
	start, end int // of the value
}

// A name that is looked for in a text is at most so long before and after the word that tells it; a value is at least so long.
const (
	maxSettingName  = 128
	minSettingValue = 4
)

// stems begin the words that tell a secret. A key is one only with a word before it.
var (
	stems   = []string{"pass", "pwd", "secret", "token", "credential", "key"}
	keyStem = []string{"api", "private", "access", "signing", "encryption", "master", "auth", "secret"}
)

// settings finds all of them, in their order. It looks at each byte a few times at most.
func settings(text string) []setting {
	lower := lowered(text)
	var at []int
	for _, stem := range stems {
		for from := 0; ; {
			i := strings.Index(lower[from:], stem)
			if i < 0 {
				break
			}
			if i += from; stem != "key" || keyNamed(lower[:i]) {
				at = append(at, i)
			}
			from = i + len(stem)
		}
	}
	slices.Sort(at)
	var out []setting
	end := 0
	for _, i := range at {
		if i < end {
			continue
		}
		if s, ok := settingAt(text, i, end); ok {
			out, end = append(out, s), s.end
		}
	}
	return out
}

// keyNamed says that the text before "key" says which key.
func keyNamed(before string) bool {
	before = strings.TrimRight(before[max(0, len(before)-len("encryption")-1):], "_.-")
	return slices.ContainsFunc(keyStem, func(kind string) bool { return strings.HasSuffix(before, kind) })
}

// settingAt reads the setting with a name around byte i, which begins after byte from.
func settingAt(text string, i, from int) (setting, bool) {
	start, end := i, i
	for start > max(from, i-maxSettingName) && nameByte(text[start-1]) {
		start--
	}
	for end < len(text) && end < i+maxSettingName && nameByte(text[end]) {
		end++
	}
	s := setting{name: text[start:end]}
	p := skipped(text, end, `"'`, 1)
	p = skipped(text, p, " \t", len(text))
	q := skipped(text, p, ":=", 1)
	if q == p || !secretName(s.name) {
		return s, false
	}
	s.start = skipped(text, skipped(text, q, " \t", len(text)), `"'`, 1)
	s.end = s.start
	for s.end < len(text) && !strings.ContainsRune(" \t\r\n\"',;&(){}$<>", rune(text[s.end])) {
		s.end++
	}
	value := text[s.start:s.end]
	return s, len(value) >= minSettingValue && literal(value) && !strings.HasPrefix(value, "//")
}

func nameByte(c byte) bool {
	return c == '_' || c == '.' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// skipped is the place after at most so many of some bytes.
func skipped(text string, p int, some string, most int) int {
	for n := 0; n < most && p < len(text) && strings.IndexByte(some, text[p]) >= 0; n++ {
		p++
	}
	return p
}

// lowered is a text with small letters for those of ASCII; every byte stays in its place.
func lowered(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r >= 'A' && r <= 'Z' }) < 0 {
		return text
	}
	out := []byte(text)
	for i, c := range out {
		if c >= 'A' && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}

// redact hides what a text sets under the names of secrets, and only that, so that its other lines can be read. Where others, the settings of
// the other side of a comparison, have no such one, the text says so, because nobody could see it. It gives the text's own settings, too.
func redact(text string, others map[string]bool) (shown string, own map[string]bool) {
	var b strings.Builder
	end := 0
	for _, s := range settings(text) {
		if own == nil {
			own = map[string]bool{}
		}
		at := s.name + "=" + text[s.start:s.end]
		own[at] = true
		b.WriteString(text[end:s.start])
		if others == nil || others[at] {
			b.WriteString(diff.Hidden)
		} else {
			b.WriteString(changedSecret)
		}
		end = s.end
	}
	return b.String() + text[end:], own
}

// changedSecret stands for a secret in a text that is not in the text of before.
const changedSecret = "(sensitive, changed)"

// redactSides hides the settings of secrets in the texts of a difference.
func (s *shower) redactSides(d *difference) {
	before, wasText := raw.Reveal(d.before).(string)
	after, isText := raw.Reveal(d.after).(string)
	var known map[string]bool
	if d.hasBefore {
		known = map[string]bool{}
	}
	if wasText {
		if shown, own := redact(before, nil); own != nil {
			d.before, known = raw.Of(shown), own
		}
	}
	if isText {
		if shown, own := redact(after, known); own != nil {
			d.after = raw.Of(shown)
		}
	}
}
