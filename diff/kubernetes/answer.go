package kubernetes

import (
	"slices"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// asked reports whether the caller passed the API server's dry-run answers.
func (c *comparison) asked() bool { return c.options.ThreeWay && c.options.Answers != nil }

// owners returns the field managers of a live object, one of which is the applier.
func (c *comparison) owners(live, wanted raw.Value) owners {
	o := ownersOf(live, wanted)
	if c.options.Manager != "" {
		o.ours = c.options.Manager
	}
	return o
}

// whyAdopted returns the reason of an import: the object already runs.
func (c *comparison) whyAdopted() string {
	if c.options.Plain {
		return "it was not part of the component, which now adopts it as it is"
	}
	return "it was not part of the release, which now adopts it as it is"
}

// manifest is like object, but as it is rendered: the answer for an object of the release can have the
// annotation of a hook that once created it.
func (v *values) manifest() raw.Value {
	if !v.rendered.IsNull() {
		return v.rendered
	}
	return v.object()
}

// settle replaces the desired object with the server's answer. Objects that
// Helm creates separately from the release have no answer.
func (c *comparer) settle(j *job, v *values, typ *schema.Type) {
	if v.answer.IsNull() || v.after.IsNull() || j.after.GenerateName || c.hookOf(v.after) != "" {
		return
	}
	v.rendered = v.after
	if !v.answerAgain.IsNull() {
		for _, d := range c.walk(j, typ, v.answerAgain, v.answer) {
			v.generated.Add(d.path)
		}
	}
	v.after = v.answer
	if v.live.IsNull() {
		v.after = cut(typ, v.answer, c.added(j, v, typ))
		return
	}
	c.settleScale(v)
}

// added returns the paths of the fields that the server adds to a new object.
func (c *comparer) added(j *job, v *values, typ *schema.Type) []tree.Path {
	var out []tree.Path
	for _, d := range c.walk(j, typ, v.rendered, v.answer) {
		// A new object without replicas gets the default. In a live object, the value may be someone
		// else's choice.
		if !d.hasBefore && (c.servers(j, &d, v, typ, false) || d.typ.IsDefault(d.after, d.parent)) {
			out = append(out, d.path)
		}
	}
	if isJob(j.id) {
		for _, key := range ofRun {
			v.generated.Add(tree.Path{}.Field("spec").Field("template").Field("metadata").Field("labels").Field(key))
		}
	}
	for _, p := range v.generated.All() {
		if !v.written.writes(typ, v.rendered, p) {
			out = append(out, p)
		}
	}
	return out
}

// settleScale leaves the number to which another manager scales the object out of the comparison,
// because that number changes without a deploy. A finding reports that an apply sets replicas.
func (c *comparer) settleScale(v *values) {
	by := c.scaler(v.live)
	if by == "" {
		return
	}
	path := tree.Path{}.Field("spec").Field("replicas")
	wanted, _, ok := (&selections{}).find(nil, v.after, path)
	if !ok {
		return
	}
	if v.written.writes(nil, v.rendered, path) {
		v.scaler = by
		wanted, _, _ = (&selections{}).find(nil, v.before, path) // what the author changes is shown
	}
	v.live = withReplicas(v.live, wanted)
}

// withReplicas returns a copy of an object with another spec.replicas; null removes it.
func withReplicas(object, replicas raw.Value) raw.Value {
	spec, _ := object.Get("spec")
	switch {
	case !spec.IsObject():
		return object
	case replicas.IsNull():
		return object.With("spec", spec.Without("replicas"))
	}
	return object.With("spec", spec.With("replicas", replicas))
}

// servers reports whether the server causes a difference: in a field that it owns, defaults
// or chooses, and, if generated is set, in a value that it generates on each request.
func (c *comparer) servers(j *job, d *difference, v *values, typ *schema.Type, generated bool) bool {
	if d.authored && v.authorsList(typ, d.path) {
		return false
	}
	writes := v.written.writes(typ, v.rendered, d.path)
	switch fold := foldOf(d); {
	case fold == foldServer && writes && isAnnotation(d.path):
		return false // the manifest has it, too, so it is folded and counted
	case fold == foldServer || fold == foldDefault || bookkeeping(d.path):
		return true
	case writes:
		return false
	}
	wrote := !v.live.IsNull() && v.last.writes(typ, v.before, d.path.InBefore())
	switch {
	case wrote && !d.hasAfter:
		return false
	case generated && v.generated.Overlaps(d.path):
		return true
	}
	return !wrote && (d.typ.Assigned() || ofJob(j.id, d.path))
}

// authorsList reports whether the manifest, or what was applied last, has a value at a path, or the
// first list on the path.
func (v *values) authorsList(typ *schema.Type, p tree.Path) bool {
	if list := slices.IndexFunc(p, func(s *tree.Step) bool { return s.IsIndex || s.IsSelect }); list >= 0 {
		p = p[:list]
	}
	return v.written.writes(typ, v.rendered, p) || v.last.writes(typ, v.before, p)
}

// bookkeeping reports whether a path leads into the server's own records
// about an object, including lists in them.
func bookkeeping(p tree.Path) bool {
	return len(p) > 0 && (p[0].Key == "status" || len(p) > 1 && p[0].Key == "metadata" && p[1].Key == "managedFields")
}

// isAnnotation reports whether a path leads to an annotation of an object.
func isAnnotation(p tree.Path) bool {
	return len(p) == 3 && p[0].Key == "metadata" && p[1].Key == "annotations"
}

// isJob reports whether an object is a Job, for which the server chooses labels of pods.
func isJob(id manifest.ID) bool { return id.Kind == "Job" && id.Group == "batch" }

// ofRun are the labels that identify the pods of a Job, and whose values the server chooses.
// https://kubernetes.io/docs/concepts/workloads/controllers/job/#specifying-your-own-pod-selector
var ofRun = []string{"controller-uid", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "job-name"}

// ofJob reports whether a path leads to one of these labels of a Job's pods, or to the
// selector on one. Everywhere else, the author of the manifest chooses the values of such keys.
func ofJob(id manifest.ID, p tree.Path) bool {
	keys, plain := keysOf(p)
	if !isJob(id) || !plain || len(keys) == 0 || !slices.Contains(ofRun, keys[len(keys)-1]) {
		return false
	}
	above := keys[:len(keys)-1]
	return slices.Equal(above, []string{"spec", "selector", "matchLabels"}) ||
		slices.Equal(above, []string{"spec", "template", "metadata", "labels"})
}

// answered returns the differences between the live object and the server's answer
// for the desired one: a field that the server does not change is the same in both.
func (c *comparer) answered(j *job, v *values, typ *schema.Type) []difference {
	found := sameVersion(c.walkStored(j, typ, v.live, v.after), v)
	found = slices.DeleteFunc(found, func(d difference) bool { return c.servers(j, &d, v, typ, true) })
	o := c.owners(v.live, v.rendered)
	for i := range found {
		found[i].owner = o.of(found[i].path)
	}
	return found
}

// cut returns a value without what is at the given paths of a walk, which consist of
// keys, selections and list indices. It also removes objects and lists that become empty.
func cut(t *schema.Type, v raw.Value, paths []tree.Path) raw.Value {
	if len(paths) == 0 {
		return v
	}
	if v.IsList() {
		return cutElements(t, v, paths)
	}
	if !v.IsObject() {
		return v
	}
	below := map[string][]tree.Path{}
	for _, p := range paths {
		if k := p[0].Key; len(p) == 1 {
			v = v.Without(k)
		} else {
			below[k] = append(below[k], p[1:])
		}
	}
	for k, rest := range below {
		child, ok := v.Get(k)
		if !ok {
			continue
		}
		left := cut(t.Field(k), child, rest)
		if left.IsList() && left.Len() == 0 || left.IsObject() && len(left.Fields()) == 0 {
			v = v.Without(k)
		} else {
			v = v.With(k, left)
		}
	}
	return v
}

// cutElements removes elements of a list, or parts of them.
func cutElements(t *schema.Type, v raw.Value, paths []tree.Path) raw.Value {
	var out []raw.Value
	for i := range v.Len() {
		var rest []tree.Path
		goes := false
		for _, p := range paths {
			if !standsAt(t.Elem(), v.At(i), i, *p[0]) {
				continue
			}
			if goes = goes || len(p) == 1; !goes {
				rest = append(rest, p[1:])
			}
		}
		if !goes {
			out = append(out, cut(t.Elem(), v.At(i), rest))
		}
	}
	return raw.OfList(out)
}

// standsAt reports whether a step leads to an element of a list.
func standsAt(elem *schema.Type, e raw.Value, place int, s tree.Step) bool {
	switch {
	case s.IsIndex:
		return s.Index == place
	case !s.IsSelect:
		return false
	case len(s.By()) > 0:
		name, ok := keyName(e, elem, s.By())
		return ok && name == s.Select
	}
	name, ok := scalarText(e)
	return ok && name == s.Select
}
