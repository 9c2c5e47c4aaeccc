// Package inspection lets people look into what runs on an install: a request becomes a job of the install's runner,
// whose log has what the person sees.
//
// It reads what is deployed and what the runner's owner allows, adds jobs, and records each request and its end in the
// audit log. It never repeats a request, and one that no runner starts soon ends, because nobody waits for it any more.
// The control API calls RequestLogs, RequestCommand and RequestShell; package jobs calls JobAccepted and JobEnded.
package inspection

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/joblog"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// OwnerKind is the owner kind of these jobs in package jobs. Their owner id is the install's id.
const OwnerKind = "inspection"

const (
	// maxOpen bounds the requests to one runner at the same time.
	maxOpen = 4
	// maxWait is how long a request waits for its runner.
	maxWait = 2 * time.Minute
	// defaultTime bounds a request that sets no time, and graceTime is what its job gets beyond it, in seconds.
	defaultTime, graceTime = 10 * 60, 60
	// maxError bounds what the audit log has of an error, in runes.
	maxError = 500
)

var (
	// ErrNotAllowed: the runner's owner does not allow such requests.
	ErrNotAllowed = refusal.New(refusal.Conflict, "not_allowed_by_runner", "the runner's owner does not allow this",
		"Its owner can allow it under [debug] of the runner file.")
	// ErrRunnerUnavailable: the runner cannot start the request now.
	ErrRunnerUnavailable = refusal.New(refusal.Conflict, "runner_unavailable", "the install's runner cannot do this now",
		"Try again when it is online.")
	// ErrTooMany: the runner has as many open requests as it may.
	ErrTooMany = refusal.New(refusal.Conflict, "too_many_requests_open", "the runner has too many open requests",
		"Wait until one of them ends, or cancel one.")
	// ErrNoPods: the component has no pods that the runner could find.
	ErrNoPods = refusal.New(refusal.Conflict, "no_pods", "the component has no pods here",
		"Only charts and manifests that are deployed on the install have pods.")
	// ErrOtherJob: the job is no such request.
	ErrOtherJob = refusal.New(refusal.Conflict, "not_cancellable", "the job is not a request of a person",
		"Cancel its workflow or its build instead.")
)

// SpecSource returns what is deployed.
type SpecSource interface {
	// HealthSpec returns a part for each component that was deployed into a cluster, and the role to read it with, or
	// why there is no such role now.
	HealthSpec(ctx context.Context, tx *store.Tx, install store.Install) (spec api.JobSpec, why string, err error)
	// DebugSpec returns what a debug command reads to find the install's cluster, in the same way.
	DebugSpec(ctx context.Context, tx *store.Tx, install store.Install) (spec api.JobSpec, why string, err error)
}

// Service adds requests. It is safe for concurrent use, by any number of replicas.
type Service struct{ specs SpecSource }

// New returns the service.
func New(specs SpecSource) *Service { return &Service{specs: specs} }

// RequestLogs adds a request for log lines of a component's pods, and returns its job.
func (s *Service) RequestLogs(ctx context.Context, tx *store.Tx, installID, actor string,
	request api.NewLogRequest) (jobID string, err error) {
	install, err := tx.LockInstall(ctx, tx.Org, installID)
	if err != nil {
		return "", err
	}
	part, role, err := s.deployedPart(ctx, tx, install, api.JobSpecKindLogs, request.Component)
	if err != nil {
		return "", err
	}
	request.TimeoutSeconds = cmp.Or(request.TimeoutSeconds, defaultTime)
	jobID, err = jobs.Enqueue(ctx, tx, jobs.NewJob{
		Runner: install.RunnerID, Kind: string(api.JobSpecKindLogs), OwnerKind: OwnerKind, OwnerID: install.ID,
		InstallID: install.ID, ComponentKind: part.Deploy.ComponentKind,
		Reason: fmt.Sprintf("%s asked for logs of %s: %s", actor, request.Component, request.Reason),
		Spec: api.JobSpec{TimeoutSeconds: request.TimeoutSeconds + graceTime, Role: role, Logs: api.LogsSpec{
			Install: install.Name, InstallID: install.ID, Part: part, Request: request, RequestedBy: actor,
		}},
	})
	if err != nil {
		return "", err
	}
	return jobID, tx.Audit(ctx, actor, "install.logs", install.ID, map[string]any{
		"job": jobID, "component": request.Component, "container": request.Container, "follow": request.Follow,
		"reason": request.Reason,
	})
}

