package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestASecretIsFound checks that a secret is found in every form in which one could leak, and only
// outside of the files where it belongs.
func TestASecretIsFound(t *testing.T) {
	const value = "Plabcdefghijklmnopqr7"
	dir, early := t.TempDir(), packed(t, value)
	for name, text := range map[string]string{
		"allowed":    value,
		"almost":     value[:len(value)-1],
		"base64-0":   base64.StdEncoding.EncodeToString([]byte("{" + value + "}")),
		"base64-1":   base64.URLEncoding.EncodeToString([]byte("p=" + value + " and more")),
		"base64-2":   base64.RawStdEncoding.EncodeToString([]byte("abc" + value)),
		"hex":        "\\x" + hex.EncodeToString([]byte("a"+value)),
		"packed":     packed(t, "x "+value),
		"plain":      "password=" + value + "\n",
		"twice":      packed(t, packed(t, value)),
		"ends early": early[:len(early)-8],
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look := &search{secrets: []secret{newSecret("it", value, []*regexp.Regexp{regexp.MustCompile("^allowed$")})}}
	if n, err := look.files(dir); err != nil || n != 10 {
		t.Errorf("looked at %d files, %v", n, err)
	}
	want := []string{
		"it is in base64-0", "it is in base64-1", "it is in base64-2", "it is in ends early, unpacked", "it is in hex",
		"it is in packed, unpacked", "it is in plain",
		"it is in twice, unpacked, unpacked",
	}
	if slices.Sort(look.found); !slices.Equal(look.found, want) {
		t.Errorf("found %q, want %q", look.found, want)
	}
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
