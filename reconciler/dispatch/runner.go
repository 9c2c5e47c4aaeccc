package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// The kinds of runner, as the column's constraint has them.
const (
	RunnerBuild   = "build"
	RunnerInstall = "install"
)

// NewRunner is a runner to be made.
type NewRunner struct {
	Name   string // lower case letters, digits, - and _
	Kind   string // RunnerBuild or RunnerInstall
	Shared bool   // of kind install: it takes installs that name no runner
}

var runnerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// CreateRunner makes the record of a runner that has yet to register, and the token with which it can, once and within an hour.
// The token is a secret and is not kept. Errors: ErrInvalid; ErrNameTaken, after which the transaction can only be rolled back.
func CreateRunner(ctx context.Context, tx *store.Tx, n NewRunner) (runner store.Runner, registrationToken string, err error) {
	if !runnerName.MatchString(n.Name) {
		return store.Runner{}, "", invalid("a runner's name has 1 to 63 lower case letters, digits, - and _ and starts with a letter or digit; %q is none", n.Name)
	}
	if n.Kind != RunnerBuild && n.Kind != RunnerInstall {
		return store.Runner{}, "", invalid("a runner is of kind %s or %s, not %q", RunnerBuild, RunnerInstall, n.Kind)
	}
	if n.Shared && n.Kind != RunnerInstall {
		return store.Runner{}, "", invalid("only a runner of kind %s can be shared", RunnerInstall)
	}
	runner, err = tx.InsertRunner(ctx, store.InsertRunnerParams{OrgID: tx.Org, ID: id.New("run"), Name: n.Name, Kind: n.Kind, Shared: n.Shared})
	if _, taken := store.IsConflict(err); taken {
		return store.Runner{}, "", fmt.Errorf("runner %s: %w", n.Name, ErrNameTaken)
	}
	if err != nil {
		return store.Runner{}, "", fmt.Errorf("create runner %s: %w", n.Name, err)
	}
	plain, hash := token.Mint(token.Registration, tx.Org)
	err = tx.InsertRegistration(ctx, store.InsertRegistrationParams{
		OrgID: tx.Org, ID: id.New("reg"), RunnerID: runner.ID, Hash: hash, LifeSeconds: registrationLife.Seconds(),
	})
	if err != nil {
		return store.Runner{}, "", fmt.Errorf("make a registration token for runner %s: %w", n.Name, err)
	}
	return runner, plain, nil
}

// mostCapacity bounds how many jobs one runner may say that it runs at once.
const mostCapacity = 1000

// Register trades a registration token for a runner's durable key. An install runner brings the public half of its install key.
// Errors: ErrRegistration for a token that does not open anything (any more), ErrInvalid (the token stays good).
func (d *Dispatch) Register(ctx context.Context, plain string, r api.Registration) (api.Registered, error) {
	prefix, parts, hash, ok := token.Parse(plain)
	if !ok || prefix != token.Registration || len(parts) != 1 {
		return api.Registered{}, ErrRegistration
	}
	if r.Capacity < 1 || r.Capacity > mostCapacity {
		return api.Registered{}, invalid("a runner's capacity is 1 to %d jobs, not %d", mostCapacity, r.Capacity)
	}
	var registered api.Registered
	err := d.store.In(ctx, parts[0], func(ctx context.Context, tx *store.Tx) error {
		runnerID, err := tx.UseRegistration(ctx, tx.Org, hash)
		if errors.Is(err, store.ErrNotFound) {
			return ErrRegistration
		}
		if err != nil {
			return err
		}
		registered, err = d.register(ctx, tx, runnerID, r)
		return err
	})
	if err != nil {
		return api.Registered{}, fmt.Errorf("register a runner: %w", err)
	}
	return registered, nil
}

func (d *Dispatch) register(ctx context.Context, tx *store.Tx, runnerID string, r api.Registration) (api.Registered, error) {
	runner, err := tx.RunnerToRegister(ctx, tx.Org, runnerID)
	if err != nil {
		return api.Registered{}, err
	}
	recipient, err := recipientOf(runner, r)
	if err != nil {
		return api.Registered{}, err
	}
	key, hash := token.Mint(token.Runner, tx.Org, runner.ID)
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
// open.
func recipientOf(runner store.Runner, r api.Registration) (string, error) {
	if runner.Kind != RunnerInstall {
		return "", nil
	}
	recipient, err := seal.ParseRecipient(r.Recipient)
	if err != nil {
		return "", invalid("an install runner registers with the public half of its install key: %v", err)
	}
	return recipient.String(), nil
}

// runnerPolicy is what a runner says of itself with each poll; kept so that a waiting job can say why it waits.
type runnerPolicy struct {
	Allowed *[]string `json:"allowed,omitempty"` // job kinds that it takes; nil for all
}

// touch notes that a runner was heard of. A nil policy leaves what is kept.
func touch(ctx context.Context, tx *store.Tx, runner, version string, policy *runnerPolicy) error {
	var kept json.RawMessage
	if policy != nil {
		// A struct of strings always marshals.
		kept, _ = json.Marshal(policy)
	}
	return tx.TouchRunner(ctx, store.TouchRunnerParams{
		OrgID: tx.Org, ID: runner, Version: shown(version), Policy: kept, EverySeconds: touchEvery.Seconds(),
	})
}

// mostShown bounds short texts that runners say of themselves, in runes.
const mostShown = 64

// shown makes a short text of a runner's fit for a column and a screen: printable, one line, bounded.
func shown(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > mostShown {
		return string(runes[:mostShown])
	}
	return text
}
