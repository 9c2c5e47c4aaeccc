package render

import (
	"slices"
	"strings"
)

// Path is a chain of keys below `.nuon`, for example components, network, outputs, cidr. The empty
// path is `.nuon` itself.
type Path []string

// String returns the keys joined by dots: "components.network.outputs.cidr".
func (p Path) String() string { return strings.Join(p, ".") }

// HasPrefix reports whether p equals q or is below it.
func (p Path) HasPrefix(q ...string) bool {
	return len(p) >= len(q) && slices.Equal(p[:len(q)], q)
}

// aliases maps the alternative paths that app configs use to the paths that values are stored under
// (format section 3.2). The first match wins.
var aliases = []struct{ from, to Path }{
	{Path{"install", "sandbox"}, Path{"sandbox"}},
	{Path{"install", "inputs"}, Path{"inputs", "inputs"}},
	{Path{"id"}, Path{"install", "id"}},
	{Path{"name"}, Path{"install", "name"}},
}

// Canonical replaces aliases by their canonical path:
//
//	install.sandbox.outputs.X  ->  sandbox.outputs.X
//	install.inputs.X           ->  inputs.inputs.X
//	id, name                   ->  install.id, install.name
//
// It returns every other path unchanged. Canonical(Canonical(p)) = Canonical(p).
func Canonical(p Path) Path {
	for _, alias := range aliases {
		if p.HasPrefix(alias.from...) {
			return slices.Concat(alias.to, p[len(alias.from):])
		}
	}
	return slices.Clone(p)
}
