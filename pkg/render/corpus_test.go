package render

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// TestCorpus parses every template of real apps: each string of their TOML files and each whole
// file that one may name, including the README. All must be accepted. The environment variable
// NUON_CORPUS names the directory of the apps; without it the test reads nothing.
func TestCorpus(t *testing.T) {
	root := os.Getenv("NUON_CORPUS")
	if root == "" {
		t.Skip("NUON_CORPUS is not set")
	}
	var counted struct{ files, texts, templates, uses, undotted int }
	check := func(name, text string) {
		counted.texts++
		counted.undotted += len(MissingDots(text))
		tmpl, err := Parse(name, text)
		if err != nil {
			t.Errorf("%v", err)
			return
		}
		counted.uses += len(tmpl.Uses())
		if len(tmpl.Refs()) > 0 {
			counted.templates++
		}
	}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		counted.files++
		if filepath.Ext(file) != ".toml" {
			check(file, string(raw))
			return nil
		}
		var document map[string]any
		if err := toml.Unmarshal(raw, &document); err != nil {
			return err
		}
		eachString(document, func(text string) { check(file, text) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", counted)
	if counted.templates == 0 {
		t.Error("there is no template in the corpus")
	}
}

func eachString(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, item := range v {
			eachString(item, f)
		}
	case map[string]any:
		for _, item := range v {
			eachString(item, f)
		}
	}
}

// Parsing must be cheap, because validation parses every string of an app.
func BenchmarkParse(b *testing.B) {
	values := strings.Repeat("key:\n  name: some value that is not a template\n",
		2000) + "region: {{ .nuon.install_stack.outputs.region }}\n"
	for name, text := range map[string]string{
		"untouched": "{{ .Values.x }} some text",
		"var":       "{{.nuon.components.network.outputs.cidr}}",
		"values":    values,
		"many": strings.Repeat("key: {{ .nuon.install_stack.outputs.region }} {{ .nuon.inputs.inputs.a }}\n",
			1000),
		"expression": `{{ if gt (len .nuon.install_stack.outputs.roles) 0 }}{{ index (values .nuon.install_stack.outputs.roles) 0 }}{{ end }}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := Parse("vars.x", text); err != nil {
					b.Fatal(errors.Unwrap(err))
				}
			}
		})
	}
}
