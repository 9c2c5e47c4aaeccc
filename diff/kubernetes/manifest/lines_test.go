package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

func TestOutlineRefusesWhatOnlyTheLibraryUnderstands(t *testing.T) {
	for text, fine := range map[string]bool{
		"a: b\n":                            true,
		"a:\n- b\n- c: d\n  e: f\n":         true,
		"a: 'b\n\nc'\nd: e\n":               true,
		"a: \"b \\\" c\n d\" # e\n":         true,
		"a: |\n\n  b\n\n   c\nd: e\n":       true,
		"a: >2-\n    b\n  c\nd: e\n":        true,
		"a: b\n  c\n\n  d\ne: f\n":          true,
		"a: b # c\n  # d\ne: f\n":           true,
		"a: {b: [c, 'd]']} # e\n":           true,
		"- a\n-\n  - b\n- - c\n":            true,
		"a: b\r\nc: d\r\n":                  true,
		"a: b\n...\n# c\n":                  true,
		"a: b\n... c\n":                     false,
		"a: b # c\n  d\n":                   false, // the comment ends the text
		"a: b\n # c\n  d\n":                 false,
		"a: b: c\n":                         false,
		"a: b\n  c: d\n":                    false,
		"a: |\n     \n  b\n":                false, // YAML does not allow more spaces before the first line
		"a: |\n \tb\n":                      false,
		"a: |\n\tb\n":                       false,
		"a: |x\n  b\n":                      false,
		"a: |#\n  b\n":                      false,
		"a: 'b\n":                           false,
		"a: 'b' c\n":                        false,
		"a: {b: c\n}\n":                     false,
		"a: {b: *c}\n":                      false,
		"a: {b: c} d\n":                     false,
		"a: &b c\n":                         false,
		"a: *b\n":                           false,
		"a: !b c\n":                         false,
		"<<: {a: b}\n":                      false,
		"? a\n: b\n":                        false,
		"a:\tb\n":                           false,
		"a: \tb\n":                          false,
		"\ta: b\n":                          false,
		"a\n":                               false,
		"a:\n    b: c\n  d: e\n":            false,
		"  a: b\nc: d\n":                    false,
		"a: b\n- c\n":                       false,
		"- a\nb: c\n":                       false,
		"a: - b\n":                          false,
		"a: b\rc: d\n":                      false,
		"a: b\u0085 c\n":                    false,
		"a: b\u2028 c\n":                    false,
		"a: b\n\ufeffc: d\n":                false,
		"%YAML 1.1\n---\na: b\n":            false,
		"--- |\n a: b\n":                    false,
		strings.Repeat("- ", 500) + "a\n":   true,
		strings.Repeat("- ", 501) + "a\n":   false,
		strings.Repeat("a", 2000) + ": b\n": false,
	} {
		if _, ok := outline([]byte(text)); ok != fine {
			t.Errorf("%q: outlined is %v", text, ok)
		}
	}
}

func TestScanIsSureOfTheUsualForms(t *testing.T) {
	want := identity{apiVersion: "apps/v1", kind: "Thing", name: "web", namespace: "shop"}
	head := "apiVersion: apps/v1\nkind: \"Thing\" # what\nmetadata:\n"
	for text, sure := range map[string]bool{
		head + "  name: web\n  namespace: 'shop'\n":                                                      true,
		head + "  labels:\n    a: b\n  name: web\n  namespace: shop\nspec:\n  kind: Other\n":             true,
		head + "  annotations:\n    a: |\n      x: 'y\n      [z\n  name: web\n  namespace: shop\n":       true,
		head + "  annotations:\n    \"a/b\": '{\"x\": 1}'\n    c: [d]\n  name: web\n  namespace: shop\n": true,
		head + "  annotations:\n    a: 'x\n      y'\n  name: web\n  namespace: shop\n":                   false,
		head + "  annotations:\n    a: {x: y,\n      z: 1}\n  name: web\n  namespace: shop\n":            false,
		head + "  ownerReferences:\n  - kind: X\n    name: y\n  name: web\n  namespace: shop\n":          true,
		head + "  name: web\n  namespace: shop\nrules:\n- a\n- 'b'\n":                                    true,
		head + "  name: web\n  namespace: shop\nkind: Thing\n":                                           false,
		head + "  name: web\n    b\n  namespace: shop\n":                                                 false,
		head + "  name: web\n  # c\n  namespace: shop\n\n# d\nspec: {}\n...\n":                           true,
		head + "  name: &a web\n  namespace: shop\n":                                                     false,
		head + "  name: web\n  namespace: shop\n\"spec\": x\n":                                           false,
		head + "  name: web\n  namespace: yes\n":                                                         false,
		head + "  name: web\n  namespace: 12\n":                                                          false,
		head + "  name: web\n  namespace: shop\n <<: *a\n":                                               false,
	} {
		id, got, _ := scan([]byte(text))
		if got != sure || got && id != want {
			t.Errorf("%q: sure is %v, of %+v", text, got, id)
		}
	}
}

