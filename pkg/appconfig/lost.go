package appconfig

import (
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
)

// lost has the words in unreadable files that may be names of declarations. A reference to one of
// them is not reported, so that one mistake causes one error. Extra words do no harm, because the
// config is invalid anyway.
type lost map[string]bool

// has reports whether an undeclared name may be declared in an unreadable file.
func (l lost) has(name string) bool { return l[sameRole(name)] }

// file adds the words of a TOML file that does not parse: the text after each =, with or without
// quotes.
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

// table adds the words of a table whose name or kind is missing.
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
