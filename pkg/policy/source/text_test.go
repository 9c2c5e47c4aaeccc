package source_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/policy/source"
)

func TestNewRefusesWhatMustNotBeRead(t *testing.T) {
	tests := []struct {
		text, rule string
		line, col  int
	}{
		{"fine", "", 0, 0},
		{strings.Repeat("x", source.MaxBytes), "", 0, 0},
		{strings.Repeat("x", source.MaxBytes+1), "policy-size", 1, 1},
		{"a\nb\xffc", "policy-encoding", 2, 2},
		{"\uFFFD is a rune\n\xc3", "policy-encoding", 2, 1},
	}
	for _, test := range tests {
		text, ok := source.New("f", test.text)
		found := text.Diagnostics()
		if ok != (test.rule == "") || ok != (found == nil) {
			t.Errorf("%.20q: %v, %v", test.text, ok, found)
			continue
		}
		if !ok && (found[0].Rule != test.rule || found[0].Line != test.line ||
			found[0].Column != test.col || found[0].File != "f") {
			t.Errorf("%.20q: %+v", test.text, found[0])
		}
	}
}

func TestPositionAndOffsetAreInverse(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		written := rapid.StringOf(rapid.SampledFrom([]rune("ab\n é漢\r"))).Draw(r, "text")
		text, _ := source.New("f", written)
		at := rapid.IntRange(0, len(written)).Draw(r, "offset")
		for at < len(written) && !utf8.RuneStart(written[at]) {
			at++
		}
		line, column := text.Position(at)
		if want := strings.Count(written[:at], "\n") + 1; line != want {
			r.Fatalf("line %d, not %d", line, want)
		}
		begin := at - (column - 1)
		if begin != 0 && written[begin-1] != '\n' || strings.Contains(written[begin:at], "\n") {
			r.Fatalf("column %d", column)
		}
		if again := text.Offset(line, utf8.RuneCountInString(written[begin:at])+1); again != at {
			r.Fatalf("offset %d, not %d", again, at)
		}
		if text.Lines() != strings.Count(written, "\n")+1 {
			r.Fatalf("%d lines", text.Lines())
		}
	})
}

func TestPositionsOutsideTheTextGiveItsEnds(t *testing.T) {
	text, _ := source.New("f", "ab\nc")
	for _, at := range []int{4, 5, 1000} {
		if line, column := text.Position(at); line != 2 || column != 2 {
			t.Errorf("offset %d: %d:%d", at, line, column)
		}
	}
	if line, column := text.Position(-1); line != 1 || column != 1 {
		t.Errorf("offset -1: %d:%d", line, column)
	}
	if text.Offset(0, 5) != 0 || text.Offset(9, 1) != 4 || text.Offset(1, 99) != 2 {
		t.Error("positions outside give other offsets than the nearest")
	}
}

// TestLongLine finds each of a million columns of one line, which would take minutes if each were
// counted from the start of the line.
func TestLongLine(t *testing.T) {
	const line = "é1\u00a0"
	written := "x\n" + strings.Repeat(line, 1<<17)
	text, _ := source.New("f", written)
	column := 1
	for at := range written[2:] {
		if got := text.Offset(2, column); got != at+2 {
			t.Fatalf("column %d: %d, not %d", column, got, at+2)
		}
		column++
	}
	if end := text.Offset(2, column+1000); end != len(written) {
		t.Errorf("behind the end: %d", end)
	}
}

func TestErrorsAreNotLostBehindManyWarnings(t *testing.T) {
	text, _ := source.New("f", "x")
	for i := range 200 {
		text.Warning(0, 1, "w", fmt.Sprintf("warning %d", i), "")
	}
	text.Error(0, 1, "e", "an error", "")
	found := text.Diagnostics()
	if len(found) != 50 || !diagnostic.Diagnostics(found).HasErrors() || !text.Failed() {
		t.Errorf("%d things, failed %v", len(found), text.Failed())
	}
	if !slices.ContainsFunc(found, func(d diagnostic.Diagnostic) bool {
		return strings.Contains(d.Message, "151 more")
	}) {
		t.Error("nothing says that some are not shown")
	}
}

func TestQuoteNeutralises(t *testing.T) {
	for word, want := range map[string]string{
		"a":                      `"a"`,
		"\x1b[31m\n\u202e":       `"\x1b[31m\n\u202e"`,
		strings.Repeat("é", 100): `"` + strings.Repeat("é", 30) + `…"`,
	} {
		if got := source.Quote(word); got != want {
			t.Errorf("Quote(%q) = %s", word, got)
		}
	}
	if got := source.Plain("a \"b\"\n"); got != `a "b"\n` {
		t.Errorf("Plain gives %s", got)
	}
}

func TestExpressions(t *testing.T) {
	tests := []struct {
		text   string
		inner  []string
		broken string
	}{
		{"", nil, ""},
		{"a {{ .nuon.x }} {{- .y -}}", []string{".nuon.x", ".y"}, ""},
		{"{{ index .x \"}}\" }}{{ `}}` }}", []string{"index .x \"}}\"", "`}}`"}, ""},
		{"{{/* }} \" */}}{{- /* a */ -}}", []string{"/* }} \" */", "/* a */"}, ""},
		{"{{ if .x }}{{ range .y }}{{ end }}{{ else }}{{ end }}",
			[]string{"if .x", "range .y", "end", "else", "end"}, ""},
		{"{{ if(.x) }}{{end}}{{with\n.x}}{{end}}", []string{"if(.x)", "end", "with\n.x", "end"}, ""},
		{"{{ .x }", nil, "never ends"},
		{"{{ \"a }}", nil, "never ends"},
		{"{{ if .x }}", []string{"if .x"}, "never ends"},
		{"{{ end }}", []string{"end"}, "closes nothing"},
	}
	for _, test := range tests {
		text, _ := source.New("f", test.text)
		found, ok := text.Expressions()
		var inner []string
		for _, e := range found {
			inner = append(inner, e.Inner)
			if !strings.HasPrefix(test.text[e.Offset:], "{{") || !strings.HasSuffix(test.text[:e.End], "}}") {
				t.Errorf("%q: %+v", test.text, e)
			}
		}
		said := diagnostic.Diagnostics(text.Diagnostics()).String()
		if !slices.Equal(inner, test.inner) || ok != (test.broken == "") || !strings.Contains(said, test.broken) {
			t.Errorf("%q: %q, %s", test.text, inner, said)
		}
	}
}

func TestControlAndComment(t *testing.T) {
	for inner, want := range map[string][2]bool{
		"if .x": {true, false}, "if(.x)": {true, false}, "range\t.x": {true, false}, "iffy .x": {false, false},
		"if_x": {false, false}, "else": {true, false}, "end": {true, false}, "$a := .x": {true, false},
		"$a": {false, false}, ".iffy": {false, false}, "/* x */": {false, true}, "template \"x\"": {true, false},
	} {
		if e := (source.Expression{Inner: inner}); e.Control() != want[0] || e.Comment() != want[1] {
			t.Errorf("%q: control %v, comment %v", inner, e.Control(), e.Comment())
		}
	}
}

func TestPlaceholder(t *testing.T) {
	for length := range 20 {
		p := source.Placeholder(length)
		if len(p) != length || source.HasPlaceholder("a"+p+"b") != (length >= 3) {
			t.Errorf("%d: %q", length, p)
		}
	}
}
