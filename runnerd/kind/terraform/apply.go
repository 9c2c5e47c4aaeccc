package terraform

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// Observe reads the newest version of the state: nobody else may have
// written it since the plan.
func (s *session) Observe(ctx context.Context) (deploy.Observation, error) {
	now, err := s.endpoint.Read(ctx)
	return observation(now), err
}

// Report restores the plan at the path where it was made, and describes it again.
func (s *session) Report(ctx context.Context) (*diff.Report, error) {
	noted := s.saved.metadata
	if s.workspace.root != noted.Workspace {
		return nil, job.Stalef("the plan was made in %s, and this runner works in %s", noted.Workspace, s.workspace.root)
	}
	if err := os.WriteFile(s.workspace.plan(), s.saved.plan, 0o600); err != nil {
		return nil, fmt.Errorf("restore the plan file: %w", err)
	}
	if _, err := s.prepare(ctx, s.saved.tree); err != nil {
		return nil, err
	}
	if now := s.terraform.tool.Version; now != noted.Terraform {
		return nil, job.Stalef("the plan was made by Terraform %s, and this runner has %s now", noted.Terraform, now)
	}
	made, _, err := s.report(ctx)
	return made, err
}

// Apply applies the plan file and returns the outputs of the resulting state. All states
// that Terraform wrote are in the spool, even if the apply failed or was canceled.
func (s *session) Apply(ctx context.Context) (made deploy.ComponentState, err error) {
	done, err := s.terraform.apply(ctx, s.workspace.plan())
	err = s.causeOf(err)
	if stray := s.storeUndelivered(ctx); stray != nil {
		err = errors.Join(err, stray)
		done = false
	}
	if isSavedPlanStale(err) {
		return made, job.Stalef("Terraform says that the state moved since the plan was made")
	}
	if !done {
		return made, err
	}
	made.Outputs, err = outputsOf(s.endpoint.LastVersion(), s.Env.Key, s.Deploy, s.Secrets)
	return made, err
}

// storeUndelivered stores a state that Terraform could not deliver, before the workspace is removed:
// one that it left in a file or, if the disk had no room for that either, printed.
// An error means that this state is lost.
func (s *session) storeUndelivered(ctx context.Context) error {
	content, err := s.workspace.undeliveredState()
	if err == nil && content == nil && s.terraform != nil {
		content = s.terraform.dumped
	}
	if err != nil || content == nil {
		return err
	}
	keeping := s.endpoint.StoreState(ctx, content, firstLineage(s.Env.Spec))
	if keeping == nil {
		s.Env.Log.Warn("Terraform could not deliver its last state; the runner found and stored it")
		return nil
	}
	return fmt.Errorf("the last state that Terraform wrote could not be stored: %w; make room on the runner's disk, and "+
		"plan again: what exists is found by the next refresh only as far as the state names it", keeping)
}
