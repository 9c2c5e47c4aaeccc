package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/riverqueue/river"

	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// Rollout is the service of this package. It is safe for concurrent use by any number
// of replicas: all work on one install happens under the lock of its row. It
// implements workflow.World.
type Rollout struct {
	store   *store.Store
	configs *configs
}

// New returns the service.
func New(s *store.Store) *Rollout {
	return &Rollout{store: s, configs: &configs{read: map[string]*declared{}}}
}

// Reconcile computes and stores the desired state of one install, and starts the
// workflows that are missing. It may run at any time, twice, and on several replicas
// at once. An install that no longer exists is no error.
func (r *Rollout) Reconcile(ctx context.Context, org, installID string) error {
	err := r.store.In(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		install, err := tx.LockInstall(ctx, org, installID)
		if errors.Is(err, store.ErrNotFound) {
			return tx.ClearDue(ctx, org, store.DueInstall, installID)
		}
		if err != nil {
			return err
		}
		return r.reconcile(ctx, tx, []store.Install{install}, "")
	})
	if err != nil {
		return fmt.Errorf("roll out to install %s: %w", installID, err)
	}
	return nil
}

// reconcile is Reconcile for locked installs. by is the requester of what it starts;
// empty for nuon itself.
func (r *Rollout) reconcile(ctx context.Context, tx *store.Tx, installs []store.Install, by string) error {
	all, err := readAll(ctx, tx, installs, newShared(r.configs).of, (*snapshot).addPlaces)
	if err != nil {
		return err
	}
	_, err = ensure(ctx, tx, all, nil, by)
	return err
}

// started is a workflow that was started, with its components.
type started struct {
	id         string
	components []string
}

// bring stores a locked install's desired state and starts what is missing, after
// what a person explicitly requested (nil for nothing).
func (s *snapshot) bring(ctx context.Context, tx *store.Tx, g *granted, by string) ([]started, error) {
	return ensure(ctx, tx, []*snapshot{s}, g, by)
}

// ensure stores the desired state of locked installs and starts what is missing, with
// one statement of each kind for all of them.
func ensure(ctx context.Context, tx *store.Tx, installs []*snapshot, g *granted, by string) (all []started, err error) {
	wants, ids := make([]map[string]*want, len(installs)), make([]string, len(installs))
	for i, s := range installs {
		wants[i], ids[i] = s.desire(), s.install.ID
	}
	if err := write(ctx, tx, installs, wants); err != nil {
		return nil, err
	}
	now, err := underWay(ctx, tx, ids...)
	if err != nil {
		return nil, err
	}
	if err := resolve(ctx, tx, installs, wants); err != nil {
		return nil, err
	}
	var requests []workflow.Request
	var advances []river.JobArgs
	for i, s := range installs {
		for _, st := range s.starts(wants[i], now[s.install.ID], g) {
			r := s.request(st, wants[i], by)
			r.Trace, r.View = s.trace(st.components),
				&workflow.View{Install: s.install, Resolved: &resolved{snapshot: s, desired: wants[i]}}
			requests, all = append(requests, r), append(all, started{components: st.components})
		}
		for _, id := range now[s.install.ID].workflows { // the desired state may have changed since they started
			advances = append(advances, queue.Advance{Org: tx.Org, Workflow: id})
		}
	}
	workflows, err := workflow.StartAll(ctx, tx, requests)
	if err != nil {
		return nil, err
	}
	for i, id := range workflows {
		all[i].id = id
	}
	if by == "" {
		return all, tx.EnqueueLast(ctx, advances...)
	}
	return all, tx.Enqueue(ctx, advances...)
}

// starts returns the workflows that a person requested, and the others that are missing.
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

// Resolve reads a locked install once and computes the desired state of each component
// (workflow.World). It stores the result, unless the desired state is only supposed.
func (r *Rollout) Resolve(ctx context.Context, tx *store.Tx, install store.Install, supposed *workflow.Supposed) (
	workflow.Resolved, error) {
	s, err := load(ctx, tx, install, r.configs)
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
	return resolved, write(ctx, tx, []*snapshot{s}, []map[string]*want{resolved.desired})
}

// resolved is a snapshot with the desired state of its components (workflow.Resolved).
type resolved struct {
	*snapshot
	desired  map[string]*want
	supposed bool
}

