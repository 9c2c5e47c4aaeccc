package installstack

import (
	"bytes"
	"encoding/json"
)

// WriteJSON writes a value of texts, numbers, lists and objects as JSON in one line.
func WriteJSON(out *bytes.Buffer, v any) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // such a value has JSON
	out.Truncate(out.Len() - 1)
}

// WriteSection writes a section of a JSON template that has others before it, with one line for each of its entries in
// this order: small, and easy to compare.
func WriteSection(out *bytes.Buffer, name string, section map[string]any, order []string) {
	out.WriteString(",\n")
	WriteJSON(out, name)
	out.WriteString(": {")
	for i, id := range order {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n ")
		WriteJSON(out, id)
		out.WriteString(": ")
		WriteJSON(out, section[id])
	}
	out.WriteString("\n}")
}
