package diff_test

import (
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

// TestSecretsInAnySpelling: a secret inside any text is found in every spelling that the package comment promises.
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
		} {
			// json.Marshal escapes <, > and &; inside base64 only the short form is promised.
			if name == "json64" && strings.ContainsAny(secret, "<>&") {
				continue
			}
			if !s.Contains(spelling) {
				t.Fatalf("%q is not found in %s: %q", secret, name, spelling)
			}
		}
	})
}

// TestRawAndSecretsCannotBeShown prints, logs and marshals what may hold a secret, in every way that people use.
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
			if out := fmt.Sprintf(verb, v); strings.Contains(out, "planted") || strings.Contains(out, hex.EncodeToString([]byte("planted"))) {
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
