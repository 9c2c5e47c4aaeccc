package seal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const planted = "correct-horse-battery"

// hidden has secrets in unexported fields, which printers access by reflection instead of methods.
type hidden struct {
	name     string
	secret   Secret
	identity Identity
	list     []Secret
	byName   map[string]Secret
}

// shown has secrets in exported fields, which encoders access.
type shown struct {
	Name     string            `json:"name"`
	Secret   Secret            `json:"secret"`
	Identity Identity          `json:"identity"`
	List     []Secret          `json:"list"`
	ByName   map[string]Secret `json:"by_name"`
}

func TestNothingShowsASecret(t *testing.T) {
	identity, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	private := identity.key().String()
	secret := NewSecret([]byte(planted))
	in := hidden{"db", secret, identity, []Secret{secret}, map[string]Secret{"a": secret}}
	out := shown{"db", secret, identity, []Secret{secret}, map[string]Secret{"a": secret}}

	texts := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T", "%10s"} {
		texts["secret "+verb] = fmt.Sprintf(verb, secret)
		texts["identity "+verb] = fmt.Sprintf(verb, identity)
		texts["hidden "+verb] = fmt.Sprintf(verb, in)
		texts["pointer "+verb] = fmt.Sprintf(verb, &in)
		texts["shown "+verb] = fmt.Sprintf(verb, out)
	}
	encoded, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	texts["json"] = string(encoded)
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"slog json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
		"slog text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
	} {
		var log bytes.Buffer
		slog.New(handler(&log)).Info("planted", "secret", secret, "identity", identity, "in", in, "out", out)
		texts[name] = log.String()
	}
	spellings := []string{planted, fmt.Sprintf("%x", planted), fmt.Sprintf("%d", []byte(planted)), private,
		"AGE-SECRET", fmt.Sprint([]byte(planted))}
	for where, text := range texts {
		for _, spelling := range spellings {
			if strings.Contains(text, spelling) {
				t.Errorf("%s shows a secret: %s", where, text)
			}
		}
	}
	if want := `"secret":"(sensitive)"`; !strings.Contains(texts["json"], want) {
		t.Errorf("json is %s, want %s in it", texts["json"], want)
	}
}

func TestRevealGivesACopy(t *testing.T) {
	given := []byte(planted)
	secret := NewSecret(given)
	given[0] = 'X'
	secret.Reveal()[1] = 'X'
	if got := string(secret.Reveal()); got != planted {
		t.Errorf("the secret became %q", got)
	}
	var zero Secret
	if zero.Reveal() != nil || !zero.IsZero() || secret.IsZero() {
		t.Error("zero and planted secret are confused")
	}
}

func TestSecretEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOf(rapid.Byte()).Draw(t, "a")
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		if got, want := NewSecret(a).Equal(NewSecret(b)), bytes.Equal(a, b); got != want {
			t.Fatalf("Equal is %v, want %v", got, want)
		}
		if !NewSecret(a).Equal(NewSecret(a)) {
			t.Fatal("a secret differs from itself")
		}
	})
}
