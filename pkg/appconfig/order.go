package appconfig

import (
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/render"
)

// DependsOn gives the components that must be deployed before the named one, sorted: those that it lists, and those whose outputs
// its templates read. The sandbox is upstream of all and never listed, and neither is a component of a kind that has no effect
// yet. An unknown name and the sandbox depend on nothing.
func (a *App) DependsOn(name string) []string {
	c, ok := a.Component(name)
	if !ok || name == SandboxName {
		return nil
	}
	needs := map[string]bool{}
	for _, other := range c.Dependencies {
		needs[other] = true
	}
	for _, ref := range c.Refs() {
		if other, ok := outputsOf(ref); ok {
			needs[other] = true
		}
	}
	var names []string
	for _, other := range slices.Sorted(maps.Keys(needs)) {
		if _, ok := a.Component(other); ok && other != SandboxName {
			names = append(names, other)
		}
	}
	return names
}

// outputsOf gives the component whose outputs a canonical ref reads. A status or an id is no reason to wait.
func outputsOf(ref render.Path) (component string, ok bool) {
	if len(ref) < 2 || ref[0] != "components" {
		return "", false
	}
	return ref[1], len(ref) == 2 || ref[2] == "outputs"
}

// Order gives the components in groups, without the sandbox: a group is ready when all groups before it are deployed, and its
// members can be deployed in parallel. Members are sorted by name. Load refuses cycles; in an App that has one all the same, its
// members and what depends on them are left out.
func (a *App) Order() [][]string {
	waits := map[string][]string{}
	for _, c := range a.Components {
		waits[c.Name] = a.DependsOn(c.Name)
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

// closedPath finds a cycle and gives it as the path that closes it, such as a, b, a. edges gives the sorted names that a name
// needs. Names in done are not looked at again; every name that was looked at is added to it.
func closedPath(start string, edges func(string) []string, done map[string]bool) []string {
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
