package terraform

import (
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// This file finds secrets that are not marked as sensitive. A provider marks most attributes of its
// schema. It cannot mark what a configuration writes into a map, a document or a script: environment
// variables, app settings, user data, chart values.

// markSecret marks the value at a key of the object n as sensitive, on both sides, if a name or the
// resource type shows that it is a secret. kind is the resource type, and empty below its
// attributes.
func markSecret(kind string, n node, key string, child node) node {
	byKind := secretByKind(kind, key, n.before) || secretByKind(kind, key, n.after)
	if byKind || isSecretKey(n.before, key, child.before) || isSecretKey(n.after, key, child.after) {
		child.wasSensitive, child.isSensitive, child.named = mark{raw.Of(true)}, mark{raw.Of(true)}, true
	}
	return child
}

// isSecretKey reports whether the value at a key of an object is a secret: by the key, by the name beside
// it, or because the object is a Kubernetes Secret.
func isSecretKey(object diff.Raw, key string, value diff.Raw) bool {
	switch key {
	case "value":
		return secret.Value(secret.Beside(object), value, secret.Name)
	case "data", "stringData":
		return raw.TextAt(object, "kind") == "Secret" && !value.IsNull()
	}
	return secret.KeyPart(object, key, value) || secret.Value(key, value, secret.Name)
}

// containsSecret reports whether a value contains a secret, judging by names and formats, also inside of
// documents in its texts.
func containsSecret(v diff.Raw) bool {
	switch {
	case v.IsObject():
		for _, k := range v.Keys() {
			child, _ := v.Get(k)
			if isSecretKey(v, k, child) || containsSecretInside(child) {
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
func containsSecretInside(v diff.Raw) bool {
	_, settings := redacted(v, nil)
	return settings != nil || containsSecret(v)
}

// documentContainsSecret is holds for the document in a text, if there is one.
func documentContainsSecret(text string) bool {
	if !secret.Mentions(text) {
		return false
	}
	_, inner, _, ok := tree.Embedded("", text)
	return ok && (inner.IsObject() || inner.IsList()) && containsSecret(inner)
}

// redactSecrets removes secrets that are known by name or format from both sides of a field. A side that
// contains one becomes sensitive; a text that sets a secret among other things loses only the
// secret.
func redactSecrets(before, after *diff.UnmaskedSide) {
	if before.Sensitive && !before.Absent || after.Sensitive && !after.Absent {
		return // neither side is shown
	}
	before.Sensitive = before.Sensitive || !before.Absent && containsSecret(before.Value)
	after.Sensitive = after.Sensitive || !after.Absent && !after.Unknown && containsSecret(after.Value)
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

// redacted returns a text without the values that it sets under names of secrets. Other values are
// returned unchanged.
func redacted(v diff.Raw, others map[string]bool) (shown diff.Raw, own map[string]bool) {
	text, ok := raw.String(v)
	if !ok {
		return v, nil
	}
	text, own = secret.Redact(text, others)
	if own == nil {
		return v, nil
	}
	return raw.Of(text), own
}
