package workflow

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/refusal"
)

// begun returns a deploy of web whose first step has started.
func begun(t *testing.T, planOnly bool, want DesiredState) *Graph {
	t.Helper()
	parts := []ComponentPart{{Component: "web", Reason: "r"}}
	steps, err := Compose(KindDeploy, parts, WorkflowActions{}, counter())
	if planOnly {
		steps, err = ComposePlans(KindDeploy, parts, counter())
	}
	if err != nil {
		t.Fatal(err)
	}
	g := &Graph{Kind: KindDeploy, PlanOnly: planOnly, Status: Running, Steps: steps,
		Desired: map[string]DesiredState{"web": want}}
	same(t, run(g), "StartStep{1 r}")
	return g
}

func TestASyncThatFailsIsTriedAsOftenAsAPlan(t *testing.T) {
	g := begun(t, false, DesiredState{Digest: "d1", Reason: "r", Retries: 1})
	g.Steps[0].Job.Status, g.Steps[0].Job.Error = JobFailed, "no room"
	same(t, run(g), "Replan{web false false no room (try 2 of at most 2)}", "StartStep{1 r}")
	g.Steps[0].Job.Status, g.Steps[0].Job.Error = JobFailed, "no room"
	why := "no room (after 2 tries)"
	same(t, run(g), "RecordRejection{web d1 stalled  "+why+"}", "SetStatus{1 failed "+why+"}", "SetStatus{2 skipped "+why+
		"}", "SetStatus{3 skipped "+
		why+"}", "SetStatus{4 skipped "+why+"}",
		"FinishWorkflow{failed web: "+why+"}")
}

func TestAPlanThatFailedBeginsBehindItsSync(t *testing.T) {
	g := begun(t, false, DesiredState{Digest: "d1", Reason: "r", Retries: 1})
	g.Steps[0].Job.Status = JobSucceeded
	same(t, run(g), "SetStatus{1 succeeded "+syncedReason+"}", "StartStep{2 r}")
	g.Steps[1].Job.Status, g.Steps[1].Job.Error = JobFailed, "no quota"
	same(t, run(g), "Replan{web false false no quota (try 2 of at most 2)}", "StartStep{2 r}")
}

func TestWhatMovesIsSyncedAnew(t *testing.T) {
	g := begun(t, false, DesiredState{Digest: "d1", Reason: "r"})
	g.Desired["web"] = DesiredState{Digest: "d2", Reason: "build 2"}
	same(t, run(g), "CancelJob{1 superseded by a newer desired state: build 2}")
	g.Steps[0].Job.Status = JobSucceeded // it was almost done
	same(t, run(g), "Replan{web true false superseded by a newer desired state: build 2}", "StartStep{1 build 2}")
	g.Steps[0].Job.Status = JobSucceeded
	g.Desired["web"] = DesiredState{WaitReason: "its build is running"}
	same(t, run(g), "SetStatus{1 succeeded "+syncedReason+"}", "SetStatus{2 pending waits: its build is running}")
	g.Desired["web"] = DesiredState{Digest: "d3", Reason: "build 3"}
	same(t, run(g), "Replan{web true false superseded by a newer desired state: build 3}", "StartStep{1 build 3}")
}

// The desired state changes and changes back while the job for it is being stopped:
// nobody rejected it.
func TestWhatMovesAwayAndBackIsBegunAnew(t *testing.T) {
	for _, as := range []JobStatus{JobCancelled, JobFailed, JobLost} { // all ways in which a cancelled job ends
		g := begun(t, false, DesiredState{Digest: "d1", Reason: "r"})
		for _, at := range []int{0, 1} {
			step := g.Steps[at]
			g.Desired["web"] = DesiredState{Digest: "d2", Reason: "a slip"}
			same(t, run(g), "CancelJob{"+step.ID+" superseded by a newer desired state: a slip}")
			g.Desired["web"] = DesiredState{Digest: "d1", Reason: "r"}
			same(t, run(g))
			step.Job.Status = as
			same(t, run(g), "Replan{web true false "+revertedReason+"}", "StartStep{1 r}")
			g.Steps[0].Job.Status = JobSucceeded
			same(t, run(g), "SetStatus{1 succeeded "+syncedReason+"}", "StartStep{2 r}")
		}
	}
}

