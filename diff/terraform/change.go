package terraform

import (
	"encoding/json"
	"math"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// changeOf reads the change of a resource or an output.
func changeOf(v diff.Raw, err *error) change {
	f := fieldsOf(v, err)
	c := change{
		before: f.get("before"), after: f.get("after"), afterUnknown: f.get("after_unknown"),
		beforeSensitive: f.get("before_sensitive"), afterSensitive: f.get("after_sensitive"),
	}
	for a := range items(f.get("actions"), err) {
		text, wrong := textOf(a)
		if wrong != nil {
			*err = wrong
		}
		c.actions = append(c.actions, text)
	}
	if i := f.child("importing"); !i.object.IsNull() {
		c.importing = &importing{id: i.text("id"), identity: i.get("identity"), unknown: i.flag("unknown")}
	}
	for p := range items(f.get("replace_paths"), err) {
		if path := pathOf(p, err); len(path) > 0 {
			c.replacePaths = append(c.replacePaths, path)
		}
	}
	return c
}

// pathOf reads a path, which is a list of keys and indexes. The path of a set element contains its
// value; such a path is cut at the set.
func pathOf(v diff.Raw, err *error) tree.Path {
	var p tree.Path
	for step := range items(v, err) {
		switch s := raw.Reveal(step).(type) {
		case string:
			p = p.Field(s)
		case json.Number:
			n, wrong := s.Int64()
			if wrong != nil || n < 0 || n > math.MaxInt32 {
				return p
			}
			p = p.At(int(n))
		default:
			return p
		}
	}
	return p
}
