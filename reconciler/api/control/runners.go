package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/dispatch"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// ListRunners implements GET /v1/runners.
func (s *Server) ListRunners(ctx context.Context, _ ListRunnersRequestObject) (ListRunnersResponseObject, error) {
	var list api.RunnerList
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ViewRunners(ctx, tx.Org)
		list.Items = each(rows, viewRunner)
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
		view = viewRunner(row)
		view.Attempts, err = dispatch.InHand(ctx, tx, row.ID)
		return err
	})
	return GetRunner200JSONResponse(view), err
}

// CreateRunner implements POST /v1/runners.
func (s *Server) CreateRunner(ctx context.Context, r CreateRunnerRequestObject) (CreateRunnerResponseObject, error) {
	var made api.CreatedRunner
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, registration, err := s.rooms.AddRunner(ctx, tx, *r.Body)
		if err != nil {
			return err
		}
		made = api.CreatedRunner{Runner: viewRunner(row), RegistrationToken: registration}
		return tx.Audit(ctx, callerOf(ctx).actor, "runner.create", row.ID, map[string]any{"name": row.Name, "kind": row.Kind})
	})
	return CreateRunner201JSONResponse(made), err
}

// CreateRegistration implements POST /v1/runners/{runner}/registration.
func (s *Server) CreateRegistration(ctx context.Context, r CreateRegistrationRequestObject) (CreateRegistrationResponseObject, error) {
	var made api.CreatedRunner
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := findRunner(ctx, tx, r.Runner)
		if err != nil {
			return err
		}
		made.RegistrationToken, err = dispatch.NewRegistration(ctx, tx, row.ID)
		if errors.Is(err, dispatch.ErrRegistered) {
			return problem.New(http.StatusConflict, "registered", "a machine has registered as runner "+quoted(row.Name)+" already",
				fmt.Sprintf("If that machine is gone for good, `nuon runners replace %s` makes room for another.", row.Name))
		}
		if err != nil {
			return err
		}
		made.Runner = viewRunner(row)
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
		replaced, err := s.rooms.ReplaceRunner(ctx, tx, dispatch.Replacement{Runner: row.ID, Reason: r.Body.Reason, NewKey: r.Body.NewKey})
		if err != nil {
			return err
		}
		done = api.ReplacedRunner{Runner: viewRunner(replaced.Runner), RegistrationToken: replaced.RegistrationToken, Lost: replaced.Lost}
		return tx.Audit(ctx, callerOf(ctx).actor, "runner.replace", row.ID, map[string]any{
			"name": row.Name, "reason": r.Body.Reason, "new_key": r.Body.NewKey, "lost": replaced.Lost,
		})
	})
	return ReplaceRunner200JSONResponse(done), err
}

func findRunner(ctx context.Context, tx *store.Tx, key string) (store.Runner, error) {
	row, err := tx.ViewRunner(ctx, tx.Org, key)
	if err != nil {
		return store.Runner{}, named("runner", key, err)
	}
	return row, nil
}

func viewRunner(r store.Runner) api.Runner { return dispatch.ViewRunner(r, time.Now()) }

// reasonLength is the most characters of a person's reason.
const reasonLength = 500

// checkReason refuses a word that decides about what may be running somewhere and does not say why.
func checkReason(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return problem.New(http.StatusUnprocessableEntity, "no_reason", "this needs a reason", "Say why in a sentence; it is kept in the audit.")
	case utf8.RuneCountInString(reason) > reasonLength:
		return problem.New(http.StatusUnprocessableEntity, "bad_reason", fmt.Sprintf("the reason has more than %d characters", reasonLength), "Say it in fewer.")
	}
	return nil
}
