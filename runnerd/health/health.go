// Package health looks at what was deployed on an install, between deploys: a pod that crashes at night is seen though nobody
// deploys anything.
//
// It owns the job kind health: one look for all components of an install, as each kind sees its own. It changes nothing.
package health

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// Look says how what was deployed of one component is.
type Look func(ctx context.Context, env *job.Env, part api.HealthPart) (api.Health, error)

// Health is the handler of health jobs: how each kind of component looks, by the kind's name.
type Health map[string]Look

// Run looks at each component. One that cannot be looked at is unknown, with the reason; the others count all the same. The job
// fails when that is so of all of them.
func (h Health) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	var (
		made     api.HealthResult
		troubles []error
	)
	for _, part := range env.Spec.Health.Parts {
		seen, err := h.look(ctx, env, part)
		if ctx.Err() != nil {
			return api.JobResult{}, err
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", part.Deploy.Component, err)
			env.Log.Warn("%v", err)
			troubles = append(troubles, err)
			seen = api.Health{Status: api.HealthStatusUnknown, Objects: []api.ObjectHealth{}, At: time.Now().UTC()}
		}
		env.Log.Info("%s is %s", part.Deploy.Component, seen.Status)
		made.Parts = append(made.Parts, api.PartHealthResult{InstallComponent: part.Deploy.InstallComponent, Health: seen})
	}
	if len(troubles) > 0 && len(troubles) == len(made.Parts) {
		return api.JobResult{Status: api.JobResultStatusFailed, Error: env.Redact.String(errors.Join(troubles...).Error()), Health: made}, nil
	}
	return api.JobResult{Status: job.Succeeded, Health: made}, nil
}

func (h Health) look(ctx context.Context, env *job.Env, part api.HealthPart) (api.Health, error) {
	look, known := h[part.Deploy.ComponentKind]
	if !known {
		return api.Health{}, fmt.Errorf("this runner cannot look at components of kind %q; update it to the version of the control plane", part.Deploy.ComponentKind)
	}
	return look(ctx, env, part)
}
