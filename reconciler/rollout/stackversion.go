package rollout

import (
	"context"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/stackfiles"
	"github.com/nuon-toolkit/nuon/reconciler/stackversion"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// UseStacks sets the renderer of stacks. Without it, no versions of stacks are stored.
func (r *Rollout) UseStacks(renderer *stackversion.Renderer) { r.stacks = renderer }

// hasStack reports whether the app of the install has a stack that the customer creates.
func (s *snapshot) hasStack() bool {
	return s.config != nil && s.config.Stack != nil && s.config.Cloud() != "" && !s.removed()
}

// removed reports whether the install is being deprovisioned.
func (s *snapshot) removed() bool { return s.install.DesiredPresence == "absent" }

// stackFacts returns what a stack reads of the install, without the claim by which its machine registers.
func (s *snapshot) stackFacts() installstack.Facts {
	inputs := map[string]string{}
	for name, in := range s.inputs {
		if in.Value != nil {
			inputs[name] = *in.Value
		}
	}
	return installstack.Facts{
		Install: installstack.Install{ID: s.install.ID, Name: s.install.Name, AppID: s.app.ID, App: s.app.Name,
			OrgID: s.org.ID},
		Org: s.org.Name, Account: s.account, Inputs: inputs,
	}
}

// stackSubject returns what the stack of the install is rendered from.
func (s *snapshot) stackSubject(keys token.Keys) stackversion.Subject {
	config := s.config
	if config == nil {
		config = &appconfig.App{}
	}
	facts := s.stackFacts()
	facts.Claim = keys.Derive(token.Claim, s.org.ID, s.install.ID)
	return stackversion.Subject{Install: s.install, Release: s.release, Config: config, Newest: s.stackNewest,
		Facts: facts}
}

// ensureStacks stores a version of each stack that changed.
func (r *Rollout) ensureStacks(ctx context.Context, tx *store.Tx, all []*snapshot) error {
	keys, err := tx.Tokens(ctx)
	if err != nil {
		return err
	}
	var subjects []stackversion.Subject
	for _, s := range all {
		if s.hasStack() {
			subjects = append(subjects, s.stackSubject(keys))
		}
	}
	return r.stacks.Ensure(ctx, tx, subjects)
}

// RenderStack renders the stack of a locked install and stores it as a version if it is new. The version is 0 if a
// finding is an error.
func (r *Rollout) RenderStack(ctx context.Context, tx *store.Tx, install store.Install, actor string) (
	version int32, rendering stackfiles.Rendering, err error) {
	s, err := loadLocked(ctx, tx, install, r.configs)
	if err != nil {
		return 0, rendering, err
	}
	keys, err := tx.Tokens(ctx)
	if err != nil {
		return 0, rendering, err
	}
	subject := s.stackSubject(keys)
	rendering = r.stacks.Render(subject)
	version, err = stackversion.Store(ctx, tx, subject, rendering, actor)
	return version, rendering, err
}

// StackStatus compares the stack that the customer runs with the newest version.
type StackStatus struct {
	State   stackversion.State
	Newest  stackversion.Newest
	Running string // as it was stated; empty if nobody did
}

// stackStatus returns the status of the install's stack.
func (s *snapshot) stackStatus() StackStatus {
	return StackStatus{State: stackversion.StateOf(s.stackNewest, s.stack != nil, s.stackRunning), Newest: s.stackNewest,
		Running: s.stackRunning}
}
