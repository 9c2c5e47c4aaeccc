package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/console"
)

// mermaid returns the graph as a Mermaid diagram. Arrows go from dependencies to
// dependents; those that only templates or clusters imply are dotted.
func (g *Graph) mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i, c := range g.Components {
		fmt.Fprintf(&b, "  c%d[\"%s<br/><small>%s</small>\"]\n", i, entities(c.Name), entities(c.Kind))
	}
	for _, p := range g.drawn() {
		arrow := "-->"
		if !p.listed() {
			arrow = "-.->"
		}
		fmt.Fprintf(&b, "  c%d %s c%d\n", g.index(p.to), arrow, g.index(p.from))
	}
	return b.String()
}

// entities escapes a text, so that Mermaid finds neither its own syntax nor HTML in it.
func entities(s string) string {
	var b strings.Builder
	for _, r := range console.Line(s) {
		if r == '_' || r == '-' || r == ' ' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// dot returns the graph for Graphviz, with the arrows of mermaid. A wave is a rank,
// and the reasons are the tooltips of the arrows.
func (g *Graph) dot() string {
	var b strings.Builder
	b.WriteString("digraph app {\n  rankdir=TB;\n  node [shape=box, style=rounded];\n")
	for _, c := range g.Components {
		fmt.Fprintf(&b, "  %s [label=%s];\n", quoted(c.Name), quoted(c.Name+"\n"+c.Kind))
	}
	for _, wave := range g.Waves {
		b.WriteString("  { rank=same;")
		for _, name := range wave {
			b.WriteString(" " + quoted(name) + ";")
		}
		b.WriteString(" }\n")
	}
	for _, p := range g.drawn() {
		style := "solid"
		if !p.listed() {
			style = "dashed"
		}
		fmt.Fprintf(&b, "  %s -> %s [style=%s, tooltip=%s];\n",
			quoted(p.to), quoted(p.from), style, quoted(strings.Join(p.reasons, "\n")))
	}
	b.WriteString("}\n")
	return b.String()
}

// quoted returns a DOT string. A line break becomes one in the drawing.
func quoted(s string) string {
	s = console.Text(s)
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// drawn returns the arrows from dependencies to dependents, or the other way for a teardown.
func (g *Graph) drawn() []pair {
	pairs := g.pairs()
	if g.Reversed {
		for i := range pairs {
			pairs[i].from, pairs[i].to = pairs[i].to, pairs[i].from
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return g.index(a.to) - g.index(b.to) })
	return pairs
}
