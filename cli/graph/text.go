package graph

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/nuon-toolkit/nuon/cli/console"
)

// text draws the waves as lines:
//
//	0  sandbox
//	1  api_image  container_image
//	   network    terraform_module
//	2  database   terraform_module
//	     after network: reads .nuon.components.network.outputs.subnets in vars.subnets
type text struct {
	console *console.Console
	graph   *Graph
	chosen  string // highlighted
	lines   strings.Builder
}

// maxReasons is the maximum number of reasons shown for a dependency; templates can
// read many outputs of a component.
const maxReasons = 3

func (t *text) String() string {
	if !t.graph.Reversed {
		t.row(0, "sandbox", "", 0)
	}
	wide := 0
	for _, c := range t.graph.Components {
		wide = max(wide, lipgloss.Width(console.Line(c.Name)))
	}
	for i, wave := range t.graph.Waves {
		for j, name := range wave {
			number := i + 1
			if j > 0 {
				number = -1
			}
			t.row(number, name, t.graph.kind(name), wide)
			t.reasons(name)
		}
	}
	if t.graph.Reversed {
		t.row(len(t.graph.Waves)+1, "sandbox", "", 0)
	}
	return t.lines.String()
}

// row adds the line of a component. A negative number continues the wave of the row above.
func (t *text) row(number int, name, kind string, wide int) {
	label := t.label("")
	if number >= 0 {
		label = t.label(strconv.Itoa(number))
	}
	shown := console.Line(name)
	blank := strings.Repeat(" ", max(wide-lipgloss.Width(shown), 0))
	code := bold
	if t.chosen != "" && name != t.chosen {
		code = ""
	}
	line := t.ink(faint, label) + "  " + t.ink(code, shown)
	if kind != "" {
		line += blank + "  " + t.ink(faint, console.Line(kind))
	}
	fmt.Fprintln(&t.lines, line)
}

// label pads a number to the width of the largest one.
func (t *text) label(number string) string {
	return fmt.Sprintf("%*s", len(strconv.Itoa(len(t.graph.Waves))), number)
}

// reasons adds the lines with the dependencies of a component.
func (t *text) reasons(name string) {
	indent := len(t.label("")) + 4
	for _, p := range t.graph.pairs() {
		at, other := p.from, p.to
		if t.graph.Reversed {
			at, other = p.to, p.from
		}
		if at != name {
			continue
		}
		why := p.reasons
		if more := len(why) - maxReasons; more > 0 {
			why = append(why[:maxReasons:maxReasons], fmt.Sprintf("and %d more", more))
		}
		line := strings.Repeat(" ", indent) + "after " + console.Line(other)
		if t.graph.Reversed {
			line += ", which"
			why = rewordForTeardown(why)
		} else {
			line += ":"
		}
		fmt.Fprintln(&t.lines, t.console.Wrap(line+" "+t.ink(faint, console.Line(strings.Join(why, "; "))), indent+2))
	}
}

// rewordForTeardown rewords reasons for a teardown, in which they belong to the other component.
func rewordForTeardown(why []string) []string {
	words := make([]string, len(why))
	for i, reason := range why {
		switch context, found := strings.CutPrefix(reason, "kubernetes_context "); {
		case found:
			words[i] = "goes to its cluster (" + context + ")"
		case reason == listed:
			words[i] = "lists it"
		default:
			words[i] = reason
		}
	}
	return words
}

// Styles as ANSI parameters.
const (
	bold  = "1"
	faint = "2"
)

func (t *text) ink(code, s string) string {
	if !t.console.Color || code == "" || strings.TrimSpace(s) == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
