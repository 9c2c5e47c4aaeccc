package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"filippo.io/age"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// Recipient is the public half of a key. It may be shown and stored anywhere. The zero Recipient
// cannot seal: Seal returns an error.
type Recipient struct {
	key *age.X25519Recipient
}

// errNoRecipient is the error of the zero Recipient.
var errNoRecipient = errors.New("there is no key to seal to: the runner has not registered one yet")

// ParseRecipient parses the text form "age1…". Surrounding space is allowed.
func ParseRecipient(text string) (Recipient, error) {
	key, err := age.ParseX25519Recipient(strings.TrimSpace(text))
	if err != nil {
		return Recipient{}, fmt.Errorf(
			"read public key: it must be an age X25519 recipient that starts with \"age1\": %w", err)
	}
	return Recipient{key: key}, nil
}

// IsZero reports whether there is no key.
func (r Recipient) IsZero() bool { return r.key == nil }

// String returns the text form "age1…", or the empty string for the zero Recipient.
func (r Recipient) String() string {
	if r.key == nil {
		return ""
	}
	return r.key.String()
}

// KeyID returns the id of the key: "key-" and 16 hexadecimal digits of a digest of the public half.
// A key has the same id everywhere and permanently.
func (r Recipient) KeyID() string {
	if r.key == nil {
		return ""
	}
	sum := sha256.Sum256([]byte("nuon key id v1\n" + r.key.String()))
	return "key-" + hex.EncodeToString(sum[:8])
}

// MarshalText returns String.
func (r Recipient) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText parses what MarshalText returns. Empty text results in the zero Recipient.
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

// Fingerprint returns a text by which people compare keys: 32 hexadecimal digits in groups of four.
// Unlike KeyID, it is long enough that nobody can generate another key with the same fingerprint.
// It is empty for the zero Recipient.
func (r Recipient) Fingerprint() string {
	if r.key == nil {
		return ""
	}
	sum := sha256.Sum256([]byte("nuon key fingerprint v1\n" + r.key.String()))
	digits := hex.EncodeToString(sum[:16])
	groups := make([]string, 0, len(digits)/4)
	for i := 0; i < len(digits); i += 4 {
		groups = append(groups, digits[i:i+4])
	}
	return strings.Join(groups, "-")
}

// fingerprint matches the results of Fingerprint.
var fingerprint = lazyregexp.New(`^[0-9a-f]{4}(-[0-9a-f]{4}){7}$`)

// ParseFingerprint parses what Fingerprint returns. Surrounding space and upper case are allowed.
func ParseFingerprint(text string) (string, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if !fingerprint.MatchString(text) {
		return "", fmt.Errorf("%.60q is no key fingerprint; it has eight groups of four hexadecimal digits, as "+
			"`runnerd status` prints it",
			text)
	}
	return text, nil
}

// Seal encrypts plain, bound to a context. Only the holder of the private half can open it, and
// only under that context. Two results for the same bytes differ; use Context.Hash to compare
// values.
func (r Recipient) Seal(context Context, plain []byte) (Sealed, error) {
	if r.key == nil {
		return Sealed{}, errNoRecipient
	}
	var out bytes.Buffer
	writer, err := age.Encrypt(&out, r.key)
	if err != nil {
		return Sealed{}, fmt.Errorf("seal to %s: %w", r.KeyID(), err)
	}
	if _, err := writer.Write(context.header()); err != nil {
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
