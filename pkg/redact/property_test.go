package redact_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/redact"
)

// encoders write a value as programs print it. They use other code than the package where there is some.
func encoders() map[string]func(value string) string {
	percent := func(value, plain, digit string) string {
		var out strings.Builder
		for _, b := range []byte(value) {
			if strings.IndexByte(plain, b) >= 0 {
				out.WriteByte(b)
			} else {
				fmt.Fprintf(&out, "%%"+digit, b)
			}
		}
		return out.String()
	}
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	replaced := func(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }
	return map[string]func(string) string{
		"the value": func(v string) string { return v },
		"a password of a URL in Go": func(v string) string {
			address := url.URL{Scheme: "postgres", Host: "db", User: url.UserPassword("app", v)}
			return strings.TrimSuffix(strings.TrimPrefix(address.String(), "postgres://app:"), "@db")
		},
		"a query in Go": url.QueryEscape, "a path in Go": url.PathEscape,
		"encodeURIComponent":     func(v string) string { return percent(v, letters+"-_.!~*'()", "%02X") },
		"quote of Python":        func(v string) string { return percent(v, letters+"-_.~/", "%02X") },
		"RFC 3986, small digits": func(v string) string { return percent(v, letters+"-_.~", "%02x") },
		"a form, small digits": func(v string) string {
			return strings.ReplaceAll(percent(v, letters+"-_.~ ", "%02x"), " ", "+")
		},
		"%q": func(v string) string { return strings.TrimSuffix(strconv.Quote(v)[1:], `"`) },
		"%+q": func(v string) string {
			quoted := fmt.Sprintf("%+q", v)
			return quoted[1 : len(quoted)-1]
		},
		"%x": func(v string) string { return fmt.Sprintf("%x", v) },
		"%X": func(v string) string { return fmt.Sprintf("%X", v) },
		"JSON": func(v string) string {
			quoted, err := json.Marshal(v)
			if err != nil {
				return err.Error()
			}
			return string(quoted[1 : len(quoted)-1])
		},
		"HTML in Go": html.EscapeString,
		"XML in Go": func(v string) string {
			var out bytes.Buffer
			if err := xml.EscapeText(&out, []byte(v)); err != nil {
				return err.Error()
			}
			return out.String()
		},
		"HTML in Python": replaced("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;"),
		"XML":            replaced("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;"),
		"single quotes":  replaced("'", `'\''`),
		"double quotes":  replaced(`"`, `\"`, `\`, `\\`, "$", `\$`, "`", "\\`"),
	}
}

// TestEveryEncodingIsFound checks that nothing of a password remains, regardless of the characters it has and
// whichever program prints it.
func TestEveryEncodingIsFound(t *testing.T) {
	encoders := encoders()
	character := rapid.SampledFrom([]rune("abcXYZ019 !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~äß€"))
	rapid.Check(t, func(t *rapid.T) {
		secret := "s" + string(rapid.SliceOfN(character, 6, 16).Draw(t, "secret")) + "3"
		var set redact.Set
		set.Add([]byte(secret))
		for name, encode := range encoders {
			encoded := encode(secret)
			if got := set.String("<" + encoded + ">"); got != "<"+redact.Mask+">" {
				t.Errorf("%s of %q: %q became %q", name, secret, encoded, got)
			}
			if !set.Contains([]byte(encoded)) {
				t.Errorf("%s of %q: %q is not found", name, secret, encoded)
			}
		}
	})
}

// TestBlanksAreNoSecret checks that a secret of blanks does not mask the indentation of all output.
func TestBlanksAreNoSecret(t *testing.T) {
	for _, blank := range []string{"    ", "\n\n\n\n", " \t\r\n \t"} {
		var set redact.Set
		if set.Add([]byte(blank)) {
			t.Errorf("%q is searched", blank)
		}
		text := "resource {\n    name = 1\n\n\n\n}" + blank
		if got := set.String(text); got != text {
			t.Errorf("%q: %q", blank, got)
		}
	}
}

// TestBracesOfASecretAreOrdinary checks that the short lines of a secret in JSON do not mask the braces of other
// output, and that its own last line is found.
func TestBracesOfASecretAreOrdinary(t *testing.T) {
	const secret = "{\n  \"db\": {\n    \"password\": \"tR0ub4dor\",\n    \"x\": {\n      \"y\": 1\n    }\n  }\n}\n"
	var set redact.Set
	set.Add([]byte(secret))
	for _, text := range []string{
		"{\n  \"a\": {\n    \"b\": 2\n  }\n}\n", "resource \"x\" {\n  y {\n  }\n}\n", "}\n}\n", "}\r\n}",
	} {
		if got := set.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	indented := strings.ReplaceAll(secret, "\n", "\n    ")
	if got := set.String(indented); strings.Contains(got, "tR0ub4dor") {
		t.Errorf("indented: %q", got)
	}
}
