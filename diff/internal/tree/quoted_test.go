package tree_test

import (
	"testing"

	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// TestQuotesThatMeanSomething checks that quotes count around a text that
// some YAML reader takes for a number, a date or a boolean, and do not count
// around a text that every reader takes for text.
func TestQuotesThatMeanSomething(t *testing.T) {
	for _, c := range []struct {
		was, is   string
		respelled bool
	}{
		{"yes", `"yes"`, false},
		{"Off", `'Off'`, false},
		{"n", `"n"`, false},
		{"0777", `"0777"`, false},
		{"0x1F", `"0x1F"`, false},
		{"2026-11-21", `"2026-11-21"`, false},
		{".inf", `".inf"`, false},
		{"web", `"web"`, true},
		{"yes please", `"yes please"`, true},
		{"yes", "yes ", true},
	} {
		was, is := "mode: "+c.was+"\nother: 1\n", "mode: "+c.is+"\nother: 1\n"
		if got := tree.Respelled(was, is); got != c.respelled {
			t.Errorf("%s and %s: respelled %v, want %v", c.was, c.is, got, c.respelled)
		}
		if got := tree.Respelled(is, was); got != c.respelled {
			t.Errorf("%s and %s: respelled %v, want %v", c.is, c.was, got, c.respelled)
		}
		if _, _, format, ok := tree.Embedded(was, is); ok {
			t.Errorf("%s and %s are told apart as %s, which shows no difference", c.was, c.is, format)
		}
	}
}
