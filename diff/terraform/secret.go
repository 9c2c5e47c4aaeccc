package terraform

import (
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// This file finds secrets that nobody marks as sensitive. A provider marks the attributes of its schema; what a configuration writes into a
// map, a document or a script (environment variables, app settings, user data, the values of a chart) it cannot know.

// chosen says that the keys of the object at p are the configuration's own choice, and not those of a schema: it is a map, an object in an
// output, or in a document. A block of a schema is an element of a list.
func (c *comparer) chosen(p tree.Path) bool {
	return c.free || len(p) > 0 && !p[len(p)-1].IsIndex || inDocument(p)
}

func inDocument(p tree.Path) bool {
	for _, s := range p {
		if s.Into != "" {
			return true
		}
	}
	return false
}

// guard marks what is at a key of the object n at p as sensitive, on both sides, where the names around it say that it is a secret.
func (c *comparer) guard(p tree.Path, n node, key string, child node) node {
	chosen := c.chosen(p)
	if named(n.before, chosen, key, child.before) || named(n.after, chosen, key, child.after) {
		child.was, child.is = mark{raw.Of(true)}, mark{raw.Of(true)}
	}
	return child
}

// named says that the value at a key of an object is a secret, by the key, by the name that stands beside it, or because the object is a
// Secret of Kubernetes.
func named(object diff.Raw, chosen bool, key string, value diff.Raw) bool {
	switch key {
	case "value":
		return secret.Name(raw.TextAt(object, "name")) && secret.LiteralValue(value)
	case "data", "stringData":
		return raw.TextAt(object, "kind") == "Secret" && !value.IsNull()
	}
	return chosen && secret.Name(key) && secret.LiteralValue(value)
}

// holds says that a value holds a secret by its names or its form, also inside of the documents that its texts hold. Chosen is said of it if
// it is an object; free, that what is in it has no schema either.
func holds(v diff.Raw, chosen, free bool) bool {
	switch {
	case v.IsObject():
		for _, k := range v.Keys() {
			child, _ := v.Get(k)
			if named(v, chosen, k, child) || inside(child, true, free) {
				return true
			}
		}
	case v.IsList():
		for i := range v.Len() {
			if inside(v.At(i), free, free) {
				return true
			}
		}
	default:
		text, isText := raw.Reveal(v).(string)
		return isText && (secret.Form(text) || documentHolds(text))
	}
	return false
}

// inside is holds for a part of a value that is shown as a whole, of which no part can be hidden alone.
func inside(v diff.Raw, chosen, free bool) bool {
	_, settings := redacted(v, nil)
	return settings != nil || holds(v, chosen, free)
}

// documentHolds says so of the document that a text holds, if it is one.
func documentHolds(text string) bool {
	if !secret.Mentions(text) {
		return false
	}
	_, inner, _, ok := tree.Embedded("", text)
	return ok && (inner.IsObject() || inner.IsList()) && holds(inner, true, true)
}

// conceal keeps secrets that are known by their names or forms out of both sides of a field: a side that holds one is sensitive, and a text
// that sets some among other things shows the other things.
func (c *comparer) conceal(p tree.Path, before, after *diff.Side) {
	if before.Sensitive && !before.Absent || after.Sensitive && !after.Absent {
		return // neither side is shown
	}
	chosen, free := c.chosen(p), c.free || inDocument(p)
	before.Sensitive = before.Sensitive || !before.Absent && holds(before.Value, chosen, free)
	after.Sensitive = after.Sensitive || !after.Absent && !after.Unknown && holds(after.Value, chosen, free)
	if before.Sensitive && !before.Absent || after.Sensitive && !after.Absent {
		return
	}
	var others map[string]bool
	if !before.Absent && !before.Value.IsNull() {
		others = map[string]bool{}
		var own map[string]bool
		if before.Value, own = redacted(before.Value, nil); own != nil {
			others = own
		}
	}
	if !after.Absent && !after.Unknown {
		after.Value, _ = redacted(after.Value, others)
	}
}

// redacted is a value without what it sets under the names of secrets, if it is a text.
func redacted(v diff.Raw, others map[string]bool) (shown diff.Raw, own map[string]bool) {
	text, ok := raw.Reveal(v).(string)
	if !ok {
		return v, nil
	}
	text, own = secret.Redact(text, others)
	if own == nil {
		return v, nil
	}
	return raw.Of(text), own
}
