package runners

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/cloudclaim"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// NewRegistrationToken makes another registration token for a runner whose machine has not registered,
// and voids the earlier ones. One machine can use the token within an hour, and its plain text is not
// stored. It returns ErrRegistered if a machine has registered; only Replace lets another machine
// take its place.
func NewRegistrationToken(ctx context.Context, tx *store.Tx, runnerID string) (plain string, err error) {
	runner, err := tx.LockRunner(ctx, tx.Org, runnerID)
	if err != nil {
		return "", fmt.Errorf("runner %s: %w", runnerID, err)
	}
	if runner.KeyHash != nil {
		return "", fmt.Errorf("runner %s: %w", runner.Name, ErrRegistered)
	}
	return AddRegistrationToken(ctx, tx, runner)
}

// AddRegistrationToken makes a runner's registration token and voids the earlier ones. The runner's row
// is locked or new.
func AddRegistrationToken(ctx context.Context, tx *store.Tx, runner store.Runner) (plain string, err error) {
	if err := tx.VoidRegistrations(ctx, tx.Org, runner.ID); err != nil {
		return "", fmt.Errorf("void the registration tokens of runner %s: %w", runner.Name, err)
	}
	keys, err := tx.Tokens(ctx)
	if err != nil {
		return "", err
	}
	plain, hash := keys.Mint(token.Registration, tx.Org)
	err = tx.InsertRegistration(ctx, store.InsertRegistrationParams{
		OrgID: tx.Org, ID: id.New("reg"), RunnerID: runner.ID, Hash: hash, LifeSeconds: timing.RegistrationLife.Seconds(),
	})
	if err != nil {
		return "", fmt.Errorf("make a registration token for runner %s: %w", runner.Name, err)
	}
	return plain, nil
}

// MaxCapacity is the maximum number of concurrent jobs that one runner may report.
const MaxCapacity = 1000

// registrationOf parses a registration token.
func (s *Service) registrationOf(ctx context.Context, plain string) (org string, hash []byte, err error) {
	keys, err := s.store.Tokens(ctx)
	if err != nil {
		return "", nil, fmt.Errorf("register a runner: %w", err)
	}
	prefix, parts, hash, ok := keys.Parse(plain)
	if !ok || prefix != token.Registration || len(parts) != 1 {
		return "", nil, ErrRegistration
	}
	return parts[0], hash, nil
}

// Challenge returns a nonce, sealed to the key that a runner is about to register with a token.
// Only the holder of the private half can register with it. The newest nonce of a token is valid,
// for one registration. Errors: ErrRegistration, refusal.ErrInvalid.
func (s *Service) Challenge(ctx context.Context, plain, recipient string) (api.Challenge, error) {
	org, hash, err := s.registrationOf(ctx, plain)
	if err != nil {
		return api.Challenge{}, err
	}
	sealed, sum, to, err := cloudclaim.SealProof(recipient)
	if err != nil {
		return api.Challenge{}, err
	}
	err = s.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		if _, err := lockForRegistration(ctx, tx, hash, to.String()); err != nil {
			return err
		}
		return tx.SetChallenge(ctx, store.SetChallengeParams{
			OrgID: tx.Org, Hash: hash, Challenge: sum, ChallengeFor: to.String(),
		})
	})
	if err != nil {
		return api.Challenge{}, fmt.Errorf("challenge a runner: %w", err)
	}
	return api.Challenge{Nonce: sealed}, nil
}

// lockForRegistration locks the runner that a token registers. It returns ErrRegistration unless the
// machine with the public install key recipient can use the token.
func lockForRegistration(ctx context.Context, tx *store.Tx, hash []byte, recipient string) (store.Runner, error) {
	row, err := tx.RunnerToRegister(ctx, tx.Org, hash)
	if err != nil {
		return store.Runner{}, store.NotFoundAs(err, ErrRegistration)
	}
	again := row.UsedFor != "" && row.UsedFor == recipient && awaitsFirstPoll(row.Runner)
	if !row.Fresh || !row.Unused && !again {
		return store.Runner{}, ErrRegistration
	}
	return row.Runner, nil
}