// Interruptions and failures are counted separately.
func TestAnInterruptionIsNoFailure(t *testing.T) {
	g := begun(t, false, DesiredState{Digest: "d1", Reason: "r", Retries: 1})
	end := func(as JobStatus, said string, want ...string) {
		t.Helper()
		g.Steps[0].Job.Status, g.Steps[0].Job.Error = as, said
		same(t, run(g), want...)
	}
	lost := "Replan{web false true the job that copied its artifact was lost (try %d of at most 5)}"
	end(JobLost, "", fmt.Sprintf(lost, 2), "StartStep{1 r}")
	end(JobLost, "", fmt.Sprintf(lost, 3), "StartStep{1 r}")
	end(JobFailed, "no room", "Replan{web false false no room (try 2 of at most 2)}", "StartStep{1 r}")
	end(JobLost, "", fmt.Sprintf(lost, 4), "StartStep{1 r}")
	end(JobLost, "", fmt.Sprintf(lost, 5), "StartStep{1 r}")
	why := "the job that copied its artifact was lost (after 5 tries)"
	end(JobLost, "", "RecordRejection{web d1 stalled  "+why+"}", "SetStatus{1 failed "+why+"}", "SetStatus{2 skipped "+why+
		"}",
		"SetStatus{3 skipped "+why+"}", "SetStatus{4 skipped "+why+"}",
		"FinishWorkflow{failed web: "+why+"}")
}

func TestNothingIsCopiedForWhatIsThere(t *testing.T) {
	g := begun(t, false, DesiredState{Digest: "d1", Reason: "r"})
	g.Desired["web"] = DesiredState{Digest: "d0", Reason: "back again", Current: true}
	run(g)
	g.Steps[0].Job.Status = JobCancelled
	why := "nothing to do: web is up to date"
	same(t, run(g), "Replan{web true false superseded by a newer desired state: back again}",
		"SetStatus{1 skipped "+why+"}", "SetStatus{2 succeeded "+why+"}", "SetStatus{3 skipped "+why+"}",
		"SetStatus{4 skipped "+why+"}",
		"FinishWorkflow{succeeded 1 without changes}")
}

func TestAPlanOnlyWorkflowWhoseSyncFails(t *testing.T) {
	g := begun(t, true, DesiredState{Digest: "d1", Reason: "r"})
	g.Steps = append(g.Steps, &Step{ID: "busy", Kind: StepPlan, Component: "busy", Status: StepRunning, Reason: "r",
		Job: &Job{Status: JobOpen}})
	g.Steps = append(g.Steps[:2], &Step{ID: "still", Kind: StepSync, Component: "busy", Status: StepSucceeded,
		Reason: "r"}, g.Steps[2])
	g.Steps[0].Job.Status, g.Steps[0].Job.Error = JobFailed, "no room"
	same(t, run(g), "SetStatus{1 failed no room}", "SetStatus{2 skipped no room}")
	var no *refusal.Error
	if _, err := Retry(g, g.Steps[3], "bob"); !errors.As(err, &no) || no.Title != "the plan of busy has not failed" {
		t.Errorf("got %v", err)
	}
	todo, err := Retry(g, g.Steps[1], "bob")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range todo {
		if _, clears := c.(ClearRejection); clears {
			t.Errorf("a retry of a plan that is never applied clears a rejection: %+v", c)
		}
		g.Apply(c)
	}
	same(t, run(g), "StartStep{1 r}")
	g.Steps[0].Job.Status, g.Steps[0].Job.Error = JobFailed, "no room"
	g.Steps[3].Job.Status, g.Steps[3].Plan = JobSucceeded, &Plan{ID: "p", Status: PlanEmpty}
	if said := run(g); said[len(said)-1] != "FinishWorkflow{failed planned only: 1 without changes; web: no room}" {
		t.Errorf("it ends with %v", said)
	}
}

// If the source cannot provide a component's spec, the component fails in a plan-only
// workflow, and no refusal is recorded.
func TestAPlanOnlyWorkflowOfWhatCannotBeHad(t *testing.T) {
	g := begun(t, true, DesiredState{Digest: "d1", Reason: "r"})
	for _, c := range g.failUnavailable(g.Steps[0], Unavailable{Reason: "its values cannot be had"}) {
		if _, refused := c.(RecordRejection); refused {
			t.Errorf("%+v", c)
		}
		g.Apply(c)
	}
	if said := run(g); len(said) != 1 || !strings.HasPrefix(said[0], "FinishWorkflow{failed") {
		t.Errorf("it ends with %v", said)
	}
}

func TestWhereCopiesLie(t *testing.T) {
	if got := ArtifactRepository("org_1", "ins_1", "cmp_1"); got != "org_1/installs/ins_1/artifacts/cmp_1" {
		t.Errorf("got %s", got)
	}
}
