package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sprigArguments are the kinds of the arguments with which each function must return what Sprig's
// returns, because existing configs are written for Sprig. A trailing * repeats the last kind.
//
//	s text   a ASCII text   w words   d digits   n whole number   c small number from 0   f number   v scalar
//	b bool   l list   o object   k key   r regular expression   j JSON   B base64
var sprigArguments = map[string]string{
	"upper": "s", "lower": "s", "trim": "s", "trimPrefix": "ss", "trimSuffix": "ss", "trimAll": "ss", "hasPrefix": "ss",
	"hasSuffix": "ss", "contains": "ss", "replace": "sss", "quote": "v*", "squote": "v*", "indent": "cs", "nindent": "cs",
	"title": "s", "untitle": "s", "trunc": "na", "substr": "nca", "nospace": "a", "repeat": "cs", "split": "ss",
	"splitList": "ss", "splitn": "scs", "join": "sl", "cat": "v*", "toString": "s", "toStrings": "l", "sortAlpha": "l",
	"snakecase": "w", "kebabcase": "w", "base": "s", "dir": "s", "ext": "s", "clean": "s",

	"regexMatch": "rs", "regexFind": "rs", "regexReplaceAll": "rss", "regexReplaceAllLiteral": "rss",
	"regexSplit": "rsn", "regexQuoteMeta": "s", "mustRegexMatch": "rs", "mustRegexFind": "rs",
	"mustRegexReplaceAll": "rss",
	"b64enc":              "s", "b64dec": "B", "sha1sum": "s", "sha256sum": "s", "sha512sum": "s",
	"toRawJson": "l", "toPrettyJson": "o", "fromJson": "j", "mustToRawJson": "o", "mustToPrettyJson": "l",
	"mustFromJson": "j",

	"default": "vv", "coalesce": "v*", "empty": "v", "ternary": "vvb", "all": "v*", "any": "v*", "kindOf": "v",
	"kindIs": "sv", "deepEqual": "ll",
	"list": "v*", "tuple": "v*", "first": "l", "last": "l", "rest": "l", "initial": "l", "reverse": "l", "uniq": "l",
	"compact": "l", "append": "lv", "prepend": "lv", "concat": "l*", "has": "vl", "without": "lv*", "slice": "lcc",
	"dict": "kvkv", "get": "ok", "hasKey": "ok", "pluck": "ko*", "pick": "ok*", "omit": "ok*", "keys": "o*",
	"values": "o", "dig": "kkvo",

	"int": "n", "int64": "n", "atoi": "d", "float64": "f", "add1": "n", "ceil": "f", "floor": "f", "round": "fc",
	"add": "n*", "sub": "nn", "mul": "n*", "div": "nn", "mod": "nn", "min": "n*", "max": "n*",
}

// notSprig are the functions that Sprig has not, or that differ on purpose, with the reason.
var notSprig = map[string]string{
	"merge":  "in Sprig an empty value of the first object is replaced, and the first object changes",
	"toJson": "Sprig's escapes <, > and & for HTML", "mustToJson": "as toJson",
	"eq": goFunction, "ne": goFunction, "lt": goFunction, "le": goFunction, "gt": goFunction, "ge": goFunction,
	"not": goFunction, "len": goFunction, "index": goFunction, "print": goFunction, "println": goFunction,
	"printf": goFunction, "urlquery": goFunction,
	"fail": "always fails",
}

const goFunction = "text/template has it, and not Sprig"

// TestEveryFunctionIsComparedWithSprig keeps the two tables above complete.
func TestEveryFunctionIsComparedWithSprig(t *testing.T) {
	theirs := sprig.TxtFuncMap()
	for name := range functions {
		_, same := sprigArguments[name]
		_, other := notSprig[name]
		if same == other {
			t.Errorf("%s is in both tables or in none", name)
		}
		if same && theirs[name] == nil {
			t.Errorf("Sprig has no %s", name)
		}
	}
}

