package workflow

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/dispatch"
)

var update = flag.Bool("update", false, "write docs/states.md anew")

// diagram draws a life cycle from its table.
func diagram[S ~string](first S, table moves[S]) string {
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

func (m moves[S]) hasMoves(s S) bool {
	for _, row := range m {
		if row.from == s {
			return true
		}
	}
	return false
}

// ordered is a table of dispatch as one of ours, each status after those that lead to it.
func ordered(first string, life dispatch.Life) moves[string] {
	var table moves[string]
	for todo, seen := []string{first}, map[string]bool{first: true}; len(todo) > 0; todo = todo[1:] {
		from := todo[0]
		if len(life[from]) == 0 {
			continue
		}
		table = append(table, move[string]{from, life[from]})
		for _, to := range life[from] {
			if !seen[to] {
				seen[to], todo = true, append(todo, to)
			}
		}
	}
	return table
}

const statesHead = "# Life cycles\n\n" +
	"Drawn from the tables in `reconciler/workflow/life.go` and `reconciler/dispatch/status.go`; `go test ./reconciler/workflow -update`\n" +
	"draws them anew. What follows when an apply has ended is the table of `reconciler/workflow/recover_test.go`.\n" +
	"Every move carries a reason as a sentence, which is stored and is what `nuon explain` prints.\n"

func TestTheDocsShowTheTables(t *testing.T) {
	jobs, attempts := dispatch.Lives()
	want := statesHead +
		"\n## Workflow\n\nIt runs until all of its steps have ended.\n\n" + diagram(Running, statusMoves) +
		"\n## Step\n\nA component's plan, approve and apply steps are a group. What was stale, lost, failed or superseded goes back to pending as a\n" +
		"group and is planned anew; what a person ended, or what has no tries left, does not.\n\n" + diagram(StepPending, stepMoves) +
		"\n## Plan\n\nA plan that is not applyable is born `empty` and stays so. `consumed` is the accept of its apply: it happens once.\n\n" + diagram(PlanReady, planMoves) +
		"\n## Approval\n\nIt binds to the content digest of one plan. It is withdrawn when that plan no longer leads to what is wanted.\n\n" + diagram(ApprovalWaiting, approvalMoves) +
		"\n## Job\n\nIt ends once, and its owner is told in the same transaction. A stale apply ends as `failed` with the word in its result. `lost`\n" +
		"is said by the runner, or by a person who replaces it; never by the clock alone of what may not run twice.\n\n" + diagram("queued", ordered("queued", jobs)) +
		"\n## Attempt\n\nOne try of a job. `expired` is lost contact, not death: it may still beat, and deliver. Its state locks fall when it ends.\n\n" +
		diagram("offered", ordered("offered", attempts))
	path := filepath.Join("..", "..", "docs", "states.md")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s does not show the tables of life.go; draw it anew with: go test ./reconciler/workflow -update", path)
	}
}
