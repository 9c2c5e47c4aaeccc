package kubernetes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

// The rules of findings that are no rules of risk: what whoever asked the server knows of an object.
const (
	RuleUnchecked = "not-checked-by-server"
	RuleTakesOver = "field-taken-over"
	RuleTakenFrom = "object-taken-over"
	RuleScaled    = "scaled-by-others"
)

// Unchecked says that the server was not asked about an object. Why completes "not checked by the server: …", as in "its namespace is made
// by this very change".
func Unchecked(why string) diff.Finding {
	return diff.Finding{
		Rule: RuleUnchecked, Source: "https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run", Risk: diff.RiskNone,
		Words: "not checked by the server: " + why,
	}
}

// TakesOver says that an apply takes a field over from another field manager, which may set it again.
func TakesOver(path, manager string) diff.Finding {
	return diff.Finding{
		Rule: RuleTakesOver, Source: "https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts", Risk: diff.RiskInPlace, Path: path,
		Words: fmt.Sprintf("%s is set by %s, and this takes it over", path, manager),
	}
}

// TakenFrom says that an apply takes a whole object over from somebody who has it until then: a component, a release.
func TakenFrom(owner string) diff.Finding {
	return diff.Finding{
		Rule: RuleTakenFrom, Source: "https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/", Risk: diff.RiskInPlace,
		Words: "the object belongs to " + owner + ", and this takes it over",
	}
}

// scaled says that replicas that somebody scales are set to what is wanted. It names no number of now: that moves by itself.
func scaled(manager string) diff.Finding {
	return diff.Finding{
		Rule: RuleScaled, Source: "https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/", Risk: diff.RiskInPlace,
		Path:  "spec.replicas",
		Words: fmt.Sprintf("%s scales it, and each apply sets spec.replicas back: leave it out to leave that alone", manager),
	}
}

// mark is what the caller says of one object.
type mark struct {
	id       manifest.ID
	findings []diff.Finding
	// recreated is why the object is made anew; empty where it is not.
	recreated string
	// placed: it stands at a change. Only who compares the object writes it.
	placed bool
}

// readMarks puts what the caller says under the keys of the objects.
func (c *comparison) readMarks() {
	c.marks = map[manifest.ID]*mark{}
	at := func(id manifest.ID) *mark {
		k := c.matcher.key(id)
		if c.marks[k] == nil {
			c.marks[k] = &mark{id: id}
		}
		return c.marks[k]
	}
	for _, id := range slices.SortedFunc(maps.Keys(c.options.Findings), byAddress) {
		m := at(id)
		m.findings = append(m.findings, c.options.Findings[id]...)
	}
	for id, why := range c.options.Recreated {
		at(id).recreated = why
	}
}

func byAddress(a, b manifest.ID) int { return cmp.Compare(a.Address(), b.Address()) }

// marked is what the caller says of the object of a job; nil for nothing.
func (c *comparison) marked(j *job) *mark {
	if len(c.marks) == 0 {
		return nil
	}
	return c.marks[c.matcher.key(j.id)]
}

// mark puts the caller's findings at the change of their object.
func (c *comparer) mark(j *job, v *values, change *diff.Change) {
	if v.scaler != "" {
		change.Judge(scaled(diff.Neutral(c.masker.Text(v.scaler))))
	}
	m := c.marked(j)
	if m == nil || len(m.findings) == 0 {
		return
	}
	m.placed = true
	change.Judge(m.findings...)
}

// recreated is why the server does not change an object in place.
func (c *comparison) recreated(j *job) (why string, ok bool) {
	m := c.marked(j)
	if m == nil || m.recreated == "" {
		return "", false
	}
	return c.masker.Text(m.recreated), true
}

// unplaced are the caller's findings about objects of which there is no change, in words.
func (c *comparison) unplaced() []string {
	var out []string
	for _, m := range slices.SortedFunc(maps.Values(c.marks), func(a, b *mark) int { return byAddress(a.id, b.id) }) {
		for _, f := range m.findings {
			if !m.placed {
				out = append(out, c.masker.Name(address(m.id, c.masker.Name)+": "+f.Words))
			}
		}
	}
	return out
}

// ownNotes are those of the caller.
func (c *comparison) ownNotes() []string {
	var out []string
	for _, n := range c.options.Notes {
		out = append(out, c.masker.Text(n))
	}
	return out
}

// scaler is who scales a live object by its subresource, other than who applies and than a person: its number of replicas moves by itself.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership
func (c *comparison) scaler(live raw.Value) string {
	metadata, _ := live.Get("metadata")
	entries, _ := metadata.Get("managedFields")
	for i := range min(entries.Len(), maxManagers) {
		e := entries.At(i)
		name := raw.TextAt(e, "manager")
		fields, _ := e.Get("fieldsV1")
		spec, _ := fields.Get("f:spec")
		_, owns := spec.Get("f:replicas")
		if owns && raw.TextAt(e, "subresource") == "scale" && name != "" && name != c.options.Manager && !strings.HasPrefix(name, "kubectl") {
			return name
		}
	}
	return ""
}
