package terraform

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// The rules that fold a field of an update, unless the field forces a replacement.
const (
	// foldFormatting folds a document that changes only in white space or in the order of its keys.
	// Terraform marks it as "whitespace changes".
	foldFormatting = "formatting"
	// foldEmpty folds an attribute that changes between null, the empty string, and an empty list or
	// map. Most providers cannot distinguish them
	// (https://github.com/hashicorp/terraform-plugin-sdk/issues/741), and the first plan after an
	// upgrade is full of such changes.
	foldEmpty = "null or empty"
)

// documents lists the attributes whose documents a service parses, so that formatting has no effect.
// Any other attribute may be a file, a script or an input to a program that reads every byte, or may
// be hashed to trigger a restart or replacement.
var documents = map[string]bool{
	"values": true, "yaml_body": true, "template_body": true, "definition": true, "dashboard_body": true,
	"dashboard_json": true, "config_json": true, "event_pattern": true, "policy_data": true, "policy_document": true,
}

// dynamic lists the attributes that accept any value, by resource type. They have no schema, so
// null, an empty list and an empty object were written on purpose: an empty selector in Kubernetes
// selects everything.
var dynamic = map[string]bool{
	"kubernetes_manifest": true, "terraform_data": true, "azapi_resource": true, "azapi_update_resource": true,
	"azapi_resource_action": true, "azapi_data_plane_resource": true,
}

// mapNames lists endings of attribute names that are maps, where an empty object in a map means
// nothing. Elsewhere an empty object may be a setting.
var mapNames = []string{"tags", "labels", "annotations", "variables", "parameters", "metadata", "triggers", "options",
	"attributes", "data", "map"}

// foldOf returns the rule that folds the field at n, or the empty string. Sensitive and unknown
// values are never folded.
func (c *comparer) foldOf(p tree.Path, n node) string {
	if n.unknown.some() || n.wasSensitive.some() || n.isSensitive.some() {
		return ""
	}
	if attribute(p) && unset(n) && !dynamic[c.kind] && (!n.before.IsObject() && !n.after.IsObject() || isMap(p)) {
		return foldEmpty
	}
	if was, is, ok := texts(n); ok && byMeaning(p) && tree.Respelled(was, is) {
		return foldFormatting
	}
	return ""
}

// byMeaning reports whether a path leads to a document whose formatting has no effect.
func byMeaning(p tree.Path) bool {
	if secret.CommandPlace(p) || len(p) == 0 {
		return false
	}
	last := p[len(p)-1]
	for i := len(p) - 1; i > 0 && last.Key == ""; i-- {
		last = p[i-1]
	}
	return documents[last.Key] || strings.HasSuffix(last.Key, "policy") || strings.HasSuffix(last.Key, "policies")
}

func isMap(p tree.Path) bool {
	last := p[len(p)-1].Key
	return last == "tags_all" || slices.ContainsFunc(
		mapNames, func(end string) bool { return strings.HasSuffix(last, end) })
}

// attribute reports whether a path names an attribute of a schema or a key of a map. List elements
// and places inside documents do not count, because an empty value can be significant there.
func attribute(p tree.Path) bool {
	for i, s := range p {
		if s.Into() != "" || s.IsIndex && i == len(p)-1 {
			return false
		}
	}
	return len(p) > 0
}

// unset reports whether both sides are empty, or one is empty in a block that is added or removed. A
// schema attribute exists on both sides, at least as null; a value that does not has no schema.
func unset(n node) bool {
	switch {
	case n.hasBefore && n.hasAfter:
		return empty(n.before) && empty(n.after)
	case n.oneSided && n.hasAfter:
		return empty(n.after) && !n.after.IsObject()
	case n.oneSided:
		return empty(n.before) && !n.before.IsObject()
	}
	return false
}

// empty reports whether a value is null or an empty string, list or object.
func empty(v diff.Raw) bool {
	switch text, isText := raw.String(v); {
	case isText:
		return text == ""
	case v.IsList():
		return v.Len() == 0
	case v.IsObject():
		return len(v.Fields()) == 0
	}
	return v.IsNull()
}
