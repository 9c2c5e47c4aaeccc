package control

import (
	"context"
	"io"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/cloudclaim"
	"github.com/nuon-toolkit/nuon/reconciler/garbage"
	"github.com/nuon-toolkit/nuon/reconciler/inspection"
	"github.com/nuon-toolkit/nuon/reconciler/joblog"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/phonehome"
	"github.com/nuon-toolkit/nuon/reconciler/preview"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/stackpublish"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// Services holds the services of the reconciler that the control API calls. Those that read git, use
// the registry or advance workflows are interfaces, so that tests of the API can replace these calls.
type Services struct {
	Repositories Repositories
	Catalog      Catalog
	Builds       Builds
	Preview      *preview.Preview
	Rollout      *rollout.Rollout
	Workflows    Workflows
	Jobs         *jobs.Service
	Logs         *joblog.Service
	Claims       *cloudclaim.Service
	PhoneHome    *phonehome.Service
	Publisher    *stackpublish.Publisher
	Inspections  *inspection.Service
	Garbage      *garbage.Collector
	// Health returns the part of GET /v1/system that belongs to no org.
	Health func(ctx context.Context) (api.System, error)
}

// Repositories connects and polls repositories. *observe.Observer implements it.
type Repositories interface {
	Check(url, ref string) error
	Connect(ctx context.Context, tx *store.Tx, url, ref, credential string) (store.Watch, error)
	Poll(ctx context.Context, org, watch string) error
}

// Catalog reads the configs of apps. *catalog.Catalog implements it.
type Catalog interface {
	SyncNow(ctx context.Context, org, app string) (*store.Revision, error)
	Upload(ctx context.Context, org, app, reason string, archive io.Reader,
		record func(context.Context, *store.Tx) error) (appconfig.Diagnostics, error)
}

// Builds builds components. *build.Builder implements it.
type Builds interface {
	ReleasePartial(ctx context.Context, tx *store.Tx, app store.App, actor string) (*store.Release, error)
	Retry(ctx context.Context, tx *store.Tx, build string) (string, error)
	Refresh(ctx context.Context, tx *store.Tx, app store.App, request build.RefreshRequest) (string, error)
	CancelRefresh(ctx context.Context, tx *store.Tx, refresh store.ModuleRefresh, reason string) error
	BuildRunnerAdded(ctx context.Context, tx *store.Tx) error
}

// Workflows advances workflows and changes their steps. *workflow.Engine implements it.
type Workflows interface {
	Reconcile(ctx context.Context, org, workflowID string) error
	RetryStep(ctx context.Context, tx *store.Tx, workflowID, step, actor string) error
	SkipStep(ctx context.Context, tx *store.Tx, workflowID, step, actor, reason string) error
	FailureAt(ctx context.Context, tx *store.Tx, workflowID, step string) (workflow.Failure, error)
}
