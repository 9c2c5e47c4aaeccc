package render

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// callFunction calls a function with a whole budget.
func callFunction(name string, args ...any) (any, error) {
	return functions[name].call(&budget{left: maxWork}, args)
}

// TestFunctionErrors checks what each function says of arguments that it does not take: what it wants and what it
// was given, without a value.
func TestFunctionErrors(t *testing.T) {
	type args = []any
	object, list := map[string]any{"a": marker}, []any{marker}
	for _, test := range []struct {
		name string
		args args
		want string
	}{
		{"upper", args{nil}, "wants a string, not null"},
		{"upper", args{list}, "wants a string, not a list"},
		{"replace", args{"a", object, "b"}, "wants a string, not an object"},
		{"split", args{",", list}, "wants a string, not a list"},
		{"splitList", args{",", nil}, "wants a string, not null"},
		{"contains", args{"a", object}, "wants a string, not an object"},
		{"b64enc", args{object}, "wants a string, not an object"},
		{"fromJson", args{list}, "wants a string, not a list"},
		{"fromJson", args{marker}, "the text is not JSON"},
		{"fromJson", args{`{"a":1} {"b":2}`}, "the text is not JSON"},
		{"fromJson", args{`[1] ]`}, "the text is not JSON"},
		{"fromJson", args{strings.Repeat("[", 102) + strings.Repeat("]", 102)},
			"a value is nested more than 100 levels deep"},
		{"b64dec", args{marker}, "the text is not base64"},
		{"b64dec", args{"gIA="}, "what is encoded is not text"},
		{"join", args{int64(1), list}, "the separator must be a string, not a number"},
		{"join", args{",", marker}, "wants a list, not a string"},
		{"indent", args{"2", "a"}, "wants a number of columns up to 100 and a string"},
		{"indent", args{int64(-1), "a"}, "wants a number of columns up to 100 and a string"},
		{"indent", args{int64(101), "a"}, "wants a number of columns up to 100 and a string"},
		{"nindent", args{int64(2), list}, "wants a number of columns up to 100 and a string"},
		{"printf", args{list}, "the format must be a string, not a list"},
		{"printf", args{"%s", "a", "b"}, "the format wants 1 values and is given 2"},
		{"printf", args{"%t", marker}, "%t does not fit a string"},
		{"printf", args{"%f", marker}, "%f does not fit a string"},
		{"printf", args{"%x", object}, "%x does not fit an object"},
		{"printf", args{"%d", 1.5}, "%d does not fit a number"},
		{"printf", args{"100%"}, "the format ends within a verb"},

		{"int", args{marker}, "the string is not a whole number"},
		{"int", args{"1.5"}, "the string is not a whole number"},
		{"int", args{"9223372036854775808"}, "the string is not a whole number"},
		{"int", args{nil}, "wants a whole number, not null"},
		{"int", args{1e300}, "wants a whole number, not a number"},
		{"int", args{-1e300}, "wants a whole number, not a number"},
		{"float64", args{marker}, "the string is not a number"},
		{"float64", args{"NaN"}, "the string is not a number"},
		{"float64", args{"Inf"}, "the string is not a number"},
		{"float64", args{"-inf"}, "the string is not a number"},
		{"float64", args{true}, "wants a number, not a bool"},
		{"ceil", args{list}, "wants a number, not a list"},
		{"round", args{1.5, int64(-1)}, "the second argument is the number of digits, up to 15"},
		{"round", args{1.5, int64(16)}, "the second argument is the number of digits, up to 15"},
		{"round", args{1.5, marker}, "the second argument is the number of digits, up to 15"},
		{"round", args{marker, int64(1)}, "the string is not a number"},
		{"add", args{int64(math.MaxInt64), int64(1)}, "the result is too large"},
		{"sub", args{int64(math.MinInt64), int64(1)}, "the result is too large"},
		{"mul", args{int64(math.MinInt64), int64(-1)}, "the result is too large"},
		{"div", args{int64(math.MinInt64), int64(-1)}, "the result is too large"},
		{"add", args{int64(math.MaxInt64), int64(1), int64(-1)}, "the result is too large"},
		{"add1", args{int64(math.MaxInt64)}, "the result is too large"},
		{"div", args{int64(1), int64(0)}, "division by zero"},
		{"mod", args{int64(1), "0"}, "division by zero"},

		{"ternary", args{"a", "b", marker}, "the third argument must be a bool, not a string"},
		{"lt", args{nil, int64(1)}, "cannot compare null with a number; inputs are strings, `int` makes a number of one"},
		{"ge", args{true, false}, "cannot compare a bool with a bool; inputs are strings, `int` makes a number of one"},
		{"dict", args{"a"}, "wants pairs of a key and a value"},
		{"dict", args{int64(1), "a"}, "a key must be a string, not a number"},
		{"dig", args{int64(1), "d", object}, "a key must be a string, not a number"},
		{"dig", args{"a", "b", "d", object}, "can only look into an object, not a string"},
		{"dig", args{"a", "d", list}, "can only look into an object, not a list"},
		{"index", args{object, int64(0)}, "the key of an object must be a string, not a number"},
		{"index", args{object, "b"}, "there is no such key; `dig` gives a default instead"},
		{"index", args{list, "0"}, "the position in a list must be a whole number, not a string"},
		{"index", args{list, int64(-1)}, "the list is shorter than that"},
		{"index", args{list, int64(1)}, "the list is shorter than that"},
		{"index", args{marker, int64(0)}, "can only look into an object or a list, not a string"},
		{"index", args{object, "a", "b"}, "can only look into an object or a list, not a string"},
		{"hasKey", args{list, "a"}, "wants an object and a string, not a list and a string"},
		{"hasKey", args{object, int64(1)}, "wants an object and a string, not an object and a number"},
		{"has", args{"a", object}, "wants a list, not an object"},
		{"keys", args{object, list}, "wants an object, not a list"},
		{"values", args{nil}, "wants an object, not null"},
		{"len", args{int64(1)}, "wants a string, a list or an object, not a number"},
		{"first", args{marker}, "wants a list, not a string"},
		{"last", args{object}, "wants a list, not an object"},
		{"concat", args{list, marker}, "wants a list, not a string"},
		{"uniq", args{object}, "wants a list, not an object"},
		{"sortAlpha", args{marker}, "wants a list, not a string"},
		{"get", args{list, "a"}, "wants an object, not a list"},
		{"get", args{object, int64(1)}, "a key must be a string, not a number"},
		{"pluck", args{int64(1), object}, "a key must be a string, not a number"},
		{"pluck", args{"a", object, list}, "wants an object, not a list"},
		{"pick", args{list, "a"}, "wants an object, not a list"},
		{"omit", args{object, list}, "a key must be a string, not a list"},
		{"merge", args{object, marker}, "wants an object, not a string"},
		{"append", args{object, "a"}, "wants a list, not an object"},
		{"prepend", args{marker, "a"}, "wants a list, not a string"},
		{"without", args{marker, "a"}, "wants a list, not a string"},
		{"slice", args{object}, "wants a list, not an object"},
		{"slice", args{list, marker}, "the string is not a whole number"},
		{"slice", args{list, int64(1), int64(0)}, "the list is shorter than that"},
		{"slice", args{list, int64(-1)}, "the list is shorter than that"},
		{"trunc", args{marker, "a"}, "the string is not a whole number"},
		{"substr", args{int64(0), marker, "a"}, "the string is not a whole number"},
		{"substr", args{marker, int64(0), "a"}, "the string is not a whole number"},
		{"repeat", args{marker, "a"}, "the string is not a whole number"},
		{"repeat", args{int64(-1), "a"}, "its output is larger than 1048576 bytes"},
		{"splitn", args{",", int64(-1), "a"}, "the second argument is the number of parts, up to 10000"},
		{"splitn", args{",", int64(10_001), "a"}, "the second argument is the number of parts, up to 10000"},
		{"regexMatch", args{int64(1), "a"}, "the regular expression must be a string, not a number"},
		{"regexFind", args{strings.Repeat("a", 1001), "a"}, "the regular expression is too long"},
		{"regexSplit", args{"(" + marker, "a", int64(1)}, "this is not a regular expression (RE2 syntax)"},
		{"regexSplit", args{"a", "b", marker}, "the string is not a whole number"},
		{"regexReplaceAll", args{"a", list, "b"}, "wants a string, not a list"},
		{"fail", args{marker}, "the template says that these values are not right"},
	} {
		got, err := callFunction(test.name, test.args...)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s %.60q: got %v, %v\nwant %s", test.name, test.args, got, err, test.want)
		}
	}
}