func TestOldWordsAreSeenOnTheirLines(t *testing.T) {
	for line, old := range map[string]bool{
		"a: yes": true, "  a: on": true, "- NO": true, "  - n": true, "a:   Off": true, "y: 1": true, "  - on: x": true,
		"Yes:": true, "no:": true, "a: 'yes'": false, "a: yesno": false, "this is on": false, "ayes": false, "yes": false,
		"only: x": false, "not": false, "a: Yno": false, "a: true": false, "": false, "- ": false, "a: oN": false,
		"nothing: y x": false,
	} {
		if got := oldWordLine([]byte(line)); got != old {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestValueRefusesAnotherObjectThanTheLinesSay(t *testing.T) {
	read := func() *Object {
		set, err := Read(
			[]Source{{Name: "a", Data: []byte("apiVersion: g/v1\nkind: Thing\nmetadata:\n  name: a\n  namespace: b\n")}},
			Options{})
		if err != nil {
			t.Fatal(err)
		}
		return set.Objects[0]
	}
	if _, err := read().Value(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Object){
		"group": func(o *Object) { o.ID.Group = "h" }, "kind": func(o *Object) { o.ID.Kind = "X" }, "name": func(o *Object) {
			o.ID.Name = "x"
		},
		"namespace": func(o *Object) { o.ID.Namespace = "" }, "version": func(o *Object) {
			o.Version = "v2"
		}, "prefix": func(o *Object) { o.prefix = "x-" },
	} {
		o := read()
		if change(o); o.ID.Kind == "" {
			continue
		}
		if _, err := o.Value(); err == nil {
			t.Errorf("another %s is not seen", name)
		}
	}
}

func TestAliasesCountForTheDepth(t *testing.T) {
	nested := func(levels int, inside string) string {
		return strings.Repeat("[", levels) + inside + strings.Repeat("]", levels)
	}
	for levels, fine := range map[int]bool{200: true, 300: false} {
		o := object([]byte("apiVersion: v1\nkind: Thing\nmetadata: {name: thing}\na: &a " + nested(levels, "x") +
			"\nshallow: *a\nb: " + nested(levels, "*a") + "\n"))
		if _, err := o.Value(); (err == nil) != fine {
			t.Errorf("%d levels twice: %v", levels, err)
		}
	}
}

func TestPlainScalarsAreWhatTheAPIsClientsSay(t *testing.T) {
	for written, want := range map[string]string{
		"": "null", "~": "null", "Null": "null", "nULL": `"nULL"`, "y": "true", "Y": "true", "yes": "true", "ON": "true",
		"off": "false", "n": "false", "yES": `"yES"`,
		"1": "1", "+1": "1", "-0": "0", "007": "7", "0o7": "7", "08": "8", "0x10": "16", "-0b11": "-3", "0b-1": "-1",
		"1_0": "10", "1.": "1", ".5": "0.5", "1.0e2": "100",
		"1e": `"1e"`, "1e+": `"1e+"`, ".": `"."`, "+": `"+"`, "-": `"-"`, "1-1": `"1-1"`, "1.2.3": `"1.2.3"`,
		"18446744073709551615": "18446744073709551615",
		"18446744073709551616": "18446744073709551616", "-00018446744073709551616": "-18446744073709551616", "1e21": "1e+21",
		"1e999": `"1e999"`, ".inf": `".inf"`,
		"+.inf": `"+.inf"`, "0x": `"0x"`, "1__0": "10", "_1": `"_1"`, "é": `"é"`,
	} {
		text, kind := raw.Text(plain(written))
		if kind == "string" {
			text = fmt.Sprintf("%q", text)
		}
		if text != want {
			t.Errorf("%q is %s, want %s", written, text, want)
		}
	}
}
