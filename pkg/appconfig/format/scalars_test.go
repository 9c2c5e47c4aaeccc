package format_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// TestValuesKeepTheirTypes: as they are written, so they are decoded.
func TestValuesKeepTheirTypes(t *testing.T) {
	table, problem := new(syntax.Parser).Parse("f", []byte(`
[values]
text = "3"
number = 3
large = 9223372036854775807
point = 3.0
part = 0.5
huge = 1e300
on = true
off = "false"
date = 2026-01-02
time = 07:32:00
`))
	if problem != nil {
		t.Fatal(problem)
	}
	of, _ := format.FindKind("helm")
	var chart format.HelmChart
	format.Decode(table, of.Keys(), &chart, func(d diagnostic.Diagnostic) {
		if d.Rule != format.RuleMissingKey {
			t.Error(d)
		}
	})
	want := format.Scalars{
		"text": "3", "number": int64(3), "large": int64(math.MaxInt64), "point": 3.0, "part": 0.5, "huge": 1e300, "on": true,
		"off":  "false",
		"date": "2026-01-02", "time": "07:32:00",
	}
	if !reflect.DeepEqual(chart.Values, want) {
		t.Errorf("got %#v, want %#v", chart.Values, want)
	}
	encoded, err := json.Marshal(chart.Values)
	const text = `{"date":"2026-01-02","huge":1e+300,"large":9223372036854775807,"number":3,"off":"false","on":true,"part":0.5,"point":3.0,"text":"3","time":"07:32:00"}`
	if err != nil || string(encoded) != text {
		t.Errorf("got %s, %v", encoded, err)
	}
}

// TestScalarsGoThroughJSON: all values come back the same, and two tables are written the same
// only if they are.
func TestScalarsGoThroughJSON(t *testing.T) {
	scalar := rapid.OneOf(
		rapid.Map(rapid.StringMatching(`[ -~<é]{0,6}`), func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(n int64) any { return n }),
		rapid.Map(rapid.Float64(), func(f float64) any { return f }), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.SampledFrom([]any{int64(3), 3.0, "3", 1e21, -0.0, true, "true"}),
	)
	table := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", `c."d"`}), scalar, 0, 2)
	rapid.Check(t, func(t *rapid.T) {
		one, two := format.Scalars(table.Draw(t, "one")), format.Scalars(table.Draw(t, "two"))
		written, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		var again format.Scalars
		if err := json.Unmarshal(written, &again); err != nil || !maps.Equal(one, again) {
			t.Fatalf("%#v came back as %#v, %v", one, again, err)
		}
		other, _ := json.Marshal(two)
		if slices.Equal(written, other) != maps.Equal(one, two) {
			t.Fatalf("%#v and %#v are written as %s and %s", one, two, written, other)
		}
		for key, raw := range one.Encoded() {
			var single format.Scalars
			if err := json.Unmarshal(fmt.Appendf(nil, `{"x":%s}`, raw), &single); err != nil || single["x"] != one[key] {
				t.Fatalf("%#v alone is %s, %v", one[key], raw, err)
			}
		}
	})
}

// TestScalarsRefuse what is none.
func TestScalarsRefuse(t *testing.T) {
	for _, text := range []string{`{"a":[1]}`, `{"a":{}}`, `{"a":null}`, `[1]`, `{"a":99999999999999999999}`,
		`{"a":1e999}`} {
		var s format.Scalars
		if err := json.Unmarshal([]byte(text), &s); err == nil {
			t.Errorf("%s is read as %#v", text, s)
		}
	}
	if none, err := json.Marshal(format.Scalars(nil)); err != nil || string(none) != "null" {
		t.Errorf("got %s, %v", none, err)
	}
}
