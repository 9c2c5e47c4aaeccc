package render

import (
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// nearest returns the existing path that was probably meant by a path without a value: the one
// whose first differing key is the most similar. It considers only keys that an app config or a
// module declares, because the keys inside of a value may be as secret as the value.
func (t Tree) nearest(p Path) (Path, bool) {
	p = Canonical(p)
	for n := range p {
		above, ok := t.Get(p[:n])
		if !ok {
			return nil, false
		}
		object, ok := asObject(above)
		if !ok {
			return nil, false
		}
		if _, ok := object[p[n]]; ok {
			continue
		}
		if !hasDeclaredNames(p[:n]) {
			return nil, false
		}
		key, ok := diagnostic.Nearest(p[n], slices.Collect(maps.Keys(object)))
		return append(slices.Clone(p[:n]), key), ok
	}
	return nil, false
}

// hasDeclaredNames reports whether the keys directly below a canonical path are declared names (format
// section 3.2).
func hasDeclaredNames(p Path) bool {
	switch {
	case len(p) == 0:
		return true
	case p[0] == "inputs":
		return len(p) <= 2
	case p[0] == "components":
		return len(p) <= 2 || len(p) == 3 && p[2] == "outputs"
	case p.HasPrefix("actions", "workflows"):
		return len(p) <= 3 || p[3] == "outputs" && len(p) == 4 ||
			p.HasPrefix(append(slices.Clone(p[:3]), "outputs", "steps")...) && len(p) <= 6
	case len(p) == 1:
		return true
	}
	return len(p) == 2 && p[1] == "outputs"
}