// RequestCommand adds a request to run a debug command, and returns its job.
func (s *Service) RequestCommand(ctx context.Context, tx *store.Tx, installID, actor string,
	request api.NewDebugCommand) (jobID string, err error) {
	install, err := tx.LockInstall(ctx, tx.Org, installID)
	if err != nil {
		return "", err
	}
	if err := checkRunner(ctx, tx, install, api.JobSpecKindDebugCommand); err != nil {
		return "", err
	}
	spec, why, err := s.specs.DebugSpec(ctx, tx, install)
	if err != nil {
		return "", err
	}
	if why != "" {
		return "", ErrRunnerUnavailable.With("%s", why)
	}
	request.TimeoutSeconds = cmp.Or(request.TimeoutSeconds, defaultTime)
	spec.TimeoutSeconds = request.TimeoutSeconds + graceTime
	spec.Debug.Request, spec.Debug.RequestedBy = request, actor
	jobID, err = jobs.Enqueue(ctx, tx, jobs.NewJob{
		Runner: install.RunnerID, Kind: string(api.JobSpecKindDebugCommand), OwnerKind: OwnerKind, OwnerID: install.ID,
		InstallID: install.ID, Reason: fmt.Sprintf("%s asked for a debug command: %s", actor, request.Reason), Spec: spec,
	})
	if err != nil {
		return "", err
	}
	return jobID, tx.Audit(ctx, actor, "install.debug", install.ID, map[string]any{
		"job": jobID, "command": request.Command, "reason": request.Reason,
	})
}

// Person is who makes a request: the name that others see, and the id of the token.
type Person struct{ Actor, Token string }

// RequestShell adds a request for an interactive shell in a pod of a component, and returns its job.
func (s *Service) RequestShell(ctx context.Context, tx *store.Tx, installID string, by Person,
	request api.NewShell) (jobID string, err error) {
	install, err := tx.LockInstall(ctx, tx.Org, installID)
	if err != nil {
		return "", err
	}
	part, role, err := s.deployedPart(ctx, tx, install, api.JobSpecKindShell, request.Component)
	if err != nil {
		return "", err
	}
	request.TimeoutSeconds = cmp.Or(request.TimeoutSeconds, defaultTime)
	jobID, err = jobs.Enqueue(ctx, tx, jobs.NewJob{
		Runner: install.RunnerID, Kind: string(api.JobSpecKindShell), OwnerKind: OwnerKind, OwnerID: install.ID,
		InstallID: install.ID, ComponentKind: part.Deploy.ComponentKind,
		Reason: fmt.Sprintf("%s asked for a shell in %s: %s", by.Actor, request.Component, request.Reason),
		Spec: api.JobSpec{TimeoutSeconds: request.TimeoutSeconds + graceTime, Role: role, Shell: api.ShellSpec{
			Install: install.Name, InstallID: install.ID, Part: part, Request: request, RequestedBy: by.Actor,
		}},
	})
	if err != nil {
		return "", err
	}
	if err := joblog.OpenShell(ctx, tx, jobID, by.Token); err != nil {
		return "", err
	}
	return jobID, tx.Audit(ctx, by.Actor, "install.shell", install.ID, map[string]any{
		"job": jobID, "component": request.Component, "pod": request.Pod, "container": request.Container,
		"image": request.Image, "command": request.Command, "reason": request.Reason,
	})
}

// deployedPart returns a component as it is deployed and the role to reach it with, for a request that the install's
// runner takes now.
func (s *Service) deployedPart(ctx context.Context, tx *store.Tx, install store.Install, kind api.JobSpecKind,
	component string) (part api.HealthPart, role api.OperationRole, err error) {
	if err := checkRunner(ctx, tx, install, kind); err != nil {
		return part, role, err
	}
	deployed, why, err := s.specs.HealthSpec(ctx, tx, install)
	if err != nil {
		return part, role, err
	}
	if why != "" {
		return part, role, ErrRunnerUnavailable.With("%s", why)
	}
	parts := deployed.Health.Parts
	at := slices.IndexFunc(parts, func(p api.HealthPart) bool { return p.Deploy.Component == component })
	if at < 0 {
		return part, role, ErrNoPods.With("%s on %s", runners.PrintableShort(component), install.Name)
	}
	return parts[at], deployed.Role, nil
}

