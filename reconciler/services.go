package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/configfetch"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/reconciler/api/control"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/api/ratelimit"
	"github.com/nuon-toolkit/nuon/reconciler/api/runner"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/catalog"
	"github.com/nuon-toolkit/nuon/reconciler/inputs"
	"github.com/nuon-toolkit/nuon/reconciler/installhealth"
	"github.com/nuon-toolkit/nuon/reconciler/joblog"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/metrics"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/preview"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/retention"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/tfstate"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// services holds the services of the pipeline, in its order.
type services struct {
	observe  *observe.Observer
	catalog  *catalog.Catalog
	build    *build.Builder
	rollout  *rollout.Rollout
	workflow *workflow.Engine
	runners  *runners.Service
	jobs     *jobs.Service
	states   *tfstate.Service
	logs     *joblog.Service
	health   *installhealth.Health
	retain   *retention.Cleaner
	preview  *preview.Preview
}

// newServices creates the services and connects them.
func (r *replica) newServices() *services {
	o := &services{}
	o.observe = observe.New(r.store, r.key, observe.Options{
		MirrorDir: filepath.Join(r.options.dataDir, "mirrors"), AllowFileRemotes: r.options.fileRemotes,
		AllowPrivate: r.options.allowPrivate, Interval: r.options.poll, OnPoll: r.metrics.RecordPoll,
	})
	o.build = build.New(r.store, o.observe, r.registry)
	o.catalog = catalog.New(r.store, o.observe, o.build)
	o.catalog.SetFetcher(configfetch.New(configfetch.Options{AllowPrivate: r.options.allowPrivate}))
	o.preview = preview.New(r.store, o.catalog)
	o.retain = retention.New(r.store, r.options.retention)
	o.rollout = rollout.New(r.store)
	o.workflow = workflow.New(r.store, o.rollout)
	o.health = installhealth.New(r.store, o.rollout)
	o.runners = runners.New(r.store)
	o.jobs = jobs.New(r.store, r.notifier, o.runners, map[string]jobs.Owner{
		"build": o.build, "step": o.workflow, installhealth.OwnerKind: o.health,
	})
	o.states = tfstate.New(r.store, r.options.states.limits())
	o.logs = joblog.New(r.store, r.notifier)
	o.jobs.OnMeter(jobs.Meter{Accepted: r.metrics.RecordAccepted, Ended: r.metrics.RecordEnded})
	o.runners.OnRegistered(func(ctx context.Context, tx *store.Tx, runner store.Runner) error {
		return inputs.ResealToRunner(ctx, tx, r.key, runner)
	})
	return o
}

// How many reconcile functions of each queue one replica runs at once. Local ones wait for Postgres
// more than they compute; remote ones wait for git servers and registries. Background work may be
// very plentiful and has the lowest priority: it gets what the others leave of two processors.
const (
	maxLocalWorkers      = 16
	maxRemoteWorkers     = 32
	maxBackgroundWorkers = 2
)

// maxRemotePerOrg is how many of the remote ones may be for one org.
const maxRemotePerOrg = 8

// workers registers each service's reconcile functions with the queue.
func (o *services) workers(replica string, s *store.Store, m *metrics.Metrics,
	h *inFlight) (*river.Client[pgx.Tx], error) {
	w := workerSet{river.NewWorkers(), m, h, &orgLimiter{}}
	addWorker(w, func(ctx context.Context, q queue.Poll) error { return o.observe.Poll(ctx, q.Org, q.Watch) })
	addWorker(w, func(ctx context.Context, q queue.Catalog) error { return o.catalog.Reconcile(ctx, q.Org, q.App) })
	addWorker(w, func(ctx context.Context, q queue.Build) error { return o.build.Reconcile(ctx, q.Org, q.App) })
	addWorker(w, func(ctx context.Context, q queue.Rollout) error { return o.rollout.Reconcile(ctx, q.Org, q.Install) })
	addWorker(w, func(ctx context.Context, q queue.Resync) error { return o.rollout.Reconcile(ctx, q.Org, q.Install) })
	addWorker(w, func(ctx context.Context, q queue.FanOut) error { return o.rollout.FanOut(ctx, q.Org, q.App) })
	addWorker(w, func(ctx context.Context, q queue.RolloutRange) error { return o.rollout.ReconcileRange(ctx, q) })
	addWorker(w,
		func(ctx context.Context, q queue.Advance) error { return o.workflow.Reconcile(ctx, q.Org, q.Workflow) })
	addWorker(w, func(ctx context.Context, q queue.Expire) error { return o.jobs.Expire(ctx, q.Org, q.ID) })
	addWorker(w, func(ctx context.Context, q queue.Health) error { return o.health.Reconcile(ctx, q.Org, q.Install) })
	addWorker(w, func(ctx context.Context, q queue.Retain) error { return o.retain.Reconcile(ctx, q.Org) })
	return s.Workers(replica, w.workers, map[string]int{
		queue.Local: maxLocalWorkers, queue.Remote: maxRemoteWorkers, queue.Background: maxBackgroundWorkers,
	})
}

