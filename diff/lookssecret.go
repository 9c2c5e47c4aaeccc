package diff

import (
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
)

// LooksSecret reports whether a JSON value, or a part of it, looks like a secret: by the name that it is stored under
// or by its own form, such as that of a private key or a token. The ARN or the id of a secret does not.
func LooksSecret(name string, value any) bool {
	v := raw.Of(value)
	return secret.Value(name, v, secret.Name) || holdsSecret(v)
}

func holdsSecret(v raw.Value) bool {
	switch {
	case v.IsObject():
		for _, key := range v.Keys() {
			child, _ := v.Get(key)
			if secret.Value(key, child, secret.Name) || secret.KeyPart(v, key, child) || holdsSecret(child) {
				return true
			}
		}
	case v.IsList():
		for i := range v.Len() {
			if holdsSecret(v.At(i)) {
				return true
			}
		}
	default:
		text, _ := raw.String(v)
		_, found := secret.Redact(text, nil)
		return found != nil || len(secret.Passwords(text)) > 0
	}
	return false
}
