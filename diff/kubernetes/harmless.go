package kubernetes

import (
	"slices"
	"strings"
	"sync"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// This file proves against the objects at hand that a fold is harmless. What nothing proves is shown.

// findSelected finds out which of the labels that rules fold are read by something on some side: a selector, the text of a policy, an
// argument. It parses only documents that name one of them elsewhere than among labels.
func (c *comparison) findSelected() error {
	c.selected = map[string]bool{}
	var objects []*manifest.Object
	for _, side := range []*manifest.Set{c.before, c.after, c.live, c.answers} {
		if side != nil {
			objects = append(objects, side.Objects...)
		}
	}
	labels := foldedLabels()
	named := make([][]string, len(objects))
	_ = each(len(objects), func() struct{} { return struct{}{} }, func(_ struct{}, i int) error {
		for _, key := range labels {
			if objects[i].NamesOutside(key, "labels", "metadata") {
				named[i] = append(named[i], key)
			}
		}
		return nil
	})
	// The shortest documents come first: what they select needs not be looked for in long ones.
	var order []int
	for i := range objects {
		if named[i] != nil {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return objects[a].Size() - objects[b].Size() })
	var mutex sync.Mutex
	return each(len(order), func() struct{} { return struct{}{} }, func(_ struct{}, i int) error {
		keys := named[order[i]]
		mutex.Lock()
		known := !slices.ContainsFunc(keys, func(key string) bool { return !c.selected[key] })
		mutex.Unlock()
		if known {
			return nil
		}
		v, err := objects[order[i]].Value()
		if err != nil {
			return err
		}
		mutex.Lock()
		defer mutex.Unlock()
		selects(v, "", "", keys, c.selected)
		return nil
	})
}

// foldedLabels are the labels of the rules whose folds something may read.
func foldedLabels() []string {
	var out []string
	for _, r := range rules {
		for _, at := range r.at {
			if n := len(at); r.unlessRead && n > 1 && at[n-2] == "labels" && !slices.Contains(out, at[n-1]) {
				out = append(out, at[n-1])
			}
		}
	}
	return out
}

// selects collects which of some labels a value names elsewhere than as labels: as a key, as a whole text, or, where its name is no plain
// word, within a text. Parent is the key that holds the value, and around the one that holds that. What the server or kubectl notes of an
// object's own fields in its metadata reads no label.
func selects(v raw.Value, around, parent string, keys []string, found map[string]bool) {
	named := func(text string) {
		for _, key := range keys {
			if text == key || strings.ContainsAny(key, "./") && strings.Contains(text, key) {
				found[key] = true
			}
		}
	}
	switch {
	case v.IsObject():
		for _, k := range v.Keys() {
			child, _ := v.Get(k)
			if parent == "metadata" && k == "managedFields" || parent == "annotations" && k == lastApplied {
				continue
			}
			if parent != "labels" || around != "metadata" {
				named(k)
			}
			selects(child, parent, k, keys, found)
		}
	case v.IsList():
		for i := range v.Len() {
			selects(v.At(i), parent, "", keys, found)
		}
	default:
		text, _ := raw.Text(v)
		named(text)
	}
}

// exposes says that pods of an object read their own labels or annotations, all of them or those that are named.
func exposes(v raw.Value) bool {
	return !raw.Leaves(v, func(text string, isKey bool) bool {
		return isKey || !strings.HasPrefix(text, "metadata.labels") && !strings.HasPrefix(text, "metadata.annotations")
	})
}

// earlier is the type that a custom resource has before the change, where that may be another one than after it: then a default or a form
// counts only if both say so. It is typ where the definition stays as it is, and nil where there was none.
func (c *comparison) earlier(j *job, typ *schema.Type) *schema.Type {
	if !c.redefined[j.id.Group] {
		return typ
	}
	return c.was.Find(j.id.Group, j.version(), j.id.Kind)
}

// readDefinitions reads the definitions of custom resources that are not the same on both sides, as they are before.
func (c *comparison) readDefinitions(jobs []job) error {
	c.redefined, c.was = map[string]bool{}, schema.Builtin()
	at := func(sides ...*manifest.Set) map[manifest.ID]*manifest.Object {
		out := map[manifest.ID]*manifest.Object{}
		for _, o := range wantedDefinitions(customGroups(jobs), sides) {
			out[o.ID] = o
		}
		return out
	}
	was, is := at(c.live, c.before), at(c.before, c.live, c.after)
	var before []raw.Value
	for id, o := range is {
		if was[id] != nil && (was[id] == o || was[id].Same(o)) {
			continue
		}
		_, group, _ := strings.Cut(id.Name, ".")
		c.redefined[group] = true
	}
	for id, o := range was {
		if _, group, _ := strings.Cut(id.Name, "."); !c.redefined[group] {
			continue
		}
		v, err := o.Value()
		if err != nil {
			return err
		}
		before = append(before, v)
	}
	c.was, _ = c.was.With(before)
	return nil
}

// statusOwned says that what a manifest writes into status is dropped by the API server: the kind has a subresource for it. Of a custom
// resource only its definition tells, on every side that has one.
func (c *comparison) statusOwned(j *job) bool {
	owned := c.schemas.DropsStatus(j.id.Group, j.version(), j.id.Kind)
	if c.redefined[j.id.Group] && c.was.Find(j.id.Group, j.version(), j.id.Kind) != nil {
		owned = owned && c.was.DropsStatus(j.id.Group, j.version(), j.id.Kind)
	}
	return owned
}

// used says that the set has objects of the kind that a definition defines: what its schema gains may be in them already, and take effect.
func (c *comparison) used(definition raw.Value) bool {
	spec, _ := definition.Get("spec")
	names, _ := spec.Get("names")
	group, kind := raw.TextAt(spec, "group"), raw.TextAt(names, "kind")
	for _, side := range []*manifest.Set{c.before, c.after, c.live} {
		if side != nil && slices.ContainsFunc(side.Objects, func(o *manifest.Object) bool { return o.ID.Group == group && o.ID.Kind == kind }) {
			return true
		}
	}
	return false
}

// inert says that a difference in a schema changes nothing for objects that do not use it: a field is added, with no default anywhere in it,
// or the default of a field becomes an empty text.
func inert(d *difference, rest tree.Path) bool {
	if d.hasBefore || !d.hasAfter {
		return false
	}
	if len(rest) == 0 {
		return !mentions(d.after, "default")
	}
	text, isText := raw.Reveal(d.after).(string)
	return len(rest) == 1 && rest[0].Key == "default" && isText && text == ""
}