// awaitsFirstPoll reports whether a machine has registered as a runner and has not polled since, nor
// asked for another key. Its key may not have arrived: the response was lost, or it was that to a copy
// of the request. Until its first poll, which may bring jobs, the machine with the same install key can
// register again.
func awaitsFirstPoll(runner store.Runner) bool {
	return runner.KeyHash != nil && runner.RegisteredAt != nil && runner.LastSeen != nil &&
		!runner.LastSeen.After(*runner.RegisteredAt)
}

// proven checks that a runner holds the private half of the key that it registers. A build runner may
// register without a key; the response to it cannot be repeated then. It uses up the challenge, right
// or wrong, in a separate transaction, so that a failed registration allows no second guess.
func (s *Service) proven(ctx context.Context, org string, hash []byte, r api.Registration) error {
	var waiting store.TakeChallengeRow
	var wrong error
	needless := false
	err := s.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		runner, err := lockForRegistration(ctx, tx, hash, r.Recipient)
		if err != nil {
			return err
		}
		if needless = runner.Kind != KindInstall && r.Recipient == ""; needless {
			return nil
		}
		if waiting, err = tx.TakeChallenge(ctx, tx.Org, hash); err != nil {
			return store.NotFoundAs(err, ErrRegistration)
		}
		_, wrong = recipientOf(runner, r)
		return nil
	})
	if err := cmp.Or(err, wrong); err != nil || needless {
		return err
	}
	return checkProof(waiting.ChallengeFor, waiting.Challenge, r.Recipient, r.Proof)
}

// checkProof checks what a runner decrypted: challengeFor is the key that the proof with the given hash was sealed to.
func checkProof(challengeFor string, hash []byte, recipient, proof string) error {
	sum := sha256.Sum256([]byte(proof))
	if challengeFor != recipient || subtle.ConstantTimeCompare(hash, sum[:]) != 1 {
		return ErrProof.With("install key %s", keyID(recipient))
	}
	return nil
}

// Register exchanges a registration token for a runner's durable key. An install runner sends the
// public half of its install key and proves that it holds the private half (see Challenge). A
// machine that replaces another sends the same install key. The same machine can register again until
// its first poll (see awaitsFirstPoll), and its earlier runner key is void then. Errors:
// ErrRegistration for a token that is not valid (any more); ErrProof and refusal.ErrInvalid, after
// which the token stays valid.
func (s *Service) Register(ctx context.Context, plain string, r api.Registration) (api.Registered, error) {
	org, hash, err := s.registrationOf(ctx, plain)
	if err != nil {
		return api.Registered{}, err
	}
	if err := checkCapacity(r); err != nil {
		return api.Registered{}, err
	}
	if key, err := seal.ParseRecipient(r.Recipient); err == nil { // an install runner's is checked below
		r.Recipient = key.String()
	}
	if err := s.proven(ctx, org, hash, r); err != nil {
		return api.Registered{}, fmt.Errorf("register a runner: %w", err)
	}
	var registered api.Registered
	err = s.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		runner, err := lockForRegistration(ctx, tx, hash, r.Recipient)
		if err != nil {
			return err
		}
		used, err := tx.UseRegistration(ctx, r.Recipient, tx.Org, hash)
		if err != nil {
			return err
		}
		if used != 1 {
			return ErrRegistration
		}
		registered, err = s.register(ctx, tx, runner, r, origin{by: byToken})
		return err
	})
	if err != nil {
		return api.Registered{}, fmt.Errorf("register a runner: %w", err)
	}
	return registered, nil
}

