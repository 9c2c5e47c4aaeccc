package raw_test

import (
	"bytes"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

const planted = "planted-secret"

func parse(t interface {
	Helper()
	Fatal(...any)
}, text string) raw.Value {
	t.Helper()
	v, err := raw.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// leaks reports whether a text contains the planted secret, in clear or in hex.
func leaks(text string) bool {
	return strings.Contains(text, planted) || strings.Contains(strings.ToLower(text), hex.EncodeToString([]byte(planted)))
}

// TestNothingShowsAValue prints, logs and encodes a value in every way of Go
// programs, alone and inside other values.
func TestNothingShowsAValue(t *testing.T) {
	v := parse(t, `{"key":["`+planted+`"]}`)
	inner, _ := v.Get("key")
	plain := raw.Of(planted)
	for _, each := range []any{v, &v, inner, plain, &plain, []raw.Value{v}, map[string]raw.Value{"v": plain},
		struct{ V raw.Value }{plain}, struct{ V any }{plain}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%20s", "%T"} {
			if out := fmt.Sprintf(verb, each); leaks(out) {
				t.Errorf("%s of %T: %s", verb, each, out)
			}
		}
		if out := fmt.Sprint(each) + fmt.Sprintln(each) + fmt.Errorf("in %v", each).Error(); leaks(out) {
			t.Errorf("%T: %s", each, out)
		}
		var log bytes.Buffer
		for _, h := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
			slog.New(h).With("with", each).Info("value", "v", each, slog.Group("g", "v", each), slog.Any("any", each))
		}
		if leaks(log.String()) {
			t.Errorf("the log of %T: %s", each, log.String())
		}
	}
}

func TestNothingEncodesAValue(t *testing.T) {
	plain := raw.Of(planted)
	for name, encode := range map[string]func(any) ([]byte, error){
		"json":   json.Marshal,
		"indent": func(v any) ([]byte, error) { return json.MarshalIndent(v, "", " ") },
		"xml":    xml.Marshal,
		"gob": func(v any) ([]byte, error) {
			var b bytes.Buffer
			err := gob.NewEncoder(&b).Encode(v)
			return b.Bytes(), err
		},
		"yaml": func(v any) (out []byte, err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("%v", p)
				}
			}()
			return yaml.Marshal(v)
		},
	} {
		for _, each := range []any{plain, &plain, struct{ V raw.Value }{plain}, []raw.Value{plain},
			map[string]*raw.Value{"v": &plain}} {
			out, err := encode(each)
			if err == nil && name != "xml" || leaks(string(out)) || err != nil && leaks(err.Error()) {
				t.Errorf("%s of %T: %q, %v", name, each, out, err)
			}
		}
	}
	if _, err := plain.MarshalText(); !errors.Is(err, raw.ErrSecret) {
		t.Errorf("text: %v", err)
	}
}

// TestErrorsDoNotQuote checks that an error does not repeat the input.
func TestErrorsDoNotQuote(t *testing.T) {
	for text, at := range map[string]string{
		`{"a":"` + planted: "byte", `"` + planted + `" "` + planted + `"`: "more than one", planted: "byte", ``: "byte",
		`{"a":1}x`: "more than one",
	} {
		_, err := raw.Parse([]byte(text))
		if err == nil || leaks(err.Error()) || !strings.Contains(err.Error(), at) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestWalk(t *testing.T) {
	v := parse(t, `{"b":[1,null,{"c":true}],"a":"x"}`)
	if got := strings.Join(v.Keys(), ","); got != "a,b" {
		t.Errorf("keys %s", got)
	}
	list, ok := v.Get("b")
	if !ok || list.Len() != 3 || !list.IsList() || list.IsObject() || !list.At(1).IsNull() || !list.At(-1).IsNull() ||
		!list.At(3).IsNull() {
		t.Error("the list is not what it was")
	}
	if c, ok := list.At(2).Get("c"); !ok || !c.IsTrue() {
		t.Error("the object in the list is not what it was")
	}
	if _, ok := list.Get("x"); ok || list.Keys() == nil || len(list.Keys()) != 0 || v.Len() != 0 {
		t.Error("a list has keys, or an object a length")
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		`null`: "null null", `true`: "true bool", `12345678901234567890123`: "12345678901234567890123 number",
		`1.0`:     "1.0 number",
		`"<a>\n"`: "<a>\n string", `{"b":1,"a":"<"}`: `{"a":"<","b":1} object`, `[1, {}]`: `[1,{}] list`, `""`: " string",
	} {
		got, kind := raw.Text(parse(t, text))
		if got+" "+kind != want {
			t.Errorf("%s: %q, %s", text, got, kind)
		}
	}
}

func values() *rapid.Generator[any] {
	words := rapid.SampledFrom([]string{"a", "b", "", "1", "true", "null", "[]", "{}"})
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Bool().AsAny(), words.AsAny(), rapid.Custom(func(t *rapid.T) any {
		return json.Number(rapid.SampledFrom([]string{"0", "1", "1.0", "-1"}).Draw(t, "number"))
	}))
	list := rapid.SliceOfN(leaf, 0, 3).AsAny()
	object := rapid.MapOfN(words, rapid.OneOf(leaf, list), 0, 3).AsAny()
	return rapid.OneOf(leaf, list, object, rapid.SliceOfN(rapid.OneOf(object, list), 0, 3).AsAny())
}

// TestEqualAndHash checks that values are equal exactly if their text and
// type are, and that equal values have one hash.
func TestEqualAndHash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := raw.Of(values().Draw(t, "a")), raw.Of(values().Draw(t, "b"))
		textA, kindA := raw.Text(a)
		textB, kindB := raw.Text(b)
		if same := textA == textB && kindA == kindB; a.Equal(b) != same || b.Equal(a) != same {
			t.Fatalf("%s %s and %s %s: equal %t", textA, kindA, textB, kindB, a.Equal(b))
		}
		if (a.Hash() == b.Hash()) != a.Equal(b) {
			t.Fatalf("%s %s and %s %s: hashes", textA, kindA, textB, kindB)
		}
		if back := parse(t, marshalled(t, a)); !back.Equal(a) {
			t.Fatalf("%s is another value after it was written and read", textA)
		}
	})
}

