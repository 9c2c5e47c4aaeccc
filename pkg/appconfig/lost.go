package appconfig

import (
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
)

// lost are the words that may be names of what a config declares in files that cannot be understood: one mistake is told once, and not
// again wherever something refers to what stands there. Too many words do no harm: the config is refused anyway.
type lost map[string]bool

// has says whether a name that is not declared may be one of these.
func (l lost) has(name string) bool { return l[sameRole(name)] }

// file takes the words of a TOML file that cannot be parsed: what stands behind each =, with or without quotes.
func (l lost) file(text string) {
	for line := range strings.Lines(text) {
		_, value, ok := strings.Cut(line, "=")
		if value = strings.TrimSpace(value); !ok || value == "" {
			continue
		}
		if value[0] == '"' || value[0] == '\'' {
			value, _, _ = strings.Cut(value[1:], value[:1])
		} else if before, _, commented := strings.Cut(value, " #"); commented {
			value = before
		}
		l.word(value)
	}
}

// table takes the words of a table whose name, or whose kind, is missing.
func (l lost) table(t *syntax.Table) {
	for _, n := range t.Each {
		if text, ok := n.Value.(string); ok {
			l.word(text)
		}
	}
}

func (l lost) word(text string) {
	if text = strings.TrimSpace(text); text != "" && len(text) <= maxName {
		l[sameRole(text)] = true
	}
}
