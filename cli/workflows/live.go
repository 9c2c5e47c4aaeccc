package workflows

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/progress"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// ShortTree returns the tree of a workflow in few lines, for the time that a command waits: one line for each component
// or action, with the step that it is at.
func ShortTree(w api.Workflow) []progress.Line {
	l := liveTree{width: minName}
	for _, n := range forest(w.Steps) {
		l.node(n, "", "")
	}
	out := make([]progress.Line, 0, len(l.nodes))
	for i, n := range l.nodes {
		s := n.current()
		before := l.branches[i]
		text := n.name + strings.Repeat(" ", l.width-lipgloss.Width(before+n.name))
		text += fmt.Sprintf(" %-8s %-10s %s", s.Kind, s.Status, s.Reason)
		line := progress.Line{Before: before, Mark: statusMark(s.Status), Text: strings.TrimRight(text, " ")}
		if s.Status == api.StepStatusRunning {
			line.Busy, line.Since = true, s.StartedAt
		}
		out = append(out, line)
	}
	return out
}

// liveTree collects the nodes of a tree in order, each with the branches before it.
type liveTree struct {
	nodes    []*node
	branches []string
	width    int // of the widest name with its branches
}

func (l *liveTree) node(n *node, first, rest string) {
	n.name = console.Line(n.name)
	l.nodes, l.branches = append(l.nodes, n), append(l.branches, first)
	l.width = max(l.width, lipgloss.Width(first+n.name))
	n.children(rest, l.node)
}

// current returns the step that a node is at: one that failed, runs or waits, in this order, else the first one that
// has not started, else the last one.
func (n *node) current() api.Step {
	for _, status := range []api.StepStatus{api.StepStatusFailed, api.StepStatusRunning, api.StepStatusWaiting,
		api.StepStatusPending} {
		for _, s := range n.steps {
			if s.Status == status {
				return s
			}
		}
	}
	return n.steps[len(n.steps)-1]
}
