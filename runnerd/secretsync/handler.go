package secretsync

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/jobstore"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// maxSecrets bounds the secrets of one job.
const maxSecrets = 200

// maxProblem bounds a reported problem, in bytes.
const maxProblem = 400

// Handler is the handler of secrets jobs.
type Handler struct{}

// secret is one secret of the job with what was found of it.
type secret struct {
	api.SecretSpec

	name   secretstore.Name
	status api.SecretStatus
}

// run is one job.
type run struct {
	env    *job.Env
	spec   api.SecretsSpec
	values *values.Values
	store  secretstore.Store
	all    []*secret
}

// Run reports each secret, and makes the copies. A secret or a copy with a problem does not keep the others from being
// reported: its status has the problem.
func (Handler) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	spec := env.Spec.Secrets
	if len(spec.Secrets) > maxSecrets {
		return api.JobResult{}, fmt.Errorf("the job names %d secrets, and an app has at most %d", len(spec.Secrets),
			maxSecrets)
	}
	opened, err := values.Open(spec.InstallID, spec.Values, env.Key, env.Redact)
	if err != nil {
		return api.JobResult{}, err
	}
	r := &run{env: env, spec: spec, values: opened}
	if r.store, err = jobstore.Open(ctx, env.Policy.Secrets, env.KubeConfig, env.Log); err != nil {
		return api.JobResult{}, err
	}
	for _, each := range spec.Secrets {
		found := r.check(ctx, each)
		if ctx.Err() != nil {
			return api.JobResult{}, context.Cause(ctx)
		}
		r.all = append(r.all, found)
	}
	if err := r.saveRequested(); err != nil {
		env.Log.Warn("runnerd secrets will not list the secrets of this install: %v", err)
	}
	if len(spec.Cluster.Path) > 0 {
		r.sync(ctx)
	}
	result := api.SecretsResult{Secrets: []api.SecretStatus{}}
	for _, each := range r.all {
		result.Secrets = append(result.Secrets, each.status)
		r.log(each.status)
	}
	return api.JobResult{Status: job.Succeeded, Secrets: result}, nil
}

func (r *run) log(status api.SecretStatus) {
	text := fmt.Sprintf("secret %s: %s", status.Name, status.State)
	if status.Version != "" {
		text += ", version " + status.Version
	}
	if status.Problem != "" {
		r.env.Log.Warn("%s: %s", text, status.Problem)
		return
	}
	r.env.Log.Info("%s", text)
}

// check finds the current version of a secret, and renders where its copies go.
func (r *run) check(ctx context.Context, spec api.SecretSpec) *secret {
	found := &secret{SecretSpec: spec, name: secretstore.Name{Install: r.spec.InstallID, Secret: spec.Name},
		status: api.SecretStatus{Name: spec.Name}}
	if err := found.name.Check(); err != nil {
		found.fail(r, api.SecretStatusStateUnknown, err)
		return found
	}
	var err error
	if found.name.Address, err = jobstore.Address(r.values, spec.Name, spec.Address); err != nil {
		found.fail(r, api.SecretStatusStateUnknown, err)
		return found
	}
	for _, each := range spec.Copies {
		rendered, err := r.renderCopy(each)
		if err != nil {
			found.fail(r, api.SecretStatusStateUnknown, err)
			return found
		}
		found.status.Copies = append(found.status.Copies, rendered)
	}
	found.status.Location = r.store.Location(found.name)
	version, err := r.store.Version(ctx, found.name)
	if errors.Is(err, secretstore.ErrMissing) && spec.Generate && found.name.Address == "" &&
		jobstore.IsKubernetes(r.store) { // in a cloud the install stack generates it
		version, err = r.generate(ctx, found.name)
	}
	switch {
	case err == nil:
		found.status.State, found.status.Version = api.SecretStatusStatePresent, version
	case errors.Is(err, secretstore.ErrMissing):
		found.fail(r, api.SecretStatusStateMissing, err)
	case errors.Is(err, secretstore.ErrNotPermitted):
		found.fail(r, api.SecretStatusStateNotPermitted, err)
	default:
		found.fail(r, api.SecretStatusStateUnknown, err)
	}
	return found
}

// generate stores a random value and returns its version.
func (r *run) generate(ctx context.Context, name secretstore.Name) (string, error) {
	if err := r.store.Set(ctx, name, secretstore.Generate()); err != nil {
		return "", fmt.Errorf("generate it: %w", err)
	}
	r.env.Log.Info("generated secret %s", name.Secret)
	return r.store.Version(ctx, name)
}

// fail sets the state of a secret and the reason.
func (s *secret) fail(r *run, state api.SecretStatusState, err error) {
	s.status.State = state
	s.addProblem(r, err)
}

// addProblem sets the reported problem, unless there is one.
func (s *secret) addProblem(r *run, err error) {
	if s.status.Problem != "" {
		return
	}
	text := r.env.Redact.String(err.Error())
	if len(text) > maxProblem {
		text = text[:maxProblem] + "…"
	}
	s.status.Problem = text
}

func (r *run) renderCopy(each api.SecretCopy) (made api.SecretCopy, err error) {
	for _, part := range []struct {
		to         *string
		what, text string
	}{
		{&made.Namespace, "namespace of a copy", each.Namespace}, {&made.Name, "name of a copy", each.Name},
		{&made.Key, "key of a copy", each.Key},
	} {
		if *part.to, err = r.values.RenderReported(part.what, part.text); err != nil {
			return api.SecretCopy{}, err
		}
	}
	return made, checkCopy(made)
}

// destinations returns the Secrets that copies go to, with the secrets in each, in order.
func (r *run) destinations() []*destination {
	var all []*destination
	for _, s := range r.all {
		for _, each := range s.status.Copies {
			at := slices.IndexFunc(all, func(d *destination) bool {
				return d.namespace == each.Namespace && d.name == each.Name
			})
			if at < 0 {
				at = len(all)
				all = append(all, &destination{namespace: each.Namespace, name: each.Name})
			}
			all[at].entries = append(all[at].entries, entry{key: each.Key, secret: s})
		}
	}
	return all
}
