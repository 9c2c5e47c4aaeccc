package terraform

import (
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// document compares the contents of two strings that hold JSON, YAML or base64 of text, as
// policies, configuration files and user data do. It never reads a value that is sensitive, unknown
// or known to hold a secret. It reports whether it compared the values.
func (c *comparer) document(p tree.Path, n node, depth int) bool {
	was, is, ok := texts(n)
	if !ok || depth >= maxDepth || n.unknown.some() || n.wasSensitive.some() || n.isSensitive.some() {
		return false
	}
	b, a, format, ok := tree.Embedded(was, is)
	if !ok || !plainPlace(p, n.before, n.after) && (c.masker.ContainsSecret(was) || c.masker.ContainsSecret(is)) {
		return false
	}
	inner := node{before: b, after: a, hasBefore: was != "", hasAfter: is != ""}
	inner.oneSided = inner.hasBefore != inner.hasAfter
	c.walk(p.Into(format), inner, depth+1)
	return true
}

// texts returns the strings of both sides; one side may be absent.
func texts(n node) (was, is string, ok bool) {
	was, wasText := raw.String(n.before)
	is, isText := raw.String(n.after)
	return was, is, wasText && isText || wasText && n.after.IsNull() || isText && n.before.IsNull()
}

// hidesName reports whether a key of an output object contains a secret. Such an output is masked as
// a whole.
func hidesName(m *diff.Masker, c change) bool {
	for _, v := range []diff.Raw{c.before, c.after} {
		for _, k := range v.Keys() {
			if m.ContainsSecret(k) {
				return true
			}
		}
	}
	return false
}
