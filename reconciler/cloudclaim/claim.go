// Package cloudclaim decides whether a machine or function that proved its cloud identity belongs to
// an install. It owns the nonces of proofs, the claims that wait for a person, and the account that a
// person confirmed. Package runners calls it to register a machine, package phonehome for what stacks
// report.
package cloudclaim

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/cloudidentity"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
	"github.com/nuon-toolkit/nuon/reconciler/token"
)

// The refusals of this package.
var (
	// ErrClaim: the claim token is of no install.
	ErrClaim = refusal.New(refusal.Unauthenticated, "unknown_claim", "the claim token is not known",
		"Use the newest version of the install's stack.")
	// ErrNonce: the nonce was used, or is too old.
	ErrNonce = refusal.New(refusal.Forbidden, "nonce_refused", "the nonce is unknown, was used already, or is too old",
		"Ask for another one, and use it once, within five minutes.")
	// ErrForeign: the identity is proven, and is not that of the install.
	ErrForeign = refusal.New(refusal.Forbidden, "foreign_identity", "this cloud identity does not belong to the install",
		"Create the stack in the account that the install is for.")
	// ErrWaiting: a person of the vendor has to confirm the identity.
	ErrWaiting = &refusal.Error{Kind: refusal.Conflict, Code: "waiting_for_confirmation",
		Title: "this cloud identity waits for a confirmation", RetryAfter: confirmationPause,
		Remedy: "The vendor confirms it with `nuon runners confirm`; compare the account with the customer first."}
	// ErrConfirmedOther: the account is named for an install where a person confirmed another one.
	ErrConfirmedOther = refusal.New(refusal.Conflict, "confirmed_other_account",
		"a person confirmed another account for this install",
		"Name the confirmed account. If the customer moved to another one, run `nuon runners replace`, confirm the "+
			"machine there with `nuon runners confirm`, and name that account then.")
	// ErrNoClaim: nothing waits under this id.
	ErrNoClaim = refusal.New(refusal.NotFound, "not_found", "no such claim waits for a confirmation",
		"`nuon runners get` lists those that wait.")
)

// confirmationPause is when a machine that waits for a confirmation asks again.
const confirmationPause = timing.Lease / 4

// maxWaiting bounds the claims of an install that wait. The newest stay.
const maxWaiting = 20

// Purpose is what an identity is proven for.
type Purpose string

// The purposes. The column's constraint has the same values.
const (
	Runner    Purpose = "runner"
	PhoneHome Purpose = "phone_home"
)

// Service checks claims. It is safe for concurrent use.
type Service struct {
	store    *store.Store
	verifier *cloudidentity.Verifier
}

// New returns the service.
func New(s *store.Store, v *cloudidentity.Verifier) *Service { return &Service{s, v} }

// Proven is a proof that was checked.
type Proven struct {
	Org, Install string
	Subject      cloudidentity.Subject
	// Recipient is the install key that the nonce was asked for, and ProofHash that of what it
	// decrypts; empty to phone home.
	Recipient string
	ProofHash []byte
	// tokenHash is set for a token that is bound to no nonce.
	tokenHash []byte
}

// parse returns the install that a claim token names.
func (s *Service) parse(ctx context.Context, plain string) (org, install string, err error) {
	keys, err := s.store.Tokens(ctx)
	if err != nil {
		return "", "", fmt.Errorf("read a claim: %w", err)
	}
	prefix, parts, _, ok := keys.Parse(plain)
	if !ok || prefix != token.Claim || len(parts) != 2 {
		return "", "", ErrClaim
	}
	return parts[0], parts[1], nil
}

// SealProof returns a random proof, sealed to a public install key, with its hash.
func SealProof(recipient string) (sealed seal.Sealed, hash []byte, to seal.Recipient, err error) {
	if to, err = seal.ParseRecipient(recipient); err != nil {
		return sealed, nil, to, refusal.Invalidf("%v", err)
	}
	proof := rand.Text()
	if sealed, err = to.Seal(seal.RegistrationContext(to), []byte(proof)); err != nil {
		return sealed, nil, to, fmt.Errorf("seal a proof: %w", err)
	}
	sum := sha256.Sum256([]byte(proof))
	return sealed, sum[:], to, nil
}

// Challenge returns a nonce for the install of a claim token. With a recipient it is for a runner,
// which also gets a proof that is sealed to the key.
func (s *Service) Challenge(ctx context.Context, plain, recipient string) (api.ClaimChallenge, error) {
	org, install, err := s.parse(ctx, plain)
	if err != nil {
		return api.ClaimChallenge{}, err
	}
	made := api.ClaimChallenge{Nonce: rand.Text()}
	sum := sha256.Sum256([]byte(made.Nonce))
	nonce := store.AddNonceParams{OrgID: org, InstallID: install, Hash: sum[:],
		LifeSeconds: timing.NonceLife.Seconds()}
	if recipient != "" {
		sealed, hash, to, err := SealProof(recipient)
		if err != nil {
			return api.ClaimChallenge{}, err
		}
		made.Sealed, nonce.Proof, nonce.Recipient = sealed, hash, to.String()
	}
	err = s.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error { return tx.AddNonce(ctx, nonce) })
	if store.IsForeignKeyViolation(err) { // the install was forgotten
		err = ErrClaim
	}
	if err != nil {
		return api.ClaimChallenge{}, fmt.Errorf("challenge a claim: %w", err)
	}
	return made, nil
}

