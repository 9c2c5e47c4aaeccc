package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"filippo.io/age"
)

// Recipient is the public half of a key. It may be shown and stored anywhere. The zero Recipient seals nothing and gives an
// error.
type Recipient struct {
	key *age.X25519Recipient
}

// errNoRecipient is what the zero Recipient says.
var errNoRecipient = errors.New("there is no key to seal to: the runner has not registered one yet")

// ParseRecipient reads the text form "age1…". Surrounding space is allowed.
func ParseRecipient(text string) (Recipient, error) {
	key, err := age.ParseX25519Recipient(strings.TrimSpace(text))
	if err != nil {
		return Recipient{}, fmt.Errorf("read public key: it must be an age X25519 recipient that starts with \"age1\": %w", err)
	}
	return Recipient{key: key}, nil
}

// IsZero tells whether there is no key.
func (r Recipient) IsZero() bool { return r.key == nil }

// String gives the text form "age1…", empty for the zero Recipient.
func (r Recipient) String() string {
	if r.key == nil {
		return ""
	}
	return r.key.String()
}

// KeyID names the key: "key-" and 16 hexadecimal digits of a digest of the public half. The same key has the same id everywhere
// and for ever.
func (r Recipient) KeyID() string {
	if r.key == nil {
		return ""
	}
	sum := sha256.Sum256([]byte("nuon key id v1\n" + r.key.String()))
	return "key-" + hex.EncodeToString(sum[:8])
}

// MarshalText gives String.
func (r Recipient) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText gave; empty text gives the zero Recipient.
func (r *Recipient) UnmarshalText(text []byte) error {
	if len(bytes.TrimSpace(text)) == 0 {
		*r = Recipient{}
		return nil
	}
	parsed, err := ParseRecipient(string(text))
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}

// Seal encrypts plain so that only the holder of the private half can open it. Two seals of the same bytes differ; compare by
// Identity.Hash instead.
func (r Recipient) Seal(plain []byte) (Sealed, error) {
	if r.key == nil {
		return Sealed{}, errNoRecipient
	}
	var out bytes.Buffer
	writer, err := age.Encrypt(&out, r.key)
	if err != nil {
		return Sealed{}, fmt.Errorf("seal to %s: %w", r.KeyID(), err)
	}
	if _, err := writer.Write(plain); err != nil {
		return Sealed{}, fmt.Errorf("seal to %s: %w", r.KeyID(), err)
	}
	if err := writer.Close(); err != nil {
		return Sealed{}, fmt.Errorf("seal to %s: %w", r.KeyID(), err)
	}
	return Sealed{KeyID: r.KeyID(), Ciphertext: out.Bytes()}, nil
}
