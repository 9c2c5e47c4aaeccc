package runners

import (
	"context"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/cloudclaim"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// IsClaim reports whether this control plane made a claim token, without a lookup.
func (s *Service) IsClaim(ctx context.Context, plain string) bool {
	return s.isToken(ctx, plain, token.Claim)
}

// IsRegistration reports whether this control plane made a registration token, without a lookup.
func (s *Service) IsRegistration(ctx context.Context, plain string) bool {
	return s.isToken(ctx, plain, token.Registration)
}

func (s *Service) isToken(ctx context.Context, plain, kind string) bool {
	keys, err := s.store.Tokens(ctx)
	if err != nil {
		return true // the lookup reports it
	}
	prefix, _, _, ok := keys.Parse(plain)
	return ok && prefix == kind
}

// ChallengeClaim returns a nonce with which a machine or function proves its cloud identity.
func (s *Service) ChallengeClaim(ctx context.Context, claim, recipient string) (api.ClaimChallenge, error) {
	if s.claims == nil {
		return api.ClaimChallenge{}, cloudclaim.ErrClaim
	}
	return s.claims.Challenge(ctx, claim, recipient)
}

// RegisterClaim registers the machine of an install's runner by its cloud identity. The machine proves
// as well that it holds its install key. Errors: those of package cloudclaim, ErrRegistered,
// ErrNotAlone, refusal.ErrInvalid. After cloudclaim.ErrWaiting the machine repeats it until a person
// has confirmed the claim.
func (s *Service) RegisterClaim(ctx context.Context, claim string, r api.ClaimRegistration) (api.Registered, error) {
	if s.claims == nil {
		return api.Registered{}, cloudclaim.ErrClaim
	}
	if err := checkCapacity(r.Registration); err != nil {
		return api.Registered{}, err
	}
	proven, err := s.claims.Check(ctx, claim, r.Nonce, r.Identity)
	if err != nil {
		return api.Registered{}, fmt.Errorf("register a runner: %w", err)
	}
	recipient, err := seal.ParseRecipient(r.Registration.Recipient)
	if err != nil {
		return api.Registered{}, refusal.Invalidf("a runner registers with the public half of its install key: %v", err)
	}
	err = checkProof(proven.Recipient, proven.ProofHash, recipient.String(), r.Registration.Proof)
	if err != nil {
		return api.Registered{}, err
	}
	var registered api.Registered
	var waits error // committed, so that the claim is listed
	err = s.store.InTx(ctx, proven.Org, func(ctx context.Context, tx *store.Tx) error {
		registered, err = s.registerProven(ctx, tx, proven, r.Registration)
		if waits = nil; errors.Is(err, cloudclaim.ErrWaiting) {
			waits, err = err, nil
		}
		return err
	})
	if err == nil {
		err = waits
	}
	if err != nil {
		return api.Registered{}, fmt.Errorf("register a runner: %w", err)
	}
	return registered, nil
}

// registerProven registers a machine whose proofs were checked. It locks rows in the common order: the
// install, the runner.
func (s *Service) registerProven(ctx context.Context, tx *store.Tx, proven cloudclaim.Proven, r api.Registration) (
	api.Registered, error) {
	install, err := tx.LockInstall(ctx, tx.Org, proven.Install)
	if err != nil {
		return api.Registered{}, store.NotFoundAs(err, cloudclaim.ErrClaim)
	}
	runner, err := tx.LockRunner(ctx, tx.Org, install.RunnerID)
	if err != nil {
		return api.Registered{}, err
	}
	installs, err := tx.InstallsOfRunner(ctx, tx.Org, runner.ID)
	if err != nil {
		return api.Registered{}, err
	}
	claim, err := s.claims.Admit(ctx, tx, install, proven, cloudclaim.Runner, runner.Held)
	switch {
	case err != nil && !errors.Is(err, cloudclaim.ErrWaiting):
		return api.Registered{}, err
	case runner.KeyHash != nil && (!awaitsFirstPoll(runner) || runner.Recipient != proven.Recipient ||
		isAnotherMachine(runner, cloudclaim.ViewSubject(proven.Subject))):
		return api.Registered{}, ErrRegistered.With("%s", runner.Name)
	case runner.Kind != KindInstall || runner.Shared || len(installs) != 1:
		return api.Registered{}, ErrNotAlone
	case err != nil:
		return api.Registered{}, err
	}
	if err := s.claims.Use(ctx, tx, claim); err != nil {
		return api.Registered{}, err
	}
	// A token that was made and not used must not register a second machine.
	if err := tx.VoidRegistrations(ctx, tx.Org, runner.ID); err != nil {
		return api.Registered{}, fmt.Errorf("void the registration tokens of runner %s: %w", runner.Name, err)
	}
	return s.register(ctx, tx, runner, r, origin{by: byIdentity, subject: cloudclaim.ViewSubject(proven.Subject)})
}
