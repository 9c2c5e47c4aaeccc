package appconfig

import (
	"cmp"
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/render"
)

// Edge records that one component is deployed after another, and why.
type Edge struct {
	From string `json:"from"` // the component that waits
	To   string `json:"to"`   // what it waits for
	Why  string `json:"why"`  // "listed", "reads .nuon.components.x.outputs.y in vars.z" or "kubernetes_context n"
}

// Edges returns all reasons for the order of the components, sorted by From, To and Why. The
// sandbox comes before all components and has no edges.
func (a *App) Edges() []Edge {
	names := a.names()
	var edges []Edge
	for i := range a.Components {
		edges = append(edges, a.edgesOf(&a.Components[i], names)...)
	}
	slices.SortFunc(edges, func(x, y Edge) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To), cmp.Compare(x.Why, y.Why))
	})
	return slices.Compact(edges)
}

// names maps both the name and the var_name of each component to its name. Templates may use
// either.
func (a *App) names() map[string]string {
	names := map[string]string{}
	for i := range a.Components {
		if other := a.Components[i].VarName; other != "" {
			names[other] = a.Components[i].Name
		}
	}
	for i := range a.Components {
		names[a.Components[i].Name] = a.Components[i].Name
	}
	return names
}

func (a *App) edgesOf(c *Component, names map[string]string) []Edge {
	var edges []Edge
	add := func(to, why string) {
		if name, known := names[to]; known {
			edges = append(edges, Edge{c.Name, name, why})
		}
	}
	for _, name := range c.Dependencies {
		if names[name] == name {
			add(name, "listed")
		}
	}
	for path, text := range c.Templates() {
		for _, ref := range refsOf(map[string]string{path: text}) {
			if name, ok := dependencyOf(ref); ok {
				add(name, "reads .nuon."+ref.String()+" in "+path)
			}
		}
	}
	for _, context := range a.KubernetesContexts {
		if c.KubernetesContext != "" && context.Name == c.KubernetesContext && context.Component != c.Name {
			add(context.Component, "kubernetes_context "+context.Name)
		}
	}
	return edges
}

// DependsOn returns the components that must be deployed before the named one, sorted: those that
// it lists, those whose outputs its templates read, and the one that provides its cluster. The
// sandbox comes before all components and is never listed. An unknown name and the sandbox depend
// on nothing.
func (a *App) DependsOn(name string) []string {
	c, ok := a.Component(name)
	if !ok || name == SandboxName {
		return nil
	}
	return dependenciesOf(a.edgesOf(c, a.names()))
}

func dependenciesOf(edges []Edge) []string {
	needs := map[string]bool{}
	for _, edge := range edges {
		needs[edge.To] = true
	}
	return slices.Sorted(maps.Keys(needs))
}

// dependencyOf returns the component that must be deployed before a canonical path has a value.
// Reading a status is no dependency.
func dependencyOf(ref render.Path) (component string, ok bool) {
	if len(ref) < 2 || ref[0] != "components" {
		return "", false
	}
	return ref[1], len(ref) == 2 || ref[2] == "outputs" || ref[2] == "build_id"
}

// Order returns the components in groups, without the sandbox. A group can be deployed once all
// groups before it are, and its members can be deployed in parallel. Members are sorted by name.
// Load rejects cycles; if an App has one anyway, Order leaves out its members and everything that
// depends on them.
func (a *App) Order() [][]string {
	names, waits := a.names(), map[string][]string{}
	for i := range a.Components {
		waits[a.Components[i].Name] = dependenciesOf(a.edgesOf(&a.Components[i], names))
	}
	var order [][]string
	for len(waits) > 0 {
		var ready []string
		for name, needs := range waits {
			if !slices.ContainsFunc(needs, func(need string) bool { _, waiting := waits[need]; return waiting }) {
				ready = append(ready, name)
			}
		}
		if len(ready) == 0 {
			break
		}
		slices.Sort(ready)
		for _, name := range ready {
			delete(waits, name)
		}
		order = append(order, ready)
	}
	return order
}

// findCycle finds a cycle and returns it as a closed path, such as a, b, a. edges returns the
// sorted names that a name needs. findCycle skips names in done and adds every name that it
// visits to it.
func findCycle(start string, edges func(string) []string, done map[string]bool) []string {
	type visit struct {
		name string
		left []string
	}
	if done[start] {
		return nil
	}
	path := []visit{{start, edges(start)}}
	for len(path) > 0 {
		top := &path[len(path)-1]
		if len(top.left) == 0 {
			done[top.name] = true
			path = path[:len(path)-1]
			continue
		}
		next := top.left[0]
		top.left = top.left[1:]
		if done[next] {
			continue
		}
		from := slices.IndexFunc(path, func(v visit) bool { return v.name == next })
		if from < 0 {
			path = append(path, visit{next, edges(next)})
			continue
		}
		var cycle []string
		for _, v := range path[from:] {
			cycle = append(cycle, v.name)
		}
		for _, v := range path {
			done[v.name] = true
		}
		return append(cycle, next)
	}
	return nil
}
