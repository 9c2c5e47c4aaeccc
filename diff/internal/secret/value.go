package secret

import "github.com/nuon-toolkit/nuon/diff/internal/raw"

// LiteralValue says that a value is a text that is no reference (see Literal), a number, or a list of such.
func LiteralValue(v raw.Value) bool {
	if v.IsList() {
		for i := range v.Len() {
			if e := v.At(i); !e.IsList() && LiteralValue(e) {
				return true
			}
		}
		return false
	}
	text, kind := raw.Text(v)
	return kind == "number" || kind == "string" && Literal(text)
}
