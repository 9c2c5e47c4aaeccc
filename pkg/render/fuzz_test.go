package render

import (
	"errors"
	"testing"
	"time"
)

// FuzzParse holds three promises for any text: no panic, errors are *Error, and rendering ends soon.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "{{.nuon.install.id}}", "{{range $k, $v := .nuon.components.network.outputs.tags}}{{$k}}{{$v}}{{end}}",
		`{{define "x"}}{{end}}{{template "x"}}.nuon`, "{{with .nuon}}{{.id}}{{end}}", "{{$x := .nuon.a}}{{$x = $x.b}}",
		`{{index .nuon.components "a-b" "outputs" 0}}`, `{{dig "a" "b" .nuon.sandbox}}`, "{{nuon.id}}{{.nuon.id}}",
		`{{printf "%5.2f|%q" 1.5 .nuon.install.id | toJson | fromJson}}`, "{{- /* .nuon */ -}}", "{{break}}.nuon",
		"{{range .nuon.sandbox.outputs.zones}}{{.}}{{$.nuon.id}}{{continue}}{{end}}", "{{.nuon.a.b.c | indent 3}}",
		"{{(index (values .nuon.components.network.outputs.tags) 0).x}}", "{{'a'}}{{1i}}{{0x1p-2}}{{nil}}.nuon",
	} {
		f.Add(seed)
	}
	tree := sample()
	f.Fuzz(func(t *testing.T, text string) {
		begun := time.Now()
		tmpl, err := Parse("f", text)
		var refused *Error
		if err != nil {
			if !errors.As(err, &refused) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if _, err := tmpl.Execute(tree); err != nil && !errors.As(err, &refused) {
			t.Fatalf("%T: %v", err, err)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Fatalf("took %s", took)
		}
	})
}
