package risk

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// JudgeManifest returns the findings of the Kubernetes rules for an object that something else
// holds, for example the attribute manifest of a Terraform kubernetes_manifest. The values are whole
// objects with apiVersion, kind and metadata; null stands for a missing one. The paths of the
// findings start at the root of the object, with the prefix at; shown converts keys before they are
// printed (see tree.Path.Text). A field that the API server refuses to change in place is a finding
// too: the owner of the object decides how to replace it.
func JudgeManifest(before, after raw.Value, at tree.Path, shown func(tree.Step) string) []diff.Finding {
	return judgeManifest(before, after, at, shown, 0)
}

func judgeManifest(before, after raw.Value, at tree.Path, shown func(tree.Step) string, depth int) []diff.Finding {
	id := idOf(after)
	if after.IsNull() {
		id = idOf(before)
	}
	c := &diff.Change{Action: diff.Update}
	switch {
	case before.IsNull() && after.IsNull() || before.Equal(after):
		return nil
	case before.IsNull():
		c.Action = diff.Create
	case after.IsNull():
		c.Action = diff.Destroy
	}
	s := Subject{Engine: diff.KindKubernetes, Group: id.group, Kind: id.kind, Before: before, After: after, depth: depth}
	s.Differences = differences(nil, Difference{Before: before, After: after, HasBefore: !before.IsNull(),
		HasAfter: !after.IsNull()}, maxNested)
	c.Fields = make([]diff.FieldChange, len(s.Differences))
	for i, t := range s.Differences {
		c.Fields[i].Path = slices.Concat(at, t.Path).Text(shown)
	}
	Judge(c, s)
	return c.Findings
}

// maxNested bounds the depth to which values are compared; deeper values differ as a whole.
const maxNested = 60

// differences lists where two values differ. Elements of lists are matched by name where all have
// one, otherwise by index.
func differences(p tree.Path, t Difference, depth int) []Difference {
	t.Path = p
	objects, lists := t.Before.IsObject() && t.After.IsObject(), t.Before.IsList() && t.After.IsList()
	if t.HasBefore == t.HasAfter && t.Before.Equal(t.After) {
		return nil
	}
	if depth == 0 || !objects && !lists {
		return []Difference{t}
	}
	var out []Difference
	if objects {
		for _, k := range union(t.Before.Keys(), t.After.Keys()) {
			var e Difference
			e.Before, e.HasBefore = t.Before.Get(k)
			e.After, e.HasAfter = t.After.Get(k)
			out = append(out, differences(p.Field(k), e, depth-1)...)
		}
		return out
	}
	was, named := byName(t.Before)
	is, alsoNamed := byName(t.After)
	if named && alsoNamed {
		for _, name := range union(keysOf(was), keysOf(is)) {
			var e Difference
			e.Before, e.HasBefore = was[name]
			e.After, e.HasAfter = is[name]
			out = append(out, differences(p.Selected(name, []string{"name"}), e, depth-1)...)
		}
		return out
	}
	for i := range max(t.Before.Len(), t.After.Len()) {
		e := Difference{Before: t.Before.At(i), After: t.After.At(i), HasBefore: i < t.Before.Len(),
			HasAfter: i < t.After.Len()}
		out = append(out, differences(p.At(i), e, depth-1)...)
	}
	return out
}

// byName returns the elements of a list by name. It returns false if one has no name or two share
// one.
func byName(list raw.Value) (map[string]raw.Value, bool) {
	out := map[string]raw.Value{}
	for i := range list.Len() {
		name := text(get(list.At(i), "name"))
		if _, twice := out[name]; twice || name == "" {
			return nil, false
		}
		out[name] = list.At(i)
	}
	return out, true
}

func keysOf(m map[string]raw.Value) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return out
}

// union returns the strings of both lists, sorted, without duplicates.
func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// maxHolders bounds how many objects may enclose an object that is judged.
const maxHolders = 4

// objectID identifies the object of a manifest.
type objectID struct{ group, kind, namespace, name string }

func idOf(v raw.Value) objectID {
	group, version, grouped := strings.Cut(text(get(v, "apiVersion")), "/")
	if !grouped || version == "" {
		group = ""
	}
	return objectID{group, text(get(v, "kind")), text(get(v, "metadata", "namespace")), text(get(v, "metadata", "name"))}
}

// isObject reports whether a mapping is a whole object and not a reference to one.
func isObject(v raw.Value) bool {
	return text(get(v, "apiVersion")) != "" && text(get(v, "kind")) != "" && get(v, "metadata").IsObject()
}

// nested returns the objects that an object of a custom kind contains, by identity. A ManifestWork
// or a Template contains such objects, for example.
func nested(v raw.Value) map[objectID]raw.Value {
	out := map[objectID]raw.Value{}
	var visit func(v raw.Value, depth int)
	visit = func(v raw.Value, depth int) {
		if depth == 0 {
			return
		}
		if isObject(v) {
			out[idOf(v)] = v
			return // nested objects of v itself are found when v is judged
		}
		for i := range v.Len() {
			visit(v.At(i), depth-1)
		}
		for _, k := range v.Keys() {
			child, _ := v.Get(k)
			if child.IsObject() || child.IsList() {
				visit(child, depth-1)
			}
		}
	}
	for _, k := range v.Keys() {
		if child, _ := v.Get(k); k != "metadata" && k != "status" {
			visit(child, maxSearch)
		}
	}
	return out
}

// judgeNested judges the objects that the subject contains, and returns the findings that found does
// not have yet. A finding cites the first field that differs.
func (j *judge) judgeNested(found []diff.Finding) []diff.Finding {
	s := j.subject
	if s.Engine != diff.KindKubernetes || builtinGroup(s.Group) || len(j.fields) == 0 || s.depth == maxHolders {
		return nil
	}
	was, is := nested(s.Before), nested(s.After)
	if len(was)+len(is) == 0 {
		return nil
	}
	said := map[string]bool{}
	for _, f := range found {
		said[f.Rule] = true
	}
	path := j.change.Fields[j.fields[0]].Path
	var out []diff.Finding
	for _, id := range sortedIDs(was, is) {
		for _, f := range judgeManifest(was[id], is[id], nil, tree.Step.Plain, s.depth+1) {
			if !said[f.Rule] {
				said[f.Rule] = true
				f.Path = path
				out = append(out, f)
			}
		}
	}
	return out
}

func sortedIDs(a, b map[objectID]raw.Value) []objectID {
	var out []objectID
	for id := range a {
		out = append(out, id)
	}
	for id := range b {
		if _, both := a[id]; !both {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(x, y objectID) int {
		return slices.Compare([]string{x.group, x.kind, x.namespace, x.name}, []string{y.group, y.kind, y.namespace, y.name})
	})
	return out
}
