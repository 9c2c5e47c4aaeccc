package seal

import "fmt"

// Sealed is a value that only the holder of the key named KeyID can decrypt. It may be stored, sent
// and logged. Its JSON form is {"key_id": "key-…", "ciphertext": "<base64>"}; the ciphertext is one
// binary age file.
type Sealed struct {
	KeyID      string `json:"key_id"`
	Ciphertext []byte `json:"ciphertext"`
}

// IsZero reports whether there is no value.
func (s Sealed) IsZero() bool { return s.KeyID == "" && len(s.Ciphertext) == 0 }

// String returns the key id and the size, for logs. It leaves out the ciphertext, which is long and
// unreadable.
func (s Sealed) String() string {
	if s.IsZero() {
		return "nothing sealed"
	}
	return fmt.Sprintf("%d bytes sealed to %s", len(s.Ciphertext), s.KeyID)
}
