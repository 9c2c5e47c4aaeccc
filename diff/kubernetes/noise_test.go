package kubernetes

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// TestHash compares the check for hashes with the regular expression that defines them, which takes much memory.
func TestHash(t *testing.T) {
	defined := regexp.MustCompile(`^(sha\d+[:-])?([0-9a-f]{6,128}|[0-9A-F]{6,128}|[0-9a-zA-Z+/_=-]{20,128})$`)
	of := func(letters string, most int) *rapid.Generator[string] {
		return rapid.StringOfN(rapid.RuneFrom([]rune(letters)), 0, most, -1)
	}
	part := rapid.OneOf(of("0a9f", 130), of("0AF9", 130), of("0zZ-=_:é\n", 24))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"", "sha256:", "sha1-", "sha:", "sha", "SHA1:"}).Draw(t, "algorithm") +
			part.Draw(t, "text") + rapid.SampledFrom([]string{"", "0", "sha1:", "\n"}).Draw(t, "end")
		if want := defined.MatchString(text) && strings.ContainsAny(text, "0123456789"); hash(raw.Of(text)) != want {
			t.Fatalf("%q is called a hash: %t", text, !want)
		}
	})
}

// TestDecode compares decode with the library on texts without blanks.
func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "YWI=": "ab", "YW\r\nI=": "ab", " Y W I =\t": "ab", "YWJj": "abc", "words of four each": "-", "YWI": "-",
		"YWI=YWI=": "-", "YW=I": "-", "Y\u00a0WI=": "-", "=YWI": "-",
	} {
		if got, ok := decode(text); ok != (want != "-") || ok && string(got) != want {
			t.Errorf("%q: %q, %t", text, got, ok)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("aZ09+/= \n-"))).Draw(t, "text")
		want, err := base64.StdEncoding.DecodeString(strings.Map(func(r rune) rune {
			if r == ' ' {
				return -1
			}
			return r
		}, text))
		if got, ok := decode(text); ok != (err == nil) || ok && string(got) != string(want) {
			t.Fatalf("%q: %q, %t; the library has %q, %v", text, got, ok, want, err)
		}
	})
}
