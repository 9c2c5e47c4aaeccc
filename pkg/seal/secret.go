package seal

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// Redacted is what stands wherever a Secret would have been shown.
const Redacted = "(sensitive)"

// Secret is a value that may be used but not shown. Every usual way to turn a value into text gives Redacted. The zero Secret is
// empty.
//
// The bytes are kept behind a function, not in a field, because fmt and other printers that walk a struct by reflection do not
// call the methods of values in unexported fields: they would print a field's bytes, but of a function they can print no more
// than an address.
type Secret struct {
	reveal func() []byte
}

// NewSecret makes a Secret of a copy of value.
func NewSecret(value []byte) Secret {
	kept := append([]byte{}, value...)
	return Secret{reveal: func() []byte { return append([]byte{}, kept...) }}
}

// Reveal gives a copy of the secret bytes; nil for the zero Secret. It is the one door: whoever calls it answers for where the
// bytes go.
func (s Secret) Reveal() []byte {
	if s.reveal == nil {
		return nil
	}
	return s.reveal()
}

// IsZero tells whether there is nothing to keep: no bytes at all.
func (s Secret) IsZero() bool { return len(s.Reveal()) == 0 }

// Equal compares two secrets in a time that depends only on their lengths.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare(s.Reveal(), other.Reveal()) == 1
}

// String gives Redacted.
func (Secret) String() string { return Redacted }

// GoString gives Redacted, for %#v.
func (Secret) GoString() string { return Redacted }

// Format gives Redacted for every verb and flag.
func (Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, Redacted) }

// MarshalText gives Redacted, for TOML, YAML, XML and map keys.
func (Secret) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// MarshalJSON gives Redacted as a JSON string.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }

// LogValue gives Redacted to log/slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(Redacted) }
