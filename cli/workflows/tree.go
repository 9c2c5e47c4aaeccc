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

// node is what is done to one component, or one action that belongs to none: what a
// person sees as one thing.
type node struct {
	name  string
	steps []api.Step
	under []*node  // what is shown below it
	also  []string // what it waits for besides the one that it is shown below
}

// forest arranges steps as trees. A node stands below the last of the nodes that it
// needs; only those before it in the order of the steps count, so whatever the control
// plane sends, this ends.
func forest(steps []api.Step) (roots []*node) {
	var nodes []*node
	of := map[string]int{} // step id to its node
	at := map[string]int{} // component to its node
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

// title is what a node is called by its first step: an action that belongs to no
// component with what makes it run.
func title(s api.Step) string {
	switch {
	case s.Component != "":
		return s.Component
	case s.Trigger == "" || s.Trigger == manual:
		return s.Action
	}
	return s.Action + " (" + s.Trigger + ")"
}

// manual is the trigger of an action that a person asked for.
const manual = "manual"

// needs are the nodes before the i-th, which is n, that its steps need, in their order.
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

// above says that other is below n already, so that needing other says that n is needed.
func (n *node) above(other *node) bool {
	return slices.ContainsFunc(n.under, func(u *node) bool { return u == other || u.above(other) })
}

// showTree prints the steps as trees: what hangs below a node waits for it. Now is
// what running steps are measured against; a zero one is for steps that nobody has
// begun, which are printed as one line for each node.
func showTree(out io.Writer, steps []api.Step, now time.Time) error {
	t := &tree{now: now, width: len("  * approve  ") + leastName}
	for _, n := range forest(steps) {
		t.node(n, "  ", "  ")
	}
	for _, l := range t.lines {
		text := l.left
		if l.right != "" {
			text += strings.Repeat(" ", t.width-lipgloss.Width(l.left)) + " " + l.right
		}
		if _, err := fmt.Fprintln(out, strings.TrimRight(text, " ")); err != nil {
			return err
		}
	}
	return nil
}

// leastName is how many columns the name of a component has at least.
const leastName = 16

// tree collects lines, so that what is said of steps can stand in one column however deep they are.
type tree struct {
	now   time.Time
	width int // of the widest left side
	lines []treeLine
}

type treeLine struct{ left, right string }

// node prints one: its first line behind first, and everything else of it and below it behind rest.
func (t *tree) node(n *node, first, rest string) {
	also := ""
	if len(n.also) > 0 {
		also = " (after " + strings.Join(n.also, ", ") + ", too)"
	}
	if t.now.IsZero() {
		t.line(first, n.name+": "+n.plan()+also, "")
	} else {
		t.steps(n, first, rest, also)
	}
	for i, u := range n.under {
		if i == len(n.under)-1 {
			t.node(u, rest+"└─ ", rest+"   ")
		} else {
			t.node(u, rest+"├─ ", rest+"│  ")
		}
	}
}

func (t *tree) line(indent, left, right string) {
	l := treeLine{indent + console.Line(left), console.Line(right)}
	if right != "" {
		t.width = max(t.width, lipgloss.Width(l.left))
	}
	t.lines = append(t.lines, l)
}

// steps prints a line for each step of a node.
func (t *tree) steps(n *node, first, rest, also string) {
	said := map[string]bool{}
	for i, s := range n.steps {
		reason := s.Reason
		if s.Status == api.StepStatusSkipped && said[reason] {
			reason = "" // what a group was skipped for is said once
		}
		said[s.Reason] = true
		left, right := fmt.Sprintf("%s %-8s %s", mark(s.Status), s.Kind, name(s)), fmt.Sprintf("%-10s %s", s.Status, reason+took(s, t.now))
		if i == 0 {
			t.line(first, left, right+also)
		} else {
			t.line(rest, left, right)
		}
	}
}

// plan says what is done to a component, as a chain.
func (n *node) plan() string {
	words := make([]string, 0, len(n.steps))
	for _, s := range n.steps {
		switch {
		case s.Kind == api.StepKindAction && s.Component != "":
			words = append(words, "action "+s.Action)
		case s.Kind == api.StepKindAction:
			words = append(words, "action")
		case s.Kind == api.StepKindPlan && s.Destroy:
			words = append(words, "plan its removal")
		case s.Kind == api.StepKindApply && s.Destroy:
			words = append(words, "remove")
		default:
			words = append(words, string(s.Kind))
		}
	}
	return strings.Join(words, " → ")
}

// took is how long a step took, or has taken until now.
func took(s api.Step, now time.Time) string {
	switch {
	case s.StartedAt.IsZero():
		return ""
	case !s.EndedAt.IsZero():
		return fmt.Sprintf(" (%s)", lasted(s.EndedAt.Sub(s.StartedAt)))
	case s.Status == api.StepStatusRunning, s.Status == api.StepStatusWaiting:
		return fmt.Sprintf(" (for %s)", lasted(now.Sub(s.StartedAt)))
	}
	return ""
}

// lasted is a duration as people say it: 40ms, 3.2s, 4m10s, 2h5m.
func lasted(d time.Duration) string {
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
