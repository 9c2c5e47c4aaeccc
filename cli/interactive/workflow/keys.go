package workflow

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/cli/screen/page"
	"github.com/nuon-toolkit/nuon/cli/workflows"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Actions returns what can be done with a workflow and its selected step.
func (s *Screen) Actions() []page.Action {
	install := s.workflow.App + "/" + s.workflow.Install
	return []page.Action{
		{Key: screen.Bind("t", "retry the step", "t"), Then: "workflow latest:" + install, Command: s.retry,
			Question: func(r page.Row) string { return fmt.Sprintf("Retry %s from its plan?", s.called(r)) }},
		{Key: screen.Bind("s", "skip the step", "s"), Command: s.skip, Reason: true,
			Question: func(r page.Row) string {
				return fmt.Sprintf("Skip %s. Components that depend on it are skipped with it.", s.called(r))
			}},
		{Key: screen.Bind("c", "cancel the workflow", "c"), Command: s.cancel, Reason: true,
			Question: func(page.Row) string {
				return "Cancel the workflow: steps that have not started do not start, and its changes count as rejected. " +
					"A running apply is not interrupted."
			}},
		{Key: screen.Bind("L", "log of all steps", "L"), Open: func(page.Row) string { return "logs " + s.workflow.ID }},
		{Key: screen.Bind("i", "the install", "i"), Open: func(page.Row) string { return "install " + install }},
	}
}

// step returns the step of a row.
func (s *Screen) step(r page.Row) (api.Step, bool) {
	n := slices.IndexFunc(s.workflow.Steps, func(of api.Step) bool { return of.ID == r.ID })
	if n < 0 {
		return api.Step{}, false
	}
	return s.workflow.Steps[n], true
}

// called names the step of a row.
func (s *Screen) called(r page.Row) string {
	of, _ := s.step(r)
	return fmt.Sprintf("%s %s", of.Kind, workflows.StepName(of))
}

func (s *Screen) retry(r page.Row) ([]string, error) {
	if of, ok := s.step(r); !ok || of.Status != api.StepStatusFailed {
		return nil, errors.New("only a failed step can be retried")
	}
	return []string{"workflows", "retry", s.workflow.ID, r.ID}, nil
}

func (s *Screen) skip(r page.Row) ([]string, error) {
	of, ok := s.step(r)
	if !ok || s.workflow.Status != api.WorkflowStatusRunning ||
		of.Status != api.StepStatusPending && of.Status != api.StepStatusWaiting {
		return nil, errors.New("only a step that has not started can be skipped")
	}
	return []string{"workflows", "skip", s.workflow.ID, r.ID}, nil
}

func (s *Screen) cancel(page.Row) ([]string, error) {
	if s.workflow.Status != api.WorkflowStatusRunning {
		return nil, errors.New("the workflow is not running")
	}
	return []string{"workflows", "cancel", s.workflow.ID}, nil
}
