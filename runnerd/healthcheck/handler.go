// Package healthcheck checks what is deployed on an install between deploys, so that a pod
// that crashes at night is noticed although nobody deploys.
//
// It owns the job kind health: one check for all components of an install, implemented
// by each kind. It connects only to clusters that this install's runner has applied to,
// verified by the keyed hash that the apply returned. When the runner file allows no apply,
// it runs no login program that a cluster's outputs name. It changes nothing.
package healthcheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// Checker returns the health of the deployed objects of one component.
type Checker func(ctx context.Context, env *job.Env, part api.HealthPart) (api.Health, error)

// Handler is the handler of health jobs. It maps the name of each kind of component to its Checker.
type Handler map[string]Checker

// Run checks each component. One that cannot be checked is unknown, and the log has the reason;
// the others still count. The job fails when no component could be checked.
func (h Handler) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	var (
		made     api.HealthResult
		troubles []error
	)
	for _, part := range env.Spec.Health.Parts {
		seen, err := h.check(ctx, env, part)
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
		return api.JobResult{Status: api.JobResultStatusFailed,
			Error: env.Redact.String(errors.Join(troubles...).Error()), Health: made}, nil
	}
	return api.JobResult{Status: job.Succeeded, Health: made}, nil
}

func (h Handler) check(ctx context.Context, env *job.Env, part api.HealthPart) (api.Health, error) {
	look, known := h[part.Deploy.ComponentKind]
	if !known {
		return api.Health{}, fmt.Errorf("this runner cannot check components of kind %q; update it to the version of the "+
			"control plane", part.Deploy.ComponentKind)
	}
	scoped, err := deploy.AppliedEnv(env, part)
	if err != nil {
		return api.Health{}, fmt.Errorf("its health waits for its next apply: %w", err)
	}
	return look(ctx, scoped, part)
}
