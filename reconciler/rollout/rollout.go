package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/riverqueue/river"

	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/stackversion"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// Rollout is the service of this package. It is safe for concurrent use by any number
// of replicas: all work on one install happens under the lock of its row. It
// implements workflow.DesiredStateSource.
type Rollout struct {
	store   *store.Store
	configs *configCache
	settled *settledInstalls
	stacks  *stackversion.Renderer
}

// New returns the service. key is the control plane's key: sensitive variables of apps are sealed to it, and to the
// key of an install only in the jobs that read them.
func New(s *store.Store, key seal.Identity) *Rollout {
	return &Rollout{store: s, configs: newConfigCache(key), settled: newSettledInstalls(),
		stacks: stackversion.New(installstack.Runner{}, "")}
}

// Reconcile computes and stores the desired state of one install, and starts the
// workflows that are missing. It may run at any time, twice, and on several replicas
// at once. An install that no longer exists is no error.
func (r *Rollout) Reconcile(ctx context.Context, org, installID string) error {
	err := r.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		var install store.Install
		tx, digest, err := tx.Prefetch(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			if install, err = tx.LockInstall(ctx, org, installID); err != nil {
				return err
			}
			return r.readRaw(ctx, tx, install)
		})
		if errors.Is(err, store.ErrNotFound) {
			return tx.ClearDue(ctx, org, store.DueInstall, installID)
		}
		if err != nil {
			return err
		}
		if running, is := r.settled.running(installID, digest); is {
			return tx.EnqueueLowPriority(ctx, running...)
		}
		running, settled, err := r.reconcile(ctx, tx, []store.Install{install})
		if err == nil && settled {
			r.settled.remember(installID, digest, running)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("roll out to install %s: %w", installID, err)
	}
	return nil
}

// reconcile is Reconcile for locked installs. It returns the requests to advance the workflows that already ran, and
// whether it wrote nothing but these.
func (r *Rollout) reconcile(ctx context.Context, tx *store.Tx, installs []store.Install) (running []river.JobArgs,
	settled bool, err error) {
	all, err := loadSnapshots(ctx, tx, installs, newReleaseCache(r.configs).get, (*snapshot).insertComponents)
	if err != nil {
		return nil, false, err
	}
	if err := r.ensureStacks(ctx, tx, all); err != nil {
		return nil, false, err
	}
	if err := requestSecretChecks(ctx, tx, all); err != nil {
		return nil, false, err
	}
	_, running, err = ensureStates(ctx, tx, all, nil, "")
	if err != nil {
		return nil, false, err
	}
	settled = !tx.Wrote()
	return running, settled, tx.EnqueueLowPriority(ctx, running...)
}

// startedWorkflow is a workflow that was started, with its components.
type startedWorkflow struct {
	id         string
	components []string
}

// ensureInstall stores a locked install's desired state and starts what is missing, after
// what a person explicitly requested (nil for nothing).
func (s *snapshot) ensureInstall(ctx context.Context, tx *store.Tx, g *resolvedRequest,
	by string) ([]startedWorkflow, error) {
	all, running, err := ensureStates(ctx, tx, []*snapshot{s}, g, by)
	if err != nil {
		return nil, err
	}
	if by == "" {
		return all, tx.EnqueueLowPriority(ctx, running...)
	}
	return all, tx.Enqueue(ctx, running...)
}

