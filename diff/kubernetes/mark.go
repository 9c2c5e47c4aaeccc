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

// The rules of findings that are no risk rules: facts about an object from
// the caller that queried the server.
const (
	RuleUnchecked = "not-checked-by-server"
	RuleTakesOver = "field-taken-over"
	RuleTakenFrom = "object-taken-over"
	RuleScaled    = "scaled-by-others"
)

// Unchecked returns the finding about an object for which the server was not queried. Why
// completes "not checked by the server: …", as in "its namespace is created by this change".
func Unchecked(why string) diff.Finding {
	return diff.Finding{
		Rule: RuleUnchecked, Source: "https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run",
		Risk: diff.RiskNone, Message: "not checked by the server: " + why,
	}
}

// TakesOver returns the finding about a field that an apply takes over from
// another field manager, which may set it again.
func TakesOver(path, manager string) diff.Finding {
	return diff.Finding{
		Rule: RuleTakesOver, Source: "https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts",
		Risk: diff.RiskInPlace, Path: path,
		Message: fmt.Sprintf("%s is managed by %s, and this apply takes it over", path, manager),
	}
}

// TakenFrom returns the finding about a whole object that an apply takes over
// from its owner: a component, a release.
func TakenFrom(owner string) diff.Finding {
	return diff.Finding{
		Rule: RuleTakenFrom, Source: "https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/",
		Risk: diff.RiskInPlace, Message: "the object belongs to " + owner + ", and this apply takes it over",
	}
}

// scaled returns the finding about replicas that another manager scales and
// an apply sets. It omits the current number, which changes without a deploy.
func scaled(manager string) diff.Finding {
	return diff.Finding{
		Rule: RuleScaled, Source: "https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/",
		Risk: diff.RiskInPlace, Path: "spec.replicas",
		Message: fmt.Sprintf("%s scales it, and each apply resets spec.replicas: remove the field to let it scale", manager),
	}
}

// mark holds the caller's findings about one object.
type mark struct {
	id       manifest.ID
	findings []diff.Finding
	// recreated is the reason for recreating the object; empty if it is not recreated.
	recreated string
	// placed: the findings are attached to a change. Only the goroutine that
	// compares the object writes it.
	placed bool
}

// readMarks indexes what the caller reports about objects by their keys.
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
	c.leftovers = map[manifest.ID]bool{}
	for id, left := range c.options.Leftovers {
		k := c.matcher.key(id)
		c.leftovers[k] = c.leftovers[k] || left
	}
}

func byAddress(a, b manifest.ID) int { return cmp.Compare(a.Address(), b.Address()) }

// marked returns the caller's findings about the object of a job; nil if there are none. If an object
// and a hook have the same key, they are about the object.
func (c *comparison) marked(j *job) *mark {
	if len(c.marks) == 0 || j.twinHook {
		return nil
	}
	return c.marks[c.matcher.key(j.id)]
}

// mark adds the caller's findings to the change of their object.
func (c *comparer) mark(j *job, v *values, change *diff.Change) {
	if v.scaler != "" {
		change.AddFindings(scaled(diff.EscapeText(c.masker.Text(v.scaler))))
	}
	m := c.marked(j)
	if m == nil || len(m.findings) == 0 {
		return
	}
	m.placed = true
	change.AddFindings(m.findings...)
}

// recreated returns why the server cannot change an object in place.
func (c *comparison) recreated(j *job) (why string, ok bool) {
	m := c.marked(j)
	if m == nil || m.recreated == "" {
		return "", false
	}
	return c.masker.Text(m.recreated), true
}

// unplaced returns, as text, the caller's findings about objects without a change.
func (c *comparison) unplaced() []string {
	var out []string
	for _, m := range slices.SortedFunc(maps.Values(c.marks), func(a, b *mark) int { return byAddress(a.id, b.id) }) {
		for _, f := range m.findings {
			if !m.placed {
				out = append(out, c.masker.Name(address(m.id, c.masker.Name)+": "+f.Message))
			}
		}
	}
	return out
}

// ownNotes returns the caller's notes.
func (c *comparison) ownNotes() []string {
	var out []string
	for _, n := range c.options.Notes {
		out = append(out, c.masker.Text(n))
	}
	return out
}

// scaler returns the manager that scales a live object through its scale subresource,
// other than the applier and kubectl: its number of replicas changes without a deploy.
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
		if owns && raw.TextAt(e, "subresource") == "scale" && name != "" && name != c.options.Manager &&
			!strings.HasPrefix(name, "kubectl") {
			return name
		}
	}
	return ""
}
