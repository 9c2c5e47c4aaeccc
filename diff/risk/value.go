package risk

import (
	"math/big"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// get returns the value below the keys, or null.
func get(v raw.Value, keys ...string) raw.Value {
	for _, k := range keys {
		v, _ = v.Get(k)
	}
	return v
}

// stringText returns the text of a string.
func stringText(v raw.Value) (string, bool) {
	if v.IsObject() || v.IsList() {
		return "", false
	}
	text, kind := raw.Text(v)
	return text, kind == "string"
}

// text returns the text of a string, a number or a boolean; for any other value it is empty.
func text(v raw.Value) string {
	if v.IsObject() || v.IsList() || v.IsNull() {
		return ""
	}
	t, _ := raw.Text(v)
	return t
}

// isFalse reports whether a value is the boolean false.
func isFalse(v raw.Value) bool { return text(v) == "false" }

// oneOrMore returns the elements of a list, or a single value as a list of one; null yields none.
func oneOrMore(v raw.Value) []raw.Value {
	if v.IsNull() {
		return nil
	}
	if !v.IsList() {
		return []raw.Value{v}
	}
	out := make([]raw.Value, v.Len())
	for i := range out {
		out[i] = v.At(i)
	}
	return out
}

// texts returns the texts of one or more strings, numbers or booleans. It returns false if there is
// any other value.
func texts(v raw.Value) ([]string, bool) {
	var out []string
	for _, e := range oneOrMore(v) {
		if e.IsObject() || e.IsList() || e.IsNull() {
			return nil, false
		}
		out = append(out, text(e))
	}
	return out, true
}

// textSetOf returns the texts of a list as a set.
func textSetOf(v raw.Value) map[string]bool {
	if v.IsNull() {
		return nil
	}
	out := map[string]bool{}
	for _, e := range oneOrMore(v) {
		if t := text(e); t != "" {
			out[t] = true
		}
	}
	return out
}

// hasNew reports whether b has an element that a lacks.
func hasNew(a, b map[string]bool) bool {
	for k := range b {
		if !a[k] {
			return true
		}
	}
	return false
}

// maxQuantity bounds the text of a quantity, so that no exponent creates a huge number.
const maxQuantity = 32

// quantity parses a number with a unit in the Kubernetes format. It returns false for other texts.
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
func quantity(v raw.Value) (*big.Rat, bool) {
	t := text(v)
	digits := strings.TrimRight(t, "numkKMGTPEi")
	unit, ok := unitOf(t[len(digits):])
	if len(t) > maxQuantity || !ok || digits == "" || strings.ContainsAny(digits, "/_xXpPbBoO") || hugeExponent(digits) {
		return nil, false
	}
	n, ok := new(big.Rat).SetString(digits)
	if ok && digits != t {
		n.Mul(n, unit)
	}
	return n, ok
}

// hugeExponent reports whether a number has an exponent of more than two digits.
func hugeExponent(digits string) bool {
	i := strings.IndexAny(digits, "eE")
	return i >= 0 && len(strings.TrimLeft(digits[i+1:], "+-")) > 2
}

// unitOf returns the factor of a unit; nil for none.
func unitOf(unit string) (*big.Rat, bool) {
	switch unit {
	case "":
		return nil, true
	case "n":
		return big.NewRat(1, 1_000_000_000), true
	case "u":
		return big.NewRat(1, 1_000_000), true
	case "m":
		return big.NewRat(1, 1000), true
	}
	base, prefixes := int64(1000), "kMGTPE"
	if letter, binary := strings.CutSuffix(unit, "i"); binary {
		unit, base, prefixes = letter, 1024, "KMGTPE"
	}
	power := strings.Index(prefixes, unit)
	if len(unit) != 1 || power < 0 {
		return nil, false
	}
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(power+1)), nil)), true
}

// less reports whether quantity a is smaller than b. It returns false if either is no quantity.
func less(a, b raw.Value) bool {
	x, ok := quantity(a)
	y, alsoOK := quantity(b)
	return ok && alsoOK && x.Cmp(y) < 0
}
