package workflows

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// node is one item of the displayed tree: a component with its steps, or an action
// that belongs to no component.
type node struct {
	name  string
	steps []api.Step
	under []*node  // children in the tree
	also  []string // names of further nodes that it waits for, besides its parent
}

// forest arranges steps as trees. The parent of a node is the last node that it needs.
// Only nodes before it in the order of the steps count, so that forest terminates for
// any response of the control plane.
func forest(steps []api.Step) (roots []*node) {
	var nodes []*node
	of := map[string]int{} // step id to index of its node
	at := map[string]int{} // component to index of its node
	for _, s := range steps {
		n, known := at[s.Component]
		if !known || s.Component == "" {
			n = len(nodes)
			at[s.Component] = n
			nodes = append(nodes, &node{name: title(s)})
		}
		nodes[n].steps = append(nodes[n].steps, s)
		of[s.ID] = n
	}
	for i, n := range nodes {
		needs := n.needs(of, i)
		if len(needs) == 0 {
			roots = append(roots, n)
			continue
		}
		parent := needs[len(needs)-1]
		nodes[parent].under = append(nodes[parent].under, n)
		for _, other := range needs[:len(needs)-1] {
			if !nodes[other].above(nodes[parent]) {
				n.also = append(n.also, nodes[other].name)
			}
		}
	}
	return roots
}

// title returns the name of a node by its first step. For an action that belongs to no
// component, it includes the trigger unless a person ran the action.
func title(s api.Step) string {
	switch {
	case s.Component != "":
		return s.Component
	case s.Trigger == "" || s.Trigger == manual:
		return s.Action
	}
	return s.Action + " (" + s.Trigger + ")"
}

// manual is the trigger of an action that a person ran.
const manual = "manual"

// needs returns the indexes of the nodes that the steps of n need, sorted. Only nodes
// before index i, that of n, count.
func (n *node) needs(of map[string]int, i int) []int {
	var all []int
	for _, s := range n.steps {
		for _, id := range s.Needs {
			if j, known := of[id]; known && j < i && !slices.Contains(all, j) {
				all = append(all, j)
			}
		}
	}
	slices.Sort(all)
	return all
}

// above reports whether other is a descendant of n. A node that needs other then
// implicitly needs n.
func (n *node) above(other *node) bool {
	return slices.ContainsFunc(n.under, func(u *node) bool { return u == other || u.above(other) })
}

// showTree prints the steps as trees; a node waits for its parent. Running steps are measured
// against now. If now is zero, no step has started, and each node is printed as one line.
func showTree(out io.Writer, steps []api.Step, now time.Time) error {
	t := treeOf(steps, now)
	for _, l := range t.lines {
		text := l.Left
		if l.right != "" {
			text += strings.Repeat(" ", t.width-lipgloss.Width(l.Left)) + " " + l.right
		}
		if _, err := fmt.Fprintln(out, strings.TrimRight(text, " ")); err != nil {
			return err
		}
	}
	return nil
}

// Tree returns the steps as the lines of trees, for steps of which some have started.
func Tree(steps []api.Step, now time.Time) []TreeLine { return treeOf(steps, now).lines }

func treeOf(steps []api.Step, now time.Time) *tree {
	t := &tree{now: now, width: len("  * approve  ") + minName}
	for _, n := range forest(steps) {
		t.node(n, "  ", "  ")
	}
	return t
}

// minName is the minimum width of a component's name, in columns.
const minName = 16

// tree collects lines, so that the status of all steps can be printed in one column at any depth.
type tree struct {
	now   time.Time
	width int // of the widest left side
	lines []TreeLine
}

// TreeLine is a line of a tree.
type TreeLine struct {
	Left string   // the branches of the tree, and the step
	Step api.Step // empty for a line about what a step ran, and if no step has started
	Also string   // what else the step waits for

	right string
}

// node adds a node: its first line with the prefix first, its other lines and its
// descendants with the prefix rest.
func (t *tree) node(n *node, first, rest string) {
	also := ""
	if len(n.also) > 0 {
		also = " (after " + strings.Join(n.also, ", ") + ", too)"
	}
	if t.now.IsZero() {
		t.line(first, n.name+": "+n.plan()+also, TreeLine{})
	} else {
		t.steps(n, first, rest, also)
	}
	n.children(rest, t.node)
}

// children calls draw for each child of a node, with the prefixes of its first line and of the lines below that.
func (n *node) children(rest string, draw func(child *node, first, rest string)) {
	for i, u := range n.under {
		if i == len(n.under)-1 {
			draw(u, rest+"└─ ", rest+"   ")
		} else {
			draw(u, rest+"├─ ", rest+"│  ")
		}
	}
}

func (t *tree) line(indent, left string, l TreeLine) {
	l.Left, l.right = indent+console.Line(left), console.Line(l.right)
	if l.right != "" {
		t.width = max(t.width, lipgloss.Width(l.Left))
	}
	t.lines = append(t.lines, l)
}

// steps adds a line for each step of a node, and for the code of repositories that it ran.
func (t *tree) steps(n *node, first, rest, also string) {
	said := map[string]bool{}
	for i, s := range n.steps {
		reason := s.Reason
		if s.Status == api.StepStatusSkipped && said[reason] {
			reason = "" // the reason why a group was skipped is printed once
		}
		said[s.Reason] = true
		left := fmt.Sprintf("%s %-8s %s", statusMark(s.Status), s.Kind, name(s))
		right := fmt.Sprintf("%-10s %s", s.Status, reason+stepDuration(s, t.now))
		if i == 0 {
			t.line(first, left, TreeLine{Step: s, Also: also, right: right + also})
		} else {
			t.line(rest, left, TreeLine{Step: s, right: right})
		}
		for _, source := range s.Sources {
			t.line(rest, fmt.Sprintf("    ran %s at commit %.7s (step %s)", source.Name, source.Commit, source.Step),
				TreeLine{})
		}
	}
}

// plan describes the steps of a component as a chain: plan → approve → apply.
func (n *node) plan() string {
	words := make([]string, 0, len(n.steps))
	for _, s := range n.steps {
		switch {
		case s.Kind == api.StepKindAction && s.Component != "":
			words = append(words, "action "+s.Action)
		case s.Kind == api.StepKindAction:
			words = append(words, "action")
		case s.Kind == api.StepKindPlan && s.Destroy:
			words = append(words, "plan removal")
		case s.Kind == api.StepKindApply && s.Destroy:
			words = append(words, "remove")
		default:
			words = append(words, string(s.Kind))
		}
	}
	return strings.Join(words, " → ")
}

// StepDuration returns how long a step took, or has been running; "" if it has not started.
func StepDuration(s api.Step, now time.Time) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(stepDuration(s, now), " ("), "for "), ")")
}

// stepDuration describes how long a step took, or has been running.
func stepDuration(s api.Step, now time.Time) string {
	switch {
	case s.StartedAt.IsZero():
		return ""
	case !s.EndedAt.IsZero():
		return fmt.Sprintf(" (%s)", formatDuration(s.EndedAt.Sub(s.StartedAt)))
	case s.Status == api.StepStatusRunning, s.Status == api.StepStatusWaiting:
		return fmt.Sprintf(" (for %s)", formatDuration(now.Sub(s.StartedAt)))
	}
	return ""
}

// formatDuration formats a duration for people: 40ms, 3.2s, 4m10s, 2h5m.
func formatDuration(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}
