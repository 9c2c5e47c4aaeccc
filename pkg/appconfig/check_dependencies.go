package appconfig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// edge is one reason why a component is deployed after another one.
type edge struct {
	to  string
	at  syntax.Position // where the reason is written
	why string          // lists NAME, reads .nuon…, has kubernetes_context NAME
}

// checkDependencies checks the dependencies lists of components, actions and runbooks.
func (c *checker) checkDependencies() {
	for _, e := range c.components {
		c.checkList(e.table, "dependencies", e.Name)
	}
	for _, e := range c.actions {
		c.checkList(e.table, "dependencies", "")
	}
	for _, e := range c.runbooks {
		c.checkList(e.table, "dependencies", "")
	}
}

// checkList checks a dependencies list. owner is the component that has the list, empty for an
// action or a runbook.
func (c *checker) checkList(t *syntax.Table, key, owner string) {
	items, _ := t.Get(key).Items()
	seen := map[string]bool{}
	for _, item := range items {
		name, ok := item.Text()
		switch {
		case !ok || c.full() || c.names.components[name] == nil && c.unreadable.has(name): // reported already
		case seen[name]:
			c.errorf(ruleListedTwice, item.At, "remove it", "the dependency %q is listed twice", name)
		case name == SandboxName:
			c.warnf(ruleNoEffect, item.At, "remove it", "every component depends on the sandbox")
		case owner != "" && name == owner:
			c.errorf(ruleSelfDependency, item.At, "remove it", "%s depends on itself", owner)
		case c.names.components[name] == nil:
			c.errorf(ruleUnknownName, item.At, c.unknownComponentHint(name),
				"the dependency %s does not exist", diagnostic.Quote(name))
		}
		seen[name] = true
	}
}

// unknownComponentHint returns the hint for a component that does not exist.
func (c *checker) unknownComponentHint(name string) string {
	if c.names.actions[name] != nil {
		return "that is an action: give it a trigger instead"
	}
	return c.nearestHint(name, keysOf(c.names.components))
}

// noteContext notes a component whose cluster comes from a component that is not deployable yet.
func (c *checker) noteContext(comp *component) {
	context := c.names.contexts[comp.KubernetesContext]
	if context == nil || !comp.deployable() {
		return
	}
	if provider := c.names.components[context.value.Component]; provider != nil && !provider.deployable() {
		c.noteNoValueYet(comp.table.Position("kubernetes_context"), "component "+provider.Name)
	}
}

// findEdges records what each component needs, each edge once with its first reason: the
// dependencies that it lists, its cluster, and the outputs that its texts read.
func (c *checker) findEdges() {
	c.edges, c.upstream = map[string][]edge{}, map[string]map[string]bool{}
	known := map[[2]string]bool{}
	add := func(from, to string, at func() syntax.Position, why func() string) {
		if pair := [2]string{from, to}; !known[pair] && c.names.components[to] != nil {
			known[pair] = true
			c.edges[from] = append(c.edges[from], edge{to, at(), why()})
		}
	}
	for _, comp := range c.components {
		items, _ := comp.table.Get("dependencies").Items()
		for _, item := range items {
			if name, ok := item.Text(); ok && name != comp.Name {
				add(comp.Name, name, func() syntax.Position { return item.At }, func() string { return "lists " + name })
			}
		}
		if context := c.names.contexts[comp.KubernetesContext]; context != nil {
			add(comp.Name, context.value.Component,
				func() syntax.Position { return comp.table.Position("kubernetes_context") },
				func() string { return "has kubernetes_context " + comp.KubernetesContext })
		}
	}
	for _, t := range c.texts {
		if t.stage != stageDeploy || t.template == nil {
			continue
		}
		for _, use := range t.template.Uses() {
			if name, ok := dependencyOf(use.Path); ok && c.names.readable[name] != nil {
				add(t.name, c.names.readable[name].Name,
					func() syntax.Position { return t.position(use.Line, use.Column, use.Width) },
					func() string { return fmt.Sprintf("reads .nuon.%s in %s", use.Path, t.path) })
			}
		}
	}
	for _, needs := range c.edges {
		slices.SortFunc(needs, func(a, b edge) int { return cmp.Compare(a.to, b.to) })
	}
}

