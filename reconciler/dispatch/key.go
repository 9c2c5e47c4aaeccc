package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// RotateKey gives a runner another key. The one in force stays good until the new one is used for the first time, so that an
// answer that is lost locks nobody out; whoever asks again voids what was asked for before. Errors: ErrUnknownToken, when the key
// has been voided in the meantime.
func (d *Dispatch) RotateKey(ctx context.Context, caller Caller) (api.RunnerKey, error) {
	keys, err := d.store.Tokens(ctx)
	if err != nil {
		return api.RunnerKey{}, fmt.Errorf("make another key for runner %s: %w", caller.Runner, err)
	}
	plain, hash := keys.Mint(token.Runner, caller.Org, caller.Runner)
	err = d.store.In(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		runner, err := tx.AskRunnerKey(ctx, hash, tx.Org, caller.Runner)
		if err != nil {
			return unlessFound(err, ErrUnknownToken)
		}
		// Looked at with the row locked: another key may have been put in force since this caller was let in.
		if good, err := stillGood(ctx, tx, caller); err != nil || !good {
			return cmp.Or(err, ErrUnknownToken)
		}
		return tx.Audit(ctx, "runner "+runner.Name, "runner.ask_key", runner.ID, nil)
	})
	if err != nil {
		return api.RunnerKey{}, fmt.Errorf("make another key for runner %s: %w", caller.Runner, err)
	}
	return api.RunnerKey{RunnerKey: plain}, nil
}

// promote puts a key in force that was asked for and is used now; the one before it is void from here on.
func (d *Dispatch) promote(ctx context.Context, caller Caller, hash []byte) error {
	return d.store.In(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		promoted, err := tx.PromoteRunnerKey(ctx, tx.Org, caller.Runner, hash)
		if err != nil {
			return err
		}
		runner, err := tx.RunnerOfKey(ctx, hash, tx.Org, caller.Runner)
		if err != nil || promoted == 0 { // two came with it at once, or it has been voided by now
			return err
		}
		if err := wake(ctx, tx, caller.Runner); err != nil { // polls that began with the key before it end
			return err
		}
		return tx.Audit(ctx, "runner "+runner.Name, "runner.rotate_key", caller.Runner, nil)
	})
}

// stillGood says whether the key with which a runner came is still in force, and keeps it so until the transaction ends: what is
// given out to it is seen by whoever voids it. A caller that showed none is a test's.
func stillGood(ctx context.Context, tx *store.Tx, caller Caller) (bool, error) {
	if caller.key == "" {
		return true, nil
	}
	_, err := tx.HoldRunnerKey(ctx, tx.Org, caller.Runner, []byte(caller.key))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