func checkCapacity(r api.Registration) error {
	if r.Capacity < 1 || r.Capacity > MaxCapacity {
		return refusal.Invalidf("a runner's capacity is 1 to %d jobs, not %d", MaxCapacity, r.Capacity)
	}
	return nil
}

// The ways to register. The column's constraint has the same values.
const (
	byToken    = "token"
	byIdentity = "identity"
)

// origin is how a machine registers, and who it proved to be.
type origin struct {
	by      string
	subject api.CloudSubject
}

func (s *Service) register(
	ctx context.Context, tx *store.Tx, runner store.Runner, r api.Registration, from origin,
) (api.Registered, error) {
	identity, err := json.Marshal(from.subject)
	if err != nil {
		return api.Registered{}, fmt.Errorf("encode the identity of runner %s: %w", runner.Name, err)
	}
	recipient, err := recipientOf(runner, r)
	if err != nil {
		return api.Registered{}, err
	}
	// A machine that registers again before its first poll adds no record.
	again := runner.KeyHash != nil && runner.Recipient == recipient && runner.RegisteredBy == from.by &&
		!isAnotherMachine(runner, from.subject)
	keys, err := tx.Tokens(ctx)
	if err != nil {
		return api.Registered{}, err
	}
	key, hash := keys.Mint(token.Runner, tx.Org, runner.ID)
	runner, err = tx.SetRunnerKey(ctx, store.SetRunnerKeyParams{
		OrgID: tx.Org, ID: runner.ID, KeyHash: hash, Recipient: recipient, Version: PrintableShort(r.Version),
		Capacity: int32(r.Capacity), RegisteredBy: from.by, Identity: identity,
	})
	if err != nil {
		return api.Registered{}, err
	}
	if !again {
		detail := map[string]any{
			"name": runner.Name, "kind": runner.Kind, "recipient": recipient, "version": runner.Version,
			"by": from.by,
		}
		if from.by == byIdentity {
			detail["identity"] = from.subject
		}
		if err := tx.Audit(ctx, "runner "+runner.Name, "runner.register", runner.ID, detail); err != nil {
			return api.Registered{}, err
		}
	}
	if s.registered != nil {
		if err := s.registered(ctx, tx, runner); err != nil {
			return api.Registered{}, err
		}
	}
	return api.Registered{
		RunnerID: runner.ID, RunnerKey: key, Name: runner.Name, Kind: api.RegisteredKind(runner.Kind),
	}, nil
}

// isAnotherMachine reports whether a runner is registered by the cloud identity of another machine than subject.
func isAnotherMachine(runner store.Runner, subject api.CloudSubject) bool {
	var registered api.CloudSubject
	return ByIdentity(runner) && (json.Unmarshal(runner.Identity, &registered) != nil || registered != subject)
}

// recipientOf returns the public install key to store. Install runners need one; build runners have
// nothing that is sealed to a key. A stored key stays, because what is sealed to it could not be
// read with another.
func recipientOf(runner store.Runner, r api.Registration) (string, error) {
	if runner.Kind != KindInstall {
		return "", nil
	}
	recipient, err := seal.ParseRecipient(r.Recipient)
	if err != nil {
		return "", refusal.Invalidf("an install runner registers with the public half of its install key: %v", err)
	}
	if runner.Recipient != "" && runner.Recipient != recipient.String() {
		return "", refusal.Invalidf("this machine has the install key %s, and what runner %s can read is sealed to %s; "+
			"copy the file install.key from the previous machine, "+
			"or if it is lost, run `nuon runners replace %s --new-key`", recipient.KeyID(), runner.Name,
			keyIDOf(runner), runner.Name)
	}
	return recipient.String(), nil
}

// keyIDOf returns the id of a runner's install key, empty as long as none is known.
func keyIDOf(runner store.Runner) string { return keyID(runner.Recipient) }

func keyID(recipient string) string {
	to, err := seal.ParseRecipient(recipient)
	if err != nil {
		return ""
	}
	return to.KeyID()
}