// needs returns the components that a component needs directly, sorted.
func (c *checker) needs(name string) []string {
	names := make([]string, len(c.edges[name]))
	for i, e := range c.edges[name] {
		names[i] = e.to
	}
	return names
}

// comesAfter reports whether a component is the other one or comes after it, over any number of
// edges.
func (c *checker) comesAfter(name, other string) bool {
	upstream, known := c.upstream[name]
	if !known {
		upstream = map[string]bool{name: true}
		for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
			for _, e := range c.edges[queue[0]] {
				if !upstream[e.to] {
					upstream[e.to] = true
					queue = append(queue, e.to)
				}
			}
		}
		c.upstream[name] = upstream
	}
	return upstream[other]
}

// checkCycles reports cycles among components of all kinds: a cycle is an error whether or not its
// members have an effect yet.
func (c *checker) checkCycles() {
	done := map[string]bool{}
	sorted := slices.SortedFunc(slices.Values(c.components),
		func(a, b *component) int { return cmp.Compare(a.Name, b.Name) })
	for _, comp := range sorted {
		cycle := findCycle(comp.Name, c.needs, done)
		if cycle == nil {
			continue
		}
		closing := c.edge(cycle[0], cycle[1])
		if len(cycle) == 2 {
			c.errorf(ruleCycle, closing.at, "remove it, or read the output of another component",
				"%s depends on itself: it %s", cycle[0], closing.why)
			continue
		}
		c.errorf(ruleCycle, closing.at, c.cycleHint(cycle),
			"the components depend on each other in a circle: %s", strings.Join(cycle, " -> "))
	}
}

// edge returns the first reason why a component needs another one.
func (c *checker) edge(from, to string) edge {
	i := slices.IndexFunc(c.edges[from], func(e edge) bool { return e.to == to })
	if i < 0 {
		return edge{to: to}
	}
	return c.edges[from][i]
}

// cycleHint names the reason of each edge in the cycle, unless the cycle is too long to read.
func (c *checker) cycleHint(cycle []string) string {
	const most = 4
	if len(cycle)-1 > most {
		return "remove one of these dependencies, listed or read from outputs"
	}
	var steps []string
	for i := range len(cycle) - 1 {
		e := c.edge(cycle[i], cycle[i+1])
		steps = append(steps, fmt.Sprintf("%s:%d %s", e.at.File, e.at.Line, e.why))
	}
	return "remove one of these: " + strings.Join(steps, "; ")
}

// checkContexts checks the components that provide clusters.
func (c *checker) checkContexts() {
	for _, e := range c.contexts {
		provider := c.names.components[e.value.Component]
		at := e.table.Position("component")
		switch {
		case e.value.Component == "": // reported already
		case provider == nil:
			reportUnknown(c, at, "component", e.value.Component, c.names.components)
		case provider.Type != format.KindTerraformModule && provider.Type != format.KindPulumi:
			c.errorf(ruleContextKind, at, "name a terraform_module or pulumi component that has the output cluster",
				"component %q is a %s and makes no cluster", e.value.Component, provider.Type)
		}
	}
}

// checkContext checks the cluster that kubernetes_context selects.
func (c *checker) checkContext(t *syntax.Table, name string) {
	if name == "" || name == SandboxName || c.names.contexts[name] != nil || c.unreadable.has(name) {
		return
	}
	hint := c.nearestHint(name, keysOf(c.names.contexts))
	if hint == "" {
		hint = "declare it in kubernetes_contexts.toml, or leave it out for the sandbox's cluster"
	}
	c.errorf(ruleUnknownName, t.Position("kubernetes_context"), hint,
		"there is no Kubernetes context %s", diagnostic.Quote(name))
}