// Wants returns the desired state of each component, by name.
func (r *resolved) Wants() map[string]workflow.Want {
	all := make(map[string]workflow.Want, len(r.desired))
	for name, w := range r.desired {
		want := w.Want
		if r.supposed && w.Absent && !w.own { // a destroy can be planned before its dependents are destroyed
			want.Waits, want.Stuck = "", false
		}
		all[name] = want
	}
	return all
}

// suppose changes a snapshot to the install as it would be if a person's request had
// been applied, without refusals.
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

// write stores the desired states of installs, in one statement and only where they have changed.
func write(ctx context.Context, tx *store.Tx, installs []*snapshot, wants []map[string]*want) error {
	set := store.SetDesiresParams{OrgID: tx.Org}
	for i, s := range installs {
		for _, name := range s.names() {
			before := stored(s.places[name].row)
			row := s.settle(name, wants[i][name])
			if stored(row) == before {
				continue
			}
			set.Ids, set.Wanted = append(set.Ids, row.ID), append(set.Wanted, row.Wanted)
			set.Digests, set.Reasons, set.Waits = append(set.Digests, row.DesiredDigest), append(set.Reasons, row.DesiredReason),
				append(set.Waits, row.WaitsFor)
			set.Behind, set.Off, set.Never = append(set.Behind, row.Behind), append(set.Off, row.Off),
				append(set.Never, row.Never)
			set.Stuck = append(set.Stuck, row.Stuck)
		}
	}
	if len(set.Ids) == 0 {
		return nil
	}
	if err := tx.SetDesires(ctx, set); err != nil {
		return fmt.Errorf("write what is wanted of %d components: %w", len(set.Ids), err)
	}
	return nil
}

// desiredState holds the columns of a component that write stores.
type desiredState struct {
	wanted, digest, reason, waits, off string
	behind, never, stuck               bool
}

func stored(row store.InstallComponent) desiredState {
	return desiredState{row.Wanted, row.DesiredDigest, row.DesiredReason, row.WaitsFor, row.Off, row.Behind,
		row.Never, row.Stuck}
}

// resolve records that the desired states of installs were computed for their current release.
func resolve(ctx context.Context, tx *store.Tx, installs []*snapshot, wants []map[string]*want) error {
	set := store.SetResolvedParams{OrgID: tx.Org}
	for i, s := range installs {
		provisioned := s.provisioned(wants[i])
		if provisioned == s.install.Provisioned && s.release.ID == s.install.ResolvedReleaseID {
			continue
		}
		set.Ids, set.Provisioned, set.Releases = append(set.Ids, s.install.ID), append(set.Provisioned, provisioned),
			append(set.Releases, s.release.ID)
	}
	if len(set.Ids) == 0 {
		return nil
	}
	if err := tx.SetResolved(ctx, set); err != nil {
		return fmt.Errorf("note what %d installs are to have: %w", len(set.Ids), err)
	}
	return nil
}

// settle sets the desired state in a component's row. A current component keeps the
// reason that led to it.
func (s *snapshot) settle(name string, w *want) store.InstallComponent {
	row := &s.places[name].row
	same := w.Current || w.Waits != "" || s.places[name].applying && w.Digest == row.DesiredDigest
	if keep := same && row.DesiredReason != "" && !w.Absent; !keep {
		row.DesiredReason = w.Reason
	}
	row.Wanted, row.DesiredDigest, row.WaitsFor = "present", w.Digest, w.Waits
	row.Behind, row.Off, row.Never, row.Stuck = w.behind, string(w.off), w.never, w.Waits != "" && w.Stuck
	if w.Absent {
		row.Wanted = "absent"
	}
	return *row
}

// underWay returns what runs on installs, by install: the components that are being
// changed, and all running workflows, including actions.
func underWay(ctx context.Context, tx *store.Tx, installs ...string) (map[string]running, error) {
	rows, err := tx.UnderWay(ctx, tx.Org, installs)
	if err != nil {
		return nil, err
	}
	all := map[string]running{}
	for _, id := range installs {
		all[id] = running{busy: map[string]bool{}}
	}
	for _, row := range rows {
		now := all[row.InstallID]
		now.workflows = append(now.workflows, row.ID)
		for _, name := range row.Components {
			now.busy[name], now.any = true, true
		}
		all[row.InstallID] = now
	}
	return all, nil
}

// request converts a decision into a workflow.Request.
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
