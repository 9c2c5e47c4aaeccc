package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

func TestEqual(t *testing.T) {
	types := map[string]*Type{
		"nothing": nil, "text": {shape: String}, "integer": {shape: Integer}, "quantity": {shape: String, format: Quantity},
		"port": {format: IntOrString}, "duration": {shape: String, format: Duration}, "time": {shape: String, format: Time},
		"bytes": {shape: String, format: Bytes}, "any": {},
	}
	for _, c := range []struct {
		typ, a, b string
		want      bool
	}{
		{"quantity", `"1000m"`, `1`, true},
		{"quantity", `"1000m"`, `"1"`, true},
		{"quantity", `"0.5"`, `"500m"`, true},
		{"quantity", `"1Gi"`, `"1024Mi"`, true},
		{"quantity", `"1.5Gi"`, `"1536Mi"`, true},
		{"quantity", `"1Gi"`, `1073741824`, true},
		{"quantity", `"1Gi"`, `"1.073741824G"`, true},
		{"quantity", `"1Gi"`, `"1G"`, false},
		{"quantity", `"1k"`, `"1e3"`, true},
		{"quantity", `"1E"`, `"1e18"`, true},
		{"quantity", `"1E3"`, `1000`, true},
		{"quantity", `"100u"`, `"0.1m"`, true},
		{"quantity", `"100n"`, `"0.1u"`, true},
		{"quantity", `"+1"`, `"1"`, true},
		{"quantity", `"-0"`, `"0Ki"`, true},
		{"quantity", `".5"`, `"0.5"`, true},
		{"quantity", `"5."`, `"5"`, true},
		{"quantity", `"-1Ki"`, `"-1024"`, true},
		{"quantity", `"-1Ki"`, `"1024"`, false},
		{"quantity", `"1K"`, `"1k"`, false},
		{"quantity", `"1ki"`, `"1Ki"`, false},
		{"quantity", `"1i"`, `"1"`, false},
		{"quantity", `"1 "`, `"1"`, false},
		{"quantity", `"1e"`, `"1"`, false},
		{"quantity", `"m"`, `"0"`, false},
		{"quantity", `""`, `"0"`, false},
		{"quantity", `"1e999999999"`, `"10e999999998"`, true},
		{"quantity", `"1e999999999"`, `"1Ki"`, false},
		{"quantity", `"1e-999999999"`, `"1Ki"`, false},
		{"quantity", `"1e-999999999Ki"`, `"0"`, false},
		{"quantity", `"1e99999999999999999999"`, `"1e99999999999999999998"`, false},
		{"quantity", `true`, `1`, false},
		{"quantity", `null`, `0`, false},
		{"port", `80`, `"80"`, false},
		{"port", `1`, `"1"`, false},
		{"port", `80`, `"080"`, false},
		{"port", `80`, `"8e1"`, false},
		{"port", `80`, `"http"`, false},
		{"port", `0`, `"-0"`, false},
		{"port", `"25%"`, `25`, false},
		{"port", `"80"`, `"080"`, false},
		{"port", `80`, `80.0`, true},
		{"duration", `"60s"`, `"1m"`, true},
		{"duration", `"1h"`, `"1h0m0s"`, true},
		{"duration", `"0"`, `"0s"`, true},
		{"duration", `"1d"`, `"24h"`, false},
		{"duration", `"1m"`, `"1ms"`, false},
		{"time", `"2024-01-01T00:00:00Z"`, `"2024-01-01T01:00:00+01:00"`, true},
		{"time", `"2024-01-01T00:00:00Z"`, `"2024-01-01T00:00:00.000000Z"`, true},
		{"time", `"2024-01-01T00:00:00Z"`, `"2024-01-01T00:00:01Z"`, false},
		{"time", `"yesterday"`, `"today"`, false},
		{"bytes", `"YWJj\nZGVm\n"`, `"YWJjZGVm"`, true},
		{"bytes", `"YWJj"`, `"YWJk"`, false},
		{"integer", `1`, `1.0`, true},
		{"integer", `1`, `"1"`, false},
		{"integer", `100`, `1e2`, true},
		{"nothing", `1`, `1.0`, true},
		{"nothing", `1`, `1e0`, true},
		{"nothing", `-0`, `0.000`, true},
		{"nothing", `123456789012345678901234567890`, `123456789012345678901234567891`, false},
		{"nothing", `1e400`, `1e401`, false},
		{"nothing", `"1"`, `"1.0"`, false},
		{"nothing", `"1"`, `1`, false},
		{"nothing", `"60s"`, `"1m"`, false},
		{"nothing", `null`, `""`, false},
		{"nothing", `true`, `"true"`, false},
		{"nothing", `{}`, `[]`, false},
		{"nothing", `{}`, `"x"`, false},
		{"nothing", `"x"`, `[]`, false},
		{"any", `{"a":[1,2.0]}`, `{"a":[1.0,2]}`, true},
		{"any", `{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{"any", `{"a":1}`, `{"b":1}`, false},
		{"any", `[1]`, `[1,1]`, false},
		{"text", `"1000m"`, `"1"`, false},
		{"text", `"2024-01-01T00:00:00Z"`, `"2024-01-01T01:00:00+01:00"`, false},
	} {
		typ, ok := types[c.typ]
		if !ok {
			t.Fatalf("no type %s", c.typ)
		}
		a, b := parse(t, c.a), parse(t, c.b)
		if Equal(typ, a, b) != c.want || Equal(typ, b, a) != c.want {
			t.Errorf("%s: %s and %s equal: %v", c.typ, c.a, c.b, !c.want)
		}
		if !Equal(typ, a, a) {
			t.Errorf("%s: %s is not equal to itself", c.typ, c.a)
		}
	}
}

func TestEqualFollowsTheSchema(t *testing.T) {
	resources := find(t, Builtin(), "v1/Pod", "spec.containers[].resources")
	a := parse(t, `{"limits":{"cpu":"1000m","memory":"1Gi"}}`)
	if !Equal(resources, a, parse(t, `{"limits":{"cpu":1,"memory":"1024Mi"}}`)) {
		t.Error("quantities in a map")
	}
	if Equal(nil, a, parse(t, `{"limits":{"cpu":1,"memory":"1024Mi"}}`)) {
		t.Error("quantities without a schema")
	}
}

// written draws a quantity, and its value computed with rational numbers from its parts.
func written(t *rapid.T, label string) (string, *big.Rat) {
	mantissa := rapid.Int64Range(-1<<62, 1<<62).Draw(t, label)
	places := rapid.IntRange(0, 12).Draw(t, label+" places")
	value := new(big.Rat).SetFrac(big.NewInt(mantissa), power(10, places))
	text := value.FloatString(places + rapid.IntRange(0, 3).Draw(t, label+" zeros"))
	suffix := rapid.SampledFrom([]string{"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi",
		"Ei", "e"}).Draw(t, label+" suffix")
	switch i := strings.Index("nume kMGTPE", suffix); {
	case suffix == "":
	case suffix == "e":
		e := rapid.IntRange(-30, 30).Draw(t, label+" exponent")
		return fmt.Sprintf("%se%d", text, e), scaled(value, 10, e)
	case len(suffix) == 2:
		return text + suffix, scaled(value, 1024, strings.Index("KMGTPE", suffix[:1])+1)
	case i < 3:
		value = scaled(value, 1000, i-3)
	default:
		value = scaled(value, 1000, i-4)
	}
	return text + suffix, value
}

func power(base int64, n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(n)), nil)
}

func scaled(v *big.Rat, base int64, n int) *big.Rat {
	if n < 0 {
		return new(big.Rat).Quo(v, new(big.Rat).SetInt(power(base, -n)))
	}
	return new(big.Rat).Mul(v, new(big.Rat).SetInt(power(base, n)))
}

func TestQuantitiesAreEqualAsTheirValuesAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, x := written(t, "a")
		b, y := written(t, "b")
		if got := equalQuantities(a, b); got != (x.Cmp(y) == 0) {
			t.Fatalf("%s and %s: %v", a, b, got)
		}
	})
}

// TestQuantitiesSurviveRewriting checks that one value with every suffix that
// can express it exactly is one quantity, and a little more is another.
func TestQuantitiesSurviveRewriting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, value := written(t, "a")
		for i, suffix := range []string{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"} {
			again := scaled(value, 1000, 3-i).FloatString(80) + suffix
			if !equalQuantities(text, again) {
				t.Fatalf("%s is not %s", text, again)
			}
			if equalQuantities(text, strings.TrimSuffix(again, suffix)+"1"+suffix) {
				t.Fatalf("%s with a digit more than %s is the same", again, text)
			}
		}
	})
}

func TestNumbersAreEqualAsTheirValuesAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (string, *big.Rat) {
			mantissa := rapid.Int64Range(-2000, 2000).Draw(t, label)
			places := rapid.IntRange(0, 4).Draw(t, label+" places")
			e := rapid.IntRange(-4, 4).Draw(t, label+" exponent")
			v := new(big.Rat).SetFrac(big.NewInt(mantissa), power(10, places))
			return fmt.Sprintf("%se%+d", v.FloatString(places), e), scaled(v, 10, e)
		}
		a, x := draw("a")
		b, y := draw("b")
		if got := Equal(nil, raw.Of(json.Number(a)), raw.Of(json.Number(b))); got != (x.Cmp(y) == 0) {
			t.Fatalf("%s and %s: %v", a, b, got)
		}
	})
}

func FuzzQuantity(f *testing.F) {
	for _, s := range []string{"1Gi", "1e999999999", "-.5m", "1E", strings.Repeat("9", 200) + "Ki", "1e-100Ei",
		"0x1p3", "1_000"} {
		f.Add(s, "1")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if equalQuantities(a, b) != equalQuantities(b, a) {
			t.Errorf("%q and %q are equal one way round", a, b)
		}
		if _, ok := parseQuantity(a); ok != equalQuantities(a, a) {
			t.Errorf("%q is not equal to itself", a)
		}
		for f := range Bytes + 1 {
			if typ := (&Type{format: f}); !Equal(typ, raw.Of(a), raw.Of(a)) {
				t.Errorf("%q is not equal to itself as %d", a, f)
			}
		}
	})
}
