package diff

import "github.com/nuon-toolkit/nuon/diff/internal/raw"

// Raw is a value as its source has it, which may be or hold a secret. Its shape can be walked and two of them can be compared, but
// its leaves cannot be read outside the packages under diff: printing, logging and marshalling give a placeholder or an error. The
// zero Raw is null.
type Raw = raw.Value

// ParseRaw reads exactly one JSON value, with its numbers as they are written. An error says where it went wrong and never quotes
// the value.
func ParseRaw(data []byte) (Raw, error) { return raw.Parse(data) }
