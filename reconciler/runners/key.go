package runners

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// RotateKey issues another key to a runner. The current key stays valid until the new one is used
// for the first time, so that a lost response locks no runner out. Another call voids the key that
// the call before it issued. The audit log gets one record of all calls until then. Errors:
// ErrUnknownToken if the caller's key was voided in the meantime; ErrKeyIsNew.
func (s *Service) RotateKey(ctx context.Context, caller Caller) (api.RunnerKey, error) {
	keys, err := s.store.Tokens(ctx)
	if err != nil {
		return api.RunnerKey{}, fmt.Errorf("make another key for runner %s: %w", caller.Runner, err)
	}
	plain, hash := keys.Mint(token.Runner, caller.Org, caller.Runner)
	err = s.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		runner, err := tx.LockRunner(ctx, tx.Org, caller.Runner)
		if err != nil {
			return store.NotFoundAs(err, ErrUnknownToken)
		}
		// Checked with the row locked: another key may have been promoted since the caller was
		// authenticated.
		good, err := KeyIsCurrent(ctx, tx, caller)
		if err != nil {
			return err
		}
		if !good || runner.KeyHash == nil {
			return ErrUnknownToken
		}
		if err := checkKeyAge(runner, tx.Now()); err != nil {
			return err
		}
		if err := tx.AskRunnerKey(ctx, hash, tx.Org, caller.Runner); err != nil || runner.NextKeyHash != nil {
			return err
		}
		return tx.Audit(ctx, "runner "+runner.Name, "runner.ask_key", runner.ID, nil)
	})
	if err != nil {
		return api.RunnerKey{}, fmt.Errorf("make another key for runner %s: %w", caller.Runner, err)
	}
	return api.RunnerKey{RunnerKey: plain}, nil
}

// checkKeyAge returns ErrKeyIsNew if the key of a runner was rotated less than KeyMinAge ago. The key of
// a registration may be rotated at once.
func checkKeyAge(runner store.Runner, now time.Time) error {
	if runner.KeySince == nil || runner.RegisteredAt == nil || !runner.KeySince.After(*runner.RegisteredAt) {
		return nil
	}
	wait := runner.KeySince.Add(timing.KeyMinAge).Sub(now)
	if wait <= 0 {
		return nil
	}
	return ErrKeyIsNew.With("at %s", runner.KeySince.UTC().Format(time.DateTime+" MST")).RetryIn(wait)
}

// promote makes an issued key the current one on its first use and voids the one before it.
func (s *Service) promote(ctx context.Context, caller Caller, hash []byte) error {
	return s.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		promoted, err := tx.PromoteRunnerKey(ctx, tx.Org, caller.Runner, hash)
		if err != nil {
			return err
		}
		runner, err := tx.RunnerOfKey(ctx, hash, tx.Org, caller.Runner)
		if err != nil || promoted == 0 { // two requests used it at once, or it was voided meanwhile
			return err
		}
		if err := Wake(ctx, tx, caller.Runner); err != nil { // ends the polls that started with the key before it
			return err
		}
		return tx.Audit(ctx, "runner "+runner.Name, "runner.rotate_key", caller.Runner, nil)
	})
}

// KeyIsCurrent reports whether the runner key of the caller is still current, and locks it until the
// transaction ends, so that a transaction that voids the key sees what was issued to it. A caller
// without a key occurs only in tests.
func KeyIsCurrent(ctx context.Context, tx *store.Tx, caller Caller) (bool, error) {
	if caller.KeyHash == "" {
		return true, nil
	}
	_, err := tx.HoldRunnerKey(ctx, tx.Org, caller.Runner, []byte(caller.KeyHash))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
