package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// marker is part of the texts in random values; no error may contain it.
const marker = "s3cr3t"

// randomValue draws a value of a kind that templates have.
func randomValue(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
	case kind == 0:
		return nil
	case kind == 1:
		return rapid.Bool().Draw(t, "bool")
	case kind == 2:
		return rapid.SampledFrom([]int64{0, 1, -1, 2, 7, 100, -1 << 63, 1<<63 - 1}).Draw(t, "number")
	case kind == 3:
		return rapid.SampledFrom([]float64{0.5, -2.25, 1e308, -1e308, 5e-324, 1 << 62}).Draw(t, "fraction")
	case kind == 4 && depth > 0:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, randomValue(t, depth-1))
		}
		return list
	case kind == 5 && depth > 0:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "keys") {
			object[rapid.SampledFrom([]string{"a", "b", "_0", marker}).Draw(t, "key")] = randomValue(t, depth-1)
		}
		return object
	}
	return rapid.SampledFrom([]string{"", marker, marker + "(", "a", "%d", "%" + marker, "%5.5s", `{"a":"` + marker + `"}`,
		"-", "7", marker + "\n" + marker, "äöü", "string", "a.*|b", "[", "YQ==", "1e9", "/a/../b.c"}).Draw(t, "text")
}

// TestAnyArguments calls every function with arguments of any kind and number. No function panics, changes an
// argument or returns two results for the same arguments, no error contains a value, and each result is a value
// that templates have.
func TestAnyArguments(t *testing.T) {
	names := slices.Sorted(maps.Keys(functions))
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "function")
		var args []any
		for range rapid.IntRange(0, 4).Draw(t, "arguments") {
			args = append(args, randomValue(t, 2))
		}
		before, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		result, err := functions[name].call(&budget{left: maxWork}, args)
		if err != nil && (strings.Contains(err.Error(), marker) || err.Error() == "") {
			t.Fatalf("%s %s: the error is %q", name, before, err)
		}
		if after, _ := json.Marshal(args); string(after) != string(before) {
			t.Fatalf("%s %s changed its arguments to %s", name, before, after)
		}
		again, againErr := functions[name].call(&budget{left: maxWork}, args)
		if diff := cmp.Diff(result, again); diff != "" || fmt.Sprint(err) != fmt.Sprint(againErr) {
			t.Fatalf("%s %s twice: %v, %v\n%s", name, before, err, againErr, diff)
		}
		if err == nil {
			checkValue(t, name+" "+string(before), result)
		}
	})
}

// checkValue fails if a value is none that a template has: JSON has neither infinity nor invalid UTF-8, and a
// template could call the methods of other types.
func checkValue(t *rapid.T, call string, v any) {
	switch v := v.(type) {
	case nil, bool, int64:
	case string:
		if !utf8.ValidString(v) {
			t.Fatalf("%s is %q", call, v)
		}
	case float64:
		if _, err := json.Marshal(v); err != nil {
			t.Fatalf("%s is %v", call, v)
		}
	case []any:
		for _, item := range v {
			checkValue(t, call, item)
		}
	case map[string]any:
		for key, item := range v {
			checkValue(t, call, key)
			checkValue(t, call, item)
		}
	default:
		t.Fatalf("%s is a %T", call, v)
	}
}

// TestNumberOfArguments checks that each function states how many arguments it wants.
func TestNumberOfArguments(t *testing.T) {
	for name, f := range functions {
		counts := []int{}
		if f.min > 0 {
			counts = append(counts, f.min-1)
		}
		if f.max >= 0 {
			counts = append(counts, f.max+1)
		}
		for _, n := range counts {
			if _, err := f.call(&budget{left: maxWork}, make([]any, n)); err == nil ||
				!strings.HasPrefix(err.Error(), "wants ") || !strings.HasSuffix(strings.TrimSuffix(err.Error(), "s"), " argument") {
				t.Errorf("%s with %d arguments: %v", name, n, err)
			}
		}
	}
}

// TestFormats checks that printf writes each format as Go does, or refuses it. Go writes what it
// cannot format as %!…, with the value.
func TestFormats(t *testing.T) {
	for format, want := range map[string]string{
		"%5d|": "    7|", "%-5d|": "7    |", "%05d": "00007", "%+d": "+7", "%.3d": "007", "%5.2d": "   07", "%x": "7",
		"%% %d": "% 7", "%5%%d": "%7", "%c": "\a", "%U": "U+0007", "%b": "111", "%-+5d|": "+7   |", "%.d": "7",
		"%1.2.3d": "", "%5-d": "", "%5+d": "", "%5 d": "", "%.2.d": "", "%d%": "", "%": "", "%1234d": "", "%.1234d": "",
		"%*d": "", "%[1]d": "", "%p": "", "%T": "", "%w": "", "%ä": "", "%d %d": "", "none": "",
	} {
		got, err := functions["printf"].call(&budget{left: maxWork}, []any{format, int64(7)})
		if err != nil && want != "" || err == nil && got != want {
			t.Errorf("%q: got %q, %v, want %q", format, got, err, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.StringMatching(`([a-z]|%[-+# 0]{0,2}[0-9.]{0,4}[svqdtfgexXcUbo%*\[ ]?){0,4}`).Draw(t, "format")
		values := []any{format}
		for range rapid.IntRange(0, 3).Draw(t, "values") {
			values = append(values, randomValue(t, 0))
		}
		got, err := functions["printf"].call(&budget{left: maxWork}, values)
		if text, _ := got.(string); err == nil && strings.Contains(text, "%!") {
			t.Errorf("%q with %v is %q", format, values[1:], text)
		}
	})
}

// TestTrimmedCharacters checks that trimAll trims what strings.Trim does.
func TestTrimmedCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("aäb -\n"))).Draw(t, "text")
		set := rapid.StringOf(rapid.RuneFrom([]rune("aä -"))).Draw(t, "set")
		got, err := functions["trimAll"].call(&budget{left: maxWork}, []any{set, text})
		if want := strings.Trim(text, set); err != nil || got != want {
			t.Errorf("trimAll %q %q is %q, %v, want %q", set, text, got, err, want)
		}
	})
}

// TestUsualReplacementsAreCheap checks that what configs do with names and short texts stays far
// below the work that a template may do.
func TestUsualReplacementsAreCheap(t *testing.T) {
	name := strings.Repeat("Acme Corp. (EU) / ", 10)
	lines := strings.Repeat("  - item: value\n", 200)
	for _, args := range [][]any{
		{"regexReplaceAll", "[^a-z0-9]+", name, "-"}, {"regexReplaceAll", `\s+`, lines, " "},
		{"regexReplaceAll", "^https?://", "https://acme.example/", ""}, {"regexReplaceAll", `\.$`, name, ""},
		{"regexReplaceAllLiteral", "item", lines, "name"}, {"regexSplit", `\n`, lines, int64(-1)},
		{"regexReplaceAll", "(?m)^ *- ", strings.Repeat("- a\n", 30), ""}, {"regexFind", "[0-9]+", lines},
	} {
		b := &budget{left: maxWork}
		if _, err := functions[args[0].(string)].call(b, args[1:]); err != nil || maxWork-b.left > maxWork/50 {
			t.Errorf("%s %q takes %d of %d units: %v", args[0], args[1], maxWork-b.left, maxWork, err)
		}
	}
}
