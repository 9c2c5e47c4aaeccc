package diff_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

func TestSecretsContains(t *testing.T) {
	pem := "-----BEGIN KEY-----\nMIIEowIBAAKCAQEAx1\nqhkiG9w0BAQEFAASC\n-----END KEY-----\n"
	s := diff.NewSecrets([]byte("hunter2-\"quoted\" & <more>"), []byte("abc"), []byte(pem), nil, []byte("  "))
	for _, c := range []struct {
		text string
		want bool
	}{
		{"", false},
		{"harmless", false},
		{`x hunter2-"quoted" & <more> y`, true},
		{`{"p":"hunter2-\"quoted\" & <more>"}`, true},
		{`{"p":"hunter2-\"quoted\" \u0026 \u003cmore\u003e"}`, true},
		{"hunter2-%22quoted%22+%26+%3Cmore%3E", true},
		{hex.EncodeToString([]byte(`hunter2-"quoted" & <more>`)), true},
		{"hunter2", false},
		{"abc", true},
		{" abc\n", true},
		{"abcd", false},
		{"    MIIEowIBAAKCAQEAx1\n    more", true},
		{"-----BEGIN KEY-----", false},
		{wrapped(base64.StdEncoding.EncodeToString([]byte("{\"k\": \"hunter2-\\\"quoted\\\" & <more>\"}")), 8), true},
	} {
		if got := s.Contains(c.text); got != c.want {
			t.Errorf("Contains(%q) = %t, want %t", c.text, got, c.want)
		}
	}
	var none diff.Secrets
	if none.Contains("anything") {
		t.Error("the zero Secrets knows something")
	}
}

func wrapped(s string, columns int) string {
	var b strings.Builder
	for len(s) > columns {
		b.WriteString("  " + s[:columns] + "\r\n")
		s = s[columns:]
	}
	return b.String() + "  " + s
}

// TestSecretsInAnySpelling checks that a secret inside any text is found in
// every spelling that Secrets documents.
func TestSecretsInAnySpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[!-~]{8,24}`).Draw(t, "secret")
		around := rapid.StringMatching(`[ -~]{0,9}`)
		before, after := around.Draw(t, "before"), around.Draw(t, "after")
		text := before + secret + after
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := json.Marshal(string(quoted))
		if err != nil {
			t.Fatal(err)
		}
		s := diff.NewSecrets([]byte(secret))
		for name, spelling := range map[string]string{
			"plain":     text,
			"base64":    base64.StdEncoding.EncodeToString([]byte(text)),
			"base64url": base64.RawURLEncoding.EncodeToString([]byte(text)),
			"json":      string(quoted),
			"twice":     string(twice),
			"json64":    base64.StdEncoding.EncodeToString(quoted),
			"query":     url.QueryEscape(text),
			"hex":       hex.EncodeToString([]byte(text)),
			"base32":    base32.StdEncoding.EncodeToString([]byte(text)),
			"gzip":      "x " + packed(t, strings.Repeat(text, 3)) + " y",
			"percents":  escaped(t, text, "%%%02x"),
			"unicode":   escaped(t, text, `\u%04x`),
			"bytes":     escaped(t, text, `\x%02X`),
			"octal":     escaped(t, text, `\%03o`),
			"entities":  escaped(t, text, "&#%d;"),
			"xml":       escaped(t, text, "&#x%X;"),
		} {
			// json.Marshal escapes <, > and &; inside base64 only the unescaped form is covered.
			if name == "json64" && strings.ContainsAny(secret, "<>&") {
				continue
			}
			if !s.Contains(spelling) {
				t.Fatalf("%q is not found in %s: %q", secret, name, spelling)
			}
		}
	})
}

// escaped returns a text with some characters replaced by escapes: randomly
// drawn ones, and all that could start an escape.
func escaped(t *rapid.T, text, format string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if strings.IndexByte(`\%&`, c) >= 0 || rapid.Bool().Draw(t, "escape") {
			fmt.Fprintf(&b, format, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// packed returns a text as "gzip | base64" writes it.
func packed(t *rapid.T, text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// TestSecretsBehindEscapes covers escapes that the readers of a manifest, a
// script or a page decode.
func TestSecretsBehindEscapes(t *testing.T) {
	s := diff.NewSecrets([]byte(`p"a\ss<w&ö/r d+12`), []byte("my pass+word1"))
	for _, text := range []string{
		`"p\"a\\ss<w&\u00f6\/r d+12"`, `p\\\"a\\\\ss\\u003cw\\u0026\\u00f6/r d+12`, `p\"a\\ss\u003Cw\u0026ö/r d+12`,
		"p%22a%5css%3cw%26%c3%b6/r%20d%2b12", "p&quot;a\\ss&lt;w&amp;&#246;/r d+12", `p\"a\\ss<w&ö/r\ d+12`,
		"my+pass%2bword1", "u=my%20pass%2Bword1&x", "my%2520pass%252Bword1", `\155y pass+word1`, `\U0000006dy pass+word1`,
	} {
		if !s.Contains(text) {
			t.Errorf("not found in %s", text)
		}
	}
	for _, text := range []string{"100% sure & \\u", `\ud83d\ude00 \ud83d`, "&#; &#x; &#99999999; &nbsp; %zz %", "H4sI",
		"H4sIAAAA not gzip", `\777\U11111111`} {
		if s.Contains(text) {
			t.Errorf("found in %s", text)
		}
	}
}

// TestEscapesInLinearTime checks that texts of nothing but escapes, or that
// decompress to much, take no longer than others.
func TestEscapesInLinearTime(t *testing.T) {
	s := diff.NewSecrets([]byte("planted-Kx92"))
	for _, part := range []string{`\`, `\u`, `\u0041`, "%25", "&amp;", "&#38;", `\u0026#38;%`, "H4sI", "H4sIAAAAAAAA/"} {
		t.Run(part, func(t *testing.T) {
			text := strings.Repeat(part, 1<<20/len(part))
			testtime.CheckCPUCost(t, 10_000, func() { s.Contains(text) })
		})
	}
}

// TestRawAndSecretsCannotBeShown prints, logs and marshals types that hold
// secrets, in every usual way.
func TestRawAndSecretsCannotBeShown(t *testing.T) {
	raw, err := diff.ParseRaw([]byte(`{"key":"planted"}`))
	if err != nil {
		t.Fatal(err)
	}
	secrets := diff.NewSecrets([]byte("planted"))
	var log strings.Builder
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	for _, v := range []any{raw, &raw, secrets, struct{ V any }{raw}, []any{raw, secrets}, map[string]any{"v": raw}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			if out := fmt.Sprintf(verb, v); strings.Contains(out, "planted") ||
				strings.Contains(out, hex.EncodeToString([]byte("planted"))) {
				t.Errorf("%s of %T shows it: %s", verb, v, out)
			}
		}
		if out, err := json.Marshal(v); err == nil {
			t.Errorf("%T can be marshalled: %s", v, out)
		}
		logger.Info("value", "v", v)
	}
	if strings.Contains(log.String(), "planted") {
		t.Errorf("the log shows it: %s", log.String())
	}
}