// TestFunctionLimits checks that each function still does what is at its limit, and nothing beyond it.
func TestFunctionLimits(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	commas := func(n int) string { return strings.Repeat(",", n) }
	for _, test := range []struct {
		name       string
		within     []any
		beyond     []any
		wantBeyond string
	}{
		{"splitList", []any{",", commas(9_999)}, []any{",", commas(10_000)}, "makes more than 10000 parts"},
		{"split", []any{",", commas(9_999)}, []any{",", commas(10_000)}, "makes more than 10000 parts"},
		{"splitn", []any{",", int64(10_000), "a"}, []any{",", int64(10_001), "a"}, "up to 10000"},
		{"regexSplit", []any{",", commas(9_999), int64(-1)}, []any{",", commas(10_000), int64(-1)},
			"makes more than 10000 parts"},
		{"regexSplit", []any{",", commas(100_000), int64(10_000)}, []any{",", commas(100_000), int64(10_001)},
			"makes more than 10000 parts"},
		{"regexReplaceAllLiteral", []any{"x", x(10_000), "y"}, []any{"x", x(10_001), "y"}, "replaces more than 10000 places"},
		{"regexReplaceAll", []any{"x", x(8), x(1 << 17)}, []any{"x", x(9), x(1 << 17)}, "larger than 1048576 bytes"},
		{"regexMatch", []any{x(1000), "a"}, []any{x(1001), "a"}, "the regular expression is too long"},
		{"regexMatch", []any{strings.Repeat("(a)", 20), "a"}, []any{strings.Repeat("(a)", 21), "a"},
			"the regular expression is too complex"},
		{"repeat", []any{int64(MaxOutput), "x"}, []any{int64(MaxOutput + 1), "x"}, "larger than 1048576 bytes"},
		{"repeat", []any{int64(MaxOutput / 2), "xx"}, []any{int64(MaxOutput/2 + 1), "xx"}, "larger than 1048576 bytes"},
		{"replace", []any{"x", x(16), x(1 << 16)}, []any{"x", x(17), x(1 << 16)}, "larger than 1048576 bytes"},
		{"print", []any{x(MaxOutput)}, []any{x(MaxOutput), "y"}, "larger than 1048576 bytes"},
		{"indent", []any{int64(100), "a"}, []any{int64(101), "a"}, "up to 100"},
		{"indent", []any{int64(1), x(MaxOutput - 1)}, []any{int64(1), x(MaxOutput)}, "larger than 1048576 bytes"},
		{"printf", []any{"%999d", int64(1)}, []any{"%1000d", int64(1)}, "a width may have up to three digits"},
		{"round", []any{1.5, int64(15)}, []any{1.5, int64(16)}, "up to 15"},
		{"fromJson", []any{strings.Repeat("[", 101) + strings.Repeat("]", 101)},
			[]any{strings.Repeat("[", 102) + strings.Repeat("]", 102)}, "more than 100 levels deep"},
	} {
		if _, err := callFunction(test.name, test.within...); err != nil {
			t.Errorf("%s at its limit: %v", test.name, err)
		}
		if _, err := callFunction(test.name, test.beyond...); err == nil || !strings.Contains(err.Error(), test.wantBeyond) {
			t.Errorf("%s beyond its limit: %v, want %q", test.name, err, test.wantBeyond)
		}
	}
}

