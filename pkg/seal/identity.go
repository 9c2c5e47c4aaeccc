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

// ErrBroken is wrapped by Open when the key is the right one but the ciphertext is cut short, altered, or no age file at all.
var ErrBroken = errors.New("sealed value is damaged")

// Identity is the private half of a key. Like a Secret it shows nothing but Redacted; only CreateIdentity writes it down. The
// zero Identity opens nothing.
type Identity struct {
	// A function for the reason given at Secret.
	key func() *age.X25519Identity
}

// NewIdentity makes a new key from the system's random source.
func NewIdentity() (Identity, error) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return Identity{}, fmt.Errorf("make a key: %w", err)
	}
	return identityOf(key), nil
}

// ParseIdentity reads the text form of an identity file: one line that starts with "AGE-SECRET-KEY-1"; empty lines and lines that
// start with # are skipped. The error never repeats the text.
func ParseIdentity(text string) (Identity, error) {
	var found *age.X25519Identity
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if found != nil {
			return Identity{}, fmt.Errorf("line %d: there is a second key; keep one key in a file", number+1)
		}
		key, err := age.ParseX25519Identity(line)
		if err != nil {
			// age's own error is left out: it may quote a part of the key.
			return Identity{}, fmt.Errorf("line %d: this is not an age X25519 identity; it must start with \"AGE-SECRET-KEY-1\"", number+1)
		}
		found = key
	}
	if found == nil {
		return Identity{}, errors.New("there is no key in it; it must have a line that starts with \"AGE-SECRET-KEY-1\"")
	}
	return identityOf(found), nil
}

func identityOf(key *age.X25519Identity) Identity {
	return Identity{key: func() *age.X25519Identity { return key }}
}

// IsZero tells whether there is no key.
func (i Identity) IsZero() bool { return i.key == nil }

// Recipient gives the public half; the zero Recipient for the zero Identity.
func (i Identity) Recipient() Recipient {
	if i.key == nil {
		return Recipient{}
	}
	return Recipient{key: i.key().Recipient()}
}

// KeyID names the key, as Recipient.KeyID does; empty for the zero Identity.
func (i Identity) KeyID() string { return i.Recipient().KeyID() }

// Open decrypts a sealed value that was sealed under the same context. When it was sealed to another key the error wraps
// ErrWrongKey and names the key that is needed; when the bytes are damaged it wraps ErrBroken; when it was sealed under another
// context it wraps ErrContext and names both, and ErrFormat when it was sealed under none.
//
// A value that opens came from anybody who knows the public key: where the sender matters, check a keyed hash as well.
func (i Identity) Open(sealed Sealed, context Context) (Secret, error) {
	if i.key == nil {
		return Secret{}, fmt.Errorf("open a value that needs key %s: no key was loaded: %w", sealed.KeyID, ErrWrongKey)
	}
	if sealed.KeyID != i.KeyID() {
		return Secret{}, fmt.Errorf("open a value that needs key %s: the key at hand is %s: %w", sealed.KeyID, i.KeyID(), ErrWrongKey)
	}
	reader, err := age.Decrypt(bytes.NewReader(sealed.Ciphertext), i.key())
	if err != nil {
		var mismatch *age.NoIdentityMatchError
		if errors.As(err, &mismatch) {
			return Secret{}, fmt.Errorf("open a value that names key %s but was not made for it: %w", sealed.KeyID, ErrWrongKey)
		}
		return Secret{}, fmt.Errorf("open a value with key %s: %w: %w", sealed.KeyID, ErrBroken, err)
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		return Secret{}, fmt.Errorf("open a value with key %s: %w: %w", sealed.KeyID, ErrBroken, err)
	}
	value, err := context.unwrap(plain)
	if err != nil {
		return Secret{}, fmt.Errorf("open a value with key %s: %w", sealed.KeyID, err)
	}
	return NewSecret(value), nil
}

// Hash gives "hmac:" and 64 hexadecimal digits: HMAC-SHA256 of value under a key that is derived from this identity and context.
// The same identity, context and value give the same hash, so a change of a value can be seen without the value; without the
// private half a guessed value cannot be checked against it. The zero Identity gives the empty string, which equals no hash.
func (i Identity) Hash(context string, value []byte) string {
	if i.key == nil {
		return ""
	}
	mac := hmac.New(sha256.New, i.Derive("hash/"+context).Reveal())
	mac.Write(value)
	return "hmac:" + hex.EncodeToString(mac.Sum(nil))
}

// Derive gives a 32-byte key for another purpose, by HKDF-SHA256 of the private half with purpose as its info. Different purposes
// give keys that tell nothing about each other. The zero Identity gives the zero Secret.
func (i Identity) Derive(purpose string) Secret {
	if i.key == nil {
		return Secret{}
	}
	derived, err := hkdf.Key(sha256.New, []byte(i.key().String()), nil, "nuon/v1/"+purpose, sha256.Size)
	if err != nil {
		// HKDF refuses only lengths above 255 hashes, and this one is one hash.
		return Secret{}
	}
	return NewSecret(derived)
}

// String gives Redacted.
func (Identity) String() string { return Redacted }

// GoString gives Redacted, for %#v.
func (Identity) GoString() string { return Redacted }

// Format gives Redacted for every verb and flag.
func (Identity) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, Redacted) }

// MarshalText gives Redacted, for JSON, TOML and YAML.
func (Identity) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// LogValue gives Redacted to log/slog.
func (Identity) LogValue() slog.Value { return slog.StringValue(Redacted) }
