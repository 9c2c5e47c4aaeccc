package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/cloudclaim"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// ListRunners implements GET /v1/runners.
func (s *Server) ListRunners(ctx context.Context, r ListRunnersRequestObject) (ListRunnersResponseObject, error) {
	var list api.RunnerList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		most := page(r.Params.Limit)
		rows, err := tx.ViewRunners(ctx, tx.Org, r.Params.Cursor, most)
		rows, list.Next = paged(rows, most, func(r store.Runner) string { return r.Name })
		if err != nil {
			return err
		}
		claims, err := waitingClaims(ctx, tx, each(rows, func(r store.Runner) string { return r.ID })...)
		list.Items = each(rows, func(r store.Runner) api.Runner {
			view := viewRunner(tx, r)
			view.Claims = claims[r.ID]
			return view
		})
		return err
	})
	return ListRunners200JSONResponse(list), err
}

// GetRunner implements GET /v1/runners/{runner}.
func (s *Server) GetRunner(ctx context.Context, r GetRunnerRequestObject) (GetRunnerResponseObject, error) {
	var view api.Runner
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := findRunner(ctx, tx, r.Runner)
		if err != nil {
			return err
		}
		view = viewRunner(tx, row)
		if view.Attempts, err = jobs.RunnerAttempts(ctx, tx, row.ID); err != nil {
			return err
		}
		claims, err := waitingClaims(ctx, tx, row.ID)
		view.Claims = claims[row.ID]
		return err
	})
	return GetRunner200JSONResponse(view), err
}

// waitingClaims returns who waits for a confirmation, by the id of the runner.
func waitingClaims(ctx context.Context, tx *store.Tx, runners ...string) (map[string][]api.CloudClaim, error) {
	rows, err := tx.WaitingClaims(ctx, tx.Org, runners)
	claims := map[string][]api.CloudClaim{}
	for _, row := range rows {
		claims[row.RunnerID] = append(claims[row.RunnerID], cloudclaim.View(row.CloudClaim, row.Install))
	}
	return claims, err
}

// CreateRunner implements POST /v1/runners.
func (s *Server) CreateRunner(ctx context.Context, r CreateRunnerRequestObject) (CreateRunnerResponseObject, error) {
	var made api.CreatedRunner
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, registration, err := s.addRunner(ctx, tx, *r.Body)
		if err != nil {
			return err
		}
		made = api.CreatedRunner{Runner: viewRunner(tx, row), RegistrationToken: registration}
		return tx.Audit(ctx, callerOf(ctx).actor, "runner.create", row.ID, map[string]any{
			"name": row.Name, "kind": row.Kind,
		})
	})
	return CreateRunner201JSONResponse(made), err
}

// addRunner creates a runner and its registration token. A new build runner gets the builds that
// waited for one.
func (s *Server) addRunner(ctx context.Context, tx *store.Tx, n api.NewRunner) (store.Runner, string, error) {
	row, registration, err := runners.Create(ctx, tx, runners.NewRunner{
		Name: n.Name, Kind: string(n.Kind), Shared: n.Shared,
	})
	if err == nil && row.Kind == runners.KindBuild {
		err = s.services.Builds.BuildRunnerAdded(ctx, tx)
	}
	return row, registration, err
}

// CreateRegistration implements POST /v1/runners/{runner}/registration.
func (s *Server) CreateRegistration(
	ctx context.Context, r CreateRegistrationRequestObject,
) (CreateRegistrationResponseObject, error) {
	var made api.CreatedRunner
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := findRunner(ctx, tx, r.Runner)
		if err != nil {
			return err
		}
		made.RegistrationToken, err = runners.NewRegistrationToken(ctx, tx, row.ID)
		if errors.Is(err, runners.ErrRegistered) {
			return problem.New(http.StatusConflict, "registered",
				"a machine has registered as runner "+quoted(row.Name)+" already",
				fmt.Sprintf("If that machine is permanently gone, `nuon runners replace %s` lets another machine register.",
					row.Name))
		}
		if err != nil {
			return err
		}
		made.Runner = viewRunner(tx, row)
		return tx.Audit(ctx, callerOf(ctx).actor, "runner.token", row.ID, map[string]any{"name": row.Name})
	})
	return CreateRegistration201JSONResponse(made), err
}

// ReplaceRunner implements POST /v1/runners/{runner}/replace.
func (s *Server) ReplaceRunner(ctx context.Context, r ReplaceRunnerRequestObject) (ReplaceRunnerResponseObject, error) {
	if err := checkReason(r.Body.Reason); err != nil {
		return nil, err
	}
	var done api.ReplacedRunner
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := findRunner(ctx, tx, r.Runner)
		if err != nil {
			return err
		}
		replaced, err := s.services.Jobs.Replace(ctx, tx, jobs.Replacement{
			Runner: row.ID, Reason: r.Body.Reason, NewKey: r.Body.NewKey,
		})
		if err != nil {
			return err
		}
		done = api.ReplacedRunner{
			Runner: viewRunner(tx, replaced.Runner), RegistrationToken: replaced.RegistrationToken, Lost: replaced.Lost,
		}
		return tx.Audit(ctx, callerOf(ctx).actor, "runner.replace", row.ID, map[string]any{
			"name": row.Name, "reason": r.Body.Reason, "new_key": r.Body.NewKey, "lost": replaced.Lost,
		})
	})
	return ReplaceRunner200JSONResponse(done), err
}

