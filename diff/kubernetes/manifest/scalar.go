package manifest

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// plain returns the value of a scalar without quotes as the API's clients read it:
// null, a boolean, a number, or text. They follow YAML 1.1, in which yes, on and y
// are true and 0644 is an octal number (sigs.k8s.io/yaml, which converts the result
// of go.yaml.in/yaml/v2 to JSON). Unlike in the clients, integers of any length
// keep their digits. Infinities and NaN, which JSON cannot express, stay text.
func plain(s string) raw.Value {
	if s == "" {
		return raw.Null()
	}
	switch c := s[0]; {
	case strings.IndexByte("yYnNtTfFoO~", c) >= 0:
		return word(s)
	case c == '.':
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return raw.OfNumber(string(floatNumber(f)))
		}
	case c == '+' || c == '-' || '0' <= c && c <= '9':
		if n, ok := number(s); ok {
			return raw.OfNumber(string(n))
		}
	}
	return raw.OfText(s)
}

// word returns null or a boolean, or otherwise the text itself.
func word(s string) raw.Value {
	switch s {
	case "~", "null", "Null", "NULL":
		return raw.Null()
	case "true", "True", "TRUE":
		return raw.OfBool(true)
	case "false", "False", "FALSE":
		return raw.OfBool(false)
	}
	if value, ok := oldBoolean(s); ok {
		return raw.OfBool(value)
	}
	return raw.OfText(s)
}

// oldBoolean recognizes the words that are booleans in YAML 1.1, and so in
// Kubernetes, but text in YAML 1.2.
func oldBoolean(s string) (value, ok bool) {
	switch s {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	}
	return false, false
}

// number reads a text that starts with a digit or a sign.
func number(s string) (json.Number, bool) {
	if isShortInteger(s) {
		return json.Number(s), true
	}
	if strings.Contains(s, "_") {
		s = strings.ReplaceAll(s, "_", "")
	}
	if i, err := strconv.ParseInt(s, 0, 64); err == nil {
		return json.Number(strconv.FormatInt(i, 10)), true
	}
	if u, err := strconv.ParseUint(s, 0, 64); err == nil {
		return json.Number(strconv.FormatUint(u, 10)), true
	}
	if isInteger(s) {
		return longInteger(s), true
	}
	if isFloat(s) {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return floatNumber(f), true
		}
	}
	// The library also accepts a sign after the base prefix.
	if digits, found := strings.CutPrefix(s, "0b"); found {
		if i, err := strconv.ParseInt(digits, 2, 64); err == nil {
			return json.Number(strconv.FormatInt(i, 10)), true
		}
	}
	return "", false
}

// isShortInteger reports whether a text is an integer of a machine word as JSON has it.
func isShortInteger(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) <= 18 && (s == "0" || s != "" && s[0] != '0')
}

// isInteger reports whether a text is decimal digits with an optional sign.
func isInteger(s string) bool {
	s = strings.TrimLeft(s[:min(1, len(s))], "+-") + s[min(1, len(s)):]
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// longInteger returns an integer that does not fit a machine word in JSON
// form: without a plus and leading zeros.
func longInteger(s string) json.Number {
	digits := strings.TrimLeft(strings.TrimLeft(s, "+-"), "0")
	if digits == "" {
		digits = "0"
	}
	if s[0] == '-' {
		digits = "-" + digits
	}
	return json.Number(digits)
}

// isFloat reports whether a text is a decimal number in YAML: digits with at
// most one point, and an optional exponent.
func isFloat(s string) bool {
	s = strings.TrimLeft(s[:min(1, len(s))], "+-") + s[min(1, len(s)):]
	mantissa, exponent, hasExponent := s, "", false
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent, hasExponent = s[:i], s[i+1:], true
	}
	if hasExponent && !isInteger(exponent) {
		return false
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	return whole+fraction != "" && strings.Trim(whole+fraction, "0123456789") == ""
}

// floatNumber formats a number like encoding/json, so that 1.0, 1e0 and 1 are the same.
func floatNumber(f float64) json.Number {
	// A result of ParseFloat without an error is finite, and can always be encoded.
	data, _ := json.Marshal(f)
	return json.Number(data)
}

func isNumber(v raw.Value) bool { _, ok := raw.Number(v); return ok }

// isInfinite recognizes infinities and NaN.
func isInfinite(s string) bool {
	switch strings.TrimLeft(s, "+-") {
	case ".inf", ".Inf", ".INF":
		return true
	case ".nan", ".NaN", ".NAN":
		return s[0] == '.'
	}
	return false
}

// keyName returns the text of a key that is not text: written is its
// spelling, and v its value. It returns false for null.
func keyName(written string, v raw.Value) (string, bool) {
	switch text, kind := raw.Text(v); kind {
	case "bool":
		return text, true
	case "number":
		if plain := strings.ReplaceAll(written, "_", ""); isFloat(plain) && !isInteger(plain) {
			// The API's clients format such keys with 32-bit precision.
			f, _ := strconv.ParseFloat(text, 64)
			return strconv.FormatFloat(f, 'g', -1, 32), true
		}
		return text, true
	case "string":
		return strings.ToLower(strings.TrimPrefix(text, "+")), true
	}
	return "", false
}
