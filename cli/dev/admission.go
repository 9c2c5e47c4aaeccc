package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/pins"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/devcontract"
)

// renewBefore is the remaining lifetime below which a stored registry credential is
// replaced at startup.
const renewBefore = 7 * 24 * time.Hour

// isValidFor reports whether an admission has a token and its registry credentials do not expire soon.
func isValidFor(a devcontract.BootstrapCredentials, now time.Time) bool {
	for _, access := range []devcontract.RegistryAccess{a.Registry.Vendor, a.Registry.Install} {
		if !access.Expires.IsZero() && access.Expires.Before(now.Add(renewBefore)) {
			return false
		}
	}
	return a.Token != ""
}

// admit returns a working admission: the stored one if the control plane still accepts
// its token, else a new one from `reconciler bootstrap`. Because each bootstrap issues
// new tokens, the admission is stored in the data directory, readable only by its owner.
func (s *system) admit(ctx context.Context) (devcontract.BootstrapCredentials, error) {
	var kept devcontract.BootstrapCredentials
	err := readJSON(s.place.admission(), &kept)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		s.log.logf("%v; requesting a new registration", err)
	}
	if err == nil && kept.Org == s.options.Org && isValidFor(kept, time.Now()) && s.known(ctx, kept) {
		return kept, nil
	}
	printed, err := output(s.reconcilerLog, s.bootstrapCommand(ctx))
	if err != nil {
		return devcontract.BootstrapCredentials{},
			fmt.Errorf("create the org %s: reconciler bootstrap: %w; see its message above", s.options.Org, err)
	}
	var made devcontract.BootstrapCredentials
	if err := json.Unmarshal(printed, &made); err != nil {
		return devcontract.BootstrapCredentials{},
			fmt.Errorf("create the org %s: reconciler bootstrap printed no JSON: %w", s.options.Org, err)
	}
	if made.Token == "" {
		return devcontract.BootstrapCredentials{},
			fmt.Errorf("create the org %s: reconciler bootstrap returned no token; check that it is of the same "+
				"version as nuon",
				s.options.Org)
	}
	if fresh { // the installs of the previous system are gone, and their keys too
		if err := pins.Reset(s.ready.ControlURL); err != nil {
			return devcontract.BootstrapCredentials{}, err
		}
	}
	return made, writeJSON(s.place.admission(), made)
}

// known reports whether the control plane accepts the stored token.
func (s *system) known(ctx context.Context, kept devcontract.BootstrapCredentials) bool {
	client, err := s.client(kept)
	if err != nil {
		return false
	}
	who, err := apiclient.Decode[api.Whoami](client.Whoami(ctx))
	return err == nil && who.Org == kept.Org
}

func (s *system) client(with devcontract.BootstrapCredentials) (*apiclient.Client, error) {
	return apiclient.New(contexts.Context{URL: s.ready.ControlURL, Token: with.Token, Org: with.Org})
}

// Saved is where a context was stored, and whether it is the current one.
type Saved struct {
	File    string
	Current bool
}

// SaveContext stores a context in the CLI's config file. It becomes the current context only
// if there is none, so that a person who works with another control plane is not switched.
func SaveContext(name string, made contexts.Context) (Saved, error) {
	where, err := contexts.Path()
	if err != nil {
		return Saved{}, err
	}
	file, err := contexts.Load()
	if err != nil {
		return Saved{}, err
	}
	if _, there := file.Contexts[file.Current]; !there {
		file.Current = name
	}
	saved := Saved{File: where, Current: file.Current == name}
	if file.Contexts[name] == made {
		return saved, nil
	}
	file.Contexts[name] = made
	return saved, file.Save()
}

// runnerFile is the file that runnerd writes to its directory after it has registered.
const runnerFile = "runner.json"

// register returns the name of a runner and, if its directory contains no key yet, a new
// registration token. If the name belongs to an earlier runner whose directory was lost,
// it appends a number.
func (s *system) register(ctx context.Context, with devcontract.BootstrapCredentials,
	runner runnerPlan) (name, token string, err error) {
	var there json.RawMessage
	err = readJSON(filepath.Join(s.place.runner(runner.dir), runnerFile), &there)
	if err == nil {
		return runner.dir, "", nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", "", fmt.Errorf("runner %s: %w; move its directory away to register it again", runner.dir, err)
	}
	client, err := s.client(with)
	if err != nil {
		return "", "", err
	}
	name = runner.dir
	for number := 2; ; number++ {
		made, err := apiclient.Decode[api.CreatedRunner](client.CreateRunner(ctx,
			api.NewRunner{Name: name, Kind: runner.kind, Shared: runner.kind == "install"}))
		if err == nil {
			return name, made.RegistrationToken, nil
		}
		var problem *apiclient.Problem
		if !errors.As(err, &problem) || problem.Status != http.StatusConflict || number > 100 {
			return "", "", fmt.Errorf("create the runner %s: %w", name, err)
		}
		name = runner.dir + "-" + strconv.Itoa(number)
	}
}
