package format_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// TestDecodeGolden decodes the files in testdata, each as the kind that its folder names, and compares all that is
// reported of it and the whole result, with its defaults. -update accepts what changed.
func TestDecodeGolden(t *testing.T) {
	const file = "testdata/decode.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kinds, decoded := map[string]bool{}, &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".want") {
			continue
		}
		kind, _, _ := strings.Cut(f.Name, "/")
		kinds[kind] = true
		want := txtar.File{Name: f.Name + ".want", Data: []byte(decodeAs(t, kind, f.Data))}
		decoded.Files = append(decoded.Files, f, want)
	}
	for _, k := range format.Kinds() {
		if !kinds[k.Name] && !k.OpenEnded && k.Name != "full" && k.Name != "component" {
			t.Errorf("no file of the kind %s is decoded", k.Name)
		}
	}
	golden.Check(t, file, string(txtar.Format(decoded)))
}

// decodeAs decodes a text and returns the diagnostics, one per line, and the result as JSON.
func decodeAs(t *testing.T, kind string, text []byte) string {
	t.Helper()
	k, ok := format.FindKind(kind)
	if !ok {
		t.Fatalf("there is no kind %s", kind)
	}
	table, wrong := syntax.Parse("f", text)
	if wrong != nil {
		t.Fatal(wrong)
	}
	into := reflect.New(k.Type)
	var found diagnostic.Diagnostics
	format.Decode(table, k.Keys(), into.Interface(), func(d diagnostic.Diagnostic) { found = append(found, d) })
	found.Sort()
	var b strings.Builder
	for _, d := range found {
		fmt.Fprintf(&b, "%d:%d+%d %s %s: %s\n", d.Line, d.Column, d.Width, d.Severity, d.Rule, d.Message)
		if d.Hint != "" {
			fmt.Fprintf(&b, "\t%s\n", d.Hint)
		}
	}
	result, err := json.Marshal(into.Interface())
	if err != nil {
		t.Fatal(err)
	}
	b.Write(result)
	b.WriteByte('\n')
	return b.String()
}
