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

// This file checks against the other objects that a fold is harmless. A field
// is shown if that cannot be proven.

// labelReaders reports which of the labels that rules fold are read by something on any side: a
// selector, the text of a policy, an argument. It searches for a label when the first change of it
// is compared, and parses only documents that mention the label outside of labels. Several
// goroutines may use it.
type labelReaders struct {
	objects []*manifest.Object
	labels  map[string]func() bool
	mutex   sync.Mutex
	failed  map[string]error
}

func (c *comparison) labelReaders() *labelReaders {
	l := &labelReaders{labels: map[string]func() bool{}, failed: map[string]error{}}
	for _, side := range []*manifest.Set{c.before, c.after, c.live, c.answers} {
		if side != nil {
			l.objects = append(l.objects, side.Objects...)
		}
	}
	for _, label := range foldedLabels() {
		l.labels[label] = sync.OnceValue(func() bool { return l.search(label) })
	}
	return l
}

// reads reports whether something reads a label. A label counts as read if a document that may
// read it cannot be parsed; err then returns the error.
func (l *labelReaders) reads(label string) bool {
	return l != nil && l.labels[label] != nil && l.labels[label]()
}

// err returns the first error of all searches, in the order of the labels.
func (l *labelReaders) err() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, label := range foldedLabels() {
		if err := l.failed[label]; err != nil {
			return err
		}
	}
	return nil
}

// search reports whether an object reads a label. The shortest documents come first:
// what they select needs no search in long ones.
func (l *labelReaders) search(label string) bool {
	var mention []*manifest.Object
	for _, o := range l.objects {
		if o.NamesOutside(label, "labels", "metadata") {
			mention = append(mention, o)
		}
	}
	slices.SortStableFunc(mention, func(a, b *manifest.Object) int { return a.Size() - b.Size() })
	for _, o := range mention {
		v, err := o.Value()
		if err != nil {
			l.mutex.Lock()
			l.failed[label] = err
			l.mutex.Unlock()
		}
		if err != nil || selects(v, "", "", label) {
			return true
		}
	}
	return false
}

// foldedLabels returns the labels of the rules whose folds something may read.
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

// selects reports whether a value mentions a label other than as a label: as a key, as a whole
// text, or, unless the label is a plain word, inside a text. Parent is the key of the value, and
// around the key one level above. What the server or kubectl records about an object's own fields
// in its metadata does not count.
func selects(v raw.Value, around, parent, label string) bool {
	named := func(text string) bool {
		return text == label || strings.ContainsAny(label, "./") && strings.Contains(text, label)
	}
	switch {
	case v.IsObject():
		for _, k := range v.Keys() {
			child, _ := v.Get(k)
			if parent == "metadata" && k == "managedFields" || parent == "annotations" && k == lastApplied {
				continue
			}
			if (parent != "labels" || around != "metadata") && named(k) || selects(child, parent, k, label) {
				return true
			}
		}
	case v.IsList():
		for i := range v.Len() {
			if selects(v.At(i), parent, "", label) {
				return true
			}
		}
	default:
		text, _ := raw.Text(v)
		return named(text)
	}
	return false
}

// exposes reports whether pods of an object read their own labels or
// annotations, all or single ones.
func exposes(v raw.Value) bool {
	return !raw.Leaves(v, func(text string, isKey bool) bool {
		return isKey || !strings.HasPrefix(text, "metadata.labels") && !strings.HasPrefix(text, "metadata.annotations")
	})
}

// earlier returns the type of a custom resource before the change, if it may
// differ: then a default or a format counts only if both types have it. It
// returns typ if the definition does not change, and nil if there was none.
func (c *comparison) earlier(j *job, typ *schema.Type) *schema.Type {
	if !c.redefined[j.id.Group] {
		return typ
	}
	return c.was.Find(j.id.Group, j.version(), j.id.Kind)
}

// readDefinitions reads the previous version of the custom resource
// definitions that differ between the sides.
func (c *comparison) readDefinitions(jobs []job) error {
	c.redefined, c.was = map[string]bool{}, schema.Builtin()
	groups := customGroups(jobs)
	at := func(sides ...*manifest.Set) (map[manifest.ID]*manifest.Object, error) {
		definitions, err := c.wantedDefinitions(groups, sides)
		out := map[manifest.ID]*manifest.Object{}
		for _, o := range definitions {
			out[o.ID] = o
		}
		return out, err
	}
	was, err := at(c.live, c.before)
	if err != nil {
		return err
	}
	is, err := at(c.before, c.live, c.after)
	if err != nil {
		return err
	}
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

// statusOwned reports whether the API server drops the status in a manifest, because the kind has a
// status subresource. For a custom resource, the definitions of all sides that have one must agree.
func (c *comparison) statusOwned(j *job) bool {
	owned := c.schemas.DropsStatus(j.id.Group, j.version(), j.id.Kind)
	if c.redefined[j.id.Group] && c.was.Find(j.id.Group, j.version(), j.id.Kind) != nil {
		owned = owned && c.was.DropsStatus(j.id.Group, j.version(), j.id.Kind)
	}
	return owned
}

// used reports whether the set has objects of the kind that a definition defines:
// they may already use fields that its schema gains, which then take effect.
func (c *comparison) used(definition raw.Value) bool {
	spec, _ := definition.Get("spec")
	names, _ := spec.Get("names")
	group, kind := raw.TextAt(spec, "group"), raw.TextAt(names, "kind")
	for _, side := range []*manifest.Set{c.before, c.after, c.live} {
		if side != nil && slices.ContainsFunc(side.Objects, func(o *manifest.Object) bool {
			return o.ID.Group == group && o.ID.Kind == kind
		}) {
			return true
		}
	}
	return false
}

// inert reports whether a difference in a schema changes nothing for objects that do not use it: a
// field is added, with no default anywhere in it, or the default of a field becomes an empty text.
func inert(d *difference, rest tree.Path) bool {
	if d.hasBefore || !d.hasAfter {
		return false
	}
	if len(rest) == 0 {
		return !mentions(d.after, "default")
	}
	text, isText := raw.String(d.after)
	return len(rest) == 1 && rest[0].Key == "default" && isText && text == ""
}
