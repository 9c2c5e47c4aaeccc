package tree_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// nested returns a JSON object n levels deep.
func nested(n int, leaf string) string {
	return strings.Repeat(`{"a":`, n) + leaf + strings.Repeat("}", n)
}

// bomb returns a small YAML document whose aliases multiply.
func bomb(leaf string) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [" + leaf + "]\n")
	for i := range 12 {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i, i, i, i)
	}
	return b.String()
}

func TestEmbedded(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		format              string // empty: not ok
		was, is             string
	}{
		{"JSON objects", `{"a":1}`, "\n {\"a\": 2, \"b\": [true, null, \"x\"]}\n", "json", `{"a":1}`,
			`{"a":2,"b":[true,null,"x"]}`},
		{"a JSON list and nothing", `[1]`, ``, "json", `[1]`, `null`},
		{"nothing and JSON", ``, `{}`, "json", `null`, `{}`},
		{"numbers as written", `[1.0]`, `[12345678901234567890]`, "json", `[1.0]`, `[12345678901234567890]`},
		{"only spaces differ", `{"a":1}`, `{ "a": 1 }`, "", "", ""},
		{"plain values are no documents", `"a"`, `"b"`, "", "", ""},
		{"one side only is JSON", `{"a":1}`, "plain", "", "", ""},
		{"JSON and YAML", `{"a":1}`, "a: 1\nb: 2\n", "", "", ""},
		{"a name twice", `{"a":1}`, `{"a":1,"a":2}`, "", "", ""},
		{"two values", `{"a":1}`, `{"a":2}{}`, "", "", ""},
		{"cut off", `{"a":1}`, `{"a":2`, "", "", ""},
		{"not UTF-8", `{"a":1}`, "{\"a\":\"\xff\"}", "", "", ""},
		{"deep but not too deep", nested(90, "1"), nested(90, "2"), "json", nested(90, "1"), nested(90, "2")},
		{"too deep", nested(101, "1"), nested(101, "2"), "", "", ""},
		{"equal", `{"a":1}`, `{"a":1}`, "", "", ""},
		{"both empty", ``, ``, "", "", ""},

		{"YAML mappings", "a: 1\nb: yes\n", "a: 2\nb: null\nc: [x, 1.5, 0x1F, 2024-01-01]\n", "yaml", `{"a":1,"b":"yes"}`,
			`{"a":2,"b":null,"c":["x",1.5,"0x1F","2024-01-01"]}`},
		{"YAML lists", "- a\n- b: c\n", "- a\n- b: d\n", "yaml", `["a",{"b":"c"}]`, `["a",{"b":"d"}]`},
		{"YAML with its marker and CRLF", "---\r\na: 1\r\nb: 2\r\n", "a: 1\nb: 3\n", "yaml", `{"a":1,"b":2}`,
			`{"a":1,"b":3}`},
		{"quotes change a type", "a: 1\nb: 2\n", "a: \"1\"\nb: 2\n", "yaml", `{"a":1,"b":2}`, `{"a":"1","b":2}`},
		{"only quotes differ", "a: x\nb: 2\n", "a: 'x'\nb: 2\n", "", "", ""},
		{"a comment differs, too", "#cloud-config\na: 1\nb: 2\n", "#cloud-boothook\na: 1\nb: 3\n", "", "", ""},
		{"a comment beside a value differs", "a: 1 # one\nb: 2\n", "a: 1 # uno\nb: 3\n", "", "", ""},
		{"a comment moves with its key", "# x\na: 1\n# y\nb: 2\n", "# y\nb: 2\n# x\na: 3\n", "yaml", `{"a":1,"b":2}`,
			`{"a":3,"b":2}`},
		{"YAML of one line is text", "a: 1", "a: 2", "", "", ""},
		{"prose is text", "Hello: this\nis prose\n", "Hello: that\nis prose\n", "", "", ""},
		{"a script is text", "#!/bin/sh\na: 1\n", "#!/bin/sh\na: 2\n", "", "", ""},
		{"two YAML documents", "a: 1\n---\nb: 1\n", "a: 1\n---\nb: 2\n", "", "", ""},
		{"tags would be lost", "a: !Ref b\nc: 1\n", "a: !GetAtt b\nc: 2\n", "", "", ""},
		{"tags of lists and mappings, too", "a: !x []\nc: 1\n", "a: !y {}\nc: 1\n", "", "", ""},
		{"a YAML key twice", "a: 1\na: 2\n", "a: 1\na: 3\n", "", "", ""},
		{"a key that is a list", "[a]: 1\nb: 1\n", "[a]: 1\nb: 2\n", "", "", ""},
		{"numbers as keys", "1: a\n2: b\n", "1: a\n2: c\n", "yaml", `{"1":"a","2":"b"}`, `{"1":"a","2":"c"}`},
		{"aliases are followed", "a: &x [1]\nb: *x\n", "a: &x [2]\nb: *x\n", "yaml", `{"a":[1],"b":[1]}`,
			`{"a":[2],"b":[2]}`},
		{"a merge key stays", "a: &x {y: 1}\nb:\n  <<: *x\n", "a: &x {y: 2}\nb:\n  <<: *x\n", "yaml",
			`{"a":{"y":1},"b":{"<<":{"y":1}}}`, `{"a":{"y":2},"b":{"<<":{"y":2}}}`},
		{"an anchor inside itself", "a: &x\n  b: *x\n", "a: &x\n  c: *x\n", "", "", ""},
		{"a bomb", bomb("1"), bomb("2"), "", "", ""},

		{"base64 of text", b64("a line of text\n"), b64("another line\n"), "base64", "a line of text\n", "another line\n"},
		{"base64 of JSON", b64(`{"a":1,"b":2}`), b64(`{"a":1,"b":3}`), "base64", `{"a":1,"b":2}`, `{"a":1,"b":3}`},
		{"base64 and nothing", b64("a line of text"), "", "base64", "a line of text", ""},
		{"wrapped base64", "YSBsaW5lIG9m\nIHRleHQK\n", b64("another line\n"), "base64", "a line of text\n", "another line\n"},
		{"base64 of bytes", b64("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x10\x11"), b64("another line\n"), "", "", ""},
		{"base64 that begins to act on a terminal", b64("\x1b[31m red red red"), b64("another line\n"), "", "", ""},
		{"short words", "password", "passwort", "", "", ""},
		{"a digest", strings.Repeat("0a1b2c3d", 8), strings.Repeat("4e5f6a7b", 8), "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, a, format, ok := tree.Embedded(c.before, c.after)
			if ok != (c.format != "") || format != c.format {
				t.Fatalf("format %q, ok %t; want %q", format, ok, c.format)
			}
			if !ok {
				return
			}
			was, _ := raw.Text(b)
			is, _ := raw.Text(a)
			if was != c.was || is != c.is {
				t.Errorf("got %s and %s, want %s and %s", was, is, c.was, c.is)
			}
		})
	}
}

func TestEmbeddedIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"JSON":   "[" + strings.Repeat("1,", 1<<19) + "1]",
		"YAML":   strings.Repeat("- a: b\n", 1<<16),
		"base64": b64(strings.Repeat("x", 1<<20)),
	} {
		if _, _, format, ok := tree.Embedded(text, ""); ok {
			t.Errorf("%s of %d bytes is looked into as %s", name, len(text), format)
		}
	}
}

// TestEmbeddedIsSymmetric checks that swapping the sides swaps the values.
func TestEmbeddedIsSymmetric(t *testing.T) {
	texts := rapid.OneOf(
		rapid.SampledFrom([]string{"", `{"a":1}`, `{"a":[1,2]}`, "a: 1\nb: 2\n", "a: 1\nb: 3 # x\n", "- x\n- y\n",
			b64("some text here"), b64("a: 1\nb: 2\n"), "word"}),
		rapid.StringMatching(`([a-c]: [1-3]\n){2,3}`), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		before, after := texts.Draw(t, "before"), texts.Draw(t, "after")
		b, a, format, ok := tree.Embedded(before, after)
		a2, b2, format2, ok2 := tree.Embedded(after, before)
		if ok != ok2 || format != format2 || !a.Equal(a2) || !b.Equal(b2) {
			t.Fatalf("%q and %q: %q %t, the other way round %q %t", before, after, format, ok, format2, ok2)
		}
		if ok && b.Equal(a) {
			t.Fatalf("%q and %q hold equal values", before, after)
		}
	})
}

// FuzzEmbedded checks that no text causes a panic, and that two texts with
// equal values are never ok.
func FuzzEmbedded(f *testing.F) {
	f.Add(`{"a":1}`, `{"a":2}`)
	f.Add("a: 1\nb: *x\n", "a: &x [*x]\nb: 2\n")
	f.Add("- a\n- b\n", "")
	f.Add(b64("some text here"), b64("{\"a\":\n1}      "))
	f.Add(bomb("1"), bomb("2"))
	f.Fuzz(func(t *testing.T, before, after string) {
		if b, a, _, ok := tree.Embedded(before, after); ok && b.Equal(a) {
			t.Errorf("%q and %q hold equal values", before, after)
		}
	})
}
