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

// keys are a control plane's: the older one still checks the tokens that it created.
var keys, older = token.NewKeys([]byte("newer"), []byte("older")), token.NewKeys([]byte("older"))

func TestWhatIsMintedIsParsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SampledFrom([]string{token.Control, token.Runner, token.Registration, token.Attempt}).Draw(t,
			"prefix")
		parts := rapid.SliceOfN(rapid.StringMatching(`[a-zA-Z0-9_-]{1,30}`), 1, 4).Draw(t, "parts")
		plain, hash := rapid.SampledFrom([]token.Keys{keys, older}).Draw(t, "keys").Mint(prefix, parts...)
		gotPrefix, gotParts, gotHash, ok := keys.Parse(plain)
		if !ok || gotPrefix != prefix || !slices.Equal(gotParts, parts) || !bytes.Equal(gotHash, hash) {
			t.Fatalf("%q: parsed %q %q %v", plain, gotPrefix, gotParts, ok)
		}
	})
}

func TestTokensDiffer(t *testing.T) {
	one, hash := keys.Mint(token.Control, "org_1")
	two, other := keys.Mint(token.Control, "org_1")
	if one == two || bytes.Equal(hash, other) || len(hash) != 32 {
		t.Fatalf("minted %s and %s", one, two)
	}
}

func TestWhatIsNoTokenIsRefused(t *testing.T) {
	good, _ := keys.Mint(token.Runner, id.New("org"), id.New("run"))
	secret := good[strings.LastIndex(good, ".")+1:]
	forged, _ := token.NewKeys([]byte("a guess")).Mint(token.Runner, "org_1", "run_1")
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
		"a line break":        good[:len(good)-9] + "\n" + good[len(good)-9:],
		"a line break at end": good + "\r\n",
		"another's check":     forged,
		"another's org":       strings.Replace(good, "nuonr_org", "nuonr_orh", 1),
		"a changed check":     good[:len(good)-1] + string(rune('A'+(good[len(good)-1]-'A'+1)%26)),
		"of another kind":     strings.Replace(good, "nuonr_", "nuona_", 1),
	} {
		t.Run(name, func(t *testing.T) {
			if prefix, parts, _, ok := keys.Parse(plain); ok {
				t.Errorf("parsed %q as %s %q", plain, prefix, parts)
			}
		})
	}
}

func TestNoKeysTakeNothing(t *testing.T) {
	good, _ := keys.Mint(token.Control, "org_1")
	if (token.Keys{}).Genuine(good) || !keys.Genuine(good) || older.Genuine(good) {
		t.Error("a token checks out with other keys than those that made it")
	}
}
