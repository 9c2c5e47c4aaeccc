package review

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// mild returns three waiting plans without anything grave.
func mild() []api.Approval {
	return []api.Approval{
		approvalOf("apr_1", "hello", "acme", "metrics", mildReport(3)),
		approvalOf("apr_2", "hello", "acme", "web", mildReport(2)),
		approvalOf("apr_3", "hello", "globex", "db", mildReport(1)),
	}
}

func (s *stage) mustShow(t *testing.T, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if seen := ansi.Strip(s.View()); !strings.Contains(seen, want) {
			t.Errorf("no %q on\n%s", want, seen)
		}
	}
}

// TestSelectedPlansAreApprovedTogether requires the number of the selected plans, shows their changes
// and risk, leaves out what needs a separate answer, and binds each answer to the plan's content.
func TestSelectedPlansAreApprovedTogether(t *testing.T) {
	all := append(mild(), approvalOf("apr_4", "hello", "acme", "old", graveReport()), judged()[0])
	all[4].ID = "apr_5"
	s := newStage(themes["plain"], 120, 40, all...)
	s.press(" ")
	s.send(openedOf(all[0]))
	s.mustShow(t, "1 plan selected: ~3; highest risk: ")
	s.press("*") // selects the others, too
	s.mustShow(t, "risk of 4 of them is not known yet")
	s.press("a")
	s.mustShow(t, "not loaded yet")
	for _, a := range all {
		s.send(openedOf(a))
	}
	s.press("a")
	s.mustShow(t, "approve 3 selected plans", "Left out: ", "a policy denies it", "Type 3 to approve")
	s.press("enter")
	s.write("5")
	s.press("enter")
	if n := len(s.notes.answers()); n > 0 {
		t.Fatalf("a wrong number sent %d answers", n)
	}
	s.write("3")
	s.press("enter")
	want := []string{"approve apr_1 " + all[0].ContentDigest + " ", "approve apr_2 " + all[1].ContentDigest + " ",
		"approve apr_3 " + all[2].ContentDigest + " "}
	if got := s.notes.answers(); !slices.Equal(got, want) {
		t.Errorf("sent %q", got)
	}
}

// TestASelectedPlanThatChanges is not answered: neither before the question nor while it is open.
func TestASelectedPlanThatChanges(t *testing.T) {
	all := mild()
	s := newStage(themes["plain"], 120, 40, all...)
	s.selectAll(all)
	moved := approvalOf("apr_2", "hello", "acme", "web", mildReport(9))
	s.send(listOf([]api.Approval{all[0], moved, all[2]}))
	s.mustShow(t, "2 plans selected")
	s.press("a")
	s.mustShow(t, "Type 2 to approve")
	s.send(listOf([]api.Approval{all[0], moved}))
	s.mustShow(t, "Type 1 to approve", "not answered: db on hello/globex")
	s.write("2")
	s.press("enter")
	if got := s.notes.answers(); len(got) > 0 {
		t.Fatalf("sent %q", got)
	}
	s.send(listOf([]api.Approval{moved}))
	s.mustShow(t, "your answer was not sent")
}

// TestSelectionIsRejectedAndDropped rejects everything selected with one reason; esc drops a selection.
func TestSelectionIsRejectedAndDropped(t *testing.T) {
	all := append(mild(), approvalOf("apr_4", "hello", "acme", "old", graveReport()))
	s := newStage(themes["plain"], 80, 24, all...)
	s.press("*", "esc")
	if n := len(s.queue.marked()); n > 0 {
		t.Errorf("%d plans are still selected", n)
	}
	s.selectAll(all)
	s.press("r")
	s.mustShow(t, "reject 4 selected plans")
	s.write("freeze")
	s.press("enter")
	if got := s.notes.answers(); len(got) != 4 || !strings.HasPrefix(got[3], "reject apr_4 ") {
		t.Errorf("sent %q", got)
	}
}

// answers returns the answers that were sent.
func (n *notes) answers() []string {
	return slices.DeleteFunc(slices.Clone(n.asked), func(a string) bool {
		return !strings.HasPrefix(a, "approve apr_") && !strings.HasPrefix(a, "reject apr_")
	})
}

// TestAssign assigns the selected row, or what is marked, and shows mine, nobody's and the team's plans.
func TestAssign(t *testing.T) {
	all := mild()
	all[1].Assignee = "bob"
	s := newStage(themes["plain"], 120, 40, all...)
	s.press("i")
	if got := s.notes.asked[len(s.notes.asked)-1]; got != `assign apr_1 to "me" instead of ""` {
		t.Errorf("sent %q", got)
	}
	took := all[0]
	took.Assignee, took.Yours = "vera", true
	s.send(assigned{id: "apr_1", approval: took})
	s.mustShow(t, "1 plan is assigned to you", "@me", "@bob")
	s.press("t")
	s.mustShow(t, "queue / @me")
	if len(s.queue.rows) != 1 || s.queue.rows[0].item.approval.ID != "apr_1" {
		t.Errorf("mine: %d rows", len(s.queue.rows))
	}
	s.press("t")
	if s.mustShow(t, "queue / @none"); len(s.queue.rows) != 1 || s.queue.rows[0].item.approval.ID != "apr_3" {
		t.Errorf("nobody's: %d rows", len(s.queue.rows))
	}
	if s.press("t"); len(s.queue.rows) != 3 {
		t.Errorf("the team's: %d rows", len(s.queue.rows))
	}
}

// TestApproveAndFollow leaves for the workflow of the plan as soon as it is approved, and only then.
func TestApproveAndFollow(t *testing.T) {
	for _, refused := range []bool{false, true} {
		s := newStage(themes["plain"], 120, 40, mild()...)
		s.press("F")
		s.mustShow(t, "only in `nuon`")
		s.part = true
		s.leave = func() tea.Msg { return Left{} }
		s.press("F")
		if got := s.notes.answers(); len(got) != 1 {
			t.Fatalf("sent %q", got)
		}
		o := answered{id: "apr_1", answer: api.ResponseAnswerApprove, approval: mild()[0]}
		if o.approval.Status = api.ApprovalStatusApproved; refused {
			o.err = errors.New("it was rejected by ann")
		}
		var left Left
		if _, cmd := s.Update(o); cmd != nil {
			left, _ = cmd().(Left)
		}
		if want := "workflow wfl_1"; (left.Line == want) == refused {
			t.Errorf("refused %t: it leaves for %q", refused, left.Line)
		}
	}
}

// TestADeniedPlan shows what denies a plan, cannot be approved, and can be rejected.
func TestADeniedPlan(t *testing.T) {
	s := newStage(themes["plain"], 120, 40, judged()...)
	s.mustShow(t, "policy no-public-endpoint denies: the endpoint of web", "policy quota not evaluated: ", "denied")
	s.press("a")
	s.mustShow(t, "a policy denies this plan, so it can only be rejected")
	s.pass(time.Minute)
	s.press("e")
	s.mustShow(t, "rules · web on hello/acme", "labels  warns", "warns: Deployment web: no owner",
		"source: https://kubernetes.io")
	s.press("esc", "r")
	s.write("closed first")
	if s.press("enter"); len(s.notes.answers()) != 1 {
		t.Errorf("sent %q", s.notes.answers())
	}
	if r, err := ReportOf(judged()[0]); err != nil || !r.Denied() || diff.PolicyDeny != r.Policies[0].Result {
		t.Errorf("the report: %v", err)
	}
}
