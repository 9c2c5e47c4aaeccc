package seal

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"filippo.io/age"
)

// ErrWrongKey is wrapped by Open when the value was sealed to another key.
var ErrWrongKey = errors.New("sealed to another key")

// ErrDamaged is wrapped by Open when the key matches but the ciphertext is truncated, altered, or
// not an age file.
var ErrDamaged = errors.New("sealed value is damaged")

// Identity is the private half of a key. Like a Secret, it prints as Redacted; only CreateIdentity
// writes it out. The zero Identity opens nothing.
type Identity struct {
	// It is a function for the reason that is documented at Secret.
	key func() *age.X25519Identity
}

// NewIdentity generates a key from the system's random source.
func NewIdentity() (Identity, error) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return Identity{}, fmt.Errorf("make a key: %w", err)
	}
	return identityOf(key), nil
}

// ParseIdentity parses the text of an identity file: one line that starts with "AGE-SECRET-KEY-1".
// It skips empty lines and lines that start with #. The error never contains the text.
func ParseIdentity(text string) (Identity, error) {
	var found *age.X25519Identity
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if found != nil {
			return Identity{}, fmt.Errorf("line %d: the file has two keys; keep one", number+1)
		}
		key, err := age.ParseX25519Identity(line)
		if err != nil {
			// The error of age is left out because it may quote a part of the key.
			return Identity{}, fmt.Errorf(
				"line %d: this is not an age X25519 identity; it must start with \"AGE-SECRET-KEY-1\"", number+1)
		}
		found = key
	}
	if found == nil {
		return Identity{}, errors.New(
			"there is no key in it; it must have a line that starts with \"AGE-SECRET-KEY-1\"")
	}
	return identityOf(found), nil
}

func identityOf(key *age.X25519Identity) Identity {
	return Identity{key: func() *age.X25519Identity { return key }}
}

// IsZero reports whether there is no key.
func (i Identity) IsZero() bool { return i.key == nil }

// Recipient returns the public half, or the zero Recipient for the zero Identity.
func (i Identity) Recipient() Recipient {
	if i.key == nil {
		return Recipient{}
	}
	return Recipient{key: i.key().Recipient()}
}

// KeyID returns the id of the key, like Recipient.KeyID. It is empty for the zero Identity.
func (i Identity) KeyID() string { return i.Recipient().KeyID() }

// Open decrypts a value that was sealed under the same context. The error wraps ErrWrongKey, and
// names the required key, if the value was sealed to another key; ErrDamaged if the bytes are
// damaged; ErrContext, and names both contexts, if it was sealed under another context; and
// ErrFormat if it was sealed without a context.
//
// Anyone who has the public key can seal a value. Where the sender matters, check a keyed hash as
// well.
func (i Identity) Open(sealed Sealed, context Context) (Secret, error) {
	if i.key == nil {
		return Secret{}, fmt.Errorf("open a value that needs key %s: no key was loaded: %w", sealed.KeyID, ErrWrongKey)
	}
	if sealed.KeyID != i.KeyID() {
		return Secret{}, fmt.Errorf("open a value that needs key %s: the available key is %s: %w",
			sealed.KeyID, i.KeyID(), ErrWrongKey)
	}
	reader, err := age.Decrypt(bytes.NewReader(sealed.Ciphertext), i.key())
	if err != nil {
		var mismatch *age.NoIdentityMatchError
		if errors.As(err, &mismatch) {
			return Secret{}, fmt.Errorf("open a value that names key %s but was not made for it: %w",
				sealed.KeyID, ErrWrongKey)
		}
		return Secret{}, fmt.Errorf("open a value with key %s: %w: %w", sealed.KeyID, ErrDamaged, err)
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		return Secret{}, fmt.Errorf("open a value with key %s: %w: %w", sealed.KeyID, ErrDamaged, err)
	}
	value, err := context.unwrap(plain)
	if err != nil {
		return Secret{}, fmt.Errorf("open a value with key %s: %w", sealed.KeyID, err)
	}
	return NewSecret(value), nil
}

// Hash returns "hmac:" and 64 hexadecimal digits: the HMAC-SHA256 of value under a key that is
// derived from this identity and context. The same identity, context and value result in the same
// hash, so a change of a value can be detected without the value. Without the private half, a
// guessed value cannot be checked against the hash. The zero Identity returns the empty string,
// which equals no hash.
func (i Identity) Hash(context string, value []byte) string {
	if i.key == nil {
		return ""
	}
	mac := hmac.New(sha256.New, i.Derive("hash/"+context).Reveal())
	mac.Write(value)
	return "hmac:" + hex.EncodeToString(mac.Sum(nil))
}

// Derive returns a 32-byte key for another purpose: HKDF-SHA256 of the private half with purpose as
// its info. Keys for different purposes reveal nothing about each other. The zero Identity returns
// the zero Secret.
func (i Identity) Derive(purpose string) Secret {
	if i.key == nil {
		return Secret{}
	}
	derived, err := hkdf.Key(sha256.New, []byte(i.key().String()), nil, "nuon/v1/"+purpose, sha256.Size)
	if err != nil {
		// HKDF fails only for lengths above 255 hashes; this length is one hash.
		return Secret{}
	}
	return NewSecret(derived)
}

// String returns Redacted.
func (Identity) String() string { return Redacted }

// GoString returns Redacted, for %#v.
func (Identity) GoString() string { return Redacted }

// Format writes Redacted for every verb and flag.
func (Identity) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, Redacted) }

// MarshalText returns Redacted, for JSON, TOML and YAML.
func (Identity) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// LogValue returns Redacted to log/slog.
func (Identity) LogValue() slog.Value { return slog.StringValue(Redacted) }