// sprigArgument draws an argument of a kind.
func sprigArgument(t *rapid.T, kind byte) any {
	texts := []string{"", "a", "b", "ab", "a,b", " a b ", "Ab-cd", "foo_bar", "FooBar", "foo.Bar/baz.tgz", "éa ÿ", "A1",
		"x\ny",
		"aaa", "$1", "-", ",", "1"}
	scalars := []any{"", "a", "b", "a b", int64(0), int64(1), int64(-7), true, false, nil}
	switch kind {
	case 's':
		return rapid.SampledFrom(texts).Draw(t, "text")
	case 'a': // Sprig reads bytes, and not characters
		return rapid.StringOf(rapid.SampledFrom([]rune("ab \t\n-"))).Draw(t, "ASCII text")
	case 'w': // where digits and other characters end a word depends on what is around them in Sprig
		return rapid.SampledFrom([]string{"", "a", "FooBar", "fooBar", "HTTPServer", "getURL", "aURLOf", "foo-bar baz", "A",
			"foo_Bar", "ÄpfelÖl"}).Draw(t, "words")
	case 'd':
		return rapid.SampledFrom([]string{"0", "7", "-12"}).Draw(t, "digits")
	case 'k':
		return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")
	case 'n':
		return rapid.Int64Range(-9, 9).Draw(t, "number")
	case 'c':
		return rapid.Int64Range(0, 4).Draw(t, "count")
	case 'f':
		return rapid.SampledFrom([]any{0.5, 2.25, 7.0, 1.005, "2.5", "3", int64(4)}).Draw(t, "float")
	case 'v':
		return rapid.SampledFrom(scalars).Draw(t, "scalar")
	case 'b':
		return rapid.Bool().Draw(t, "bool")
	case 'r':
		return rapid.SampledFrom([]string{"a", "a*", "[a-z]+", `(a)(b)?`, "^", "b$", `\s`, ""}).Draw(t, "regexp")
	case 'j':
		return rapid.SampledFrom([]string{`{"a":[1,2.5,"x",null,true]}`, `[]`, `"s"`, `7`, `{"b":{}}`}).Draw(t, "JSON")
	case 'B':
		return rapid.SampledFrom([]string{"", "YQ==", "aGVsbG8="}).Draw(t, "base64")
	case 'o':
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "keys") {
			object[sprigArgument(t, 'k').(string)] = rapid.SampledFrom([]any{"", "x", int64(1), nil, []any{"l"},
				map[string]any{"a": "deep", "b": int64(2)}}).Draw(t, "value")
		}
		return object
	}
	list := []any{}
	for range rapid.IntRange(0, 4).Draw(t, "items") {
		list = append(list, rapid.SampledFrom(scalars).Draw(t, "item"))
	}
	return list
}

// callSprig calls a function of Sprig as a template does.
func callSprig(name string, args []any) (result any, err error) {
	text, values := "{{ keep ("+name, map[string]any{}
	for i, arg := range args {
		key := fmt.Sprintf("a%d", i)
		if n, ok := arg.(int64); ok && !strings.Contains(sprigArguments[name], "v") {
			arg = int(n) // as a number that is written in a template
		}
		text, values[key] = text+" ."+key, arg
	}
	keep := func(v any) string { result = v; return "" }
	parsed, err := template.New("").Funcs(sprig.TxtFuncMap()).Funcs(template.FuncMap{"keep": keep}).Parse(text + ") }}")
	if err != nil {
		return nil, err
	}
	if err := parsed.Execute(&strings.Builder{}, values); err != nil {
		return nil, err
	}
	return normalize(result, 0)
}

// TestFunctionsAgreeWithSprig calls each function with arguments that Sprig's takes, and compares the results.
// Where Sprig's fails there is nothing to compare.
func TestFunctionsAgreeWithSprig(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(sprigArguments)) {
		t.Run(name, func(t *testing.T) {
			compared := 0
			rapid.Check(t, func(t *rapid.T) {
				kinds := sprigArguments[name]
				if more, ok := strings.CutSuffix(kinds, "*"); ok {
					last := more[len(more)-1:]
					kinds = more + strings.Repeat(last, rapid.IntRange(0, 3).Draw(t, "more"))
				}
				var args []any
				for _, kind := range []byte(kinds) {
					args = append(args, sprigArgument(t, kind))
				}
				want, err := callSprig(name, slices.Clone(args))
				if err != nil {
					return
				}
				compared++
				got, err := functions[name].call(&budget{left: maxWork}, args)
				if name == "slice" && (err != nil || want == nil) { // Sprig's reads behind the end of a list
					return
				}
				if err != nil {
					t.Fatalf("%s %q: %v, and Sprig's gives %q", name, args, err, want)
				}
				if name == "keys" || name == "values" { // in any order in Sprig
					got, want = inOrder(got), inOrder(want)
				}
				if f, ok := got.(float64); ok { // Sprig's gives 7 and 7.0, which are one number in JSON
					got, _ = normalizeFloat(f)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s %q (-Sprig's +ours):\n%s", name, args, diff)
				}
			})
			if compared == 0 {
				t.Error("Sprig's function never gave a result")
			}
		})
	}
}

func inOrder(list any) []string {
	var texts []string
	for _, item := range list.([]any) {
		texts = append(texts, fmt.Sprintf("%T %v", item, item))
	}
	slices.Sort(texts)
	return texts
}
