package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
)

// Codes of rejections after which a machine tries again: a person has to confirm it, its cloud does
// not answer the control plane, the nonce was too old when it arrived, or the proof of its key was
// used before, as when a copy of its request arrived first.
const (
	codeWaiting     = "waiting_for_confirmation"
	codeUnavailable = "identity_unavailable"
	codeNonce       = "nonce_refused"
	codeProof       = "proof_refused"
)

// enroll registers this machine: with the token if there is one, and otherwise by its cloud identity.
func (r *runner) enroll(ctx context.Context, key seal.Identity) (identity, error) {
	if !r.Token.IsZero() {
		return r.register(ctx, key)
	}
	var registered *api.Registered
	said := ""
	err := apiclient.Retry(ctx, r.claimPace(), func(ctx context.Context) (err error) {
		registered, err = r.claim(ctx, key)
		if refusal := apiclient.AsResponseError(err); refusal != nil && refusal.Code == codeWaiting &&
			refusal.Title != said {
			said = refusal.Title
			r.log.Info("waiting for the vendor to confirm this machine", "reason", refusal.Title, "install_key",
				key.Recipient().Fingerprint())
		}
		return err
	})
	if err != nil {
		return identity{}, err
	}
	r.log.Info("registered by the cloud identity of this machine", "cloud", r.Claim.Cloud)
	return identityOf(registered), nil
}

// claimPace returns when a machine tries again to register by its cloud identity. Somebody waits for it, so it pauses
// for at most half of BackoffMax.
func (r *runner) claimPace() apiclient.RetryPolicy {
	return apiclient.RetryPolicy{First: r.Timing.BackoffMin, Max: r.Timing.BackoffMax / 2, Connection: r.connection,
		IsFinal: isFinal}
}

// isFinal reports whether trying again cannot register this machine.
func isFinal(refusal *apiclient.ResponseError) bool {
	return !slices.Contains([]string{codeWaiting, codeUnavailable, codeNonce, codeProof}, refusal.Code) &&
		apiclient.FinalByStatus(refusal)
}

// claimAgain registers by the cloud identity after the keys were rejected. The next rejection tries
// again, until a person has confirmed this machine.
func (r *runner) claimAgain(ctx context.Context, key seal.Identity) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*r.Timing.CallTimeout)
	defer stop()
	registered, err := r.claim(ctx, key)
	if err != nil {
		r.log.Warn("cannot register again by the cloud identity of this machine now", "error", err)
		return nil
	}
	if err := r.keys.setRegistered(identityOf(registered)); err != nil {
		return err
	}
	r.log.Info("registered again by the cloud identity of this machine, with the existing install key")
	return nil
}

// claim tries once to register by the cloud identity of this machine.
func (r *runner) claim(ctx context.Context, key seal.Identity) (*api.Registered, error) {
	const doing = "register this runner by its cloud identity"
	client, err := apiclient.NewClient(r.URL, apiclient.StaticToken(seal.NewSecret([]byte(r.Claim.Token))),
		r.Timing.CallTimeout)
	if err != nil {
		return nil, err
	}
	recipient := key.Recipient()
	challenge, err := client.ChallengeClaimWithResponse(ctx, api.ClaimChallengeRequest{Recipient: recipient.String()})
	if err != nil {
		return nil, err
	}
	if err := apiclient.CheckResponse(doing, challenge.HTTPResponse, challenge.Body); err != nil {
		return nil, err
	}
	if challenge.JSON200 == nil || challenge.JSON200.Nonce == "" {
		return nil, apiclient.Permanent(errors.New(doing + ": the control plane does not respond like a runner API; " +
			"check --url"))
	}
	// It opens nothing else, so a control plane cannot have a secret decrypted in place of a proof.
	proof, err := key.Open(challenge.JSON200.Sealed, seal.RegistrationContext(recipient))
	if err != nil {
		return nil, apiclient.Permanent(fmt.Errorf("%s: the control plane sent no challenge for this key, so nothing was "+
			"answered: %w", doing, err))
	}
	evidence, err := r.Claim.Prove(ctx, r.URL, challenge.JSON200.Nonce)
	if err != nil {
		return nil, err
	}
	answer, err := client.RegisterClaimWithResponse(ctx, api.ClaimRegistration{
		Nonce: challenge.JSON200.Nonce, Identity: evidence,
		Registration: api.Registration{Version: r.Version, Capacity: r.Capacity, Recipient: recipient.String(),
			Proof: string(proof.Reveal())},
	})
	if err != nil {
		return nil, err
	}
	if err := apiclient.CheckResponse(doing, answer.HTTPResponse, answer.Body); err != nil {
		return nil, err
	}
	if answer.JSON200 == nil || answer.JSON200.RunnerKey == "" || answer.StatusCode() != http.StatusOK {
		return nil, apiclient.Permanent(fmt.Errorf("%s: %s does not respond like a runner API; check --url", doing, r.URL))
	}
	return answer.JSON200, nil
}
