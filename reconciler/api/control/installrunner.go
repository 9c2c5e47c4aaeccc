package control

import (
	"context"
	"fmt"
	"net/http"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// This file chooses the runner of a new install.

// runnerFor returns the runner for a new install: the one that it names, the shared one, or a new
// one. It locks the runner before a row refers to it, because the install's secrets are sealed to
// the key that the runner has at commit.
func (s *Server) runnerFor(
	ctx context.Context, tx *store.Tx, n api.NewInstall,
) (store.Runner, api.CreatedRunner, error) {
	r, created, err := s.chosenRunner(ctx, tx, n)
	if err == nil {
		r, err = tx.LockRunner(ctx, tx.Org, r.ID)
	}
	if err == nil {
		err = mayJoin(ctx, tx, r, n)
	}
	return r, created, err
}

func (s *Server) chosenRunner(
	ctx context.Context, tx *store.Tx, n api.NewInstall,
) (store.Runner, api.CreatedRunner, error) {
	r, found, err := existingRunner(ctx, tx, n.Runner)
	if err != nil || found {
		return r, api.CreatedRunner{}, err
	}
	if _, err := tx.ViewRunner(ctx, tx.Org, n.Name); !isNotFound(err) {
		return store.Runner{}, api.CreatedRunner{}, orTaken(err, n.Name)
	}
	r, registration, err := s.addRunner(ctx, tx, api.NewRunner{Name: n.Name, Kind: api.NewRunnerKindInstall})
	return r, api.CreatedRunner{Runner: viewRunner(tx, r), RegistrationToken: registration}, err
}

// existingRunner returns the runner that a new install names, or the shared one. found is false if
// the install needs a new one.
func existingRunner(ctx context.Context, tx *store.Tx, name string) (r store.Runner, found bool, err error) {
	if name == "" {
		shared, err := tx.ViewSharedRunners(ctx, tx.Org)
		if err != nil || len(shared) == 0 {
			return store.Runner{}, false, err
		}
		return shared[0], true, nil
	}
	r, err = tx.ViewRunner(ctx, tx.Org, name)
	if err == nil {
		err = runnerIsSeen(ctx, tx, r)
	}
	if err == nil && r.Kind != "install" {
		err = problem.Error{
			Status: http.StatusUnprocessableEntity, Code: "bad_runner",
			Title: "runner " + quoted(name) + " builds; an install needs an install runner",
		}
	}
	return r, err == nil, named("runner", name, err)
}

// runnerIsSeen returns ErrNotFound for a runner that works for no install that the caller sees,
// unless it is shared, because a runner has the permissions of a customer's account.
func runnerIsSeen(ctx context.Context, tx *store.Tx, r store.Runner) error {
	if tx.App == "" || r.Shared {
		return nil
	}
	installs, err := tx.InstallsOfRunner(ctx, tx.Org, r.ID)
	if err == nil && len(installs) == 0 {
		err = store.ErrNotFound
	}
	return err
}

// mayJoin refuses a new install on a locked runner that works for others and has not registered, or that works for an
// install with approvals_by_others. It refuses neither an admin nor a shared runner. A machine registers by the
// identity of its account only for a single install, so one more would keep it out. And what the new install runs has
// the runner's identity, so it must not need fewer people to approve it than the other installs do.
func mayJoin(ctx context.Context, tx *store.Tx, r store.Runner, n api.NewInstall) error {
	c := callerOf(ctx)
	if r.Shared || c.role >= admin {
		return nil
	}
	others, err := tx.RunnerLoad(ctx, tx.Org, r.ID)
	if err != nil {
		return fmt.Errorf("read the installs of runner %s: %w", r.Name, err)
	}
	switch {
	case others.Installs == 0:
		return nil
	case r.KeyHash == nil:
		return problem.New(http.StatusConflict, "not_registered",
			"runner "+quoted(r.Name)+" works for another install and has not registered yet",
			"Wait until its machine has registered, omit the runner to get a new one, or ask an admin to create the install.")
	case others.ByOthers && !n.ApprovalsByOthers:
		return problem.New(http.StatusForbidden, "forbidden",
			fmt.Sprintf("token %s has the role %s; an install without approvals_by_others on runner %s, which works for one "+
				"with it, needs %s", quoted(c.actor), c.role, quoted(r.Name), admin),
			"Set approvals_by_others (--approvals-by-others), omit the runner to get a new one, or ask an admin.")
	}
	return nil
}

// orTaken returns the error of a runner lookup, or, if the runner was found, that its name is in
// use.
func orTaken(err error, name string) error {
	if err != nil {
		return err
	}
	return problem.New(http.StatusConflict, "exists",
		"a new runner cannot be named like the install: there is a runner "+quoted(name)+" already",
		"Share that runner with --runner "+name+", name another, or choose another name.")
}
