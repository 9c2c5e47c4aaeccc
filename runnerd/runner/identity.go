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

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/contact"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// identity is what a registration gives, as it is kept in runner.json.
type identity struct {
	RunnerID  string `json:"runner_id"`
	RunnerKey string `json:"runner_key"`
	Name      string `json:"name"`
	Kind      string `json:"kind"`
}

// KeyFile is where the install key of a runner lies.
func KeyFile(dir string) string { return filepath.Join(dir, "install.key") }

func (r *runner) identityFile() string { return filepath.Join(r.Dir, "runner.json") }

// identify gives who this runner is, and registers it the first time.
func (r *runner) identify(ctx context.Context) (identity, error) {
	known, err := r.loadIdentity()
	if err == nil {
		if _, err := seal.LoadIdentity(KeyFile(r.Dir)); err != nil {
			return identity{}, fmt.Errorf("this runner is registered but its install key cannot be used: %w; put the key back from your copy, or remove %s and register the runner anew, after which sensitive values have to be entered again", err, r.identityFile())
		}
		return known, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return identity{}, err
	}
	if r.Token.IsZero() {
		return identity{}, fmt.Errorf("this runner is not registered yet; make a registration token for it (nuon runners create), and start it once with NUON_REGISTRATION_TOKEN set")
	}
	// Before the registration, which tells the control plane the public half.
	key, err := seal.LoadOrCreateIdentity(KeyFile(r.Dir))
	if err != nil {
		return identity{}, err
	}
	return r.register(ctx, key.Recipient())
}

func (r *runner) loadIdentity() (known identity, err error) {
	content, err := os.ReadFile(r.identityFile())
	if err != nil {
		return known, fmt.Errorf("read who this runner is: %w", err)
	}
	if err := json.Unmarshal(content, &known); err != nil || known.RunnerKey == "" {
		return known, fmt.Errorf("%s does not say who this runner is; put it back from your copy, or remove it and register the runner anew", r.identityFile())
	}
	return known, nil
}

// register trades the token for a key, and keeps it. Unlike every later call it is not tried again when the token is refused: a
// person has to act.
func (r *runner) register(ctx context.Context, recipient seal.Recipient) (identity, error) {
	client, err := contact.NewClient(r.URL, r.Token, r.Timing.Call)
	if err != nil {
		return identity{}, err
	}
	var registered *api.Registered
	pace := contact.Pace{First: r.Timing.BackoffFirst, Most: r.Timing.BackoffMost, Line: r.line}
	err = contact.Persist(ctx, pace, func(ctx context.Context) error {
		answer, err := client.RegisterWithResponse(ctx, api.Registration{Version: r.Version, Capacity: r.Capacity, Recipient: recipient.String()})
		if err != nil {
			return err
		}
		if err := contact.Check("register this runner", answer.HTTPResponse, answer.Body); err != nil {
			return err
		}
		if registered = answer.JSON200; registered == nil || registered.RunnerKey == "" {
			return contact.Permanent(fmt.Errorf("register this runner: %s does not answer as a runner API does; check --url", r.URL))
		}
		return nil
	})
	if refusal := contact.AsRefusal(err); refusal != nil && (refusal.Status == http.StatusUnauthorized || refusal.Status == http.StatusForbidden) {
		return identity{}, fmt.Errorf("%w; a registration token works once and for a short time, and this one does not: make a new one (nuon runners create) and set NUON_REGISTRATION_TOKEN to it", err)
	}
	if err != nil {
		return identity{}, err
	}
	known := identity{RunnerID: registered.RunnerID, RunnerKey: registered.RunnerKey, Name: registered.Name, Kind: string(registered.Kind)}
	encoded, err := json.Marshal(known)
	if err != nil {
		return identity{}, fmt.Errorf("keep who this runner is: %w", err)
	}
	return known, spool.WriteFile(r.identityFile(), encoded)
}
