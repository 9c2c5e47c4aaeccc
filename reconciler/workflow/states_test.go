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

// ordered converts a table of dispatch into one of this package, each status after
// those that lead to it.
func ordered(first string, life dispatch.Life) transitions[string] {
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

const statesHead = "# Life cycles\n\n" +
	"Drawn from the tables in `reconciler/workflow/lifecycle.go` and `reconciler/dispatch/status.go`; `go test ./reconciler/workflow -update`\n" +
	"draws them anew. What follows when an apply has ended is the table of `reconciler/workflow/recover_test.go`.\n" +
	"Every move carries a reason as a sentence, which is stored and is what `nuon explain` prints.\n"

// statesRelease is the life cycle of a release (reconciler/release).
const statesRelease = "\n" +
	"## Release\n" +
	"\n" +
	"A push leads to a release: the config, and one input for each component that is deployed. `nuon releases list APP` shows the releases of\n" +
	"an app, and `nuon releases get APP 7` what one is made of, with the commit of every repository.\n" +
	"\n" +
	"```mermaid\n" +
	"stateDiagram-v2\n" +
	"    [*] --> building\n" +
	"    [*] --> complete\n" +
	"    [*] --> incomplete\n" +
	"    building --> complete\n" +
	"    building --> incomplete\n" +
	"    incomplete --> building\n" +
	"    complete --> [*]\n" +
	"```\n" +
	"\n" +
	"Nothing of a release changes but its status. A push that leaves every digest as it is makes none, and a revert makes a new number with\n" +
	"the old digests (`TestReleasesFollowDigests`). A component of a kind that nuon does not deploy yet does not count. The builds of a\n" +
	"release that another one has followed still end, and complete it (`TestBuildsOfSupersededReleasesFinish`).\n" +
	"\n" +
	"Installs follow the newest complete release. One with a component that cannot be built, or whose build failed, is incomplete: it is\n" +
	"held, and what else it has reaches no install either (`TestAnIncompleteReleaseIsHeld`), until the build is tried again and succeeds, or\n" +
	"another push comes. `nuon sync --partial` makes a separate release of the rest: a component that could not be built keeps the code and\n" +
	"the config of the newest complete release, and one that is in none is left out (`TestPartialReleases`). When the whole can be built after\n" +
	"all, it is made again with a number of its own (`TestWhatAPartialReleaseLackedIsBuilt`).\n" +
	"\n" +
	"An install that is pinned to a release gets neither new code nor a new config (`TestAPinnedInstallNeverMoves`). A rollback is a pin to an\n" +
	"earlier release, and brings its very digests back (`TestARollbackOfCodeBringsTheVeryDigestsBack`). Only a complete release can be pinned.\n" +
	"A release that differs in one component plans and applies that component.\n"

const statesSteps = "\nA person's retry (`nuon workflows retry`) begins again what failed at a step of a running workflow: of a component all steps,\n" +
	"from the sync, with the actions before its apply that did not end well; of any other action just that. What was skipped because of it\n" +
	"is begun again with it. What was refused about the component is forgotten, of what is begun with it only what this workflow refused:\n" +
	"a retry is no yes to what somebody said no to before. Only then do ended steps move once more; an apply or an action that succeeded\n" +
	"never does. What another workflow is at work on by now is not begun beside it. Once the workflow has ended, a retry starts a new one.\n\n" +
	"A person's skip (`nuon workflows skip`) goes on without what has not begun: an action, or a component of which nothing is at work.\n" +
	"The component is remembered as cancelled, so it is not asked about again, and what needs it is skipped; what needs the action goes on.\n" +
	"\n### Actions\n\n" +
	"An action's step runs once in a workflow, however often a component is planned anew, because what it does cannot be seen. Actions\n" +
	"with one trigger run one after the other, by index and then by name. One that precedes an apply and that no runner has begun when the\n" +
	"approved plan is withdrawn waits for the next yes; one that has left the app meanwhile is skipped, and stops nothing.\n\n" +
	"An action whose script no approver has approved for the install is `waiting` until one does, whatever the install's rule lets through. All\n" +
	"scripts that a workflow has still to run and that nobody has seen are one question. They are shown with a component's plan where that is\n" +
	"asked about, and approved with it; else they are asked about when the first of them could run. After a no the step fails, what it\n" +
	"precedes is rejected with it, and the script is not asked about again unless a person asks for a new workflow. The question is withdrawn\n" +
	"when no action waits for it any more, or another script is there.\n\n" +
	"| triggers | run | when it fails |\n|---|---|---|\n" +
	"| `pre-deploy-component`, `pre-teardown-component`, `pre-enable-component`, `pre-disable-component`, `pre-deprovision-sandbox` | " +
	"between the approval of the component's plan and its apply; not at all when there is nothing to apply or nobody approves | " +
	"the component is not applied, its plan is withdrawn, it stalls like a plan that failed |\n" +
	"| `post-deploy-component` and its like, `post-provision-sandbox`, `post-deprovision-sandbox` | after an apply that did something | the workflow fails, nothing is undone |\n" +
	"| `pre-provision`, `pre-deprovision`, `pre-update-inputs` | before the first plan | nothing of the workflow is planned, all of it stalls |\n" +
	"| `pre-deploy-all-components`, `pre-teardown-all-components` | before the first plan of a component, after the sandbox is there | no component is planned, all of them stall |\n" +
	"| `post-deploy-all-components`, `post-teardown-all-components`, `post-provision`, `post-deprovision`, `post-update-inputs` | " +
	"once all that they follow went well, their inner actions too, and something was done | the workflow fails, nothing is undone |\n\n" +
	"Triggers that are not in the table, such as `cron`, have no effect yet: `nuon validate` warns of them, and `nuon actions list` marks them\n" +
	"(`TestDeclared`).\n\n" +
	"`pre-update-inputs` and `post-update-inputs` belong to a deploy whose only reason are changed inputs, the enable and disable triggers to\n" +
	"components that may be switched off. The sandbox is destroyed only when the actions after the components have ended, and the components\n" +
	"are planned only when those after the sandbox have; how they ended does not matter there.\n" +
	"\n### Plan only\n\n" +
	"A workflow that only plans has nothing but syncs and plans, and no component waits for another: what cannot be planned yet is skipped and\n" +
	"says why, what moves after its sync is synced anew, and what is interrupted or lost is tried again, up to five times. Its\n" +
	"plans go from `ready` to `superseded` at once, nothing is remembered against what is wanted, and a plan without changes proves nothing.\n"

func TestTheDocsShowTheTables(t *testing.T) {
	jobs, attempts := dispatch.Lives()
	want := statesHead + statesRelease +
		"\n## Workflow\n\nIt runs until all of its steps have ended. It succeeds when every component was deployed, or is skipped because another workflow will\n" +
		"deploy it or because a person skipped it. It fails when it skips a component that nothing will deploy by itself, such as one that reads an\n" +
		"input without a value: its outcome names the component and the reason (`TestAWorkflowWithWhatIsStuckHasNotSucceeded`). It is rejected\n" +
		"when nothing failed and a person rejected a plan or a script (`TestANoIsRememberedUntilDesiredChangesOrAPersonAsks`,\n" +
		"`TestARejectedScriptIsANo`).\n\n" + diagram(Running, workflowTransitions) +
		"\n## Step\n\nA component's sync, plan, approve and apply steps are a group. What was stale, lost, interrupted, failed or superseded goes back to\n" +
		"pending as a group and is planned anew; what a person ended, or what has no tries left, does not.\n\n" +
		"Only people say no: a rejected plan, a cancelled workflow, a skipped step. When what is wanted moves away and back while a job is being\n" +
		"stopped for it, or a runner's machine is shut down, the group begins anew (`TestAMistakeThatIsTakenBackIsNoRefusal`,\n" +
		"`TestAShutdownIsNoRefusal`). A component stalls after as many failures as its `max_auto_retries` allows, or after five tries that were\n" +
		"lost, interrupted or stale; neither counts for the other (`TestAnInterruptionIsNoFailure`).\n\n" +
		"The sync copies the artifact from the vendor's registry to the install's, from where alone it is planned and applied; what is there is not\n" +
		"sent again. It is good for what was wanted when it began: when that moves, it is done anew, and a plan that failed or went stale for the same\n" +
		"begins behind it. A restore needs no artifact and has none. A sync of an artifact of at most 1 MiB, or of the one that was applied, has no job:\n" +
		"it succeeds at once, as *left to its plan*, and each plan behind it copies what is missing. So such a step does not say that the install's\n" +
		"registry has the artifact; a plan that was made behind it does (`TestWhatIsSmallOrThereNeedsNoSync`, `TestAPlanCopiesItsArtifact`). Where the\n" +
		"runner's owner allows no syncs it has a job all the same, which waits (`TestARunnerThatTakesNoSyncsGetsOneThatWaits`);\n" +
		"and a plan that copies and is queued already waits as a sync does (`TestAPlanThatCopiesWaitsForSyncs`).\n\n" +
		diagram(StepPending, stepTransitions) + statesSteps +
		"\n## Plan\n\nA plan that is not applyable is born `empty` and stays so. `consumed` is the accept of its apply: it happens once.\n\n" + diagram(PlanReady, planTransitions) +
		"\n## Approval\n\nIt is about a plan (with the scripts that are shown with it), about scripts, or about looser approval settings of the install, and binds\n" +
		"to the digest of exactly what was shown. One about a plan is withdrawn when that plan no longer leads to what is wanted. A yes by the\n" +
		"install's rule is stored like a person's, with the rule, its digest and who set it; one by an approver's rule for a whole workflow\n" +
		"(`nuon approve --workflow`) is stored as that approver's. A rule that would not approve the plan any more when a runner takes the apply\n" +
		"approves nothing: the plan is made and asked about again (`TestARuleForAWorkflow`).\n\n" +
		diagram(ApprovalWaiting, approvalTransitions) +
		"\n## Job\n\nIt ends once, and its owner is told in the same transaction. A stale apply ends as `failed` with the word in its result. `lost`\n" +
		"is said by the runner, or by a person who replaces it; never by the clock alone of what may not run twice. A build, sync, plan or look at\n" +
		"health that ends as `cancelled` or `lost` though nobody asked for its end goes back to `queued`, five attempts in all.\n\n" + diagram("queued", ordered("queued", jobs)) +
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
		t.Errorf("%s does not show the tables of lifecycle.go; update it with: go test ./reconciler/workflow -update", path)
	}
}
