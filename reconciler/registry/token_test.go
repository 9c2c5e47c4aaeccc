package registry

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var serverKey = bytes.Repeat([]byte("k"), 32)

func newSigner(t testing.TB, key []byte) Signer {
	t.Helper()
	signer, err := NewSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func TestTokenAllows(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	signer := newSigner(t, serverKey)
	both := []string{ActionPull, ActionPush}
	tests := []struct {
		prefix, repository, action string
		actions                    []string
		want                       bool
	}{
		{"dev/vendor", "dev/vendor", ActionPull, both, true},
		{"dev/vendor", "dev/vendor/hello/net", ActionPush, both, true},
		{"dev/vendor/", "dev/vendor/hello", ActionPull, both, true},
		{"dev/vendor", "dev/vendor2", ActionPull, both, false},
		{"dev/vendor", "dev", ActionPull, both, false},
		{"dev/vendor", "other/dev/vendor", ActionPull, both, false},
		{"dev/vendor", "dev/vendor/hello", ActionPush, []string{ActionPull}, false},
		{"dev/vendor", "dev/vendor/hello", "delete", []string{ActionPull, ActionPush, "delete"}, true},
		{"dev/vendor", "dev/vendor/hello", "delete", []string{ActionPull, ActionPush}, false},
		{"dev/vendor", "dev/vendor/hello", "*", []string{ActionPull, ActionPush, "delete", "*"}, false},
		{"", "dev/vendor", ActionPull, both, false},
		{"", "", ActionPull, both, false},
		{"/", "dev", ActionPull, both, false},
	}
	for _, test := range tests {
		said, err := signer.verify(signer.Issue(test.prefix, test.actions, now.Add(time.Minute)), now)
		if err != nil {
			t.Fatal(err)
		}
		if got := said.allows(test.repository, test.action); got != test.want {
			t.Errorf("a token for %v below %q allows %s of %q: %v, want %v", test.actions, test.prefix, test.action,
				test.repository, got, test.want)
		}
	}
}

func TestTokenExpires(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	signer := newSigner(t, serverKey)
	token := signer.Issue("a", []string{ActionPull}, now)
	if _, err := signer.verify(token, now.Add(-time.Second)); err != nil {
		t.Errorf("a second before: %v", err)
	}
	if _, err := signer.verify(token, now); !errors.Is(err, errExpired) {
		t.Errorf("at its end: %v, want errExpired", err)
	}
}

func TestOtherKeysOpenNothing(t *testing.T) {
	token := newSigner(t, bytes.Repeat([]byte("x"), 32)).Issue("a", []string{ActionPull}, time.Now().Add(time.Hour))
	if _, err := newSigner(t, serverKey).verify(token, time.Now()); !errors.Is(err, errNotOurs) {
		t.Errorf("another key's token gives %v", err)
	}
	var zero Signer
	if _, err := zero.verify(zero.Issue("a", nil, time.Now().Add(time.Hour)), time.Now()); !errors.Is(err, errNotOurs) {
		t.Errorf("the zero signer verifies its own token: %v", err)
	}
	if _, err := NewSigner([]byte("short")); err == nil {
		t.Error("a short key was taken")
	}
	if text := fmt.Sprintf("%v %+v %#v", newSigner(t, serverKey), newSigner(t, serverKey),
		newSigner(t, serverKey)); strings.Count(text, "(registry signer)") != 3 {
		t.Errorf("a signer prints as %s", text)
	}
}

// TestNoEditedTokenPasses changes, truncates and combines tokens at random.
func TestNoEditedTokenPasses(t *testing.T) {
	signer := newSigner(t, serverKey)
	now := time.Unix(1_700_000_000, 0)
	mine := signer.Issue("a/b", []string{ActionPull}, now.Add(time.Hour))
	wider := base64.RawURLEncoding.EncodeToString([]byte(`{"p":"a","a":["pull","push"],"e":9999999999}`))
	_, signature, _ := strings.Cut(mine, ".")
	if _, err := signer.verify(tokenPrefix+wider+"."+signature, now); !errors.Is(err, errNotOurs) {
		t.Errorf("grafted claims give %v", err)
	}
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(mine)-1).Draw(t, "at")
		edited := []byte(mine)
		edited[at] = rapid.Byte().Draw(t, "byte")
		if string(edited) == mine {
			return
		}
		if _, err := signer.verify(string(edited), now); err == nil {
			t.Fatalf("byte %d changed and it passes: %s", at, edited)
		}
		if _, err := signer.verify(mine[:at], now); err == nil {
			t.Fatalf("cut to %d bytes it passes", at)
		}
	})
}
