package dispatch

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// NewRegistration makes another registration token for a runner that has none that is good any more, or whose machine has not
// used it: the ones before it are void. It is good once and for an hour, and is not kept. ErrRegistered when a machine has
// registered: another one takes its place by Replace alone.
func NewRegistration(ctx context.Context, tx *store.Tx, runnerID string) (plain string, err error) {
	runner, err := tx.LockRunner(ctx, tx.Org, runnerID)
	if err != nil {
		return "", fmt.Errorf("runner %s: %w", runnerID, err)
	}
	if runner.KeyHash != nil {
		return "", fmt.Errorf("runner %s: %w", runner.Name, ErrRegistered)
	}
	return addRegistration(ctx, tx, runner)
}

// addRegistration makes a runner's registration token, and voids those before it. The runner is locked, or new.
func addRegistration(ctx context.Context, tx *store.Tx, runner store.Runner) (plain string, err error) {
	if err := tx.VoidRegistrations(ctx, tx.Org, runner.ID); err != nil {
		return "", fmt.Errorf("void the registration tokens of runner %s: %w", runner.Name, err)
	}
	keys, err := tx.Tokens(ctx)
	if err != nil {
		return "", err
	}
	plain, hash := keys.Mint(token.Registration, tx.Org)
	err = tx.InsertRegistration(ctx, store.InsertRegistrationParams{
		OrgID: tx.Org, ID: id.New("reg"), RunnerID: runner.ID, Hash: hash, LifeSeconds: registrationLife.Seconds(),
	})
	if err != nil {
		return "", fmt.Errorf("make a registration token for runner %s: %w", runner.Name, err)
	}
	return plain, nil
}

// mostCapacity bounds how many jobs one runner may say that it runs at once.
const mostCapacity = 1000

// Register trades a registration token for a runner's durable key. An install runner brings the public half of its install key,
// and a machine that takes another's place brings the same one. Errors: ErrRegistration for a token that does not open anything
// (any more), ErrInvalid (the token stays good).
func (d *Dispatch) Register(ctx context.Context, plain string, r api.Registration) (api.Registered, error) {
	keys, err := d.store.Tokens(ctx)
	if err != nil {
		return api.Registered{}, fmt.Errorf("register a runner: %w", err)
	}
	prefix, parts, hash, ok := keys.Parse(plain)
	if !ok || prefix != token.Registration || len(parts) != 1 {
		return api.Registered{}, ErrRegistration
	}
	if r.Capacity < 1 || r.Capacity > mostCapacity {
		return api.Registered{}, invalid("a runner's capacity is 1 to %d jobs, not %d", mostCapacity, r.Capacity)
	}
	var registered api.Registered
	err = d.store.In(ctx, parts[0], func(ctx context.Context, tx *store.Tx) error {
		runner, err := tx.RunnerToRegister(ctx, tx.Org, hash)
		if err != nil {
			return unlessFound(err, ErrRegistration)
		}
		used, err := tx.UseRegistration(ctx, tx.Org, hash)
		if err != nil {
			return err
		}
		if used != 1 {
			return ErrRegistration
		}
		registered, err = d.register(ctx, tx, runner, r)
		return err
	})
	if err != nil {
		return api.Registered{}, fmt.Errorf("register a runner: %w", err)
	}
	return registered, nil
}

func (d *Dispatch) register(ctx context.Context, tx *store.Tx, runner store.Runner, r api.Registration) (api.Registered, error) {
	recipient, err := recipientOf(runner, r)
	if err != nil {
		return api.Registered{}, err
	}
	keys, err := tx.Tokens(ctx)
	if err != nil {
		return api.Registered{}, err
	}
	key, hash := keys.Mint(token.Runner, tx.Org, runner.ID)
	runner, err = tx.SetRunnerKey(ctx, store.SetRunnerKeyParams{
		OrgID: tx.Org, ID: runner.ID, KeyHash: hash, Recipient: recipient, Version: shown(r.Version), Capacity: int32(r.Capacity),
	})
	if err != nil {
		return api.Registered{}, err
	}
	detail := map[string]any{"name": runner.Name, "kind": runner.Kind, "recipient": recipient, "version": runner.Version}
	if err := tx.Audit(ctx, "runner "+runner.Name, "runner.register", runner.ID, detail); err != nil {
		return api.Registered{}, err
	}
	if d.registered != nil {
		if err := d.registered(ctx, tx, runner); err != nil {
			return api.Registered{}, err
		}
	}
	return api.Registered{RunnerID: runner.ID, RunnerKey: key, Name: runner.Name, Kind: api.RegisteredKind(runner.Kind)}, nil
}

// recipientOf is the public install key that is kept: install runners need one, and build runners hold nothing that it would
// open. One that is known stays, for what is sealed to it could not be read with another.
func recipientOf(runner store.Runner, r api.Registration) (string, error) {
	if runner.Kind != RunnerInstall {
		return "", nil
	}
	recipient, err := seal.ParseRecipient(r.Recipient)
	if err != nil {
		return "", invalid("an install runner registers with the public half of its install key: %v", err)
	}
	if runner.Recipient != "" && runner.Recipient != recipient.String() {
		return "", invalid("this machine has the install key %s, and what runner %s can read is sealed to %s; bring the file install.key of the machine before, "+
			"or if it is gone, say so with `nuon runners replace %s --new-key`", recipient.KeyID(), runner.Name, keyIDOf(runner), runner.Name)
	}
	return recipient.String(), nil
}

// keyIDOf names a runner's install key; empty as long as none is known.
func keyIDOf(runner store.Runner) string {
	recipient, err := seal.ParseRecipient(runner.Recipient)
	if err != nil {
		return ""
	}
	return recipient.KeyID()
}
