package graph

import (
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// Graph is the output of the command as data.
type Graph struct {
	Waves      [][]string       `json:"waves"`      // names in the order of the waves, sorted within each
	Components []Component      `json:"components"` // in the order of the waves
	Edges      []appconfig.Edge `json:"edges"`      // sorted by from, to and why
	Reversed   bool             `json:"reversed"`   // the waves are those of a teardown; edges do not change
}

// Component is a node of the graph.
type Component struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

func newGraph(app *appconfig.App) *Graph {
	g := &Graph{Waves: [][]string{}, Components: []Component{}, Edges: []appconfig.Edge{}}
	for _, wave := range app.Order() {
		g.Waves = append(g.Waves, wave)
		for _, name := range wave {
			if c, ok := app.Component(name); ok {
				g.Components = append(g.Components, Component{c.Name, c.Kind})
			}
		}
	}
	g.Edges = append(g.Edges, app.Edges()...)
	return g
}

// around returns the graph of one component with its transitive dependencies and
// dependents. The waves are those of the whole app, without empty ones.
func (g *Graph) around(name string) *Graph {
	kept := map[string]bool{}
	g.reach(name, kept, func(e appconfig.Edge) (string, string) { return e.From, e.To })
	below := map[string]bool{}
	g.reach(name, below, func(e appconfig.Edge) (string, string) { return e.To, e.From })
	for other := range below {
		kept[other] = true
	}
	part := &Graph{Waves: [][]string{}, Components: []Component{}, Edges: []appconfig.Edge{}, Reversed: g.Reversed}
	for _, wave := range g.Waves {
		if some := slices.DeleteFunc(slices.Clone(wave), func(name string) bool { return !kept[name] }); len(some) > 0 {
			part.Waves = append(part.Waves, some)
		}
	}
	for _, c := range g.Components {
		if kept[c.Name] {
			part.Components = append(part.Components, c)
		}
	}
	for _, e := range g.Edges {
		if kept[e.From] && kept[e.To] {
			part.Edges = append(part.Edges, e)
		}
	}
	return part
}

// reach adds a component and everything reachable from it; ends selects the direction of the edges.
func (g *Graph) reach(name string, seen map[string]bool, ends func(appconfig.Edge) (at, next string)) {
	for left := []string{name}; len(left) > 0; left = left[1:] {
		if seen[left[0]] {
			continue
		}
		seen[left[0]] = true
		for _, e := range g.Edges {
			if at, next := ends(e); at == left[0] {
				left = append(left, next)
			}
		}
	}
}

// reversed returns the graph of a teardown, with the last wave first.
func (g *Graph) reversed() *Graph {
	r := &Graph{Waves: slices.Clone(g.Waves), Edges: g.Edges, Reversed: !g.Reversed, Components: []Component{}}
	slices.Reverse(r.Waves)
	for _, wave := range r.Waves {
		for _, name := range wave {
			r.Components = append(r.Components, Component{name, g.kind(name)})
		}
	}
	return r
}

func (g *Graph) kind(name string) string {
	if i := g.index(name); i >= 0 {
		return g.Components[i].Kind
	}
	return ""
}

func (g *Graph) index(name string) int {
	return slices.IndexFunc(g.Components, func(c Component) bool { return c.Name == name })
}

// rows returns the names, one per row, for -o name.
func (g *Graph) rows() [][]string {
	var rows [][]string
	for _, c := range g.Components {
		rows = append(rows, []string{c.Name})
	}
	return rows
}

// pairs returns one pair for all edges between the same two components, sorted as the edges are.
func (g *Graph) pairs() []pair {
	var all []pair
	for _, e := range g.Edges {
		if last := len(all) - 1; last >= 0 && all[last].from == e.From && all[last].to == e.To {
			all[last].reasons = append(all[last].reasons, e.Why)
			continue
		}
		all = append(all, pair{e.From, e.To, []string{e.Why}})
	}
	return all
}

// pair is a dependency of one component on another, with all its reasons.
type pair struct {
	from, to string
	reasons  []string
}

// listed reports whether the config lists the dependency explicitly.
func (p pair) listed() bool { return slices.Contains(p.reasons, listed) }

// listed is the reason of a dependency that the config lists.
const listed = "listed"
