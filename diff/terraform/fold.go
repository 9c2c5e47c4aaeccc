package terraform

import (
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// The rules that fold a field of an update, unless it forces a replacement.
const (
	// foldFormatting is a document of which only the spelling changes: white space, the order of keys. Terraform marks it as
	// "whitespace changes", too.
	foldFormatting = "formatting"
	// foldEmpty is an attribute that is null or empty before and another of these after: most providers cannot tell them apart
	// (https://github.com/hashicorp/terraform-plugin-sdk/issues/741), and the first plan after an upgrade is full of them.
	foldEmpty = "null or empty"
)

// foldOf is the rule that folds what is at n, or nothing. What is sensitive or unknown is never folded.
func foldOf(p tree.Path, n node) string {
	if n.unknown.some() || n.was.some() || n.is.some() {
		return ""
	}
	if attribute(p) && unset(n) {
		return foldEmpty
	}
	if was, is, ok := texts(n); ok && tree.Respelled(was, is) {
		return foldFormatting
	}
	return ""
}

// attribute says that a path names an attribute of a schema, or a key of a map: not an element of a list, and nothing in a document,
// where it can mean much that something empty is there.
func attribute(p tree.Path) bool {
	for i, s := range p {
		if s.Into != "" || s.IsIndex && i == len(p)-1 {
			return false
		}
	}
	return len(p) > 0
}

// unset says that both sides are empty, or that an attribute of a block which comes or goes is. An attribute of a schema is there on
// both sides, if only as null; what is not has no schema.
func unset(n node) bool {
	switch {
	case n.hasBefore && n.hasAfter:
		return empty(n.before) && empty(n.after)
	case n.lone && n.hasAfter:
		return empty(n.after) && !n.after.IsObject()
	case n.lone:
		return empty(n.before) && !n.before.IsObject()
	}
	return false
}

// empty says that a value is null, or a string, list or object that holds nothing.
func empty(v diff.Raw) bool {
	switch v := raw.Reveal(v).(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
