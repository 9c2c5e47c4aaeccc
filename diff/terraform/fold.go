package terraform

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
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

// documents are the attributes whose documents a service reads by what they say, so that their spelling means nothing. All others may be
// files, scripts or inputs of a program that sees each byte, or a hash of them that restarts or replaces something.
var documents = map[string]bool{
	"values": true, "yaml_body": true, "template_body": true, "definition": true, "dashboard_body": true, "dashboard_json": true,
	"config_json": true, "event_pattern": true, "policy_data": true, "policy_document": true,
}

// dynamic are the attributes that take any value, by resource type. They have no schema, so that null, an empty list and an empty object
// are what somebody wrote: an empty selector of Kubernetes selects everything.
var dynamic = map[string]bool{
	"kubernetes_manifest": true, "terraform_data": true, "azapi_resource": true, "azapi_update_resource": true, "azapi_resource_action": true,
	"azapi_data_plane_resource": true,
}

// mapNames end the names of attributes that are maps, in which an empty one has nothing. An empty object elsewhere may be a setting.
var mapNames = []string{"tags", "labels", "annotations", "variables", "parameters", "metadata", "triggers", "options", "attributes", "data", "map"}

// foldOf is the rule that folds what is at n, or nothing. What is sensitive or unknown is never folded.
func (c *comparer) foldOf(p tree.Path, n node) string {
	if n.unknown.some() || n.was.some() || n.is.some() {
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

// byMeaning says that a path leads to a document that is read by what it says.
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
	return last == "tags_all" || slices.ContainsFunc(mapNames, func(end string) bool { return strings.HasSuffix(last, end) })
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