// TestFunctionEdges checks results at the edges of what a function takes: empty values, null, both ends of a
// text or list, and numbers that do not fit.
func TestFunctionEdges(t *testing.T) {
	type args = []any
	empty := []any{}
	for _, test := range []struct {
		name string
		args args
		want any
	}{
		// Null is an empty list, and no list is printed as null.
		{"join", args{",", nil}, ""}, {"first", args{nil}, nil}, {"last", args{nil}, nil}, {"rest", args{nil}, empty},
		{"initial", args{nil}, empty}, {"uniq", args{nil}, empty}, {"sortAlpha", args{nil}, empty},
		{"compact", args{nil}, empty}, {"reverse", args{nil}, empty}, {"concat", args{nil, nil}, empty},
		{"keys", args{map[string]any{}}, empty}, {"values", args{map[string]any{}}, empty}, {"without", args{nil}, empty},
		{"pluck", args{"a", map[string]any{}}, empty}, {"slice", args{nil}, empty}, {"append", args{nil, "a"}, []any{"a"}},
		{"has", args{"a", nil}, false}, {"len", args{nil}, int64(0)},
		// Elements that are null are no texts.
		{"join", args{",", []any{"a", nil, "", "b"}}, "a,,b"}, {"toStrings", args{[]any{nil, int64(1)}}, []any{"1"}},
		{"sortAlpha", args{[]any{"b", nil, "a"}}, []any{"a", "b"}},

		{"trunc", args{int64(0), "ab"}, ""}, {"trunc", args{int64(-2), "ab"}, "ab"}, {"trunc", args{int64(-1), "aé"}, "é"},
		{"trunc", args{int64(2), "é"}, "é"}, {"trunc", args{int64(1), "é"}, ""},
		{"trunc", args{int64(math.MinInt64), "ab"}, "ab"},
		{"substr", args{int64(-5), int64(1), "ab"}, "a"}, {"substr", args{int64(0), int64(9), "ab"}, "ab"},
		{"substr", args{int64(1), int64(1), "ab"}, ""}, {"substr", args{int64(1), int64(2), "éa"}, "é"},
		{"substr", args{int64(0), int64(3), "éa"}, "éa"},
		{"title", args{"ab-cd ef_gh\u00a0ij"}, "Ab-Cd Ef_gh\u00a0Ij"}, {"untitle", args{"Ab-Cd\tEf"}, "ab-Cd\tef"},
		{"title", args{"ǆ 1a"}, "ǅ 1a"},
		{"snakecase", args{"a,b  c"}, "a_b_c"}, {"snakecase", args{"--a--"}, "a"}, {"snakecase", args{"v2Beta"}, "v2beta"},
		{"snakecase", args{"AB"}, "ab"}, {"kebabcase", args{"ABc"}, "a-bc"}, {"kebabcase", args{""}, ""},
		{"nospace", args{"é \u00a0\n"}, "é"}, {"trimAll", args{"", " a"}, " a"},
		{"cat", args{nil, "a", nil, int64(1)}, "a 1"}, {"print", args{nil, nil}, ""}, {"println", nil, "\n"},
		{"quote", args{nil, "a\"b", int64(1)}, `"a\"b" "1"`}, {"squote", args{[]any{int64(1)}}, "'[1]'"},
		{"toJson", args{map[string]any{"a": "<&>"}}, `{"a":"<&>"}`}, {"toJson", args{nil}, "null"},
		{"fromJson", args{" 1e2 "}, int64(100)}, {"fromJson", args{"9223372036854775808"}, 9223372036854775808.0},
		{"contains", args{int64(1), []any{1.0}}, true}, {"contains", args{"a", []any{"ab"}}, false},
		{"splitn", args{",", int64(0), "a,b"}, map[string]any{}},
		{"splitn", args{",", int64(1), "a,b"}, map[string]any{"_0": "a,b"}},
		{"regexSplit", args{",", "a,b", int64(0)}, empty}, {"regexFind", args{"z", "a"}, ""},
		{"regexReplaceAll", args{"a", "banana", "$0$0"}, "baanaanaa"},

		{"int", args{" 7 "}, int64(7)}, {"int", args{"010"}, int64(10)}, {"int", args{-1.9}, int64(-1)},
		{"int", args{true}, int64(1)}, {"int", args{false}, int64(0)},
		{"float64", args{" 1e3 "}, 1000.0}, {"add", args{int64(math.MaxInt64)}, int64(math.MaxInt64)},
		{"div", args{int64(-7), int64(2)}, int64(-3)}, {"mod", args{int64(-7), int64(2)}, int64(-1)},
		{"ceil", args{-0.5}, int64(0)}, {"floor", args{-0.5}, int64(-1)}, {"round", args{-2.5, int64(0)}, int64(-3)},
		{"round", args{-2.2, int64(0)}, int64(-2)}, {"round", args{"2.5", "0"}, int64(3)},
		{"ceil", args{1e300}, 1e300}, {"min", args{"3", int64(2)}, int64(2)}, {"max", args{int64(-1), false}, int64(0)},

		{"eq", args{int64(1), "1"}, false}, {"eq", args{"a", "b", "a"}, true}, {"eq", args{nil, nil}, true},
		{"eq", args{[]any{int64(1)}, []any{int64(1)}}, true}, {"ne", args{1.5, int64(1)}, true},
		{"eq", args{int64(math.MaxInt64), int64(math.MaxInt64 - 1)}, false}, // equal as floats
		{"lt", args{int64(math.MaxInt64 - 1), int64(math.MaxInt64)}, true},
		{"lt", args{"10", "9"}, true}, {"gt", args{2.5, int64(2)}, true}, {"le", args{"b", "a"}, false},
		{"default", args{"d", 0.0}, "d"}, {"default", args{"d", false}, "d"}, {"default", args{"d", map[string]any{}}, "d"},
		{"default", args{"d", []any{nil}}, []any{nil}}, {"coalesce", args{"", nil, empty}, nil},
		{"all", nil, true}, {"any", nil, false}, {"kindOf", args{nil}, "invalid"}, {"kindOf", args{1.5}, "float64"},
		{"kindIs", args{"invalid", nil}, true}, {"kindIs", args{"string", int64(1)}, false},
		{"deepEqual", args{int64(1), 1.0}, false},
		{"dig", args{"a", "b", "d", map[string]any{"a": nil}}, "d"}, {"dig", args{"a", "d", nil}, "d"},
		{"dig", args{"a", "d", map[string]any{"a": nil}}, nil}, {"dig", args{"a", "d", map[string]any{"a": ""}}, ""},
		{"get", args{map[string]any{"a": nil}, "a"}, nil}, {"get", args{map[string]any{}, "a"}, ""},
		{"index", args{"a"}, "a"}, {"index", args{[]any{"a"}, int64(0)}, "a"},
		{"merge", args{map[string]any{"a": ""}, map[string]any{"a": "x"}}, map[string]any{"a": ""}},
		{"merge", args{map[string]any{"a": "s"}, map[string]any{"a": map[string]any{}}}, map[string]any{"a": "s"}},
		{"uniq", args{[]any{int64(1), "1", int64(1), nil, nil}}, []any{int64(1), "1", nil}},
		{"without", args{[]any{int64(1), "1"}, "1"}, []any{int64(1)}},
		{"slice", args{[]any{"a", "b"}, int64(2)}, empty}, {"slice", args{[]any{"a", "b"}, int64(0), int64(1)}, []any{"a"}},
	} {
		got, err := callFunction(test.name, test.args...)
		if err != nil {
			t.Errorf("%s %q: %v", test.name, test.args, err)
		} else if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", test.name, test.args, diff)
		}
	}
}