// Check uses up a nonce and returns who a proof for it is of. The nonce is used up even if the proof
// is wrong.
func (s *Service) Check(ctx context.Context, plain, nonce string, proof api.CloudIdentity) (Proven, error) {
	org, install, err := s.parse(ctx, plain)
	if err != nil {
		return Proven{}, err
	}
	sum := sha256.Sum256([]byte(nonce))
	p := Proven{Org: org, Install: install}
	err = s.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.TakeNonce(ctx, tx.Org, sum[:], install)
		if err == nil && !row.Valid {
			err = store.ErrNotFound
		}
		p.Recipient, p.ProofHash = row.Recipient, row.Proof
		return store.NotFoundAs(err, ErrNonce)
	})
	if err != nil && !errors.Is(err, ErrNonce) {
		return Proven{}, fmt.Errorf("use a nonce: %w", err)
	} else if err != nil {
		return Proven{}, err
	}
	if p.Subject, err = s.verifier.Verify(ctx, proof, nonce); err != nil {
		return Proven{}, err
	}
	if p.Subject.Cloud == cloudidentity.Azure {
		hash := sha256.Sum256([]byte(proof.Token))
		p.tokenHash = hash[:]
	}
	return p, nil
}

// Admit decides whether a proven identity counts for its install, whose row the caller has locked.
// held requires a person to confirm the machine. Errors: ErrForeign; ErrWaiting, after which the
// caller commits, so that the claim is listed.
func (s *Service) Admit(
	ctx context.Context, tx *store.Tx, install store.Install, p Proven, purpose Purpose, held bool,
) (store.CloudClaim, error) {
	accounts, err := accountsOf(install)
	if err != nil {
		return store.CloudClaim{}, err
	}
	verdict, reason := decide(accounts, p.Subject, install.ID, purpose)
	if verdict == foreign {
		return store.CloudClaim{}, ErrForeign.With("%s", reason)
	}
	if err := s.checkToken(ctx, tx, p); err != nil {
		return store.CloudClaim{}, err
	}
	claim, err := tx.NoteClaim(ctx, store.NoteClaimParams{
		OrgID: tx.Org, ID: id.New("clm"), InstallID: install.ID, Purpose: string(purpose), Cloud: p.Subject.Cloud,
		Account: p.Subject.Account, Tenant: p.Subject.Tenant, Name: p.Subject.Name, Machine: p.Subject.Machine,
		Recipient: p.Recipient, TokenHash: p.tokenHash,
	})
	if err != nil {
		return claim, fmt.Errorf("store a claim of install %s: %w", install.Name, err)
	}
	if err := tx.PruneClaims(ctx, tx.Org, install.ID, maxWaiting); err != nil {
		return claim, fmt.Errorf("remove old claims of install %s: %w", install.Name, err)
	}
	switch {
	case verdict == waiting:
		return claim, ErrWaiting.With("%s", reason)
	case purpose == Runner && held && claim.ConfirmedAt == nil:
		return claim, ErrWaiting.With("the machine before was replaced, so %s has to be confirmed", describe(p.Subject))
	}
	return claim, nil
}

// checkToken refuses a token that is bound to no nonce and that another machine presented before.
func (s *Service) checkToken(ctx context.Context, tx *store.Tx, p Proven) error {
	if p.tokenHash == nil {
		return nil
	}
	before, err := tx.ClaimOfToken(ctx, tx.Org, p.tokenHash)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("look up a token: %w", err)
	case before.InstallID != p.Install || before.Recipient != p.Recipient || p.Recipient == "":
		return cloudidentity.ErrIdentity.With("the token was used before")
	}
	return nil
}

// Use takes the claim of a machine that has registered off the list.
func (s *Service) Use(ctx context.Context, tx *store.Tx, claim store.CloudClaim) error {
	return tx.UseClaim(ctx, tx.Org, claim.ID)
}

// Confirm stores a person's decision that a claim of an install is the customer's. The caller has locked
// the install.
func (s *Service) Confirm(ctx context.Context, tx *store.Tx, install store.Install, claimID, actor string) (
	store.CloudClaim, error) {
	claim, err := tx.ConfirmClaim(ctx, actor, tx.Org, claimID)
	if err != nil {
		return claim, store.NotFoundAs(err, ErrNoClaim)
	}
	if claim.InstallID != install.ID {
		return claim, ErrNoClaim
	}
	if err := setConfirmed(ctx, tx, install, claim); err != nil {
		return claim, err
	}
	return claim, tx.Audit(ctx, actor, "install.confirm_account", install.ID, map[string]any{
		"cloud": claim.Cloud, "account": claim.Account, "tenant": claim.Tenant, "name": claim.Name,
		"machine": claim.Machine, "purpose": claim.Purpose,
	})
}

// View returns a claim for the API.
func View(c store.CloudClaim, install string) api.CloudClaim {
	view := api.CloudClaim{ID: c.ID, Install: install, Purpose: api.CloudClaimPurpose(c.Purpose), FirstSeen: c.FirstSeen,
		LastSeen: c.LastSeen, Subject: api.CloudSubject{Cloud: api.CloudSubjectCloud(c.Cloud), Account: c.Account,
			Tenant: c.Tenant, Name: c.Name, Machine: c.Machine}}
	if to, err := seal.ParseRecipient(c.Recipient); err == nil {
		view.KeyFingerprint = to.Fingerprint()
	}
	return view
}
