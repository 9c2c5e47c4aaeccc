package seal

import "fmt"

// Sealed is a value that only the holder of the key named KeyID can read. It may be stored, sent and logged. Its JSON form is
// {"key_id": "key-…", "ciphertext": "<base64>"}; the ciphertext is one binary age file.
type Sealed struct {
	KeyID      string `json:"key_id"`
	Ciphertext []byte `json:"ciphertext"`
}

// IsZero tells whether nothing has been sealed.
func (s Sealed) IsZero() bool { return s.KeyID == "" && len(s.Ciphertext) == 0 }

// String names the key and the size, for logs; the ciphertext would only fill them.
func (s Sealed) String() string {
	if s.IsZero() {
		return "nothing sealed"
	}
	return fmt.Sprintf("%d bytes sealed to %s", len(s.Ciphertext), s.KeyID)
}
