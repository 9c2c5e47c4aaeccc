package kubernetes

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// TestSecretValues checks that the name marks a text, a number, a list or a
// "value" as secret, and not a reference to a secret.
func TestSecretValues(t *testing.T) {
	number := func(s string) any { return json.Number(s) }
	for _, c := range []struct {
		name  string
		value any
		want  bool
	}{
		{"password", "x1", true}, {"password", number("12345678"), true}, {"password", number("12"), false},
		{"password", true, false},
		{"password", "$(OTHER)", false}, {"tokenTTL", number("3600"), false}, {"password", nil, false},
		{"passwords", []any{"a1"}, true}, {"tokens", []any{"a1"}, true},
		{"apiKeys", []any{object{"name": "a", "value": "b1"}}, true},
		{"pullSecrets", []any{"regcred"}, false}, {"passwords", []any{}, false}, {"tokens", number("5000"), false},
		{"clientSecret", object{"value": "x1"}, true}, {"clientSecret", object{"name": "a", "key": "b"}, false},
		{"clientSecret", object{"valueFrom": object{"value": "x1"}}, false}, {"clientSecret", object{"value": ""}, false},
		{"auth", base64.StdEncoding.EncodeToString([]byte("u:p")), true}, {"auth", "enabled", false},
		{"Authorization", "Bearer x123", true}, {"authorization", "enabled", false},
		{"token.actions.example.com:sub", "repo:shop/web", false},
	} {
		v := raw.Of(c.value)
		parent := raw.Of(object{c.name: c.value})
		if got := (&names{}).secretIn(nil, false, none, parent, c.name, v); got != c.want {
			t.Errorf("%s: %v: %t, want %t", c.name, c.value, got, c.want)
		}
		if got := (&names{}).holds(nil, false, none, parent); got != c.want {
			t.Errorf("%s: %v: holds is %t, want %t", c.name, c.value, got, c.want)
		}
	}
}

type object = map[string]any

// TestEncodedSecrets checks that base64 of a text that sets a secret counts as a secret.
func TestEncodedSecrets(t *testing.T) {
	for text, want := range map[string]bool{
		"A=1\nAPI_KEY=planted\n": true, `{"a":{"password":"planted"}}`: true, "postgres://u:planted@db/shop": true,
		"A=1\nLEVEL=debug\nPORT=80": false, "the key to all of it": false, "\xff\xfepassword=planted": false,
	} {
		if got := (&names{}).encoded(raw.Of([]any{base64.StdEncoding.EncodeToString([]byte(text))})); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

// TestRoles checks the role of an object for Helm by its annotation.
func TestRoles(t *testing.T) {
	for text, known := range map[string]bool{
		"pre-install": true, " Pre-Install , test": true, "test-success": true, "pre-install post-install": false, "": false,
		"crd-install": false, "pre-install,": false, "test-failure": false,
	} {
		v := raw.Of(object{"metadata": object{"annotations": object{hookAnnotation: text}}})
		if roleOf(v) != hook || unknownEvent(v) == known {
			t.Errorf("%q: role %d, an unknown event: %t", text, roleOf(v), unknownEvent(v))
		}
	}
	if roleOf(raw.Value{}) != absent || roleOf(raw.Of(object{})) != released {
		t.Error("what has no annotation is a part of the release, and null is absent")
	}
}
