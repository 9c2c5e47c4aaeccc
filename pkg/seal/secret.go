package seal

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// Redacted replaces a Secret in every output.
const Redacted = "(sensitive)"

// Secret is a value that may be used but not shown. Every usual way to convert it to text returns
// Redacted. The zero Secret is empty.
//
// The bytes are stored behind a function instead of in a field. fmt and other printers that walk a
// struct by reflection do not call the methods of values in unexported fields: they would print the
// bytes of a field, but only the address of a function.
type Secret struct {
	reveal func() []byte
}

// NewSecret returns a Secret with a copy of value.
func NewSecret(value []byte) Secret {
	copied := append([]byte{}, value...)
	return Secret{reveal: func() []byte { return append([]byte{}, copied...) }}
}

// Reveal returns a copy of the secret bytes; nil for the zero Secret. It is the only access to the
// bytes, and the caller is responsible for where they go.
func (s Secret) Reveal() []byte {
	if s.reveal == nil {
		return nil
	}
	return s.reveal()
}

// IsZero reports whether the secret is empty.
func (s Secret) IsZero() bool { return len(s.Reveal()) == 0 }

// Equal compares two secrets in a time that depends only on their lengths.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare(s.Reveal(), other.Reveal()) == 1
}

// String returns Redacted.
func (Secret) String() string { return Redacted }

// GoString returns Redacted, for %#v.
func (Secret) GoString() string { return Redacted }

// Format writes Redacted for every verb and flag.
func (Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, Redacted) }

// MarshalText returns Redacted, for TOML, YAML, XML and map keys.
func (Secret) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// MarshalJSON returns Redacted as a JSON string.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }

// LogValue returns Redacted to log/slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(Redacted) }
