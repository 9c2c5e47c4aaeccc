package diff_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
)

// TestNothingUnexportedShowsASecret covers that package fmt prints unexported fields without
// calling their methods, and that it prints the content for a verb that does not fit.
func TestNothingUnexportedShowsASecret(t *testing.T) {
	value := raw(t, `{"key":["planted-secret"]}`)
	secrets := diff.NewSecrets([]byte("planted-secret"))
	masker := diff.NewMasker(diff.MaskOptions{Secrets: secrets.Contains})
	masker.Learn(value)
	for _, each := range []any{value, &value, secrets, *secrets, masker, *masker, struct{ v diff.Raw }{value},
		struct{ v *diff.Raw }{&value},
		struct{ s *diff.Secrets }{secrets}, struct{ s diff.Secrets }{*secrets}, []*diff.Masker{masker}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%20s", "%p", "%w",
			"%c", "%e"} {
			out := fmt.Sprintf(verb, each)
			if strings.Contains(out, "planted") ||
				strings.Contains(strings.ToLower(out), hex.EncodeToString([]byte("planted"))) {
				t.Errorf("%s of %T shows it: %s", verb, each, out)
			}
		}
	}
}

// TestManySecretsOfOneBeginning covers many secrets, or lines of a long one,
// with a common prefix: comparing each with each would take minutes.
func TestManySecretsOfOneBeginning(t *testing.T) {
	var lines, text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&lines, "password number %d\n", i)
		text.WriteString("password number x\n")
	}
	s := diff.NewSecrets([]byte(lines.String()))
	if s.Contains(text.String()) || !s.Contains(text.String()+"password number 19999") {
		t.Error("the last line is not found, or another text is")
	}
}

// TestSecretsAreFoundAmongOthers checks that a secret that starts with
// another one, and one that was added later, are found like all others.
func TestSecretsAreFoundAmongOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.StringMatching(`[ab]{4,7}`), 1, 12).Draw(t, "values")
		text := rapid.StringMatching(`[ab ]{0,12}`).Draw(t, "text")
		var secrets [][]byte
		want := false
		for _, v := range values {
			secrets = append(secrets, []byte(v))
			want = want || strings.Contains(text, v)
		}
		if got := diff.NewSecrets(secrets...).Contains(text); got != want {
			t.Fatalf("%q in %q: %t", values, text, got)
		}
	})
}
