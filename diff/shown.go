package diff

// Shown is one side of a field as people may see it. Exactly one of these holds:
// it is Absent, it is Unknown (perhaps also Masked), it is Masked, or it has a Type and a Text.
type Shown struct {
	// Text is the content of a string, or compact JSON for every other type. It is not neutralised: a renderer passes it through
	// Neutral or quotes it.
	Text string    `json:"text,omitempty"`
	Type ValueType `json:"type,omitempty"`
	// Masked: the value is there but must not be shown.
	Masked bool `json:"masked,omitempty"`
	// Unknown: the value is known only after apply.
	Unknown bool `json:"unknown,omitempty"`
	// Absent: there is no such value on this side.
	Absent bool `json:"absent,omitempty"`
	// Mark compares a masked After with its Before.
	Mark Mark `json:"mark,omitempty"`
	// Tag is a short keyed hash of a masked value, for display only: the same value has the same tag under the same key. It is in
	// no digest.
	Tag string `json:"tag,omitempty"`

	// Sum is set when Text is only a part: "sha256:" and the hex digest of the whole. Size is the size of the whole and Start the
	// place of Text in it, both in bytes.
	Sum   string `json:"sum,omitempty"`
	Size  int    `json:"size,omitempty"`
	Start int    `json:"start,omitempty"`
}

// ValueType is the type of a shown value.
type ValueType string

// The types, as JSON has them.
const (
	TypeString ValueType = "string"
	TypeNumber ValueType = "number"
	TypeBool   ValueType = "bool"
	TypeNull   ValueType = "null"
	TypeObject ValueType = "object"
	TypeList   ValueType = "list"
)

// Mark is all that a report and its digest say about a masked value.
type Mark string

// The marks.
const (
	Changed Mark = "changed"
	Same    Mark = "same"
	New     Mark = "new"
)
