package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/reference"
)

// judgeReferences adds a finding for each reference between objects of the set that the changes
// break, to the change that breaks it. It returns notes for those without such a change.
func (c *comparison) judgeReferences(outcomes []outcome) ([]string, error) {
	at := map[manifest.ID]*outcome{}
	keys := map[manifest.ID]bool{}
	stays := map[manifest.ID]bool{}
	matter := false
	for i := range outcomes {
		o := &outcomes[i]
		if o.section == nowhere {
			continue
		}
		id := c.matcher.key(o.id)
		if o.change.Action == diff.Forget {
			stays[id] = true
			continue
		}
		at[id] = o
		if o.from != (manifest.ID{}) {
			at[c.matcher.key(o.from)] = o
		}
		if holdsKeys(id) && losesKey(o) {
			keys[id] = true
		}
		matter = matter || keys[id] || mayBreak(o)
	}
	if !matter {
		return nil, nil
	}
	before, err := c.referring(c.before, keys)
	if err != nil {
		return nil, err
	}
	after, err := c.referring(c.after, keys)
	if err != nil {
		return nil, err
	}
	var notes []string
	for _, b := range reference.Find(before, after) {
		if stays[b.Target] {
			continue
		}
		if note := c.placeBroken(b, at); note != "" {
			notes = append(notes, note)
		}
	}
	return notes, nil
}

func holdsKeys(id manifest.ID) bool {
	return id.Group == "" && (id.Kind == "ConfigMap" || id.Kind == "Secret")
}

// losesKey reports whether a ConfigMap or a Secret that stays loses a key.
func losesKey(o *outcome) bool {
	return o.change.Action != diff.Create && slices.ContainsFunc(o.differences, func(d difference) bool {
		return !d.hasAfter
	})
}

// mayBreak reports whether a change can break a reference: something is
// removed, or labels, ports or selectors change.
func mayBreak(o *outcome) bool {
	switch o.change.Action {
	case diff.Destroy, diff.Replace:
		return true
	case diff.Create:
		return len(o.differences) > 0 && slices.Contains([]string{"Ingress", "Service", "HTTPRoute", "GRPCRoute"}, o.id.Kind)
	}
	if holdsKeys(o.id) || definition(o.id) || strings.HasSuffix(o.id.Group, "rbac.authorization.k8s.io") {
		return false
	}
	return slices.ContainsFunc(o.differences, func(d difference) bool {
		if len(d.path) > 0 && d.path[0].Key == "metadata" {
			return o.id.Kind == "Pod" // selectors do not match the labels of other kinds
		}
		return len(d.path) < 3 || slices.ContainsFunc(d.path, func(s *tree.Step) bool { return matching[s.Key] })
	})
}

// matching are the keys of what selectors match, of selectors, and of references to ports.
var matching = map[string]bool{
	"labels": true, "selector": true, "podSelector": true, "matchLabels": true, "ports": true, "port": true,
	"service": true, "backendRefs": true, "rules": true, "webhooks": true,
}

// referring returns the objects of a side that can have references or be
// referenced. It reads the content of settings only if a key is removed.
func (c *comparison) referring(side *manifest.Set, keys map[manifest.ID]bool) ([]reference.Object, error) {
	var from []*manifest.Object
	for _, o := range side.Objects {
		if !definition(o.ID) && !o.GenerateName {
			from = append(from, o)
		}
	}
	out := make([]reference.Object, len(from))
	err := each(len(from), func() struct{} { return struct{}{} }, func(_ struct{}, i int) (err error) {
		id := c.matcher.key(from[i].ID)
		out[i] = reference.Object{ID: id, Custom: !c.isBuiltin(id)}
		if !holdsKeys(id) || keys[id] {
			out[i].Value, err = from[i].Value()
		}
		return err
	})
	return out, err
}

// placeBroken adds a finding to the change of the referenced object, or else
// to that of the referring one. Without such a change, it returns a note.
func (c *comparison) placeBroken(b reference.Broken, at map[manifest.ID]*outcome) string {
	f := diff.Finding{Rule: string(b.Rule), Source: brokenSources[b.Rule], Risk: diff.RiskInPlace}
	if b.Rule == reference.Gone {
		f.Risk = diff.RiskDestroy
	}
	words := c.brokenWords(b)
	if o := at[b.Target]; o != nil {
		f.Message = words
		if b.Rule == reference.Gone && c.matcher.key(o.id) != b.Target {
			f.Message = "its old name is still used by " + c.addresses(b.Users)
		}
		o.judge(f)
		return ""
	}
	f.Message = c.addressText(b.Target) + ": " + words
	for _, user := range b.Users {
		if o := at[user]; o != nil {
			o.judge(f)
			return ""
		}
	}
	return f.Message
}

// judge adds a finding to the change, and to the part of it that remains if
// only regenerated values differ.
func (o *outcome) judge(f diff.Finding) {
	o.change.AddFindings(f)
	o.unjudged.AddFindings(f)
}

var brokenSources = map[reference.Rule]string{
	reference.Gone:     "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/",
	reference.KeyGone:  "https://kubernetes.io/docs/tasks/configure-pod-container/configure-pod-configmap/",
	reference.PortGone: "https://kubernetes.io/docs/concepts/services-networking/service/#defining-a-service",
	reference.NoPods:   "https://kubernetes.io/docs/concepts/services-networking/service/#services-in-kubernetes",
	reference.Mismatch: "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#selector",
}

func (c *comparison) brokenWords(b reference.Broken) string {
	part := diff.EscapeText(c.masker.Text(b.Part))
	switch b.Rule {
	case reference.KeyGone:
		return fmt.Sprintf("its key %s is removed but still used by %s", part, c.addresses(b.Users))
	case reference.PortGone:
		return fmt.Sprintf("its port %s is removed but still used by %s", part, c.addresses(b.Users))
	case reference.NoPods:
		return "its selector no longer matches any pods of these manifests; before, it matched those of " +
			c.addresses(b.Users)
	case reference.Mismatch:
		return "its selector does not match the labels of its pods: the API server rejects it"
	}
	return "it is removed but still used by " + c.addresses(b.Users)
}

// maxNamed is the largest number of users of one object that are named.
const maxNamed = 3

func (c *comparison) addresses(ids []manifest.ID) string {
	var names []string
	for _, id := range ids[:min(len(ids), maxNamed)] {
		names = append(names, c.addressText(id))
	}
	out := strings.Join(names, ", ")
	if more := len(ids) - maxNamed; more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

func (c *comparison) addressText(id manifest.ID) string { return address(id, c.masker.Name) }