// runnerAPI returns the handler for runners.
func (r *replica) runnerAPI(o *services) http.Handler {
	return runner.New(runner.Options{
		Jobs: o.jobs, Runners: o.runners, States: o.states, Logs: o.logs,
		Vendor: r.registry.blobs(), Log: slog.Default(),
		Quota: ratelimit.Options{BehindProxy: r.options.rateLimit.BehindProxy},
	})
}

// controlAPI returns the handler for people and CI. It turns errors of the services into problems.
func (r *replica) controlAPI(o *services) http.Handler {
	return control.New(control.Options{
		Store: r.store, Bell: r.notifier, Key: r.key, Version: version.Number, Hooks: observe.Webhook(r.store, r.key),
		Quota: r.options.rateLimit,
		Rooms: control.Rooms{
			Watch: o.watch,

			ChangeRepositories: changeRepositories,
			Look:               o.observe.Poll,
			SyncNow:            o.syncNow,
			Upload:             o.upload,
			PreviewApp:         o.preview.App,
			ReleasePartial:     o.build.ReleasePartial,
			RetryBuild: func(ctx context.Context, tx *store.Tx, b string) (string, error) {
				return withoutConflict(o.build.Retry(ctx, tx, b))
			},
			AdvanceNow: o.workflow.Reconcile,
			RolloutNow: o.rollout.Reconcile,
			Ask:        o.rollout.Request, Sketch: o.rollout.DryRun, AskAction: o.rollout.RequestAction,
			SketchAction: o.rollout.DryRunAction,
			RetryStep:    o.retryStep, SkipStep: o.workflow.SkipStep,
			Respond: func(ctx context.Context, tx *store.Tx, approval string, a api.Response, actor string) error {
				_, err := withoutConflict("", workflow.Respond(ctx, tx, workflow.Response{
					Approval: approval, Answer: workflow.Answer(a.Answer), Plan: a.Plan,
					ContentDigest: a.ContentDigest, Actor: actor, Reason: a.Reason,
				}))
				return err
			},
			ApproveWorkflow: func(ctx context.Context, tx *store.Tx, id string, by workflow.Approver) error {
				_, err := withoutConflict("", workflow.ApproveWorkflow(ctx, tx, id, by))
				return err
			},
			RevokeWorkflowRule: func(ctx context.Context, tx *store.Tx, id string) error {
				_, err := withoutConflict("", workflow.RevokeWorkflowRule(ctx, tx, id))
				return err
			},
			CancelWorkflow: func(ctx context.Context, tx *store.Tx, id, actor, reason string) error {
				_, err := withoutConflict("", workflow.Cancel(ctx, tx, id, actor, reason))
				return err
			},
			AddRunner:     o.addRunner,
			MoveBuilds:    o.build.BuildRunnerAdded,
			ReplaceRunner: o.jobs.Replace,
			AskRestore: func(
				ctx context.Context, tx *store.Tx, install store.Install, component string,
				version int, reason, actor string,
			) (string, error) {
				return withoutConflict(o.rollout.RequestRestore(ctx, tx, install, component, version, reason, actor))
			},
			AbandonState: func(
				ctx context.Context, tx *store.Tx, install store.Install, component, reason, actor string,
			) error {
				_, err := withoutConflict("", o.rollout.Abandon(ctx, tx, install, component, reason, actor))
				return err
			},
			FollowLogs:      o.logs.Stream,
			Logs:            o.logs.Read,
			FollowRunnerLog: o.logs.StreamRunnerLog, RunnerLog: o.logs.ReadRunnerLog,
			Health: r.systemHealth,
		},
	})
}

