package runners

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// Caller is an authenticated runner, or one attempt on it. Job is empty if the runner used its own
// key.
type Caller struct {
	Org     string
	Runner  string
	Job     string
	Attempt int

	KeyHash string // hash of the runner key in the request
	Kind    string // kind of the runner with that key
}

// Genuine reports whether this control plane issued the token, without a lookup. A genuine token
// may have been revoked. Genuine returns true while the token keys cannot be read.
func (s *Service) Genuine(ctx context.Context, plain string) bool {
	keys, err := s.store.Tokens(ctx)
	return err != nil || keys.Genuine(plain)
}

// Authenticate returns the holder of a runner key or an attempt token, or ErrUnknownToken if there
// is none. It does not look up tokens that this control plane did not issue.
func (s *Service) Authenticate(ctx context.Context, plain string) (Caller, error) {
	keys, err := s.store.Tokens(ctx)
	if err != nil {
		return Caller{}, fmt.Errorf("look up a runner's token: %w", err)
	}
	prefix, parts, hash, ok := keys.Parse(plain)
	if !ok || prefix != token.Runner && prefix != token.Attempt {
		return Caller{}, ErrUnknownToken
	}
	caller, next := Caller{Org: parts[0]}, false
	err = s.store.ReadTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		switch {
		case prefix == token.Runner && len(parts) == 2:
			row, err := tx.RunnerOfKey(ctx, hash, caller.Org, parts[1])
			caller.Runner, caller.KeyHash, caller.Kind, next = parts[1], string(hash), row.Kind, row.Next
			return err
		case prefix == token.Attempt && len(parts) == 3:
			number, err := strconv.ParseInt(parts[2], 10, 32)
			if err != nil {
				return store.ErrNotFound
			}
			caller.Job, caller.Attempt = parts[1], int(number)
			caller.Runner, err = tx.RunnerOfAttemptToken(ctx, store.RunnerOfAttemptTokenParams{
				OrgID: caller.Org, JobID: caller.Job, Number: int32(number), TokenHash: hash,
				LateSeconds: timing.LateDelivery.Seconds(),
			})
			return err
		}
		return store.ErrNotFound
	})
	if err == nil && next {
		err = s.promote(ctx, caller, hash)
	}
	if errors.Is(err, store.ErrNotFound) {
		return Caller{}, ErrUnknownToken
	}
	if err != nil {
		return Caller{}, fmt.Errorf("look up a runner's token: %w", err)
	}
	return caller, nil
}
