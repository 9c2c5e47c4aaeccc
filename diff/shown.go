package diff

// ShownValue is one side of a field as it may be shown. Exactly one of these holds: it is
// Absent, it is Unknown (perhaps also Masked), it is Masked, or it has a Type and a Text.
type ShownValue struct {
	// Text is the content of a string, or compact JSON for every other type.
	// It is not escaped: a renderer passes it through EscapeText or quotes it.
	Text string    `json:"text,omitempty"`
	Type ValueType `json:"type,omitempty"`
	// Masked: the value exists but must not be shown.
	Masked bool `json:"masked,omitempty"`
	// Unknown: the value is known only after apply.
	Unknown bool `json:"unknown,omitempty"`
	// Absent: this side has no value.
	Absent bool `json:"absent,omitempty"`
	// Mark compares a masked After with its Before.
	Mark Mark `json:"mark,omitempty"`
	// Tag is a short keyed hash of a masked value, for display only: equal
	// values have equal tags under the same key. No digest includes it.
	Tag string `json:"tag,omitempty"`

	// Sum is set when Text is only a part: "sha256:" and the hex digest of the whole.
	// Size is the size of the whole and Start the offset of Text in it, both in bytes.
	Sum   string `json:"sum,omitempty"`
	Size  int    `json:"size,omitempty"`
	Start int    `json:"start,omitempty"`
}

// ValueType is the type of a shown value.
type ValueType string

// The types, as in JSON.
const (
	TypeString ValueType = "string"
	TypeNumber ValueType = "number"
	TypeBool   ValueType = "bool"
	TypeNull   ValueType = "null"
	TypeObject ValueType = "object"
	TypeList   ValueType = "list"
)

// Mark is all that a report and its digest state about a masked value.
type Mark string

// The marks.
const (
	MarkChanged Mark = "changed"
	MarkSame    Mark = "same"
	MarkNew     Mark = "new"
)
