package terraform

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// address returns a resource address as it may be shown. Its names come from the configuration; only
// the keys of for_each can hold values, so only keys are masked.
func (b *builder) address(address string) string {
	if !b.masker.ContainsSecret(address) {
		return address
	}
	var out strings.Builder
	for rest := address; rest != ""; {
		head, tail, found := strings.Cut(rest, `["`)
		out.WriteString(head)
		if !found {
			break
		}
		key, after := quotedKey(tail)
		if b.masker.ContainsSecret(key) {
			key = diff.MarkHidden
		}
		out.WriteString(`["` + key + `"]`)
		rest = after
	}
	return out.String()
}

// quotedKey splits `KEY"]REST`. Terraform escapes a quote inside a key with a backslash. If the key
// has no end, the whole text is the rest.
func quotedKey(s string) (key, rest string) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[:i], strings.TrimPrefix(s[i+1:], "]")
		}
	}
	return s, ""
}
