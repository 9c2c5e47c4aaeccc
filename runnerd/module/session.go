package module

import (
	"context"
	"errors"
	"maps"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/state"
)

// session is what a plan and an apply have in common: a workplace, a state endpoint, and Terraform that works in the one with the
// other.
type session struct {
	env       *job.Env
	spec      api.DeploySpec
	place     *workplace
	endpoint  *state.Endpoint
	terraform *terraform
}

// open takes the workplace and starts the endpoint. close must be called.
func open(ctx context.Context, env *job.Env, spec api.DeploySpec) (*session, error) {
	place, err := enter(ctx, env, spec.InstallComponent)
	if err != nil {
		return nil, err
	}
	endpoint, err := state.Start(ctx, state.Options{
		Remote:  ahead{Remote: env.API, spool: spool.Spool{Root: env.Root}, component: spec.InstallComponent, say: env.Log.Warn},
		Key:     env.Key,
		Context: state.ContextOf(spec),
		Learn:   func(secret []byte) { env.Redact.Add(secret) },
		Say:     env.Log.Warn,
	})
	if err != nil {
		return nil, errors.Join(err, place.leave())
	}
	env.Redact.AddSecret(endpoint.Password())
	return &session{env: env, spec: spec, place: place, endpoint: endpoint}, nil
}

// close frees the state lock if it is still held, and removes the workplace.
func (s *session) close(ctx context.Context) error {
	return errors.Join(s.endpoint.Close(ctx), s.place.leave())
}

// said gives an error of Terraform, or, when it was that its state could not be read, written or locked, why.
func (s *session) said(err error) error {
	if trouble := s.endpoint.Trouble(); err != nil && trouble != nil && !errors.Is(err, context.Canceled) {
		return trouble
	}
	return err
}

// prepare unpacks the module, with overlay over it, and runs init.
func (s *session) prepare(ctx context.Context, packed artifact.Artifact, overlay []artifact.File, environ map[string]string) error {
	if err := s.place.unpack(packed, overlay); err != nil {
		return err
	}
	module, err := readModule(s.place)
	if err != nil {
		return err
	}
	if module.Backend != nil && module.Backend.Kind != "http" {
		s.env.Log.Warn("%s: the module declares a %q backend; it is not used, nuon keeps the state", module.Backend.Position, module.Backend.Kind)
	}
	if err := overrideBackend(s.place.moduleDir()); err != nil {
		return err
	}
	own := maps.Clone(s.endpoint.Environ())
	maps.Copy(own, environ) // checkEnviron let nothing through that stands there already
	if s.terraform, err = openTerraform(ctx, s.env, s.spec.Terraform.Version, s.place.moduleDir(), own); err != nil {
		return err
	}
	s.terraform.place = placing{root: s.place.root, module: s.place.module}
	if err := s.terraform.init(ctx, true, needsProviders(module)); err != nil {
		return s.said(err)
	}
	return checkBackend(s.place.moduleDir())
}
