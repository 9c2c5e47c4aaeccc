package workflow

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/nuon-toolkit/nuon/pkg/golden"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
)

// diagram draws a life cycle from its table.
func diagram[S ~string](first S, table transitions[S]) string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	fmt.Fprintf(&b, "    [*] --> %s\n", first)
	ends := map[S]bool{}
	var order []S
	for _, row := range table {
		for _, to := range row.to {
			fmt.Fprintf(&b, "    %s --> %s\n", row.from, to)
			if !ends[to] && !table.hasMoves(to) {
				ends[to] = true
				order = append(order, to)
			}
		}
	}
	for _, end := range order {
		fmt.Fprintf(&b, "    %s --> [*]\n", end)
	}
	b.WriteString("```\n")
	return b.String()
}

func (m transitions[S]) hasMoves(s S) bool {
	for _, row := range m {
		if row.from == s {
			return true
		}
	}
	return false
}

// ordered converts a table of package jobs into one of this package, each status after
// those that lead to it.
func ordered(first string, life jobs.Transitions) transitions[string] {
	var table transitions[string]
	for todo, seen := []string{first}, map[string]bool{first: true}; len(todo) > 0; todo = todo[1:] {
		from := todo[0]
		if len(life[from]) == 0 {
			continue
		}
		table = append(table, transition[string]{from, life[from]})
		for _, to := range life[from] {
			if !seen[to] {
				seen[to], todo = true, append(todo, to)
			}
		}
	}
	return table
}

// TestTheDocsShowTheTables: docs/states.md is testdata/states.md.tmpl with the tables as diagrams.
func TestTheDocsShowTheTables(t *testing.T) {
	page, err := template.ParseFiles(filepath.Join("testdata", "states.md.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	jobs, attempts := jobs.AllTransitions()
	var rendered strings.Builder
	err = page.Execute(&rendered, map[string]string{
		"Workflow": diagram(Running, workflowTransitions),
		"Step":     diagram(StepPending, stepTransitions),
		"Plan":     diagram(PlanReady, planTransitions),
		"Approval": diagram(ApprovalWaiting, approvalTransitions),
		"Job":      diagram("queued", ordered("queued", jobs)),
		"Attempt":  strings.TrimSuffix(diagram("offered", ordered("offered", attempts)), "\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join("..", "..", "docs", "states.md"), rendered.String())
}
