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

// World is what workflows ask of the package that knows what installs want (rollout).
type World interface {
	// Resolve reads a locked install once, works out what it wants of each component, and writes that down. With a supposition nothing
	// is written, and it is what the install would want.
	Resolve(ctx context.Context, tx *store.Tx, install store.Install, supposed *Supposed) (Resolved, error)
}

// Resolved is an install as it was read under its lock. Its methods read nothing more, so that a workflow that begins many steps costs
// one read. A *Unavailable says that something cannot be had, now or later, and ends the step; any other error is tried again.
type Resolved interface {
	// Wants returns what the install wants of each component, by name. The map is the caller's.
	Wants() map[string]Want
	// Spec is what a plan of an install component is made of now; with destroy, of what was last applied.
	Spec(installComponent string, destroy bool) (Target, error)
	// RestoreSpec is the module whose state a restore changes, with what was applied of it. Digest and Restore are the caller's.
	RestoreSpec(installComponent string) (Target, error)
	// ActionJob is what a run of an action is made of now.
	ActionJob(run ActionRun) (ActionJob, error)
	// Scripts returns what the actions of the install would run now, by action.
	Scripts() (map[string]ScriptContent, error)
}

// ActionJob is what a run of an action is made of.
type ActionJob struct {
	Spec   api.ActionSpec
	Limit  time.Duration // how long it may take
	Script string        // digest of what it runs, as far as it is not rendered
}

// ScriptContent is what an action runs, as far as it is not rendered. Its digest is what an approver approves.
type ScriptContent struct {
	Action  string          `json:"action"`
	Digest  string          `json:"digest"`
	Content json.RawMessage `json:"content"` // an appconfig.Action with nothing but what runs
}

// ActionRun is one run of an action.
type ActionRun struct {
	Action    string
	Trigger   string            // what made it run, as the action names it
	Component string            // the component that it is about; empty for none
	Env       map[string]string // what the person who asked adds to the environment
	Inputs    map[string]string // the values that the person gave to the action's inputs
}

// Engine takes workflows on. It is safe for concurrent use, by any number of replicas: all work on one install happens under the
// lock of its row. It implements dispatch's Owner for jobs of steps.
type Engine struct {
	store *store.Store
	world World
}

// New makes an engine.
func New(s *store.Store, w World) *Engine { return &Engine{store: s, world: w} }

// mostRounds bounds how long the core may speak in one transaction; it is far above what any graph needs.
const mostRounds = 200

// Reconcile takes one workflow as far as it goes now. It may run at any time, twice, and on several replicas at once. A workflow
// that is gone or has ended is no error.
func (e *Engine) Reconcile(ctx context.Context, org, id string) error {
	err := e.store.In(ctx, org, func(ctx context.Context, tx *store.Tx) error {
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

// flow is one workflow in the hands of one transaction.
type flow struct {
	engine  *Engine
	tx      *store.Tx
	install store.Install
	row     store.Workflow
	asked   Asked
	graph   *Graph
	world   Resolved                 // nil until something of it is read (resolve)
	rows    map[string]store.Step    // by step id; only what no command changes is read
	scripts map[string]ScriptContent // of the actions that have not ended, by digest
	refused bool                     // a refusal was written: others may have waited for this
}

// advance asks the core until it rests, does what it says, and tells who watches.
func (f *flow) advance(ctx context.Context) error {
	said := 0
	for round := 0; ; round++ {
		if round == mostRounds {
			return fmt.Errorf("it does not come to rest after %d rounds", mostRounds)
		}
		todo := Advance(f.graph)
		if len(todo) == 0 {
			break
		}
		for _, c := range todo {
			if err := f.do(ctx, c); err != nil {
				return err
			}
		}
		said += len(todo)
	}
	if said == 0 {
		return nil
	}
	if f.graph.Status != Running || f.refused {
		if err := f.tx.Enqueue(ctx, queue.Rollout{Org: f.tx.Org, Install: f.install.ID}); err != nil {
			return err
		}
	}
	return touch(ctx, f.tx, f.row.ID)
}

// touch tells who watches a workflow that it changed.
func touch(ctx context.Context, tx *store.Tx, workflowID string) error {
	if err := tx.TouchWorkflow(ctx, tx.Org, workflowID); err != nil {
		return err
	}
	return tx.Notify(ctx, store.ChannelWorkflows, tx.Org+"/"+workflowID)
}
