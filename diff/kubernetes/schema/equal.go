package schema

import (
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// Equal reports whether two values have the same meaning to the API server: 1000m and 1 if the
// type is a quantity, 60s and 1m0s, one instant in two time zones, base64 that is wrapped
// differently, and in all types 1, 1.0 and 1e0. Without a type, only numbers have a meaning beyond
// their text. Objects and lists are equal if their content is, with lists in the same order.
//
// In a field that accepts a number or a string, a number and a string are never equal:
// the string is the name of a port or a percentage, so the API server rejects "8080"
// and "1" there, and only the controller of a custom resource defines their meaning.
//
// A value that does not have the format of its type is compared by its text. A quantity is
// compared exactly, without the server's rounding up to a nano and its limit of 2^63-1.
func Equal(t *Type, a, b raw.Value) bool {
	switch {
	case a.IsObject() && b.IsObject():
		return equalObjects(t, a.Fields(), b.Fields())
	case a.IsList() && b.IsList():
		return equalLists(t, a, b)
	}
	return a.IsScalar() && b.IsScalar() && (a.Equal(b) || equalScalars(t.Format(), a, b))
}

func equalObjects(t *Type, a, b []raw.Field) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Key != b[i].Key || !Equal(t.Field(a[i].Key), a[i].Value, b[i].Value) {
			return false
		}
	}
	return true
}

func equalLists(t *Type, a, b raw.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if !Equal(t.Elem(), a.At(i), b.At(i)) {
			return false
		}
	}
	return true
}

// equalScalars compares two scalars whose texts differ.
func equalScalars(f Format, a, b raw.Value) bool {
	m, aNumber := raw.Number(a)
	n, bNumber := raw.Number(b)
	if aNumber && bNumber {
		return equalNumbers(m, n)
	}
	x, aText := raw.String(a)
	y, bText := raw.String(b)
	switch {
	case aNumber && bText:
		return mixed(f, m, y)
	case bNumber && aText:
		return mixed(f, n, x)
	case aText && bText:
		return equalTexts(f, x, y)
	}
	return false
}

// mixed compares a number with a string.
func mixed(f Format, number, text string) bool { return f == Quantity && equalQuantities(number, text) }

func equalTexts(f Format, a, b string) bool {
	switch f {
	case Quantity:
		return equalQuantities(a, b)
	case Duration:
		x, errX := time.ParseDuration(a)
		y, errY := time.ParseDuration(b)
		return errX == nil && errY == nil && x == y
	case Time:
		x, errX := time.Parse(time.RFC3339Nano, a)
		y, errY := time.Parse(time.RFC3339Nano, b)
		return errX == nil && errY == nil && x.Equal(y)
	case Bytes:
		return unwrapped(a) == unwrapped(b)
	}
	return false
}

// unwrapped returns base64 without the line breaks that decoders ignore.
func unwrapped(text string) string {
	if !strings.ContainsAny(text, "\r\n") {
		return text
	}
	return strings.NewReplacer("\r", "", "\n", "").Replace(text)
}
