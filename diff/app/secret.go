package app

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// This file finds secrets that were written into a config, where they do not belong. They have no
// marks; names and formats identify them.

// isSecretKey reports whether the value at a key of a table is a secret, by the key or by the name beside
// it. A template is not: it only refers to a value.
func isSecretKey(table raw.Value, key string, value raw.Value) bool {
	if key == "default" || key == "value" {
		return secret.Value(secret.Beside(table), value, secret.Name)
	}
	return secret.Value(key, value, secret.Name)
}

// learn teaches the masker the secrets of a value, so that copies elsewhere are masked, too.
func learn(m *diff.Masker, v raw.Value) {
	switch {
	case v.IsObject():
		for _, key := range v.Keys() {
			child, _ := v.Get(key)
			if text, _ := raw.Text(child); isSecretKey(v, key, child) && isDistinctive(text) {
				m.Learn(child)
			}
			learn(m, child)
		}
	case v.IsList():
		for i := range v.Len() {
			learn(m, v.At(i))
		}
	default:
		text, _ := raw.String(v)
		for _, password := range secret.Passwords(text) {
			m.Learn(raw.Of(password))
		}
	}
}

// isDistinctive reports whether copies of a secret should be searched elsewhere. A single plain word
// should not (postgres, changeme), because configs are full of such words.
func isDistinctive(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < 'a' || r > 'z' })
}

// redactSecrets removes secrets from both sides of a field. A side that is a secret, or contains one that
// cannot be cut out, becomes sensitive as a whole; a text that sets a secret among other things
// loses only the secret.
func redactSecrets(before, after *diff.UnmaskedSide) {
	for _, side := range []*diff.UnmaskedSide{before, after} {
		side.Sensitive = side.Sensitive || !side.Absent && containsSecret(side.Value)
	}
	if before.Sensitive && !before.Absent || after.Sensitive && !after.Absent {
		return
	}
	var others map[string]bool
	if text, ok := raw.String(before.Value); ok && !before.Absent {
		others = map[string]bool{}
		if shown, own := secret.Redact(text, nil); own != nil {
			before.Value, others = raw.Of(shown), own
		}
	}
	if text, ok := raw.String(after.Value); ok {
		if shown, own := secret.Redact(text, others); own != nil {
			after.Value = raw.Of(shown)
		}
	}
}

// nameOf returns a name, or another text of a path, as it may be shown.
func nameOf(m *diff.Masker, text string) string {
	if _, own := secret.Redact(text, nil); own != nil {
		return diff.MarkHidden
	}
	return m.Text(text)
}

// containsSecret reports whether a value that is shown as a whole contains a secret.
func containsSecret(v raw.Value) bool {
	switch {
	case v.IsObject():
		for _, key := range v.Keys() {
			if child, _ := v.Get(key); isSecretKey(v, key, child) || containsSecretInside(child) {
				return true
			}
		}
	case v.IsList():
		for i := range v.Len() {
			if containsSecretInside(v.At(i)) {
				return true
			}
		}
	default:
		text, isText := raw.String(v)
		return isText && documentContainsSecret(text)
	}
	return false
}

// containsSecretInside is holds for a part of a value that is shown as a whole, of which no part can be masked
// separately.
func containsSecretInside(v raw.Value) bool {
	if text, isText := raw.String(v); isText {
		if _, own := secret.Redact(text, nil); own != nil {
			return true
		}
	}
	return containsSecret(v)
}

// documentContainsSecret is holds for the document in a text, if it can only be masked as a whole.
func documentContainsSecret(text string) bool {
	if !secret.Mentions(text) {
		return false
	}
	_, inner, _, ok := tree.Embedded("", text)
	return ok && (inner.IsObject() || inner.IsList()) && containsSecret(inner)
}
