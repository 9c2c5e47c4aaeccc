package render

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// FuzzParse checks three properties for any text: no panic, errors are *Error, and rendering ends
// soon.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "{{.nuon.install.id}}", "{{range $k, $v := .nuon.components.network.outputs.tags}}{{$k}}{{$v}}{{end}}",
		`{{define "x"}}{{end}}{{template "x"}}.nuon`, "{{with .nuon}}{{.id}}{{end}}", "{{$x := .nuon.a}}{{$x = $x.b}}",
		`{{index .nuon.components "a-b" "outputs" 0}}`, `{{dig "a" "b" .nuon.sandbox}}`, "{{nuon.id}}{{.nuon.id}}",
		`{{printf "%5.2f|%q" 1.5 .nuon.install.id | toJson | fromJson}}`, "{{- /* .nuon */ -}}", "{{break}}.nuon",
		"{{range .nuon.sandbox.outputs.zones}}{{.}}{{$.nuon.id}}{{continue}}{{end}}", "{{.nuon.a.b.c | indent 3}}",
		"{{(index (values .nuon.components.network.outputs.tags) 0).x}}", "{{'a'}}{{1i}}{{0x1p-2}}{{nil}}.nuon",
		`{{printf "%9999999d" 1}}.nuon`, `{{repeat 100000 (repeat 100000 "x")}}.nuon`,
		`{{indent 100 (nindent 99 "a\n")}}.nuon`, "{{block \"x\" .}}{{end}}.nuon",
		`{{range .nuon.sandbox.outputs.zones}}{{range $.nuon.sandbox.outputs.zones}}{{$.nuon.id}}{{end}}{{end}}`,
		"{{((((((.nuon.id))))))}}",
		`{{$x := .nuon.sandbox.outputs.zones}}{{range $x}}{{$x = concat $x $x}}{{end}}{{join "," $x}}`,
		"{{99999999999999999999999}}.nuon", `{{regexReplaceAll "(a*)(b|c)+" .nuon.install.id "$1$2"}}`,
		`{{regexSplit "" (repeat 20 "ab") -1 | without "a" | reverse | join "-"}}.nuon`,
		`{{merge (dict "a" (dict "b" 1)) (fromJson "{\"a\":{}}") | toPrettyJson | sha256sum | trunc -7 | substr 1 3 | splitn "a" 2}}.nuon`,
		`{{round "1e308" 15}}{{ceil 1.5e308}}{{slice (list 1 2) 1 9}}{{pick .nuon.components.network.outputs.tags "a"}}`,
		"{{nuon.a}}{{/* nuon.b */}}",
	} {
		f.Add(seed)
	}
	tree := sample()
	f.Fuzz(func(t *testing.T, text string) {
		checkPlaces(t, text, MissingDots(text))
		var tmpl *Template
		var err error
		testtime.CheckCPUCost(t, 10_000, func() { tmpl, err = Parse("f", text) })
		var refused *Error
		if err != nil {
			if !errors.As(err, &refused) {
				t.Fatalf("%T: %v", err, err)
			}
			if strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Fatalf("a terminal would obey %q", err)
			}
			return
		}
		checkPlaces(t, text, tmpl.Uses())
		testtime.CheckCPUCost(t, 10_000, func() { _, err = tmpl.Execute(tree) })
		if err != nil && !errors.As(err, &refused) {
			t.Fatalf("%T: %v", err, err)
		}
	})
}

// checkPlaces checks that every use is in the text at its position.
func checkPlaces(t *testing.T, text string, uses []Use) {
	lines := strings.Split(text, "\n")
	for _, u := range uses {
		if u.Line < 1 || u.Line > len(lines) || u.Column < 1 || u.Width < 0 ||
			!strings.HasPrefix(lines[u.Line-1][u.Column-1:], u.Written[:u.Width]) {
			t.Fatalf("%q: %+v is not what stands there", text, u)
		}
	}
}