// TestTextIsJSON checks that lists and objects have the text that package encoding/json writes.
func TestTextIsJSON(t *testing.T) {
	special := []string{"<a> & b", "a\n\tb\"c\\d", "a\r\nb", "a\né\n", "\u2028", "\xff", "a\x7fb", "\"", "\\", "\x01", "é"}
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom(special))
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOfN(text, text.AsAny(), 0, 4).Draw(t, "object")
		list := []any{nil, true, json.Number("1.50"), object, map[string]any{}, []any{}}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(list); err != nil {
			t.Fatal(err)
		}
		if got, kind := raw.Text(raw.Of(list)); got+"\n" != want.String() || kind != "list" {
			t.Fatalf("%s %s, want %s", kind, got, want.String())
		}
	})
}

// TestShortValues checks that values that are read without a decoder are those of the decoder, which
// reads everything that starts with a space.
func TestShortValues(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `false`, `{}`, `[]`, `0`, `7`, `1234567890123456789012`, `01`, `-1`, `1.5`, `1e3`, ``, `"`, `""`,
		`"a b"`, `"a\n"`, `"a"b"`, `"é"`, "\"a\tb\"", `"a`, `tru`, `"\u0041"`, "\"\x7f\"", `[ ]`, `1 `, `+1`,
	} {
		got, err := raw.Parse([]byte(text))
		want, wantErr := raw.Parse([]byte(" " + text))
		if (err == nil) != (wantErr == nil) || !got.Equal(want) {
			a, _ := raw.Text(got)
			b, _ := raw.Text(want)
			t.Errorf("%s: %s, %v; the decoder: %s, %v", text, a, err, b, wantErr)
		}
	}
}

// TestChangedObjects checks objects with another or without a field, which must not change the object.
func TestChangedObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.StringMatching("[a-e]{1,2}")
		fields := rapid.MapOfN(keys, rapid.Int().AsAny(), 0, 20).Draw(t, "fields")
		key := keys.Draw(t, "key")
		object := raw.Of(fields)
		before, _ := raw.Text(object)
		with, without := object.With(key, raw.OfText("new")), object.Without(key)
		changed := maps.Clone(fields)
		if changed == nil {
			changed = map[string]any{}
		}
		delete(changed, key)
		if !without.Equal(raw.Of(changed)) {
			t.Fatalf("%s without %s", before, key)
		}
		changed[key] = "new"
		if !with.Equal(raw.Of(changed)) {
			t.Fatalf("%s with %s", before, key)
		}
		if after, _ := raw.Text(object); after != before {
			t.Fatalf("%s became %s", before, after)
		}
	})
}

// TestRepeatedKeys checks that an object cannot have a key twice.
func TestRepeatedKeys(t *testing.T) {
	field := func(key string) raw.Field { return raw.Field{Key: key} }
	if _, ok := raw.OfObject([]raw.Field{field("b"), field("a"), field("b")}); ok {
		t.Error("a key is in an object twice")
	}
	v, ok := raw.OfObject([]raw.Field{field("b"), field("a")})
	if got := strings.Join(v.Keys(), ","); !ok || got != "a,b" {
		t.Errorf("keys %s", got)
	}
}

func marshalled(t *rapid.T, v raw.Value) string {
	data, err := json.Marshal(raw.Reveal(v))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLeaves(t *testing.T) {
	v := parse(t, `{"a":["b",1,true,null,{"c":"d"}]}`)
	seen := map[string]bool{}
	all := raw.Leaves(v, func(text string, isKey bool) bool { seen[fmt.Sprint(text, isKey)] = true; return true })
	if !all || fmt.Sprint(seen) != "map[1false:true atrue:true bfalse:true ctrue:true dfalse:true]" {
		t.Errorf("leaves %v", seen)
	}
	if raw.Leaves(v, func(text string, _ bool) bool { return text != "d" }) {
		t.Error("it went on after it was told to stop")
	}
}

// TestZeroValue checks that a value that was never set is null.
func TestZeroValue(t *testing.T) {
	var v raw.Value
	if text, kind := raw.Text(v); !v.IsNull() || text != "null" || kind != "null" || v.Len() != 0 ||
		!v.Equal(raw.Of(nil)) {
		t.Error("the zero value is not null")
	}
}
