// Package podlogs sends log lines of the pods of one component, because a person asked for them.
//
// It owns the job kind logs: which pods belong to a component, the bounds of a request, and what becomes of a line
// before it is logged: known secrets are masked, and control sequences are removed. It connects only to a cluster that
// this install's runner has applied the component to. It changes nothing, and each request is in the owner's log
// (package audit) before a line is read. The job process runs its handler; main registers it.
package podlogs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/audit"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/jobstore"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Finder returns the cluster of one component, and the objects there that its own applies made.
type Finder func(ctx context.Context, env *job.Env, part api.HealthPart) (*cluster.Cluster, []api.ObjectRef, error)

// Handler is the handler of logs jobs. It maps the name of each kind of component to its Finder.
type Handler map[string]Finder

const (
	// defaultTime and maxTime bound a request that sets no time, and any.
	defaultTime, maxTime = 10 * time.Minute, time.Hour
	// defaultTail is the number of last lines of each container.
	defaultTail = 500
	// maxTail bounds it.
	maxTail = 10_000
)

// errTime ends a request whose time is over, errSize one that sent as much as it may.
var (
	errTime = errors.New("the time of the request is over")
	errSize = fmt.Errorf("the request has sent %d MiB of log lines, which is the most that one may; narrow it with "+
		"--container, --since or --tail", maxBytes>>20)
)

// Run sends the lines of one request.
func (h Handler) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	spec := env.Spec.Logs
	event := audit.Event{What: audit.LogsRequested, Job: env.Spec.Job, Attempt: env.Spec.Attempt, Install: spec.InstallID,
		Component: spec.Request.Component, Operation: string(env.Spec.Kind),
		Reason: fmt.Sprintf("%s, as the control plane names them: %s", spec.RequestedBy, spec.Request.Reason)}
	if err := audit.Append(env.Root, event); err != nil {
		return api.JobResult{}, err
	}
	result, err := h.run(ctx, env)
	event.What, event.Reason = audit.LogsEnded, fmt.Sprintf("%s: sent %d lines (%d bytes) of %d containers",
		result.Status, result.Logs.Lines, result.Logs.Bytes, result.Logs.Containers)
	if err != nil {
		event.Reason = env.Redact.String(err.Error())
	}
	return result, errors.Join(err, audit.Append(env.Root, event))
}

func (h Handler) run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	spec := env.Spec.Logs
	part, request := spec.Part, spec.Request
	find, known := h[part.Deploy.ComponentKind]
	switch {
	case !known:
		return api.JobResult{}, fmt.Errorf("components of kind %s have no pods, so there are no logs of %s",
			part.Deploy.ComponentKind, part.Deploy.Component)
	case part.Deploy.Component != request.Component || part.Deploy.InstallID != spec.InstallID:
		return api.JobResult{}, errors.New("the request is for one component and names another; this is a bug in the " +
			"control plane; report it")
	}
	scoped, err := deploy.AppliedEnv(env, part)
	if err != nil {
		return api.JobResult{}, fmt.Errorf("%s: %w; deploy it again", request.Component, err)
	}
	if err := MaskSecrets(ctx, scoped, part.Deploy); err != nil {
		return api.JobResult{}, fmt.Errorf("the secrets of %s cannot be masked in its logs: %w", request.Component, err)
	}
	limit := policy.Limits{Timeout: policy.Duration(time.Duration(env.Policy.Debug.TimeoutSeconds) * time.Second)}.TimeoutOf(
		min(time.Duration(request.TimeoutSeconds)*time.Second, maxTime), defaultTime)
	limited, stop := context.WithTimeoutCause(ctx, limit, errTime)
	defer stop()
	reached, objects, err := find(limited, scoped, part)
	if err != nil {
		return api.JobResult{}, err
	}
	s := newSender(scoped, reached, objects, request)
	err = s.send(limited)
	return s.result(ctx, err)
}

// MaskSecrets adds what the component reads to the redactor: the sensitive values of its spec, and the customer's
// secrets that its templates name.
func MaskSecrets(ctx context.Context, env *job.Env, spec api.DeploySpec) error {
	opened, err := values.Open(spec.InstallID, spec.Values, env.Key, env.Redact)
	if err != nil {
		return err
	}
	return jobstore.AddTo(ctx, env, opened, spec.InstallID, spec.Values.Secrets, true)
}

// result returns the result of a request that ended with err.
func (s *sender) result(ctx context.Context, err error) (api.JobResult, error) {
	made := api.JobResult{Status: job.Succeeded, Logs: api.LogsResult{Lines: int(s.lines.Load()), Bytes: s.size.Load(),
		Containers: s.opened()}}
	switch {
	case ctx.Err() != nil:
		made.Status, made.Error = api.JobResultStatusCancelled, "the request was cancelled"
	case errors.Is(err, errSize):
		s.env.Log.Warn("%v", err)
	case errors.Is(err, errTime):
		s.env.Log.Debug("%v", err)
	case err != nil:
		made.Status, made.Error = api.JobResultStatusFailed, s.env.Redact.String(err.Error())
	}
	return made, nil
}
