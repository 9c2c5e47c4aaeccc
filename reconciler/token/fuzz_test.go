package token_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// FuzzParse: the parts of any accepted token form the same text again, so no two texts are one
// token; and its parts are valid in database queries.
func FuzzParse(f *testing.F) {
	good, _ := keys.Mint(token.Attempt, "org_1", "job_1", "1")
	for _, seed := range []string{"", "nuon_", good, "nuon_a." + strings.Repeat("A", 56), "nuona_..", "nuonr_é.AAAA",
		good + "\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, plain string) {
		prefix, parts, hash, ok := keys.Parse(plain)
		if !ok {
			if prefix != "" || parts != nil || hash != nil {
				t.Errorf("%q is no token, and gave %q %q %x", plain, prefix, parts, hash)
			}
			return
		}
		secret := plain[strings.LastIndex(plain, ".")+1:]
		if again := prefix + "_" + strings.Join(append(parts, secret), "."); again != plain {
			t.Errorf("%q was taken for %q", plain, again)
		}
		raw, err := base64.RawURLEncoding.DecodeString(secret)
		if err != nil || len(raw) != 42 || base64.RawURLEncoding.EncodeToString(raw) != secret ||
			len(parts) == 0 || !bytes.Equal(hash, token.Hash(plain)) {
			t.Errorf("%q: %q %v", plain, parts, err)
		}
		for _, part := range parts {
			if part == "" || strings.ContainsAny(part, "\x00./' ") {
				t.Errorf("%q has the part %q", plain, part)
			}
		}
	})
}