// ensureStates stores the desired state of locked installs and starts what is missing, with one statement of each
// kind for all of them. It also returns the requests to advance the workflows that already ran, which see another
// desired state than before. by is the requester of what it starts; empty for nuon itself.
func ensureStates(ctx context.Context, tx *store.Tx, installs []*snapshot, g *resolvedRequest,
	by string) (all []startedWorkflow, running []river.JobArgs, err error) {
	states, ids := make([]map[string]*desiredState, len(installs)), make([]string, len(installs))
	for i, s := range installs {
		states[i], ids[i] = s.desiredStates(), s.install.ID
	}
	if err := storeDesired(ctx, tx, installs, states); err != nil {
		return nil, nil, err
	}
	now, err := readRunning(ctx, tx, ids...)
	if err != nil {
		return nil, nil, err
	}
	if err := recordResolved(ctx, tx, installs, states); err != nil {
		return nil, nil, err
	}
	if err := clearDesiredBy(ctx, tx, installs, states, now); err != nil {
		return nil, nil, err
	}
	var requests []workflow.Request
	for i, s := range installs {
		for _, st := range s.allStarts(states[i], now[s.install.ID], g) {
			r := s.workflowRequest(st, states[i], by)
			r.Trace, r.Locked = s.trace(st.components),
				&workflow.LockedInstall{Install: s.install, Resolved: &resolved{snapshot: s, desired: states[i]}}
			requests, all = append(requests, r), append(all, startedWorkflow{components: st.components})
		}
		for _, id := range now[s.install.ID].ids {
			running = append(running, queue.Advance{Org: tx.Org, Workflow: id})
		}
	}
	workflows, err := workflow.StartAll(ctx, tx, requests)
	if err != nil {
		return nil, nil, err
	}
	for i, id := range workflows {
		all[i].id = id
	}
	return all, running, nil
}

// allStarts returns the workflows that a person requested, and the others that are missing.
func (s *snapshot) allStarts(states map[string]*desiredState, now runningWorkflows,
	g *resolvedRequest) []workflowStart {
	if g == nil {
		return s.missingWorkflows(states, now)
	}
	asked := s.requestedStarts(*g, states, now)
	for _, st := range asked {
		for _, name := range st.components {
			now.busy[name], now.overComponents = true, true
		}
	}
	return append(asked, s.missingWorkflows(states, now)...)
}

// Resolve reads a locked install once and computes the desired state of each component
// (workflow.DesiredStateSource). It stores the result, unless the desired state is only assumed.
func (r *Rollout) Resolve(ctx context.Context, tx *store.Tx, install store.Install, supposed *workflow.Assumptions) (
	workflow.ResolvedInstall, error) {
	s, err := loadLocked(ctx, tx, install, r.configs)
	if err != nil {
		return nil, err
	}
	if supposed != nil {
		s.applyAssumptions(*supposed)
	}
	resolved := &resolved{snapshot: s, desired: s.desiredStates(), assumed: supposed != nil}
	if supposed != nil {
		return resolved, nil
	}
	return resolved, storeDesired(ctx, tx, []*snapshot{s}, []map[string]*desiredState{resolved.desired})
}

// resolved is a snapshot with the desired state of its components (workflow.ResolvedInstall).
type resolved struct {
	*snapshot
	desired map[string]*desiredState
	assumed bool
}

// DesiredStates returns the desired state of each component, by name.
func (r *resolved) DesiredStates() map[string]workflow.DesiredState {
	all := make(map[string]workflow.DesiredState, len(r.desired))
	for name, w := range r.desired {
		want := w.DesiredState
		if r.assumed && w.Absent && !w.externalWait { // a destroy can be planned before its dependents are destroyed
			want.WaitReason, want.Stalled = "", false
		}
		all[name] = want
	}
	return all
}

// applyAssumptions changes a snapshot to the install as it would be if a person's request had
// been applied, without refusals.
func (s *snapshot) applyAssumptions(as workflow.Assumptions) {
	s.install.DesiredPresence = "present"
	if as.Absent {
		s.install.DesiredPresence = "absent"
	}
	for name, p := range s.components {
		p.row.TornDown = slices.Contains(as.TornDown, name) || p.row.TornDown && !slices.Contains(as.Deployed, name)
		p.rejections = map[string]store.Rejection{}
	}
}

