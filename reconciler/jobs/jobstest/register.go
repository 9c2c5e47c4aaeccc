package jobstest

import (
	"context"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
)

// Register registers an install runner as runnerd does: it proves that it holds its key.
func Register(
	ctx context.Context, runners *runners.Service, token string, key seal.Identity, r api.Registration,
) (api.Registered, error) {
	var err error
	if r.Proof, err = Proof(ctx, runners, token, key); err != nil {
		return api.Registered{}, err
	}
	r.Recipient = key.Recipient().String()
	return runners.Register(ctx, token, r)
}

// Proof requests a challenge and decrypts its nonce.
func Proof(ctx context.Context, runners *runners.Service, token string, key seal.Identity) (string, error) {
	challenge, err := runners.Challenge(ctx, token, key.Recipient().String())
	if err != nil {
		return "", err
	}
	nonce, err := key.Open(challenge.Nonce, seal.RegistrationContext(key.Recipient()))
	return string(nonce.Reveal()), err
}
