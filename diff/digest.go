package diff

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// digestDomain separates these digests from all others and names the version of the hashed form. A
// change of that form needs a new number, and requires a new approval of every waiting plan.
const digestDomain = "nuon diff report 3\n"

// Digest identifies the content of the report: "sha256:" and 64 hex digits over its canonical JSON.
// A masked value counts only as changed, same or new, so two installs with different secrets can
// have equal digests. Tags do not count. A value that is cut for display counts as a whole, through
// its Sum.
func (r *Report) Digest() string {
	plain := *r
	for _, l := range plain.lists() {
		*l.changes = withoutTags(*l.changes)
	}
	h := sha256.New()
	h.Write([]byte(digestDomain))
	// Structs, slices and strings have one JSON form in encoding/json. The only
	// error left is a Risk out of range, which must not look like a valid report.
	if err := json.NewEncoder(h).Encode(&plain); err != nil {
		h.Write([]byte("\x00invalid: " + err.Error()))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// withoutTags copies changes without their tags (see ShownValue.Tag).
func withoutTags(changes []Change) []Change {
	out := make([]Change, len(changes))
	for i, c := range changes {
		fields := make([]FieldChange, len(c.Fields))
		for j, f := range c.Fields {
			f.Before.Tag, f.After.Tag = "", ""
			fields[j] = f
		}
		c.Fields = fields
		out[i] = c
	}
	return out
}
