package main

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/action"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/healthcheck"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/kind/docker"
	"github.com/nuon-toolkit/nuon/runnerd/kind/helm"
	"github.com/nuon-toolkit/nuon/runnerd/kind/image"
	"github.com/nuon-toolkit/nuon/runnerd/kind/kubernetes"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform"
	"github.com/nuon-toolkit/nuon/runnerd/podlogs"
	"github.com/nuon-toolkit/nuon/runnerd/podshell"
	"github.com/nuon-toolkit/nuon/runnerd/secretsync"
	"github.com/nuon-toolkit/nuon/runnerd/transfer"
)

// kind builds, deploys and checks one kind of component. health and pods are nil for
// a kind without objects in a cluster, and deploy for one that actions run.
type kind struct {
	build  job.Handler
	deploy deploy.Kind
	health healthcheck.Checker
	pods   podlogs.Finder
}

// kinds maps the names of the kinds of component to their implementations.
var kinds = map[string]kind{
	"sandbox":             {terraform.Build{}, terraform.Kind{}, nil, nil},
	"terraform_module":    {terraform.Build{}, terraform.Kind{}, nil, nil},
	"helm_chart":          {helm.Build{}, helm.Kind{}, helm.Health, helm.Objects},
	"kubernetes_manifest": {kubernetes.Build{}, kubernetes.Kind{}, kubernetes.Health, kubernetes.Objects},
	"action_source":       {action.Build{}, nil, nil, nil},
	"container_image":     {image.Build{}, image.Kind{}, nil, nil},
	"docker_build":        {docker.Build{}, image.Kind{}, nil, nil},
}

// handlers returns the handler of each kind of job.
func handlers() job.Handlers {
	return job.Handlers{
		api.JobSpecKindBuild: byKind(func(s api.JobSpec) string { return s.Build.ComponentKind },
			func(k kind) job.Handler { return k.build }),
		api.JobSpecKindSync: transfer.Sync{},
		api.JobSpecKindPlan: byKind(func(s api.JobSpec) string { return s.Plan.Deploy.ComponentKind },
			func(k kind) job.Handler { return deploy.PlanHandler(k.deploy) }),
		api.JobSpecKindApply: byKind(func(s api.JobSpec) string { return s.Apply.Deploy.ComponentKind },
			func(k kind) job.Handler { return deploy.ApplyHandler(k.deploy) }),
		api.JobSpecKindAction:       action.Action{},
		api.JobSpecKindHealth:       healthCheckers(),
		api.JobSpecKindSecrets:      secretsync.Handler{},
		api.JobSpecKindLogs:         podFinders(),
		api.JobSpecKindDebugCommand: action.Debug{},
		api.JobSpecKindShell:        podshell.Handler(podFinders()),
	}
}

// healthCheckers returns the kinds that have a health check.
func healthCheckers() healthcheck.Handler {
	made := healthcheck.Handler{}
	for name, k := range kinds {
		if k.health != nil {
			made[name] = k.health
		}
	}
	return made
}

// podFinders returns the kinds whose components have pods.
func podFinders() podlogs.Handler {
	made := podlogs.Handler{}
	for name, k := range kinds {
		if k.pods != nil {
			made[name] = k.pods
		}
	}
	return made
}

// byKind returns a handler that dispatches a job by its kind of component.
func byKind(of func(api.JobSpec) string, verb func(kind) job.Handler) job.Handler {
	return job.HandlerFunc(func(ctx context.Context, env *job.Env) (api.JobResult, error) {
		name := of(env.Spec)
		found, known := kinds[name]
		if !known || found.deploy == nil && env.Spec.Kind != api.JobSpecKindBuild {
			return api.JobResult{}, fmt.Errorf("this runner cannot do components of kind %q; "+
				"update it to the version of the control plane", name)
		}
		return verb(found).Run(ctx, env)
	})
}
