package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river"

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
	_, err = s.bring(ctx, tx, nil, by)
	return err
}

// started is a workflow that was started, and over which components.
type started struct {
	id         string
	components []string
}

// bring writes down what a locked install wants and starts what is missing, after what a person asked for in so many words (nil
// for nothing).
func (s *snapshot) bring(ctx context.Context, tx *store.Tx, g *granted, by string) (all []started, err error) {
	wants := s.desire()
	if err := s.write(ctx, tx, wants); err != nil {
		return nil, err
	}
	if now := s.provisioned(wants); now != s.install.Provisioned {
		if err := tx.SetProvisioned(ctx, now, tx.Org, s.install.ID); err != nil {
			return nil, err
		}
	}
	now, ids, err := underWay(ctx, tx, s.install.ID)
	if err != nil {
		return nil, err
	}
	for _, st := range s.starts(wants, now, g) {
		id, err := s.begin(ctx, tx, st, wants, by)
		if err != nil {
			return nil, err
		}
		all = append(all, started{id, st.components})
	}
	var advances []river.JobArgs
	for _, id := range ids { // what is wanted may have moved under them
		advances = append(advances, queue.Advance{Org: tx.Org, Workflow: id})
	}
	if err := tx.Enqueue(ctx, advances...); err != nil {
		return nil, err
	}
	return all, tx.SetDueIn(ctx, store.SetDueInParams{OrgID: tx.Org, Kind: store.DueInstall, ID: s.install.ID, InSeconds: again.Seconds()})
}

// starts are what a person asked for, and what is to be started besides.
func (s *snapshot) starts(wants map[string]*want, now running, g *granted) []start {
	if g == nil {
		return s.decide(wants, now)
	}
	asked := s.asks(*g, wants, now)
	for _, st := range asked {
		for _, name := range st.components {
			now.busy[name], now.any = true, true
		}
	}
	return append(asked, s.decide(wants, now)...)
}

func (s *snapshot) begin(ctx context.Context, tx *store.Tx, st start, wants map[string]*want, by string) (string, error) {
	request := s.request(st, wants, by)
	var err error
	if request.Trace, err = s.trace(ctx, tx, st.components); err != nil {
		return "", err
	}
	return workflow.Start(ctx, tx, request)
}

// Resolve reads a locked install once and works out what it wants of each component (workflow.World). It writes that down, unless it is
// what the install would want.
func (r *Rollout) Resolve(ctx context.Context, tx *store.Tx, install store.Install, supposed *workflow.Supposed) (workflow.Resolved, error) {
	s, err := load(ctx, tx, install)
	if err != nil {
		return nil, err
	}
	if supposed != nil {
		s.suppose(*supposed)
	}
	resolved := &resolved{snapshot: s, desired: s.desire(), supposed: supposed != nil}
	if supposed != nil {
		return resolved, nil
	}
	return resolved, s.write(ctx, tx, resolved.desired)
}

// resolved is a snapshot with what is wanted of its components (workflow.Resolved).
type resolved struct {
	*snapshot
	desired  map[string]*want
	supposed bool
}

// Wants returns what is wanted of each component, by name.
func (r *resolved) Wants() map[string]workflow.Want {
	all := make(map[string]workflow.Want, len(r.desired))
	for name, w := range r.desired {
		want := w.Want
		if r.supposed && w.Absent && !w.own { // to plan a destroy, what stands on it need not be gone
			want.Waits, want.Stuck = "", false
		}
		all[name] = want
	}
	return all
}

// suppose makes a snapshot one of the install as it would be if a person's wish had been granted, and nothing refused.
func (s *snapshot) suppose(as workflow.Supposed) {
	s.install.Wanted = "present"
	if as.Absent {
		s.install.Wanted = "absent"
	}
	for name, p := range s.places {
		p.row.TornDown = slices.Contains(as.TornDown, name) || p.row.TornDown && !slices.Contains(as.Wanted, name)
		p.refusals = map[string]store.Refusal{}
	}
}

// write keeps what is wanted, in one statement and only where it is something else than before.
func (s *snapshot) write(ctx context.Context, tx *store.Tx, wants map[string]*want) error {
	set := store.SetDesiresParams{OrgID: tx.Org}
	for _, name := range s.names() {
		before := s.places[name].row
		row := s.settle(name, wants[name])
		if row.Wanted == before.Wanted && row.DesiredDigest == before.DesiredDigest && row.DesiredReason == before.DesiredReason && row.WaitsFor == before.WaitsFor {
			continue
		}
		set.Ids, set.Wanted = append(set.Ids, row.ID), append(set.Wanted, row.Wanted)
		set.Digests, set.Reasons, set.Waits = append(set.Digests, row.DesiredDigest), append(set.Reasons, row.DesiredReason), append(set.Waits, row.WaitsFor)
	}
	if len(set.Ids) == 0 {
		return nil
	}
	if err := tx.SetDesires(ctx, set); err != nil {
		return fmt.Errorf("write what is wanted of %d components: %w", len(set.Ids), err)
	}
	return nil
}

// settle makes a place's row say what is wanted of it. The reason of what is current stays the one that led to it.
func (s *snapshot) settle(name string, w *want) store.InstallComponent {
	row := &s.places[name].row
	same := w.Current || w.Waits != "" || s.places[name].applying && w.Digest == row.DesiredDigest
	if keep := same && row.DesiredReason != "" && !w.Absent; !keep {
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
	rows, err := tx.UnderWay(ctx, tx.Org, installID)
	if err != nil {
		return running{}, nil, err
	}
	now = running{busy: map[string]bool{}}
	for _, row := range rows {
		workflows = append(workflows, row.ID)
		for _, name := range row.Components {
			now.busy[name], now.any = true, true
		}
	}
	return now, workflows, nil
}

// request is a decision as workflow wants it.
func (s *snapshot) request(st start, wants map[string]*want, by string) workflow.Request {
	r := workflow.Request{
		Install: s.install.ID, Kind: st.kind, Reason: st.reason, RequestedBy: by, Release: s.release.Number,
		Around: s.around(st), Components: map[string]string{}, Redeploy: st.redeploy,
	}
	for _, name := range st.components {
		r.Parts = append(r.Parts, s.part(st, name, wants[name]))
		r.Components[name] = s.places[name].row.ID
	}
	return r
}
