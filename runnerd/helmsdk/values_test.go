package helmsdk

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMergeValues(t *testing.T) {
	type m = map[string]any
	type l = []any
	for name, test := range map[string]struct {
		files []string
		sets  []Set
		want  m
	}{
		"nothing":    {nil, nil, m{}},
		"empty file": {[]string{"# nothing\n"}, nil, m{}},
		"types": {[]string{"i: 1000000\nf: 1.5\nb: true\ns: \"5\"\nnone: null\nbig: 9007199254740993\n"}, nil,
			m{"i": int64(1000000), "f": 1.5, "b": true, "s": "5", "none": nil, "big": int64(9007199254740993)}},
		"later wins": {[]string{"a: {x: 1, l: [1, 2]}\nb: 1\n", "a: {l: [3]}\nb: {z: 1}\n"}, nil,
			m{"a": m{"x": int64(1), "l": l{int64(3)}}, "b": m{"z": int64(1)}}},
		"null deletes": {[]string{"a: {x: 1}\n", "a: null\n"}, nil, m{"a": nil}},
		"JSON":         {[]string{`{"a": {"b": 2}}`}, nil, m{"a": m{"b": int64(2)}}},
		"sets": {[]string{"image: {tag: old, name: web}\n"},
			[]Set{{"image.tag", "1.0"}, {"replicas", int64(3)}, {"on", false}, {"off", nil}},
			m{"image": m{"tag": "1.0", "name": "web"}, "replicas": int64(3), "on": false, "off": nil}},
		"order": {nil, []Set{{"a", 1}, {"a", 2}}, m{"a": 2}},
		"list": {nil, []Set{{"hosts[0].name", "a"}, {"hosts[1].name", "b"}},
			m{"hosts": l{m{"name": "a"}, m{"name": "b"}}}},
		"list of scalars": {[]string{"l: [1, 2]\n"}, []Set{{"l[1]", "x"}}, m{"l": l{int64(1), "x"}}},
		"escaped":         {nil, []Set{{`notes.example\.com/owner`, "me"}}, m{"notes": m{"example.com/owner": "me"}}},
		"quoted": {nil, []Set{{`notes."example.com/owner,=[0]".x`, "me"}},
			m{"notes": m{"example.com/owner,=[0]": m{"x": "me"}}}},
		"value is data": {nil, []Set{{"a", "x,b=1,c={1,2}"}, {"d", "null"}, {"e", ""}, {"f", `\`}},
			m{"a": "x,b=1,c={1,2}", "d": "null", "e": "", "f": `\`}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := MergeValues(test.files, test.sets)
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %#v, %v, want %#v", got, err, test.want)
			}
		})
	}
}

func TestMergeValuesRefused(t *testing.T) {
	for name, test := range map[string]struct {
		file, key string
		want      string
	}{
		"not YAML":       {file: "a: [", want: "values file 1 is not YAML"},
		"a list":         {file: "- a", want: "not a mapping"},
		"bomb":           {file: bomb(), want: "aliases"},
		"comma":          {key: "a,b", want: "double quotes"},
		"equals":         {key: "a=b", want: "double quotes"},
		"no key":         {key: "", want: "is empty"},
		"dot at the end": {key: "a.", want: "ends with a dot"},
		"two dots":       {key: "a..b", want: "empty part"},
		"first dot":      {key: ".a", want: "empty part"},
		"open quote":     {key: `a."b`, want: "within quotes"},
		"backslash":      {key: `a\`, want: "backslash"},
		"index":          {key: "a[x]", want: "cannot be set"},
		"negative":       {key: "a[-1]", want: "cannot be set"},
		"large index":    {key: "a[100000000]", want: "cannot be set"},
		"in a scalar":    {file: "a: 1", key: "a.b", want: "cannot be set"},
		"open index":     {key: "a[0", want: "cannot be set"},
		"deep":           {key: strings.Repeat("a.", 100) + "a", want: "cannot be set"},
	} {
		t.Run(name, func(t *testing.T) {
			var sets []Set
			if test.want != "" && test.file == "" || test.key != "" {
				sets = []Set{{Key: test.key, Value: "secret-value"}}
			}
			_, err := MergeValues([]string{test.file}, sets)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret-value") {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

// Any key that is quoted as a whole is one key, and any text is a value.
func TestQuotedKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[^"\\\x00]{1,20}`).Draw(t, "key")
		value := rapid.OneOf(rapid.Just[any](nil), rapid.Just[any](true), rapid.Map(rapid.String(), func(s string) any {
			return s
		}), rapid.Map(rapid.Int64(), func(i int64) any { return i }),
			rapid.Just[any](math.Pi)).Draw(t, "value")
		got, err := MergeValues(nil, []Set{{Key: `"` + key + `"`, Value: value}})
		if err != nil || !slices.Equal(slices.Collect(maps.Keys(got)), []string{key}) || got[key] != value {
			t.Fatalf("%q = %#v gives %#v, %v", key, value, got, err)
		}
	})
}

// No key and no file causes a panic.
func FuzzMergeValues(f *testing.F) {
	f.Add("a: 1", "a.b[0]")
	f.Add("a: &a [*a]", `"`)
	f.Fuzz(func(_ *testing.T, file, key string) {
		_, _ = MergeValues([]string{file}, []Set{{Key: key, Value: "v"}})
	})
}
