package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// DesiredStateSource is the interface through which workflows read the desired state of installs.
// Package rollout implements it.
type DesiredStateSource interface {
	// Resolve reads a locked install once, computes the desired state of each
	// component, and stores it. With a supposition it writes nothing and returns the
	// desired state under that supposition.
	Resolve(ctx context.Context, tx *store.Tx, install store.Install, supposed *Assumptions) (ResolvedInstall, error)
}

// ResolvedInstall is an install as it was read under its lock. Its methods read nothing more,
// so a workflow that starts many steps costs one read. A *Unavailable error means that
// the data will not become available, and ends the step; any other error is retried.
type ResolvedInstall interface {
	// DesiredStates returns the desired state of each component, by name. The caller may modify the map.
	DesiredStates() map[string]DesiredState
	// DeployTarget returns what a plan of an install component is made from now; with
	// destroy, what was last applied.
	DeployTarget(installComponent string, destroy bool) (Target, error)
	// RestoreTarget returns the module whose state a restore changes, with what was
	// applied of it. The caller sets Digest and Restore.
	RestoreTarget(installComponent string) (Target, error)
	// ActionJob returns what a run of an action is made from now.
	ActionJob(run ActionRun) (ActionJob, error)
	// Scripts returns what the install's actions would run now, by action, under the role that the requester of a
	// run chose; empty for none.
	Scripts(role string) (map[string]ScriptContent, error)
	// SourceFiles returns the files of the code that actions run from a repository, by path: their texts, or what
	// replaces those that are not shown.
	SourceFiles(ctx context.Context, tx *store.Tx, source string) (map[string]string, error)
}

// ActionJob is what a run of an action is made from.
type ActionJob struct {
	Spec         api.ActionSpec
	Role         api.OperationRole // zero for the runner's own identity
	Timeout      time.Duration     // the action's timeout
	ScriptDigest string            // digest of what it runs, before templates are rendered
}

// ScriptContent is what an action runs, before its templates are rendered. An approver approves its
// digest.
type ScriptContent struct {
	Action  string          `json:"action"`
	Digest  string          `json:"digest"`
	Content json.RawMessage `json:"content"` // an appconfig.Action with only the fields that run
}

// ActionRun is one run of an action.
type ActionRun struct {
	Action    string
	Trigger   string            // what triggered it, as in the action's config
	Component string            // the component that it is about; empty for none
	Env       map[string]string // what the requester adds to the environment
	Inputs    map[string]string // the requester's values for the action's inputs
	Role      string            // the role that the requester chose; empty for none
}

// Engine advances workflows. It is safe for concurrent use by any number of replicas:
// all work on one install happens under the lock of its row. It implements jobs's
// Owner for jobs of steps.
type Engine struct {
	store  *store.Store
	source DesiredStateSource
}

// New returns an engine.
func New(s *store.Store, w DesiredStateSource) *Engine { return &Engine{store: s, source: w} }

// maxAdvanceRounds bounds the calls of Advance in one transaction. It is far above what any graph needs.
const maxAdvanceRounds = 200

// Reconcile advances one workflow as far as possible now. It may run at any time, twice, and
// on several replicas at once. A workflow that no longer exists or has ended is no error.
func (e *Engine) Reconcile(ctx context.Context, org, id string) error {
	err := e.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.FindWorkflow(ctx, org, id)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		install, err := tx.LockInstall(ctx, org, row.InstallID)
		if err != nil {
			return err
		}
		f, err := e.load(ctx, tx, install, id)
		if err != nil || f.graph.Status != Running {
			return err
		}
		return f.advance(ctx)
	})
	if err != nil {
		return fmt.Errorf("advance workflow %s: %w", id, err)
	}
	return nil
}

// executor is one workflow in one transaction.
type executor struct {
	engine            *Engine
	tx                *store.Tx
	install           store.Install
	row               store.Workflow
	params            WorkflowParams
	graph             *Graph
	resolvedInstall   ResolvedInstall          // nil until it is first needed (resolve)
	stepRows          map[string]store.Step    // by step id; only columns that no command changes are read
	scripts           map[string]ScriptContent // of the actions that have not ended, by digest
	rejectionsChanged bool                     // a refusal was written: other workflows may have waited for this
}

// advance calls the core until it returns no commands, runs the commands, and
// notifies watchers of the workflow.
func (x *executor) advance(ctx context.Context) error {
	executed := 0
	for round := 0; ; round++ {
		if round == maxAdvanceRounds {
			return fmt.Errorf("it does not settle within %d rounds", maxAdvanceRounds)
		}
		todo := Advance(x.graph)
		if len(todo) == 0 {
			break
		}
		for _, c := range todo {
			if err := x.execute(ctx, c); err != nil {
				return err
			}
		}
		executed += len(todo)
	}
	if executed == 0 {
		return nil
	}
	if x.graph.Status != Running || x.rejectionsChanged {
		if err := x.tx.Enqueue(ctx, queue.Rollout{Org: x.tx.Org, Install: x.install.ID}); err != nil {
			return err
		}
	}
	return touchWorkflow(ctx, x.tx, x.row.ID)
}

// touchWorkflow marks a workflow as changed and notifies its watchers.
func touchWorkflow(ctx context.Context, tx *store.Tx, workflowID string) error {
	if err := tx.TouchWorkflow(ctx, tx.Org, workflowID); err != nil {
		return err
	}
	return tx.Notify(ctx, store.ChannelWorkflows, tx.Org+"/"+workflowID)
}
