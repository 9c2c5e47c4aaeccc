package components

import (
	"cmp"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Node is a component in the tree of an app's components.
type Node struct {
	api.Component
	Prefix string   // the lines of the tree before the name
	Also   []string // what it depends on besides the component above it
}

// Tree returns the components as a tree: each below the one of its dependencies that is deployed last,
// and once. Those that depend on nothing come first. It returns components with circular dependencies
// without a place in the tree.
func Tree(all []api.Component) []Node {
	t := tree{depth: map[string]int{}, below: map[string][]api.Component{}}
	for _, k := range all {
		t.depth[k.Name] = -1
	}
	for range all { // at least one depth more is known after each round
		for _, k := range all {
			t.depth[k.Name] = t.depthOf(k)
		}
	}
	for _, k := range all {
		parent := t.parent(k)
		t.below[parent] = append(t.below[parent], k)
	}
	t.add("", "")
	for _, k := range all {
		if !slices.ContainsFunc(t.nodes, func(n Node) bool { return n.Name == k.Name }) {
			t.nodes = append(t.nodes, Node{Component: k, Also: k.DependsOn})
		}
	}
	return t.nodes
}

// tree holds the depth of each component, the longest way to one that depends on nothing (-1 while it
// is not known), and what is below each.
type tree struct {
	depth map[string]int
	below map[string][]api.Component
	nodes []Node
}

// depthOf returns the depth of a component; -1 while that of a dependency is not known.
func (t *tree) depthOf(k api.Component) int {
	depth := 0
	for _, d := range t.known(k) {
		if t.depth[d] < 0 {
			return -1
		}
		depth = max(depth, t.depth[d]+1)
	}
	return depth
}

// known returns the dependencies of a component that are components of the list.
func (t *tree) known(k api.Component) []string {
	return slices.DeleteFunc(slices.Clone(k.DependsOn), func(d string) bool { _, is := t.depth[d]; return !is })
}

// parent returns the dependency that a component is below; "" if it depends on nothing, and its own
// name if its dependencies are circular.
func (t *tree) parent(k api.Component) string {
	all := t.known(k)
	switch {
	case len(all) == 0:
		return ""
	case t.depth[k.Name] < 0:
		return k.Name
	}
	return slices.MaxFunc(all, func(a, b string) int { return cmp.Or(t.depth[a]-t.depth[b], cmp.Compare(b, a)) })
}

// add adds what is below a component, with the lines of the tree.
func (t *tree) add(parent, indent string) {
	for i, k := range t.below[parent] {
		n, next := Node{Component: k, Prefix: indent + "├─ "}, indent+"│  "
		if i == len(t.below[parent])-1 {
			n.Prefix, next = indent+"└─ ", indent+"   "
		}
		if parent == "" {
			n.Prefix, next = "", ""
		}
		n.Also = slices.DeleteFunc(slices.Clone(k.DependsOn), func(d string) bool { return d == parent })
		t.nodes = append(t.nodes, n)
		t.add(k.Name, next)
	}
}