// refusals describe, by kind of job, what an owner does not allow.
var refusals = map[api.JobSpecKind]string{
	api.JobSpecKindLogs: "sends no logs of pods", api.JobSpecKindDebugCommand: "runs no debug commands",
	api.JobSpecKindShell: "starts no shells",
}

// checkRunner returns a refusal if the install's runner does not take such a request now.
func checkRunner(ctx context.Context, tx *store.Tx, install store.Install, kind api.JobSpecKind) error {
	found, err := tx.RunnersByID(ctx, tx.Org, []string{install.RunnerID})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return ErrRunnerUnavailable.With("%s has none", install.Name)
	}
	if why := runners.UnavailableReason(found[0], tx.Now()); why != "" {
		return ErrRunnerUnavailable.With("%s", why)
	}
	if !runners.AllowsJob(runners.ReportedPolicy(found[0]), string(kind)) {
		return ErrNotAllowed.With("runner %s %s", found[0].Name, refusals[kind])
	}
	open, err := tx.OpenInspections(ctx, tx.Org, install.RunnerID)
	if err != nil {
		return err
	}
	if open >= maxOpen {
		return ErrTooMany.With("%s has %d", found[0].Name, open)
	}
	return nil
}

// Cancel ends a request.
func Cancel(ctx context.Context, tx *store.Tx, jobID, actor string) error {
	job, err := tx.LockJob(ctx, tx.Org, jobID)
	if err != nil {
		return err
	}
	if job.OwnerKind != OwnerKind {
		return ErrOtherJob.With("%s of kind %s", job.ID, job.Kind)
	}
	if err := tx.Audit(ctx, actor, "install.cancel_request", job.OwnerID, map[string]any{"job": job.ID}); err != nil {
		return err
	}
	return jobs.Cancel(ctx, tx, jobID, actor+" cancelled the request")
}

// JobAccepted refuses a request that waited too long.
func (s *Service) JobAccepted(_ context.Context, tx *store.Tx, job store.Job) error {
	if waited := tx.Now().Sub(job.CreatedAt); waited > maxWait {
		return jobs.Stale(fmt.Sprintf("the runner did not start the request within %v", maxWait))
	}
	return nil
}

// JobEnded records the end of a request.
func (s *Service) JobEnded(ctx context.Context, tx *store.Tx, job store.Job, result api.JobResult) error {
	var spec api.JobSpec
	if err := json.Unmarshal(job.Spec, &spec); err != nil {
		return fmt.Errorf("decode the spec of job %s: %w", job.ID, err)
	}
	detail := map[string]any{"job": job.ID, "status": result.Status, "error": runners.Printable(result.Error, maxError)}
	switch job.Kind {
	case string(api.JobSpecKindShell):
		detail["requested_by"], detail["exit_code"] = spec.Shell.RequestedBy, result.Shell.ExitCode
		detail["pod"] = runners.PrintableShort(result.Shell.Pod)
		detail["container"] = runners.PrintableShort(result.Shell.Container)
		detail["input_bytes"], detail["output_bytes"] = result.Shell.InputBytes, result.Shell.OutputBytes
		detail["transcript"] = runners.PrintableShort(result.Shell.Transcript)
		return tx.Audit(ctx, "runner", "install.shell_end", job.OwnerID, detail)
	case string(api.JobSpecKindLogs):
		detail["requested_by"], detail["lines"], detail["bytes"] = spec.Logs.RequestedBy, result.Logs.Lines, result.Logs.Bytes
		return tx.Audit(ctx, "runner", "install.logs_end", job.OwnerID, detail)
	}
	detail["requested_by"], detail["exit_code"] = spec.Debug.RequestedBy, result.Debug.ExitCode
	detail["lines"], detail["transcript"] = result.Debug.Lines, runners.PrintableShort(result.Debug.Transcript)
	return tx.Audit(ctx, "runner", "install.debug_end", job.OwnerID, detail)
}

var _ jobs.Owner = (*Service)(nil)
