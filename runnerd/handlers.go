package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/action"
	"github.com/nuon-toolkit/nuon/runnerd/chart"
	"github.com/nuon-toolkit/nuon/runnerd/health"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/manifest"
	"github.com/nuon-toolkit/nuon/runnerd/module"
	"github.com/nuon-toolkit/nuon/runnerd/transfer"
)

// kind is what builds, plans and applies one kind of component.
type kind struct{ build, plan, apply job.Handler }

// kinds are the kinds of component by their names.
var kinds = map[string]kind{
	"sandbox":             {module.Build{}, module.Plan{}, module.Apply{}},
	"terraform_module":    {module.Build{}, module.Plan{}, module.Apply{}},
	"helm_chart":          {chart.Build{}, limited(chart.Plan{}), limited(chart.Apply{})},
	"kubernetes_manifest": {manifest.Build{}, limited(manifest.Plan{}), limited(manifest.Apply{})},
}

// handlers gives what does each kind of job.
func handlers() job.Handlers {
	return job.Handlers{
		api.JobSpecKindBuild:  byKind(func(s api.JobSpec) string { return s.Build.ComponentKind }, func(k kind) job.Handler { return k.build }),
		api.JobSpecKindSync:   transfer.Sync{},
		api.JobSpecKindPlan:   byKind(func(s api.JobSpec) string { return s.Plan.Deploy.ComponentKind }, func(k kind) job.Handler { return k.plan }),
		api.JobSpecKindApply:  byKind(func(s api.JobSpec) string { return s.Apply.Deploy.ComponentKind }, func(k kind) job.Handler { return k.apply }),
		api.JobSpecKindAction: action.Action{},
		api.JobSpecKindHealth: health.Health{"helm_chart": chart.Health, "kubernetes_manifest": manifest.Health},
	}
}

// byKind gives a job to what does it for its kind of component.
func byKind(of func(api.JobSpec) string, verb func(kind) job.Handler) job.Handler {
	return job.HandlerFunc(func(ctx context.Context, env *job.Env) (api.JobResult, error) {
		name := of(env.Spec)
		found, known := kinds[name]
		if !known {
			return api.JobResult{}, fmt.Errorf("this runner cannot do components of kind %q; update it to the version of the control plane", name)
		}
		return verb(found).Run(ctx, env)
	})
}

// limited gives a handler the end of the job's time as the deadline of its ctx, so that it can say what it waited for in vain before it is
// interrupted. (Terraform says so itself when it is.)
func limited(h job.Handler) job.Handler {
	return job.HandlerFunc(func(ctx context.Context, env *job.Env) (api.JobResult, error) {
		if env.Spec.TimeoutSeconds <= 0 {
			return h.Run(ctx, env)
		}
		ctx, stop := context.WithTimeout(ctx, time.Duration(env.Spec.TimeoutSeconds)*time.Second)
		defer stop()
		return h.Run(ctx, env)
	})
}
