package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/nuon-toolkit/nuon/pkg/configfetch"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/reconciler/api/control"
	"github.com/nuon-toolkit/nuon/reconciler/api/ratelimit"
	"github.com/nuon-toolkit/nuon/reconciler/api/runner"
	"github.com/nuon-toolkit/nuon/reconciler/api/webhook"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/catalog"
	"github.com/nuon-toolkit/nuon/reconciler/cloudclaim"
	"github.com/nuon-toolkit/nuon/reconciler/cloudidentity"
	"github.com/nuon-toolkit/nuon/reconciler/garbage"
	"github.com/nuon-toolkit/nuon/reconciler/inputs"
	"github.com/nuon-toolkit/nuon/reconciler/inspection"
	"github.com/nuon-toolkit/nuon/reconciler/installhealth"
	"github.com/nuon-toolkit/nuon/reconciler/installsecrets"
	"github.com/nuon-toolkit/nuon/reconciler/joblog"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/metrics"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/phonehome"
	"github.com/nuon-toolkit/nuon/reconciler/preview"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/retention"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/stackversion"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/tfstate"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// services holds the services of the pipeline, in its order.
type services struct {
	observe     *observe.Observer
	catalog     *catalog.Catalog
	build       *build.Builder
	rollout     *rollout.Rollout
	workflow    *workflow.Engine
	runners     *runners.Service
	claims      *cloudclaim.Service
	phone       *phonehome.Service
	jobs        *jobs.Service
	states      *tfstate.Service
	logs        *joblog.Service
	health      *installhealth.Health
	secrets     *installsecrets.Secrets
	inspections *inspection.Service
	retain      *retention.Cleaner
	preview     *preview.Preview
}

// newServices creates the services and connects them.
func (r *replica) newServices() *services {
	o := &services{}
	o.observe = observe.New(r.store, r.key, observe.Options{
		MirrorDir: filepath.Join(r.options.dataDir, "mirrors"), AllowFileRemotes: r.options.fileRemotes,
		AllowPrivate: r.options.allowPrivate, GitMirrors: r.options.gitMirrors,
		Interval: r.options.poll, OnPoll: r.metrics.RecordPoll,
	})
	o.build = build.New(r.store, o.observe, r.registry)
	o.build.RefreshEvery(r.options.refreshImages)
	o.catalog = catalog.New(r.store, o.observe, o.build)
	o.catalog.SetFetcher(configfetch.New(configfetch.Options{AllowPrivate: r.options.allowPrivate}))
	o.preview = preview.New(r.store, o.catalog)
	o.retain = retention.New(r.store, r.options.retention)
	o.rollout = rollout.New(r.store, r.key)
	runner := r.program.Runner(r.options.runnerURL)
	runner.AzureAudience = r.options.azureAudience
	o.rollout.UseStacks(stackversion.New(runner, r.publisher.Bucket()))
	o.workflow = workflow.New(r.store, o.rollout)
	o.health = installhealth.New(r.store, o.rollout)
	o.secrets = installsecrets.New(r.store, o.rollout)
	o.inspections = inspection.New(o.rollout)
	o.claims = cloudclaim.New(r.store, cloudidentity.New(cloudidentity.Options{
		RunnerURL: r.options.runnerURL, AzureAudience: r.options.azureAudience,
	}))
	o.runners = runners.New(r.store)
	o.runners.UseClaims(o.claims)
	o.phone = phonehome.New(r.store, o.claims, rollout.StackConfigs)
	o.jobs = jobs.New(r.store, r.notifier, o.runners, map[string]jobs.Owner{
		"build": o.build, build.RefreshOwnerKind: build.Refreshes{}, "step": o.workflow, installhealth.OwnerKind: o.health,
		installsecrets.OwnerKind: o.secrets, inspection.OwnerKind: o.inspections,
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
	addWorker(w, func(ctx context.Context, q queue.Secrets) error { return o.secrets.Reconcile(ctx, q.Org, q.Install) })
	addWorker(w, func(ctx context.Context, q queue.RefreshImages) error {
		return o.build.RefreshOnSchedule(ctx, q.Org, q.App)
	})
	addWorker(w, func(ctx context.Context, q queue.Retain) error {
		return errors.Join(o.build.Schedule(ctx, q.Org), o.retain.Reconcile(ctx, q.Org))
	})
	return s.Workers(replica, w.workers, map[string]int{
		queue.Local: maxLocalWorkers, queue.Remote: maxRemoteWorkers, queue.Background: maxBackgroundWorkers,
	})
}

// runnerAPI returns the handler for runners.
func (r *replica) runnerAPI(o *services) http.Handler {
	return runner.New(runner.Options{
		Jobs: o.jobs, Runners: o.runners, States: o.states, Logs: o.logs,
		Credentials: build.NewModuleCredentials(r.store, r.key), Vendor: r.registry.blobs(), Log: slog.Default(),
		Program: r.program, PhoneHome: o.phone,
		Quota: ratelimit.Options{BehindProxy: r.options.rateLimit.BehindProxy},
	})
}

// controlAPI returns the handler for people and CI.
func (r *replica) controlAPI(o *services) http.Handler {
	return control.New(control.Options{
		Store: r.store, Bell: r.notifier, Key: r.key, Version: version.Number, Hooks: webhook.New(r.store, r.key),
		Quota: r.options.rateLimit,
		Services: control.Services{
			Repositories: o.observe, Catalog: o.catalog, Builds: o.build, Preview: o.preview, Rollout: o.rollout,
			Workflows: o.workflow, Jobs: o.jobs, Logs: o.logs, Claims: o.claims, PhoneHome: o.phone,
			Publisher: r.publisher, Inspections: o.inspections, Health: r.systemHealth,
			Garbage: garbage.New(r.store, r.registry.garbage()),
		},
	})
}