// ConfirmRunner implements POST /v1/runners/{runner}/confirm.
func (s *Server) ConfirmRunner(ctx context.Context, r ConfirmRunnerRequestObject) (ConfirmRunnerResponseObject, error) {
	var view api.Runner
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := findRunner(ctx, tx, r.Runner)
		if err != nil {
			return err
		}
		waiting, err := tx.WaitingClaims(ctx, tx.Org, []string{row.ID})
		if err != nil {
			return err
		}
		at := slices.IndexFunc(waiting, func(c store.WaitingClaimsRow) bool { return c.CloudClaim.ID == r.Body.Claim })
		if at < 0 {
			return cloudclaim.ErrNoClaim
		}
		install, err := tx.LockInstall(ctx, tx.Org, waiting[at].CloudClaim.InstallID)
		if err != nil {
			return err
		}
		claim, err := s.services.Claims.Confirm(ctx, tx, install, r.Body.Claim, callerOf(ctx).actor)
		if err != nil {
			return err
		}
		if err := s.services.PhoneHome.Settle(ctx, tx, install, claim); err != nil {
			return err
		}
		view = viewRunner(tx, row)
		return nil
	})
	return ConfirmRunner200JSONResponse(view), err
}

// DeleteRunner implements DELETE /v1/runners/{runner}. It also deletes the runner's jobs, but not
// the builds that it made.
func (s *Server) DeleteRunner(ctx context.Context, r DeleteRunnerRequestObject) (DeleteRunnerResponseObject, error) {
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := findRunner(ctx, tx, r.Runner)
		if err != nil {
			return err
		}
		// The lock prevents a new install from naming it until the end.
		if row, err = tx.LockRunner(ctx, tx.Org, row.ID); err != nil {
			return err
		}
		if err := dropRunner(ctx, tx, row); err != nil {
			return err
		}
		// Its polls must find that its key is void.
		if err := tx.Notify(ctx, store.ChannelJobs, tx.Org+"/"+row.ID); err != nil {
			return err
		}
		if err := s.services.Builds.BuildRunnerAdded(ctx, tx); err != nil {
			return err
		}
		return tx.Audit(ctx, callerOf(ctx).actor, "runner.delete", row.ID, map[string]any{
			"name": row.Name, "kind": row.Kind,
		})
	})
	return DeleteRunner204Response{}, err
}

// dropRunner removes a runner that no install names and that has no jobs in flight.
func dropRunner(ctx context.Context, tx *store.Tx, row store.Runner) error {
	installs, err := tx.InstallNamesOfRunner(ctx, tx.Org, row.ID, namesShown+1)
	if err != nil {
		return err
	}
	if len(installs) > 0 {
		return problem.New(http.StatusConflict, "in_use",
			"runner "+quoted(row.Name)+" works for installs: "+someOf(installs),
			fmt.Sprintf("If only its machine is gone, `nuon runners replace %s` lets another machine register.", row.Name))
	}
	// After this only jobs in flight remain, even if another runner takes over some at the same
	// time.
	if err := tx.DropJobsOfRunner(ctx, tx.Org, row.ID); err != nil {
		return err
	}
	open, err := tx.OpenJobsOfRunner(ctx, tx.Org, row.ID)
	if err != nil {
		return err
	}
	if open > 0 {
		return problem.New(http.StatusConflict, "in_use",
			fmt.Sprintf("runner %s has jobs that have not ended: %s", quoted(row.Name), countJobs(open)),
			fmt.Sprintf("Wait until they have ended. If its machine is gone, run this first: `nuon runners replace %s`.",
				row.Name))
	}
	if err := fenced(tx.DropRunner(ctx, tx.Org, row.ID)); err != nil {
		return fmt.Errorf("delete runner %s: %w", row.Name, err)
	}
	return nil
}

// countJobs returns a number of jobs as text.
func countJobs(n int64) string {
	if n == 1 {
		return "one job"
	}
	return fmt.Sprintf("%d jobs", n)
}

func findRunner(ctx context.Context, tx *store.Tx, key string) (store.Runner, error) {
	row, err := tx.ViewRunner(ctx, tx.Org, key)
	if err != nil {
		return store.Runner{}, named("runner", key, err)
	}
	return row, nil
}

func viewRunner(tx *store.Tx, r store.Runner) api.Runner { return runners.View(r, tx.Now()) }

// reasonLength is the maximum number of characters of a person's reason.
const reasonLength = 500

// checkReason requires a reason for a decision about work that may be running.
func checkReason(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return problem.New(http.StatusUnprocessableEntity, "no_reason", "a reason is required",
			"Send a reason; it is recorded in the audit log.")
	case utf8.RuneCountInString(reason) > reasonLength:
		return problem.New(http.StatusUnprocessableEntity, "bad_reason",
			fmt.Sprintf("the reason has more than %d characters", reasonLength), "Write a shorter one.")
	}
	return nil
}
