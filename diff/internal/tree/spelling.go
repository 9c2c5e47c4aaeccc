package tree

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// spelling counts the texts of a YAML document whose meaning may depend on
// quotes: this package treats them as equal with and without quotes, but
// other readers of the document may not. The zero value is ready to use.
type spelling struct {
	// bare are the texts without quotes that a reader may take for a number,
	// a date or a boolean; quoted are all short ones in quotes.
	bare, quoted map[string]int
}

// maxSpelled is the longest text, in bytes, that could be taken for something else.
const maxSpelled = 64

// note counts a scalar that this package treats as text.
func (s *spelling) note(n *yaml.Node, text string) {
	inQuotes := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
	switch {
	case len(text) > maxSpelled || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
	case inQuotes:
		addTo(&s.quoted, text)
	case n.ShortTag() != "!!str" || oldBoolean(text):
		addTo(&s.bare, text)
	}
}

func addTo(in *map[string]int, text string) {
	if *in == nil {
		*in = map[string]int{}
	}
	(*in)[text]++
}

// requotes reports whether quotes that can change the meaning of a text are added or removed.
func (s spelling) requotes(after spelling) bool {
	for _, side := range []map[string]int{s.bare, after.bare} {
		for text := range side {
			bare, quoted := after.bare[text]-s.bare[text], after.quoted[text]-s.quoted[text]
			if bare > 0 && quoted < 0 || bare < 0 && quoted > 0 {
				return true
			}
		}
	}
	return false
}

// oldBoolean reports whether readers of YAML 1.1, such as cloud-init and
// Ansible, take an unquoted text for a boolean.
// https://yaml.org/type/bool.html
func oldBoolean(text string) bool {
	switch strings.ToLower(text) {
	case "yes", "no", "on", "off", "y", "n":
		return true
	}
	return false
}
