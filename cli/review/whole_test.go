package review

import (
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// rules returns the approvals of whole workflows that were sent.
func (s *stage) rules() []string {
	return slices.DeleteFunc(slices.Clone(s.notes.asked),
		func(a string) bool { return !strings.HasPrefix(a, "approve all of ") })
}

// TestAWholeWorkflow checks that A shows what the approval of a workflow covers and
// what it does not, and that it is sent only after the install's name was typed.
func TestAWholeWorkflow(t *testing.T) {
	s := newStage(themes["plain"], 80, 24, several()...)
	s.press("A")
	if last := s.notes.asked[len(s.notes.asked)-1]; last != "workflow wfl_1 of ins_helloacme" || s.mode != reviewing {
		t.Fatalf("asked for %q in mode %d", last, s.mode)
	}
	s.send(provision())
	shown := s.View()
	for _, want := range []string{
		"approve everything that provision 1 of hello/acme plans until it ends", "Approves now: metrics (3 to update).",
		"Still needs approval: web (", "1 to destroy",
		"Approves once planned: cache.",
		"Never approves destroys, replacements, scripts that no approver has seen for", "acme, plans whose report",
		"Type ", "acme", "to approve:",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
	s.press("enter")
	s.write("y")
	s.press("enter")
	if got := s.rules(); len(got) != 0 || s.mode != wholly {
		t.Errorf("without the name: %q in mode %d", got, s.mode)
	}
	s.write("acme")
	s.press("enter")
	if got := s.rules(); !slices.Equal(got, []string{"approve all of wfl_1"}) || s.mode != reviewing {
		t.Errorf("sent %q in mode %d", got, s.mode)
	}
	if s.press("q"); s.unheard(0) == nil || !strings.Contains(s.unheard(0).Error(), "nuon workflows get wfl_1") {
		t.Errorf("while it is being sent: %v", s.unheard(0))
	}
	s.send(ruled{workflow: provision().workflow})
	if s.unheard(0) != nil || len(s.approved) != 1 ||
		!strings.Contains(s.note.Text, "nuon approve --workflow wfl_1 --revoke") {
		t.Errorf("then %v, %d, %q", s.unheard(0), len(s.approved), s.note.Text)
	}
	s.press("A")
	s.send(provision())
	s.write("acme")
	s.press("enter")
	s.send(ruled{workflow: provision().workflow, err: errors.New("it has ended")})
	if s.note.Text != "it has ended" || len(s.approved) != 1 || s.unheard(0) != nil {
		t.Errorf("refused: %q", s.note.Text)
	}
}

// TestAWholeWorkflowIsNotAskedAbout checks that the question is not opened where the
// workflow cannot be approved, where it does not fit, and after another key was pressed.
func TestAWholeWorkflowIsNotAskedAbout(t *testing.T) {
	settings := several()[0]
	settings.Workflow, settings.Component, settings.Kind = "", "", api.ApprovalKindSettings
	over, teardown, failed := provision(), provision(), provision()
	over.workflow.Status, teardown.workflow.Kind, failed.err = api.WorkflowStatusSucceeded,
		api.WorkflowKindTeardown, errors.New("gone")
	for name, c := range map[string]struct {
		all    []api.Approval
		height int
		press  func(s *stage)
		note   string
	}{
		"none":     {nil, 24, func(s *stage) { s.press("A") }, "no plans waiting"},
		"a group":  {alike(), 24, func(s *stage) { s.press("A") }, "press m"},
		"settings": {[]api.Approval{settings}, 24, func(s *stage) { s.press("A") }, "belongs to no workflow"},
		"lost": {several(), 24, func(s *stage) { s.send(listed{err: errors.New("away")}); s.press("A") },
			"control plane unreachable"},
		"over": {several(), 24, func(s *stage) { s.press("A"); s.send(over) }, "cannot be approved as a whole"},
		"a teardown": {several(), 24, func(s *stage) { s.press("A"); s.send(teardown) },
			"cannot be approved as a whole"},
		"not got": {several(), 24, func(s *stage) { s.press("A"); s.send(failed) }, "gone"},
		"another": {several(), 24, func(s *stage) { s.press("A"); s.send(planned{id: "wfl_2"}) },
			"loading the workflow"},
		"another key": {several(), 24, func(s *stage) { s.press("A", "j"); s.send(provision()) }, ""},
		"little room": {several(), 12, func(s *stage) { s.press("A"); s.send(provision()) },
			"the screen is too small; use nuon approve --workflow wfl_1"},
		"shrunk": {several(), 24, func(s *stage) {
			s.press("A")
			s.send(provision())
			s.write("acme")
			s.send(tea.WindowSizeMsg{Width: 80, Height: 12})
		}, "the screen is too small"},
		"lost since": {several(), 24, func(s *stage) {
			s.press("A")
			s.send(provision())
			s.write("acme")
			s.now = s.now.Add(time.Hour)
			s.press("enter")
		}, "control plane unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(themes["plain"], 80, c.height, c.all...)
			c.press(s)
			if s.mode != reviewing || !strings.Contains(s.note.Text, c.note) || len(s.rules()) > 0 {
				t.Errorf("mode %d, %q, sent %q", s.mode, s.note.Text, s.rules())
			}
		})
	}
}

// TestTheRequesterApprovesAWorkflow checks that the requester finds waiting plans after the
// first page and ignores those of other workflows, and that it sends the approval.
func TestTheRequesterApprovesAWorkflow(t *testing.T) {
	p := &plane{approvals: several()}
	p.approvals[1].Workflow = "wfl_2"
	more := approvalOf("apr_9", "hello", "acme", "db", mildReport(2))
	p.approvals = append(p.approvals, more, approvalOf("apr_8", "hello", "acme", "cache", mildReport(1)))
	server := httptest.NewServer(p)
	defer server.Close()
	client, err := apiclient.New(contexts.Context{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	d := newRequester(t.Context(), client, func(a api.Approval) bool { return a.Component == "metrics" })
	defer d.Close()
	got, _ := d.workflow("wfl_1", "ins_helloacme")().(planned)
	var names []string
	for _, a := range got.waits {
		names = append(names, a.Component+" "+got.totals[a.ID].Text())
	}
	if got.err != nil || !slices.Equal(names, []string{"metrics 3 to update", "cache 1 to update", "db 2 to update"}) {
		t.Errorf("%v %q", got.err, names)
	}
	if r, _ := d.ruleOn(got.workflow)().(ruled); r.err != nil ||
		!slices.Equal(p.answered(), []string{"wfl_1 as a whole"}) {
		t.Errorf("%v %q", r.err, p.answered())
	}
}

// TestAWholeWorkflowOnAScreenThatShrinks checks that the question closes when it no longer fits.
func TestAWholeWorkflowOnAScreenThatShrinks(t *testing.T) {
	s := newStage(themes["plain"], 80, 24, several()...)
	s.press("A")
	s.send(provision())
	s.send(tea.WindowSizeMsg{Width: 40, Height: 10})
	if rows := strings.Count(s.View(), "\n") + 1; s.mode != reviewing || rows > 10 {
		t.Errorf("mode %d, %d rows of 10", s.mode, rows)
	}
	s.shows(t, "the screen is too small")
	s.write("acme")
	s.press("enter")
	if got := s.rules(); len(got) != 0 {
		t.Errorf("approved %q without the question", got)
	}
}