// watch creates a watch for a person, with immediate errors about the address.
func (o *services) watch(ctx context.Context, tx *store.Tx, url, ref, credential string) (store.Watch, error) {
	err := o.observe.Check(url, ref)
	if err == nil {
		var watch store.Watch
		if watch, err = o.observe.Connect(ctx, tx, url, ref, credential); err == nil {
			return watch, nil
		}
	}
	var trouble *observe.RepoError
	if errors.As(err, &trouble) {
		err = problem.New(http.StatusUnprocessableEntity, "repository_refused", trouble.Error(), "")
	}
	return store.Watch{}, err
}

// changeRepositories changes the repositories that a credential may be used for.
func changeRepositories(now, add, remove []string) ([]string, error) {
	changed, err := observe.ChangeRepositories(now, add, remove)
	var trouble *observe.RepoError
	if errors.As(err, &trouble) {
		err = problem.New(http.StatusUnprocessableEntity, "repository_refused", trouble.Error(), "")
	}
	return changed, err
}

func (o *services) syncNow(ctx context.Context, org, app string) error {
	_, err := o.catalog.SyncNow(ctx, org, app)
	return explainRegistryError(err)
}

// explainRegistryError marks an error as the registry's. The work is also queued, and is retried until
// the registry accepts it.
func explainRegistryError(err error) error {
	var refused *artifact.Error
	if !errors.As(err, &refused) {
		return err
	}
	return problem.New(http.StatusBadGateway, "registry_refused", err.Error(),
		"It is tried again by itself until the registry takes it.")
}

func (o *services) upload(ctx context.Context, org, app, actor string, archive io.Reader) error {
	_, err := o.catalog.Upload(ctx, org, app, "uploaded by "+actor, archive)
	if errors.Is(err, catalog.ErrArchive) {
		return problem.New(http.StatusUnprocessableEntity, "bad_archive", err.Error(),
			"Send the app's directory as tar+gzip; `nuon sync` does so.")
	}
	return explainRegistryError(err)
}

// addRunner creates a runner and enqueues the builds that waited for a build runner.
func (o *services) addRunner(ctx context.Context, tx *store.Tx, n api.NewRunner) (store.Runner, string, error) {
	row, registration, err := runners.Create(ctx, tx, runners.NewRunner{
		Name: n.Name, Kind: string(n.Kind), Shared: n.Shared,
	})
	switch {
	case errors.Is(err, refusal.ErrInvalid):
		err = problem.New(http.StatusUnprocessableEntity, "bad_runner", err.Error(), "")
	case errors.Is(err, runners.ErrNameTaken):
		err = problem.New(http.StatusConflict, "exists", fmt.Sprintf("there is a runner %q already", n.Name),
			"Choose another name.")
	case err == nil && row.Kind == runners.KindBuild:
		err = o.build.BuildRunnerAdded(ctx, tx)
	}
	return row, registration, err
}

// retryStep retries what failed at a step: in its workflow while that runs, otherwise in a new one.
func (o *services) retryStep(ctx context.Context, tx *store.Tx, workflowID, step, actor string) (string, error) {
	err := o.workflow.RetryStep(ctx, tx, workflowID, step, actor)
	var conflict *workflow.Conflict
	if !errors.As(err, &conflict) || conflict.Code != workflow.CodeWorkflowEnded {
		return workflowID, err
	}
	failure, err := o.workflow.FailureAt(ctx, tx, workflowID, step)
	if err != nil {
		return "", err
	}
	return o.rollout.Retry(ctx, tx, failure, actor)
}

// withoutConflict turns a service's error about a conflict with the current state into a 409.
func withoutConflict[T any](made T, err error) (T, error) {
	var conflict *workflow.Conflict
	switch {
	case errors.As(err, &conflict):
		err = problem.New(http.StatusConflict, conflict.Code, conflict.Title, conflict.Remedy)
	case errors.Is(err, build.ErrNotFailed), errors.Is(err, build.ErrHasBuild):
		err = problem.New(http.StatusConflict, "not_failed", err.Error(),
			"Only the failed build that counts is built again.")
	}
	return made, err
}
