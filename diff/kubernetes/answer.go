package kubernetes

import (
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// asked says that the server was asked what an apply would make.
func (c *comparison) asked() bool { return c.options.ThreeWay && c.options.Answers != nil }

// owners are the field managers of a live object, of which one is who applies.
func (c *comparison) owners(live, wanted raw.Value) owners {
	o := ownersOf(live, wanted)
	if c.options.Manager != "" {
		o.ours = c.options.Manager
	}
	return o
}

// whyAdopted says what becomes of an object that runs already.
func (c *comparison) whyAdopted() string {
	if c.options.Plain {
		return "it was not part of the component and is taken over as it runs"
	}
	return "it was not part of the release and is taken over as it runs"
}

// settle puts the server's answer in the place of what is wanted. What Helm makes apart from the release is no part of an answer.
func (c *comparer) settle(j *job, v *values, typ *schema.Type) {
	if v.answer.IsNull() || v.after.IsNull() || j.after.GenerateName || c.hookOf(v.after) != "" {
		return
	}
	v.rendered = v.after
	if !v.answerAgain.IsNull() {
		for _, d := range c.walk(j, typ, v.answerAgain, v.answer) {
			v.madeUp = append(v.madeUp, d.path)
		}
	}
	v.after = v.answer
	if v.live.IsNull() {
		v.after = cut(typ, v.answer, c.added(j, v, typ))
		return
	}
	c.settleScale(v)
}

// added are the paths of what the server puts into a new object by itself.
func (c *comparer) added(j *job, v *values, typ *schema.Type) []tree.Path {
	var out []tree.Path
	for _, d := range c.walk(j, typ, v.rendered, v.answer) {
		// Who leaves replicas out of a new object gets the default; of one that runs it would be somebody's choice.
		if !d.hasBefore && (c.servers(&d, v, typ, false) || d.typ.IsDefault(d.after, d.parent)) {
			out = append(out, d.path)
		}
	}
	if j.id.Kind == "Job" && j.id.Group == "batch" {
		for _, key := range ofRun {
			v.madeUp = append(v.madeUp, tree.Path{}.Field("spec").Field("template").Field("metadata").Field("labels").Field(key))
		}
	}
	for _, p := range v.madeUp {
		if _, _, written := v.written.find(typ, v.rendered, p); !written {
			out = append(out, p)
		}
	}
	return out
}

// settleScale takes the replicas of an object that somebody scales as the same on both sides, because they move by themselves. That an
// apply sets them is said in words.
func (c *comparer) settleScale(v *values) {
	by := c.scaler(v.live)
	if by == "" {
		return
	}
	path := tree.Path{}.Field("spec").Field("replicas")
	if wanted, _, ok := (&selections{}).find(nil, v.after, path); ok {
		v.live = withReplicas(v.live, wanted)
		if _, _, written := v.written.find(nil, v.rendered, path); written {
			v.scaler = by
		}
	}
}

// withReplicas is an object with another spec.replicas.
func withReplicas(object, replicas raw.Value) raw.Value {
	whole, _ := raw.Reveal(object).(map[string]any)
	spec, ok := whole["spec"].(map[string]any)
	if !ok {
		return object
	}
	whole, spec = maps.Clone(whole), maps.Clone(spec)
	spec["replicas"], whole["spec"] = raw.Reveal(replicas), spec
	return raw.Of(whole)
}

// servers says that a difference is the server's own doing: what it owns, fills in or chooses, and, if that is asked for, holds anything that
// it makes up anew at each request.
func (c *comparer) servers(d *difference, v *values, typ *schema.Type, madeUp bool) bool {
	if _, _, written := v.written.find(typ, v.rendered, d.path); written && d.authored {
		return false
	}
	if fold := foldOf(d); fold == foldServer || fold == foldDefault || bookkeeping(d.path) {
		return true
	}
	if _, _, written := v.written.find(typ, v.rendered, d.path); written {
		return false
	}
	return d.typ.Assigned() || madeUp && slices.ContainsFunc(v.madeUp, d.path.Overlaps) || ofJob(d)
}

// bookkeeping says that a path leads into what the server keeps about an object, also into its lists.
func bookkeeping(p tree.Path) bool {
	return len(p) > 0 && (p[0].Key == "status" || len(p) > 1 && p[0].Key == "metadata" && p[1].Key == "managedFields")
}

// ofRun are the labels by which the pods of a Job are known, and whose values the server chooses.
// https://kubernetes.io/docs/concepts/workloads/controllers/job/#specifying-your-own-pod-selector
var ofRun = []string{"controller-uid", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "job-name"}

// ofJob says that a difference is such a label, also in a selector.
func ofJob(d *difference) bool {
	return len(d.path) > 0 && slices.Contains(ofRun, d.path[len(d.path)-1].Key)
}

// answered are the differences between what runs and what the server makes of what is wanted: what it leaves alone is the same in both.
func (c *comparer) answered(j *job, v *values, typ *schema.Type) []difference {
	found := sameVersion(c.walk(j, typ, v.live, v.after), v)
	found = slices.DeleteFunc(found, func(d difference) bool { return c.servers(&d, v, typ, true) })
	o := c.owners(v.live, v.rendered)
	for i := range found {
		found[i].owner = o.of(found[i].path)
	}
	return found
}

// cut is a value without what is at some paths, as a walk gives them: of keys, selections and places in lists. What is empty then goes, too.
func cut(t *schema.Type, v raw.Value, paths []tree.Path) raw.Value {
	if len(paths) == 0 {
		return v
	}
	if v.IsList() {
		return cutElements(t, v, paths)
	}
	object, ok := raw.Reveal(v).(map[string]any)
	if !ok {
		return v
	}
	out := maps.Clone(object)
	below := map[string][]tree.Path{}
	for _, p := range paths {
		if k := p[0].Key; len(p) == 1 {
			delete(out, k)
		} else {
			below[k] = append(below[k], p[1:])
		}
	}
	for k, rest := range below {
		child, ok := out[k]
		if !ok {
			continue
		}
		left := cut(t.Field(k), raw.Of(child), rest)
		if out[k] = raw.Reveal(left); left.IsList() && left.Len() == 0 || left.IsObject() && len(left.Keys()) == 0 {
			delete(out, k)
		}
	}
	return raw.Of(out)
}

// cutElements leaves elements of a list out, or parts of them.
func cutElements(t *schema.Type, v raw.Value, paths []tree.Path) raw.Value {
	var out []any
	for i := range v.Len() {
		var rest []tree.Path
		goes := false
		for _, p := range paths {
			if !standsAt(t.Elem(), v.At(i), i, p[0]) {
				continue
			}
			if goes = goes || len(p) == 1; !goes {
				rest = append(rest, p[1:])
			}
		}
		if !goes {
			out = append(out, raw.Reveal(cut(t.Elem(), v.At(i), rest)))
		}
	}
	return raw.Of(out)
}

// standsAt says that a step leads to an element of a list.
func standsAt(elem *schema.Type, e raw.Value, place int, s tree.Step) bool {
	switch {
	case s.IsIndex:
		return s.Index == place
	case !s.IsSelect:
		return false
	case len(s.By) > 0:
		name, ok := keyName(e, elem, s.By)
		return ok && name == s.Select
	}
	name, ok := scalarText(e)
	return ok && name == s.Select
}
