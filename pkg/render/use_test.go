package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// where formats uses as line:column path "as written".
func where(uses []Use) []string {
	var all []string
	for _, u := range uses {
		all = append(all, fmt.Sprintf("%d:%d %s %q", u.Line, u.Column, u.Path, u.Written))
	}
	return all
}

func TestUses(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"no template", nil},
		{"a\n b: {{ .nuon.install.inputs.x }}", []string{`2:8 inputs.inputs.x ".nuon.install.inputs.x"`}},
		{"{{.nuon.a}}{{.nuon.a}}", []string{`1:3 a ".nuon.a"`, `1:14 a ".nuon.a"`}},
		{"{{ $.nuon.id }}", []string{`1:4 install.id "$.nuon.id"`}},
		{`{{index .nuon.components "a-b" "outputs" 0}}`,
			[]string{`1:9 components.a-b.outputs ".nuon.components \"a-b\" \"outputs\""`}},
		{`{{(index .nuon.a "b").c}}`, []string{`1:3 a.b.c "(index .nuon.a \"b\").c"`}},
		{`{{dig "k" "" .nuon.components.x.outputs}}`,
			[]string{`1:14 components.x.outputs ".nuon.components.x.outputs"`}},
		{"{{$x := .nuon.a}}\n{{$x.b}}", []string{`2:3 a.b "$x.b"`}},
		{"{{$x := .nuon.a}}\n{{$x}}", []string{`1:9 a ".nuon.a"`}},
		{"{{$x := .nuon.a}}", []string{`1:9 a ".nuon.a"`}},
		{"{{with .nuon.a}}{{.b}}{{.}}{{end}}", []string{`1:8 a ".nuon.a"`, `1:19 a.b ".b"`}},
		{"{{range .nuon.a}}{{.b}}{{$.nuon.c}}{{end}}", []string{`1:9 a ".nuon.a"`, `1:26 c "$.nuon.c"`}},
		{"{{if and .nuon.a (not .nuon.b)}}{{end}}", []string{`1:10 a ".nuon.a"`, `1:23 b ".nuon.b"`}},
		{"{{with .nuon.install}}{{.name}}{{end}}",
			[]string{`1:8 install.id ".nuon.install"`, `1:25 install.name ".name"`}},
		{"{{toJson .nuon.install}}", []string{`1:10 install ".nuon.install"`}},
		{"é{{.nuon.a}}", []string{`1:5 a ".nuon.a"`}},
		{"{{index .nuon\r\n\"a\"}}", []string{"1:9 a \".nuon\\r\\n\\\"a\\\"\""}},
	} {
		tmpl, err := Parse("t", test.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", test.text, err)
			continue
		}
		if diff := cmp.Diff(test.want, where(tmpl.Uses())); diff != "" {
			t.Errorf("Uses(%q):\n%s", test.text, diff)
		}
	}
}

func TestUseIsAsWideAsItsFirstLine(t *testing.T) {
	tmpl, err := Parse("t", "{{index .nuon\r\n\"a\"}}")
	if err != nil {
		t.Fatal(err)
	}
	if uses := tmpl.Uses(); len(uses) != 1 || uses[0].Width != len(".nuon") {
		t.Errorf("Uses = %+v, want one of the width of .nuon", uses)
	}
}

func TestUsePrinted(t *testing.T) {
	for text, want := range map[string]bool{
		"{{.nuon.a}}":                         true,
		"{{if .nuon.b}}{{.nuon.a}}{{end}}":    true,
		"{{$x := .nuon.a}}{{$x}}":             true,
		"{{index .nuon \"a\"}}":               true,
		"{{.nuon.a | len}}":                   false,
		"{{len .nuon.a}}":                     false,
		"{{if .nuon.a}}{{end}}":               false,
		"{{range .nuon.a}}{{.}}{{end}}":       false,
		"{{with .nuon.a}}{{.}}{{end}}":        false,
		"{{$x := .nuon.a}}":                   false,
		"{{$x := .nuon.a}}{{$x}}{{len $x}}":   false,
		"{{$x := 1}}{{$x = .nuon.a}}{{$x}}":   false,
		"{{dig \"k\" \"\" .nuon.a}}":          false,
		"{{index .nuon.a 0}}":                 false,
		"{{and .nuon.a}}{{/* . */}}":          false,
		"{{(.nuon.a)}}":                       true,
		"{{$x := .nuon.a}}{{$y := $x}}{{$y}}": true,
		"{{print .nuon.a}}":                   false,
	} {
		tmpl, err := Parse("t", text)
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
			continue
		}
		got := true
		for _, u := range tmpl.Uses() {
			if u.Path.HasPrefix("a") {
				got = got && u.Printed
			}
		}
		if got != want {
			t.Errorf("%q: printed is %v, want %v in %+v", text, got, want, tmpl.Uses())
		}
	}
}

// Every ref has a place, every place has a ref (or a part of one), and the text at the place
// matches.
func TestUsesAndRefsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := "{{$x := $.nuon.install}}\n" + randomTemplate(t, knownPaths(randomTree(t)), 3) + "{{/*.nuon*/}}"
		tmpl, err := Parse("t", text)
		if err != nil {
			return // it reads everything below .nuon
		}
		named := map[string]bool{}
		for _, u := range tmpl.Uses() {
			named[u.Path.String()] = true
			line := strings.Split(text, "\n")[u.Line-1]
			if !strings.HasPrefix(line[u.Column-1:], u.Written[:u.Width]) || u.Written == "" {
				t.Fatalf("%q: %+v is not what stands there", text, u)
			}
		}
		whole := named["install"]
		for _, ref := range tmpl.Refs() {
			if name := ref.String(); !named[name] && !(whole && (name == "sandbox" || name == "inputs.inputs")) {
				t.Fatalf("%q: ref %s has no use in %v", text, name, where(tmpl.Uses()))
			}
			delete(named, ref.String())
		}
		for name := range named {
			t.Fatalf("%q: use %s is no ref", text, name)
		}
	})
}

func TestUndotted(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"nuon.install.id outside", nil},
		{"{{.nuon.install.id}} {{ $.nuon.id }}", nil},
		{"of {{nuon.install.id}}", []string{`1:6 install.id "nuon.install.id"`}},
		{"\n{{- nuon.install.inputs.x | upper -}}{{nuon.id}}",
			[]string{`2:5 inputs.inputs.x "nuon.install.inputs.x"`, `2:40 install.id "nuon.id"`}},
		{`{{printf "nuon.a" (nuon.b)}}`, []string{`1:20 b "nuon.b"`}},
		{"{{/* nuon.a }} */}}{{`nuon.b }}`}}", nil},
		{`{{ "a \" nuon.a" nuon.c`, []string{`1:18 c "nuon.c"`}},
		{"{{nuon.}}{{nuon..a}}{{nuon}}{{xnuon.a}}{{.x.nuon.a}}", nil},
	} {
		if diff := cmp.Diff(test.want, where(MissingDots(test.text))); diff != "" {
			t.Errorf("Undotted(%q):\n%s", test.text, diff)
		}
	}
}
