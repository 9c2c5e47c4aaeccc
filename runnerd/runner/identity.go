package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// identity is the result of a registration, as stored in runner.json.
type identity struct {
	RunnerID  string `json:"runner_id"`
	RunnerKey string `json:"runner_key"`
	// NextKey is a new key that has not been used successfully yet; RunnerKey
	// is valid until it has.
	NextKey string `json:"next_key,omitempty"`
	// KeySince is when RunnerKey was issued; zero when unknown.
	KeySince time.Time `json:"key_since,omitzero"`
	Name     string    `json:"name"`
	Kind     string    `json:"kind"`
}

// KeyFile returns the path of a runner's install key.
func KeyFile(dir string) string { return filepath.Join(dir, "install.key") }

func identityFile(dir string) string { return filepath.Join(dir, "runner.json") }

// identify returns the identity of this runner, and registers it the first time. A registered
// runner keeps its token for the case that its key is rejected, see keys.
func (r *runner) identify(ctx context.Context) (identity, error) {
	known, err := loadIdentity(r.Dir)
	if err == nil {
		if _, err := seal.LoadIdentity(KeyFile(r.Dir)); err != nil {
			return identity{}, fmt.Errorf("this runner is registered, but its install key cannot be used: %w; "+
				"restore the key from "+
				"a backup, or remove %s and register the runner again (nuon runners replace --new-key), after which "+
				"sensitive values have to be entered again", err, identityFile(r.Dir))
		}
		return known, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return identity{}, err
	}
	if r.Token.IsZero() && r.Claim.IsZero() {
		return identity{}, fmt.Errorf("this runner is not registered; create a registration token for it (nuon runners " +
			"create), and start it once with NUON_REGISTRATION_TOKEN set")
	}
	// The key is created first, because the registration sends its public half.
	key, err := seal.LoadOrCreateIdentity(KeyFile(r.Dir))
	if err != nil {
		return identity{}, err
	}
	known, err = r.enroll(ctx, key)
	if err != nil {
		return identity{}, err
	}
	r.Token = seal.Secret{} // it is used up
	return known, saveIdentity(r.Dir, known)
}

func loadIdentity(dir string) (known identity, err error) {
	content, err := os.ReadFile(identityFile(dir))
	if err != nil {
		return known, fmt.Errorf("read the runner's identity: %w", err)
	}
	if err := json.Unmarshal(content, &known); err != nil || known.RunnerKey == "" {
		return known, fmt.Errorf("%s contains no identity of a runner; restore it from a backup, or remove it and "+
			"register the runner again", identityFile(dir))
	}
	return known, nil
}

func saveIdentity(dir string, known identity) error {
	encoded, err := json.Marshal(known)
	if err != nil {
		return fmt.Errorf("store the runner's identity: %w", err)
	}
	return spool.WriteFile(identityFile(dir), encoded)
}

// prove decrypts the nonce with which the control plane checks that this runner holds
// its install key. It opens nothing else, so a control plane cannot have a secret
// decrypted in place of a nonce.
func prove(ctx context.Context, client *api.ClientWithResponses, key seal.Identity) (string, error) {
	answer, err := client.ChallengeRegistrationWithResponse(ctx, api.ChallengeRequest{Recipient: key.Recipient().String()})
	if err != nil {
		return "", err
	}
	if err := apiclient.CheckResponse("prove the install key", answer.HTTPResponse, answer.Body); err != nil {
		return "", err
	}
	if answer.JSON200 == nil {
		return "", apiclient.Permanent(errors.New("prove the install key: the control plane does not respond like a runner " +
			"API; check --url"))
	}
	nonce, err := key.Open(answer.JSON200.Nonce, seal.RegistrationContext(key.Recipient()))
	if err != nil {
		return "", apiclient.Permanent(fmt.Errorf("prove the install key: the control plane sent no challenge for this "+
			"key, so nothing was answered: %w", err))
	}
	return string(nonce.Reveal()), nil
}

// register exchanges the token for a key. Unlike later calls it is not retried when the token
// is rejected, because a person has to act.
func (r *runner) register(ctx context.Context, key seal.Identity) (identity, error) {
	client, err := apiclient.NewClient(r.URL, apiclient.StaticToken(r.Token), r.Timing.CallTimeout)
	if err != nil {
		return identity{}, err
	}
	var registered *api.Registered
	pace := apiclient.RetryPolicy{First: r.Timing.BackoffMin, Max: r.Timing.BackoffMax, Connection: r.connection,
		IsFinal: isFinal}
	err = apiclient.Retry(ctx, pace, func(ctx context.Context) error {
		proof, err := prove(ctx, client, key)
		if err != nil {
			return err
		}
		answer, err := client.RegisterWithResponse(ctx, api.Registration{
			Version: r.Version, Capacity: r.Capacity, Recipient: key.Recipient().String(), Proof: proof,
		})
		if err != nil {
			return err
		}
		if err := apiclient.CheckResponse("register this runner", answer.HTTPResponse, answer.Body); err != nil {
			return err
		}
		if registered = answer.JSON200; registered == nil || registered.RunnerKey == "" {
			return apiclient.Permanent(fmt.Errorf("register this runner: %s does not respond like a runner API; check --url",
				r.URL))
		}
		return nil
	})
	if refusal := apiclient.AsResponseError(err); refusal != nil &&
		(refusal.Status == http.StatusUnauthorized || refusal.Status == http.StatusForbidden) {
		return identity{}, fmt.Errorf("%w; the registration token is used up or has expired: "+
			"create a new one (nuon runners create, or nuon runners replace for one that was registered before) and set "+
			"NUON_REGISTRATION_TOKEN to it", err)
	}
	if err != nil {
		return identity{}, err
	}
	return identityOf(registered), nil
}

func identityOf(registered *api.Registered) identity {
	return identity{
		RunnerID: registered.RunnerID, RunnerKey: registered.RunnerKey, KeySince: time.Now().UTC(),
		Name: registered.Name, Kind: string(registered.Kind),
	}
}
