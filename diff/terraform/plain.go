package terraform

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// plainPlace reports whether a value is an image, a subject, a role, a path, an ARN or the like. It
// is shown even if it equals a secret.
func plainPlace(p tree.Path, before, after diff.Raw) bool {
	if secret.CommandPlace(p) {
		return false
	}
	for _, s := range p {
		if s.Key != "" && secret.Plain(s.Key) {
			return true
		}
	}
	return secret.IsARN(before) || secret.IsARN(after)
}

// definitions lists the attributes that define what runs, or the content of a cluster or an account,
// and that may contain secrets, too.
var definitions = map[string]bool{
	"container_definitions": true, "container_properties": true, "ecs_properties": true, "eks_properties": true,
	"node_properties": true, "content": true, "content_base64": true, "template_body": true, "definition": true,
	"values": true, "set": true, "set_list": true, "set_sensitive": true, "postrender": true,
}

// definesPlace reports whether a value is part of such a definition. A resource that exists to hold
// a secret defines nothing.
func definesPlace(kind string, p tree.Path) bool {
	if len(p) > 0 && p[0].Key == "metadata" && strings.HasPrefix(kind, "google_compute_") {
		return true // startup scripts and keys for logins
	}
	return len(p) > 0 && definitions[p[0].Key] && !strings.Contains(kind, "secret") && !strings.Contains(kind, "sensitive")
}

// masksDecision reports whether masking hides a change of what runs, or of who may do what. A
// definition may hold secrets under their names, so there it counts only if the field is masked as a
// whole or if a masked part equals a secret from elsewhere.
func (c *comparer) masksDecision(p tree.Path, n node, f *diff.FieldChange, plain, copied bool) bool {
	switch {
	case !n.hasAfter:
		return false
	case plain || secret.CommandPlace(p):
		return f.HidesChange()
	case n.named || !definesPlace(c.kind, p):
		return false
	}
	return f.HidesChange() && (f.Before.Masked || f.After.Masked || copied)
}

// copies reports whether a text contains a copy of a learned secret.
func (c *comparer) copies(v diff.Raw) bool {
	found := false
	raw.Leaves(v, func(text string, _ bool) bool {
		found = found || c.masker.ContainsSecret(text)
		return !found
	})
	return found
}
