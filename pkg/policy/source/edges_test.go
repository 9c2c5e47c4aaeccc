package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/policy/source"
)

// TestBrokenExpressions checks the place and the words for each mistake in the expressions of a text.
func TestBrokenExpressions(t *testing.T) {
	const (
		unclosed = "error: an expression begins with {{ and never ends (close it with }})"
		closes   = "error: {{ end }} closes nothing (remove it, or open the block with {{ if … }})"
		endless  = "error: a template block begins here and never ends (close it with {{ end }})"
	)
	for text, want := range map[string]string{
		"a\n  {{ .x":                           "f:2:3: " + unclosed,
		"{{ `}}":                               "f:1:1: " + unclosed,
		"{{ \"\\\"}}":                          "f:1:1: " + unclosed,
		"{{/* }}":                              "f:1:1: " + unclosed,
		"{{ .a }}{{":                           "f:1:9: " + unclosed,
		"é{{ end }}":                           "f:1:3: " + closes,
		"{{ if .x }}{{ end }}{{- end -}}":      "f:1:21: " + closes,
		"{{ if .x }}\n{{ range .y }}{{ end }}": "f:1:1: " + endless,
		"{{ if .x }}\n{{ with .y }}":           "f:2:1: " + endless,
		"{{ define \"x\" }}":                   "f:1:1: " + endless,
		"{{ block \"x\" . }}{{ end }}":         "",
		"{{ ifx }}{{ if_x }}{{ endx }}":        "",
		"{ { .x }}":                            "",
		"}} {{ .x }}}}":                        "",
	} {
		checked, ok := source.New("f", text)
		if !ok {
			t.Fatal(text)
		}
		_, ok = checked.Expressions()
		found := diagnostic.Diagnostics(checked.Diagnostics())
		if ok != (want == "") || ok && len(found) > 0 || !ok && found[0].String() != want {
			t.Errorf("%q: %t, %s\nwant %s", text, ok, found, want)
		}
	}
}

// TestOffsetsOfExpressions checks that expressions are where they are written, with what stands in them.
func TestOffsetsOfExpressions(t *testing.T) {
	text := "é {{- .a -}} {{ .c }}{{-\n.b}}\n{{ \"}}\" }}"
	checked, _ := source.New("f", text)
	found, ok := checked.Expressions()
	var got []string
	for _, e := range found {
		got = append(got, fmt.Sprintf("%d %q %q", e.Offset, text[e.Offset:e.End], e.Inner))
	}
	want := []string{`3 "{{- .a -}}" ".a"`, `14 "{{ .c }}" ".c"`, `22 "{{-\n.b}}" ".b"`, `31 "{{ \"}}\" }}" "\"}}\""`}
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Error(diff, ok)
	}
}

// TestMostFindings checks how many problems of a text are reported, which of them, and in which order.
func TestMostFindings(t *testing.T) {
	text, _ := source.New("f", strings.Repeat("x\n", 100))
	for i := range 50 {
		text.Warning(2*(99-i), 1, "w", fmt.Sprintf("warning %d", i), "")
	}
	found := text.Diagnostics()
	if len(found) != 50 || found[0].Message != "warning 49" || found[0].Line != 51 || found[49].Message != "warning 0" {
		t.Errorf("fifty: %d from %q to %q", len(found), found[0].Message, found[len(found)-1].Message)
	}
	text.Warning(0, 1, "w", "one more", "")
	found = text.Diagnostics()
	if len(found) != 50 || found[49].Message != "warning 0; 1 more like these are not shown" || text.Failed() {
		t.Errorf("fifty-one: %d, the last is %q", len(found), found[len(found)-1].Message)
	}
	text.Error(0, -5, "e", "an error", "")
	text.Error(0, 1, "e", "another error", "")
	found = text.Diagnostics()
	if len(found) != 50 || found[0].Message != "an error" || found[0].Width != 0 || !text.Failed() {
		t.Errorf("with errors: %d, the first is %+v", len(found), found[0])
	}
	if again := text.Diagnostics(); cmp.Diff(found, again) != "" {
		t.Error("a second call gives another result:", cmp.Diff(found, again))
	}
}

// TestQuoteShortens checks that a word is cut at a character, and only if it is too long.
func TestQuoteShortens(t *testing.T) {
	for word, want := range map[string]string{
		strings.Repeat("a", 60):        `"` + strings.Repeat("a", 60) + `"`,
		strings.Repeat("a", 61):        `"` + strings.Repeat("a", 60) + `…"`,
		"a" + strings.Repeat("é", 40):  `"a` + strings.Repeat("é", 29) + `…"`,
		strings.Repeat("a", 58) + "漢字": `"` + strings.Repeat("a", 58) + `…"`,
		"\x00\t'\\":                    `"\x00\t'\\"`,
		"":                             `""`,
		"\u200b\ufeff":                 `"\u200b\ufeff"`,
	} {
		if got := source.Quote(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
		if got := source.Plain(word); got != want[1:len(want)-1] {
			t.Errorf("%q without quotes: %s", word, got)
		}
	}
}

// TestPlaceholdersAreFound checks which lengths of an expression leave a placeholder in its place.
func TestPlaceholdersAreFound(t *testing.T) {
	for _, length := range []int{5, 6, 100} { // {{x}} is the shortest expression
		placeholder := source.Placeholder(length)
		if !source.HasPlaceholder("before"+placeholder) || len(placeholder) != length ||
			strings.ContainsAny(placeholder, "\"\\{}\n") {
			t.Errorf("%d: %q", length, placeholder)
		}
	}
	if source.HasPlaceholder("a {{ .x }} \u00e9") {
		t.Error("a text without one has one")
	}
}
