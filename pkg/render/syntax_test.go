package render

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// TestSyntax checks that messages about common mistakes state what to write instead.
func TestSyntax(t *testing.T) {
	for text, want := range map[string]string{
		"x {{.nuon.a":                                 "k:1:3: an expression is not closed (write }} behind it)",
		"x\n{{.nuon.a }} {{ .nuon.b \n":               "k:2:14: an expression is not closed (write }} behind it)",
		"{{/* {{.nuon.a}}":                            "k:1:1: an expression is not closed (write }} behind it)",
		"{{if .nuon.a}}\n{{- with .nuon.b }}x{{end}}": "k:1:1: if is not ended (write {{end}} where it ends)",
		"{{if .nuon.a}}\n  {{- with .nuon.b }}x":      "k:2:3: with is not ended (write {{end}} where it ends)",
		"{{.nuon.a}}{{end}}": "k:1: there is an {{end}} too many (remove it, or write the if, " +
			"range or with that it ends)",
		"{{.nuon.a}}{{else}}": "k:1: there is an {{else}} without an if, range or with before it " +
			"(remove it)",
		"{{(.nuon.a}}":                              "k:1: a parenthesis is not closed (write ) behind it)",
		"{{ .nuon.a | default \"x }}":               "k:1: a text in an expression is not closed (write its quote behind it)",
		"{{ .nuon.a | default 'xyz' }}":             `k:1: a text in an expression stands in double quotes (write "text")`,
		"{{ $y }}{{.nuon.a}}":                       "k:1: there is no variable $y (set it before: {{ $y := … }})",
		"{{ if .nuon.a = 1 }}{{end}}":               `k:1: an expression does not compare with = (write eq A B, such as {{ if eq .nuon.install.name "acme" }})`,
		"{{ .nuon.a | 5 }}":                         "k:1: what stands behind a | must be a function (write A | FUNCTION)",
		"{{ }}{{.nuon.a}}":                          "k:1: an expression is empty (write what it should give, or remove it)",
		"{{if}}{{.nuon.a}}{{end}}":                  "k:1: if says nothing to look at (write an expression behind it)",
		"a\n{{.nuon.inputs.inputs.my-input}}":       `k:2:3: a name with a dash cannot stand behind a dot (write index .nuon.inputs.inputs "my-input")`,
		"{{.nuon.actions.workflows.a-b.outputs.x}}": `k:1:3: a name with a dash cannot stand behind a dot (write (index .nuon.actions.workflows "a-b").outputs.x)`,
		"{{.nuon.a}}{{ a-b }}":                      `k:1: a name with a dash cannot stand behind a dot (write index PATH "NAME")`,
	} {
		_, err := Parse("k", text)
		if err == nil {
			t.Errorf("%q parses", text)
		} else if err.Error() != want {
			t.Errorf("%q:\n%v\nwant\n%s", text, err, want)
		}
	}
}

// TestSyntaxPlaces checks that the position of every parse error is inside the text.
func TestSyntaxPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := ".nuon" + rapid.StringMatching(`(\{\{-? ?|-? ?\}\}|if |end|else|with |range |\.nuon\.a|a-b|"|`+"`"+
			`|'|/\*|\*/|\n|\$x|=|\||\(|\)| ){0,12}`).Draw(t, "text")
		_, err := Parse("k", text)
		var refused *Error
		if !errors.As(err, &refused) {
			return
		}
		lines := linesOf(text)
		if refused.Line > len(lines.starts) || refused.Column > 0 &&
			lines.offset(refused.Line, refused.Column)+refused.Width > len(text) {
			t.Fatalf("%q: %v, %d wide, is not in it", text, refused, refused.Width)
		}
	})
}
