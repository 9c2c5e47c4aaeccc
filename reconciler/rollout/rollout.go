package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// Rollout is the room's service. It is safe for concurrent use, by any number of replicas: all work on one install happens under
// the lock of its row. It implements workflow.World.
type Rollout struct {
	store *store.Store
}

// New makes the service.
func New(s *store.Store) *Rollout { return &Rollout{store: s} }

// Reconcile works out what one install wants, writes it down, and starts the workflows that are missing. It may run at any time,
// twice, and on several replicas at once. An install that is gone is no error.
func (r *Rollout) Reconcile(ctx context.Context, org, installID string) error {
	err := r.store.In(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		install, err := tx.LockInstall(ctx, org, installID)
		if errors.Is(err, store.ErrNotFound) {
			return tx.ClearDue(ctx, org, store.DueInstall, installID)
		}
		if err != nil {
			return err
		}
		return r.reconcile(ctx, tx, install, "")
	})
	if err != nil {
		return fmt.Errorf("roll out to install %s: %w", installID, err)
	}
	return nil
}

// again is when an install is looked at again though nobody asked, so that nothing depends on a request to look that was lost.
const again = 5 * time.Minute

// reconcile does all of it for a locked install. What it starts is requested by a person, or by nuon itself.
func (r *Rollout) reconcile(ctx context.Context, tx *store.Tx, install store.Install, by string) error {
	s, err := load(ctx, tx, install)
	if err != nil {
		return err
	}
	wants := s.desire()
	if err := s.write(ctx, tx, wants); err != nil {
		return err
	}
	if err := tx.SetProvisioned(ctx, s.provisioned(wants), tx.Org, install.ID); err != nil {
		return err
	}
	now, ids, err := underWay(ctx, tx, install.ID)
	if err != nil {
		return err
	}
	for _, st := range s.decide(wants, now) {
		request := s.request(st, by)
		if request.Trace, err = s.trace(ctx, tx, st.components); err != nil {
			return err
		}
		if _, err := workflow.Start(ctx, tx, request); err != nil {
			return err
		}
	}
	for _, id := range ids { // what is wanted may have moved under them
		if err := tx.Enqueue(ctx, queue.Advance{Org: tx.Org, Workflow: id}); err != nil {
			return err
		}
	}
	return tx.SetDueIn(ctx, store.SetDueInParams{OrgID: tx.Org, Kind: store.DueInstall, ID: install.ID, InSeconds: again.Seconds()})
}

// Desire works out what a locked install wants of each component, and writes it down (workflow.World).
func (r *Rollout) Desire(ctx context.Context, tx *store.Tx, install store.Install) (map[string]workflow.Want, error) {
	s, err := load(ctx, tx, install)
	if err != nil {
		return nil, err
	}
	wants := s.desire()
	all := map[string]workflow.Want{}
	for name, w := range wants {
		all[name] = w.Want
	}
	return all, s.write(ctx, tx, wants)
}

// write keeps what is wanted.
func (s *snapshot) write(ctx context.Context, tx *store.Tx, wants map[string]*want) error {
	for name, w := range wants {
		row := s.settle(name, w)
		err := tx.SetDesire(ctx, store.SetDesireParams{
			OrgID: tx.Org, ID: row.ID, Wanted: row.Wanted, DesiredDigest: row.DesiredDigest, DesiredReason: row.DesiredReason, WaitsFor: row.WaitsFor,
		})
		if err != nil {
			return fmt.Errorf("write what is wanted of %s: %w", name, err)
		}
	}
	return nil
}

// settle makes a place's row say what is wanted of it. The reason of what is current stays the one that led to it.
func (s *snapshot) settle(name string, w *want) store.InstallComponent {
	row := &s.places[name].row
	if keep := (w.Current || w.Waits != "") && row.DesiredReason != "" && !w.Absent; !keep {
		row.DesiredReason = w.Reason
	}
	row.Wanted, row.DesiredDigest, row.WaitsFor = "present", w.Digest, w.Waits
	if w.Absent {
		row.Wanted = "absent"
	}
	return *row
}

// underWay reads what runs on an install: the components that are being worked on, and all running workflows, actions too.
func underWay(ctx context.Context, tx *store.Tx, installID string) (now running, workflows []string, err error) {
	busy, err := tx.BusyComponents(ctx, tx.Org, installID)
	if err != nil {
		return running{}, nil, err
	}
	now = running{busy: map[string]bool{}, any: len(busy) > 0}
	for _, row := range busy {
		now.busy[row.Component] = true
	}
	rows, err := tx.RunningWorkflows(ctx, tx.Org, installID)
	if err != nil {
		return running{}, nil, err
	}
	for _, row := range rows {
		workflows = append(workflows, row.ID)
	}
	return now, workflows, nil
}

// request is a decision as workflow wants it.
func (s *snapshot) request(st start, by string) workflow.Request {
	r := workflow.Request{Install: s.install.ID, Kind: st.kind, Reason: st.reason, RequestedBy: by, Components: map[string]string{}}
	destroy := st.kind == workflow.KindTeardown || st.kind == workflow.KindDeprovision
	for _, name := range st.components {
		p := s.places[name]
		part := workflow.Part{Component: name, After: p.after, Reason: st.reason}
		if destroy {
			part.After = p.kept.After
		} else {
			part.Actions = s.postDeploy(name)
		}
		r.Parts = append(r.Parts, part)
		r.Components[name] = p.row.ID
	}
	return r
}

// postDeploy gives the actions that run after a component was deployed, in their order.
func (s *snapshot) postDeploy(component string) []workflow.PostDeploy {
	type indexed struct {
		index int
		workflow.PostDeploy
	}
	var found []indexed
	for i := range s.config.Actions {
		action := &s.config.Actions[i]
		for _, t := range action.Triggers {
			if t.Type != appconfig.TriggerPostDeployComponent || t.ComponentName != component {
				continue
			}
			found = append(found, indexed{t.Index, workflow.PostDeploy{Action: action.Name, After: reads(action)}})
			break
		}
	}
	slices.SortStableFunc(found, func(a, b indexed) int { return a.index - b.index })
	var all []workflow.PostDeploy
	for _, f := range found {
		all = append(all, f.PostDeploy)
	}
	return all
}

// reads gives the components whose outputs an action's templates read.
func reads(action *appconfig.Action) []string {
	var names []string
	for _, ref := range action.Refs() {
		if ref.HasPrefix("components") && len(ref) >= 2 && !slices.Contains(names, ref[1]) {
			names = append(names, ref[1])
		}
	}
	return names
}
