package token_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

func TestWhatIsMintedIsParsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SampledFrom([]string{token.Control, token.Runner, token.Registration, token.Attempt}).Draw(t, "prefix")
		parts := rapid.SliceOfN(rapid.StringMatching(`[a-zA-Z0-9_-]{1,30}`), 1, 4).Draw(t, "parts")
		plain, hash := token.Mint(prefix, parts...)
		gotPrefix, gotParts, gotHash, ok := token.Parse(plain)
		if !ok || gotPrefix != prefix || !slices.Equal(gotParts, parts) || !bytes.Equal(gotHash, hash) {
			t.Fatalf("%q: parsed %q %q %v", plain, gotPrefix, gotParts, ok)
		}
	})
}

func TestTokensDiffer(t *testing.T) {
	one, hash := token.Mint(token.Control, "org_1")
	two, other := token.Mint(token.Control, "org_1")
	if one == two || bytes.Equal(hash, other) || len(hash) != 32 {
		t.Fatalf("minted %s and %s", one, two)
	}
}

func TestWhatIsNoTokenIsRefused(t *testing.T) {
	good, _ := token.Mint(token.Runner, id.New("org"), id.New("run"))
	secret := good[strings.LastIndex(good, ".")+1:]
	for name, plain := range map[string]string{
		"empty":               "",
		"no prefix":           secret,
		"another's prefix":    "ghp_org." + secret,
		"no parts":            "nuon_" + secret,
		"an empty part":       "nuon_." + secret,
		"a short secret":      good[:len(good)-4],
		"a long secret":       good + "AAAA",
		"a NUL":               "nuon_or\x00g." + secret,
		"not UTF-8":           "nuon_or\xffg." + secret,
		"a quote":             "nuon_or'g." + secret,
		"too long":            "nuon_" + strings.Repeat("a", 600) + "." + secret,
		"padding in base64":   good + "=",
		"surrounded by space": " " + good,
	} {
		t.Run(name, func(t *testing.T) {
			if prefix, parts, _, ok := token.Parse(plain); ok {
				t.Errorf("parsed %q as %s %q", plain, prefix, parts)
			}
		})
	}
}
