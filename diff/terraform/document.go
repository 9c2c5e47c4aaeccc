package terraform

import (
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// document compares what two strings hold, if it is JSON, YAML or base64 of text, as policies, configuration files and user data are.
// It never looks into what is sensitive, unknown or known to hold a secret, and says whether it took the comparison over.
func (c *comparer) document(p tree.Path, n node, depth int) bool {
	was, is, ok := texts(n)
	if !ok || depth >= maxDepth || n.unknown.some() || n.was.some() || n.is.some() {
		return false
	}
	b, a, format, ok := tree.Embedded(was, is)
	if !ok || !plainPlace(p, n.before, n.after) && (c.masker.Knows(was) || c.masker.Knows(is)) {
		return false
	}
	inner := node{before: b, after: a, hasBefore: was != "", hasAfter: is != ""}
	inner.lone = inner.hasBefore != inner.hasAfter
	c.walk(p.Into(format), inner, depth+1)
	return true
}

// texts are two strings, or one and nothing.
func texts(n node) (was, is string, ok bool) {
	was, wasText := raw.Reveal(n.before).(string)
	is, isText := raw.Reveal(n.after).(string)
	return was, is, wasText && isText || wasText && n.after.IsNull() || isText && n.before.IsNull()
}

// hidesName says that a key of an output that is an object holds a secret. Such an output is masked as a whole.
func hidesName(m *diff.Masker, c change) bool {
	for _, v := range []diff.Raw{c.before, c.after} {
		for _, k := range v.Keys() {
			if m.Knows(k) {
				return true
			}
		}
	}
	return false
}
