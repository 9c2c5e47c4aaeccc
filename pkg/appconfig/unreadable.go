package appconfig

import (
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
)

// unreadableNames has the words in unreadable files that may be names of declarations. A reference to one of
// them is not reported, so that one mistake causes one error. Extra words do no harm, because the
// config is invalid anyway.
type unreadableNames map[string]bool

// has reports whether an undeclared name may be declared in an unreadable file.
func (u unreadableNames) has(name string) bool { return u[normalizeRoleName(name)] }

// addFile adds the words of a TOML file that does not parse: the text after each =, with or without
// quotes.
func (u unreadableNames) addFile(text string) {
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
		u.addWord(value)
	}
}

// addTable adds the words of a table whose name or kind is missing.
func (u unreadableNames) addTable(t *syntax.Table) {
	for _, n := range t.Each {
		if text, ok := n.Value.(string); ok {
			u.addWord(text)
		}
	}
}

func (u unreadableNames) addWord(text string) {
	if text = strings.TrimSpace(text); text != "" && len(text) <= maxName {
		u[normalizeRoleName(text)] = true
	}
}
