package app

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// This file finds secrets that somebody wrote into a config, where they should not be. Nobody marks them; names and forms tell them.

// named says that the value at a key of a table is a secret, by the key or by the name that stands beside it. A template is none: it says
// where a value is.
func named(table raw.Value, key string, value raw.Value) bool {
	if key == "default" || key == "value" {
		return secret.Value(secret.Beside(table), value, secret.Name)
	}
	return secret.Value(key, value, secret.Name)
}

// learn teaches the masker the secrets of a value, so that their copies elsewhere are masked, too.
func learn(m *diff.Masker, v raw.Value) {
	switch {
	case v.IsObject():
		for _, key := range v.Keys() {
			child, _ := v.Get(key)
			if text, _ := raw.Text(child); named(v, key, child) && telling(text) {
				m.Learn(child)
			}
			learn(m, child)
		}
	case v.IsList():
		for i := range v.Len() {
			learn(m, v.At(i))
		}
	default:
		text, _ := raw.Reveal(v).(string)
		for _, password := range secret.Passwords(text) {
			m.Learn(raw.Of(password))
		}
	}
}

// telling says that a secret is worth looking for elsewhere. One plain word is not (postgres, changeme): half of a config is made of such.
func telling(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < 'a' || r > 'z' })
}

// conceal keeps secrets out of both sides of a field: a side that is one, or holds one that cannot be cut out, is sensitive as a whole; a
// text that sets some among other things keeps the other things.
func conceal(before, after *diff.Side) {
	for _, side := range []*diff.Side{before, after} {
		side.Sensitive = side.Sensitive || !side.Absent && holds(side.Value)
	}
	if before.Sensitive && !before.Absent || after.Sensitive && !after.Absent {
		return
	}
	var others map[string]bool
	if text, ok := raw.Reveal(before.Value).(string); ok && !before.Absent {
		others = map[string]bool{}
		if shown, own := secret.Redact(text, nil); own != nil {
			before.Value, others = raw.Of(shown), own
		}
	}
	if text, ok := raw.Reveal(after.Value).(string); ok {
		if shown, own := secret.Redact(text, others); own != nil {
			after.Value = raw.Of(shown)
		}
	}
}

// nameOf is a name, or another text of a path, as people may see it.
func nameOf(m *diff.Masker, text string) string {
	if _, own := secret.Redact(text, nil); own != nil {
		return diff.Hidden
	}
	return m.Text(text)
}

// holds says that a value that is shown as a whole holds a secret.
func holds(v raw.Value) bool {
	switch {
	case v.IsObject():
		for _, key := range v.Keys() {
			if child, _ := v.Get(key); named(v, key, child) || inside(child) {
				return true
			}
		}
	case v.IsList():
		for i := range v.Len() {
			if inside(v.At(i)) {
				return true
			}
		}
	default:
		text, isText := raw.Reveal(v).(string)
		return isText && documentHolds(text)
	}
	return false
}

// inside is holds for a part of such a value, of which no part can be hidden alone.
func inside(v raw.Value) bool {
	if text, isText := raw.Reveal(v).(string); isText {
		if _, own := secret.Redact(text, nil); own != nil {
			return true
		}
	}
	return holds(v)
}

// documentHolds says so of the document that a text holds, if that can only be hidden as a whole.
func documentHolds(text string) bool {
	if !secret.Mentions(text) {
		return false
	}
	_, inner, _, ok := tree.Embedded("", text)
	return ok && (inner.IsObject() || inner.IsList()) && holds(inner)
}