// storeDesired stores the desired states of installs, in one statement and only where they have changed.
func storeDesired(ctx context.Context, tx *store.Tx, installs []*snapshot, states []map[string]*desiredState) error {
	set := store.SetDesiredStatesParams{OrgID: tx.Org}
	for i, s := range installs {
		for _, name := range s.names() {
			before := storedColumnsOf(s.components[name].row)
			row := s.updateRow(name, states[i][name])
			if storedColumnsOf(row) == before {
				continue
			}
			set.Ids, set.Presences = append(set.Ids, row.ID), append(set.Presences, row.DesiredPresence)
			set.Digests, set.Reasons, set.Waits = append(set.Digests, row.DesiredDigest), append(set.Reasons, row.DesiredReason),
				append(set.Waits, row.WaitsFor)
			set.Behind, set.DisabledBy, set.Unsatisfiable = append(set.Behind, row.Behind),
				append(set.DisabledBy, row.DisabledBy),
				append(set.Unsatisfiable, row.Unsatisfiable)
			set.Stalled = append(set.Stalled, row.Stalled)
		}
	}
	if len(set.Ids) == 0 {
		return nil
	}
	if err := tx.SetDesiredStates(ctx, set); err != nil {
		return fmt.Errorf("store the desired state of %d components: %w", len(set.Ids), err)
	}
	return nil
}

// storedColumns holds the columns of a component that write stores.
type storedColumns struct {
	presence, digest, reason, waitsFor, disabled string
	behind, unsatisfiable, stalled               bool
}

func storedColumnsOf(row store.InstallComponent) storedColumns {
	return storedColumns{row.DesiredPresence, row.DesiredDigest, row.DesiredReason, row.WaitsFor, row.DisabledBy,
		row.Behind,
		row.Unsatisfiable, row.Stalled}
}

// recordResolved records that the desired states of installs were computed for their current release.
func recordResolved(ctx context.Context, tx *store.Tx, installs []*snapshot, states []map[string]*desiredState) error {
	set := store.SetResolvedParams{OrgID: tx.Org}
	for i, s := range installs {
		provisioned := s.provisioned(states[i])
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
		return fmt.Errorf("store the target release of %d installs: %w", len(set.Ids), err)
	}
	return nil
}

// updateRow sets the desired state in a component's row. A current component keeps the
// reason that led to it.
func (s *snapshot) updateRow(name string, w *desiredState) store.InstallComponent {
	row := &s.components[name].row
	same := w.Current || w.WaitReason != "" || s.components[name].applying && w.Digest == row.DesiredDigest
	if keep := same && row.DesiredReason != "" && !w.Absent; !keep {
		row.DesiredReason = w.Reason
	}
	row.DesiredPresence, row.DesiredDigest, row.WaitsFor = "present", w.Digest, w.WaitReason
	row.Behind, row.DisabledBy, row.Unsatisfiable, row.Stalled = w.behind, string(w.disabled), w.unsatisfiable,
		w.WaitReason != "" && w.Stalled
	if w.Absent {
		row.DesiredPresence = "absent"
	}
	return *row
}

// readRunning returns what runs on installs, by install: the components that are being
// changed, and all running workflows, including actions.
func readRunning(ctx context.Context, tx *store.Tx, installs ...string) (map[string]runningWorkflows, error) {
	rows, err := tx.RunningWorkflowsOfInstalls(ctx, tx.Org, installs)
	if err != nil {
		return nil, err
	}
	all := map[string]runningWorkflows{}
	for _, id := range installs {
		all[id] = runningWorkflows{busy: map[string]bool{}}
	}
	for _, row := range rows {
		now := all[row.InstallID]
		now.ids = append(now.ids, row.ID)
		for _, name := range row.Components {
			now.busy[name], now.overComponents = true, true
		}
		all[row.InstallID] = now
	}
	return all, nil
}

// workflowRequest converts a decision into a workflow.Request.
func (s *snapshot) workflowRequest(st workflowStart, states map[string]*desiredState, by string) workflow.Request {
	r := workflow.Request{
		Install: s.install.ID, Kind: st.kind, Reason: st.reason, RequestedBy: by, Release: s.release.Number,
		Actions: s.workflowActions(st), Components: map[string]string{}, Redeploy: st.redeploy,
	}
	for _, name := range st.components {
		r.Parts = append(r.Parts, s.componentPart(st, name, states[name]))
		r.Components[name] = s.components[name].row.ID
	}
	return r
}
