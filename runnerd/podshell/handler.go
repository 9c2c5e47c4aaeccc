// Package podshell runs an interactive shell in a pod of a component, or in a debug container beside it, because a
// person asked for it.
//
// It owns the job kind shell: which pod, the bounds of a session, and its transcript. It relays what the person types
// and what the pod answers through the runner API, by requests of the runner alone; secrets that the runner knows are
// masked in both directions before they leave it. It connects only to a cluster that this install's runner has applied
// the component to, and only to pods that the component's objects control. Each session is in the owner's log (package
// audit) before it starts. The job process runs its handler; main registers it.
package podshell

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
	"github.com/nuon-toolkit/nuon/runnerd/podlogs"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
)

// Handler is the handler of shell jobs. It maps the name of each kind of component to its Finder.
type Handler map[string]podlogs.Finder

const (
	// defaultTime and maxTime bound a session that sets no time, and any.
	defaultTime, maxTime = 10 * time.Minute, time.Hour
	// maxInput and maxOutput bound what a session passes on in each direction, in bytes.
	maxInput, maxOutput = 1 << 20, 8 << 20
)

// The reasons for which a session is ended.
var (
	errTime   = errors.New("the time of the shell is over")
	errOutput = fmt.Errorf("the shell has sent %d MiB, which is the most that one may", maxOutput>>20)
	errInput  = fmt.Errorf("the shell has received %d KiB, which is the most that one may", maxInput>>10)
	errLeft   = errors.New("the person has left the shell")
	// errStopped: the control plane ends the shell, such as when nobody is connected any more.
	errStopped = errors.New("the shell was ended")
)

// defaultCommand is what runs if the request names nothing.
var defaultCommand = []string{"sh"}

// Run runs one session. What the owner forbids is not started, and that is in the owner's log as well.
func (h Handler) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	spec := env.Spec.Shell
	event := audit.Event{What: audit.ShellStarted, Job: env.Spec.Job, Attempt: env.Spec.Attempt, Install: spec.InstallID,
		Component: spec.Request.Component, Operation: string(env.Spec.Kind), Reason: fmt.Sprintf(
			"%s, as the control plane names them: %.400s; pod %.100q, container %.100q, image %.150q, command %.200q",
			spec.RequestedBy, spec.Request.Reason, spec.Request.Pod, spec.Request.Container, spec.Request.Image,
			spec.Request.Command)}
	if err := env.Policy.CheckShell(spec.Request.Component, spec.Request.Image); err != nil {
		event.What = audit.ShellRefused
		return api.JobResult{}, errors.Join(err, audit.Append(env.Root, event))
	}
	out, err := newTranscript(env, spec.Request)
	if err != nil {
		return api.JobResult{}, err
	}
	if err := audit.Append(env.Root, event); err != nil {
		return api.JobResult{}, errors.Join(err, out.file.Close())
	}
	result, err := h.run(ctx, env, out)
	err = errors.Join(err, out.close(&result.Shell))
	event.What, event.Reason = audit.ShellEnded, fmt.Sprintf("%s, pod %s, container %s: %d bytes typed, %d bytes sent, "+
		"transcript %s; %s", result.Status, result.Shell.Pod, result.Shell.Container, result.Shell.InputBytes,
		result.Shell.OutputBytes, result.Shell.Transcript, result.Error)
	if err != nil {
		event.Reason = env.Redact.String(err.Error())
	}
	return result, errors.Join(err, audit.Append(env.Root, event))
}

// run finds the pod, starts the program, and relays until one side ends.
func (h Handler) run(ctx context.Context, env *job.Env, out *transcript) (api.JobResult, error) {
	spec := env.Spec.Shell
	part, request := spec.Part, spec.Request
	find, known := h[part.Deploy.ComponentKind]
	switch {
	case !known:
		return api.JobResult{}, fmt.Errorf("components of kind %s have no pods, so there is no shell in %s",
			part.Deploy.ComponentKind, part.Deploy.Component)
	case part.Deploy.Component != request.Component || part.Deploy.InstallID != spec.InstallID:
		return api.JobResult{}, errors.New("the request is for one component and names another; this is a bug in the " +
			"control plane; report it")
	}
	scoped, err := deploy.AppliedEnv(env, part)
	if err != nil {
		return api.JobResult{}, fmt.Errorf("%s: %w; deploy it again", request.Component, err)
	}
	if err := podlogs.MaskSecrets(ctx, scoped, part.Deploy); err != nil {
		return api.JobResult{}, fmt.Errorf("the secrets of %s cannot be masked in its shell: %w", request.Component, err)
	}
	limit := policy.Limits{Timeout: policy.Duration(time.Duration(env.Policy.Debug.TimeoutSeconds) * time.Second)}.TimeoutOf(
		min(time.Duration(request.TimeoutSeconds)*time.Second, maxTime), defaultTime)
	limited, stop := context.WithTimeoutCause(ctx, limit, errTime)
	defer stop()
	reached, objects, err := find(limited, scoped, part)
	if err != nil {
		return api.JobResult{}, err
	}
	container, program, err := choose(limited, reached, objects, request)
	if err != nil {
		return api.JobResult{}, fmt.Errorf("%s: %w", request.Component, err)
	}
	env.Log.Info("connected to container %s of pod %s", container.Name, container.Pod)
	made := newSession(env.API, env.Redact, out).run(limited, request, program)
	made.Shell.Pod, made.Shell.Container = container.Pod, container.Name
	return made, nil
}

// choose returns the container of a request, and the program in it.
func choose(ctx context.Context, reached *cluster.Cluster, objects []api.ObjectRef, request api.NewShell) (
	cluster.Container, program, error) {
	command := request.Command
	container, err := reached.RunningContainer(ctx, objects, request.Pod, request.Container)
	if err != nil {
		return container, nil, err
	}
	if request.Image == "" {
		if len(command) == 0 {
			command = defaultCommand
		}
		return container, func(ctx context.Context, t cluster.Terminal) (int, error) {
			return reached.Exec(ctx, container, command, t)
		}, nil
	}
	debug, err := reached.AddDebugContainer(ctx, container, request.Image, command)
	return debug, func(ctx context.Context, t cluster.Terminal) (int, error) { return reached.Attach(ctx, debug, t) }, err
}
