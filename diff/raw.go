package diff

import "github.com/nuon-toolkit/nuon/diff/internal/raw"

// Raw is a value as its source has it, which may be or hold a secret. Its shape can be walked
// and two Raws can be compared, but its leaves cannot be read outside the packages below diff:
// printing, logging and marshaling return a placeholder or an error. The zero Raw is null.
type Raw = raw.Value

// ParseRaw reads exactly one JSON value and preserves the spelling of its
// numbers. An error names the position and never quotes the value.
func ParseRaw(data []byte) (Raw, error) { return raw.Parse(data) }
