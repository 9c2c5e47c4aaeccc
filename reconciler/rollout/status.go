package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// View is the data for an install's status: of a single install the current desired
// state (LoadViews), of many the desired state stored by the last reconcile
// (LoadStoredViews). An install that has not been reconciled since a push does not
// count as current. Its methods are pure.
type View struct {
	Install    store.Install
	App        string // name of the install's app; without it, commands use the install's id. Set by the caller.
	Components []store.InstallComponent
	Rejections map[string]map[string]store.Rejection // by component, by desired digest
	// components with a state version that a person must decide about
	Contested     map[string]bool
	Busy          []store.BusyOfInstallsRow // components that running workflows are changing
	Waiting       []store.WaitingOfInstallsRow
	Release       store.Release             // that the install is to have; its number is 0 if the app has none
	Latest        int32                     // number of the release that installs follow
	Newest        store.Release             // number, status and reason of the app's newest release
	Behind        []string                  // components already known to differ from their desired state
	Applying      map[string]bool           // components that a runner applies now, by name
	Disabled      map[string]DisabledReason // why components are to be removed although the release has them, by name
	Unsatisfiable map[string]bool           // components that can never be deployed on any install, by name
	Unresolved    bool                      // the stored desired states are those of another release
	// why its runner takes no job now, for people; empty if it does. Set by the caller.
	RunnerUnavailable string
}

// The statuses of an install, as in the API.
const (
	StatusNew                = "new"                  // nothing has been deployed yet
	StatusCurrent            = "current"              // everything is in its desired state
	StatusBehind             = "behind"               // something is behind, and will be deployed
	StatusWaitingForApproval = "waiting_for_approval" // a plan waits for a person
	StatusDeploying          = "deploying"            // a workflow runs
	StatusStalled            = "stalled"              // something failed and needs a person
	StatusRejected           = "rejected"             // a person rejected what is behind
	StatusWaiting            = "waiting"              // something waits for what does not exist yet
	StatusDeprovisioning     = "deprovisioning"
	StatusDeprovisioned      = "deprovisioned"
)

// componentRemoved is the status of a component that is not to be deployed and of which nothing is.
const componentRemoved = "removed"

// LoadViews computes the status of installs, in their order, with one query of each kind
// for all of them. It costs as much as reconciling them; lists use LoadStoredViews.
func LoadViews(ctx context.Context, tx *store.Tx, installs []store.Install) ([]View, error) {
	snapshots, err := loadReadOnly(ctx, tx, installs)
	if err != nil {
		return nil, err
	}
	ids, views := make([]string, 0, len(installs)), make([]View, 0, len(installs))
	for _, s := range snapshots {
		ids, views = append(ids, s.install.ID), append(views, s.view())
	}
	return views, addActivity(ctx, tx, views, ids)
}

// addActivity adds what runs on the installs, and what waits for a person.
func addActivity(ctx context.Context, tx *store.Tx, views []View, ids []string) error {
	busy, err := tx.BusyOfInstalls(ctx, tx.Org, ids)
	if err != nil {
		return fmt.Errorf("status of %d installs: %w", len(views), err)
	}
	waiting, err := tx.WaitingOfInstalls(ctx, tx.Org, ids)
	if err != nil {
		return fmt.Errorf("status of %d installs: %w", len(views), err)
	}
	busyAt := groupBy(busy, func(b store.BusyOfInstallsRow) string { return b.InstallID })
	waitingAt := groupBy(waiting, func(a store.WaitingOfInstallsRow) string { return a.InstallID })
	for i, id := range ids {
		views[i].Busy, views[i].Waiting = busyAt[id], waitingAt[id]
	}
	return nil
}

// newView returns the View of an install without components.
func newView(install store.Install) View {
	return View{
		Install: install, Applying: map[string]bool{}, Disabled: map[string]DisabledReason{},
		Unsatisfiable: map[string]bool{},
		Rejections:    map[string]map[string]store.Rejection{}, Contested: map[string]bool{},
	}
}

// view returns a snapshot's part of a View.
func (s *snapshot) view() View {
	v := newView(s.install)
	v.App, v.Release, v.Latest, v.Newest, v.Rejections = s.app.Name, s.release, s.latest, s.newest, s.rejections
	states := s.desiredStates()
	for _, name := range s.sandboxFirst() {
		w := states[name]
		v.Components = append(v.Components, s.updateRow(name, w))
		v.Contested[name] = len(s.components[name].contested) > 0
		if w.behind {
			v.Behind = append(v.Behind, name)
		}
		if s.components[name].applying {
			v.Applying[name] = true
		}
		if w.disabled != "" {
			v.Disabled[name] = w.disabled
		}
		if w.unsatisfiable {
			v.Unsatisfiable[name] = true
		}
	}
	return v
}

// rejection returns the refusal of a component's current desired state, if that is not applied.
func (v View) rejection(c store.InstallComponent) (store.Rejection, bool) {
	if c.DesiredDigest == "" || c.DesiredDigest == c.AppliedDigest {
		return store.Rejection{}, false
	}
	refused, no := v.Rejections[c.Name][c.DesiredDigest]
	return refused, no
}

// RejectedAt returns when a person last rejected or cancelled something that the
// install is behind with, or the zero time.
func (v View) RejectedAt() time.Time {
	var last time.Time
	for _, c := range v.Components {
		r, no := v.rejection(c)
		if no && r.Kind != string(workflow.RejectionStalled) && r.At.After(last) {
			last = r.At
		}
	}
	return last
}

func (v View) busy(name string) bool {
	return slices.ContainsFunc(v.Busy, func(b store.BusyOfInstallsRow) bool { return b.Component == name })
}

// restoring reports whether a restore of a component's state runs, or its plan waits.
func (v View) restoring(name string) bool {
	return slices.ContainsFunc(v.Busy, func(b store.BusyOfInstallsRow) bool {
		return b.Component == name && b.Kind == string(workflow.KindRestore)
	})
}

func (v View) planWaits(name string) bool {
	return slices.ContainsFunc(v.Waiting, func(a store.WaitingOfInstallsRow) bool { return a.Component == name })
}

// ComponentByID returns the component with the id, or the zero value.
func (v View) ComponentByID(id string) store.InstallComponent {
	i := slices.IndexFunc(v.Components, func(c store.InstallComponent) bool { return c.ID == id })
	if i < 0 {
		return store.InstallComponent{}
	}
	return v.Components[i]
}

// ComponentStatus returns the status of one component (current, behind, waiting, rejected,
// stalled or removed) and its reason as a sentence.
func (v View) ComponentStatus(c store.InstallComponent) (status, reason string) {
	gone := c.AppliedArtifact == ""
	refused, no := v.rejection(c)
	switch {
	case v.restoring(c.Name) && v.planWaits(c.Name):
		return "behind", "a plan to restore a version of its state waits for approval"
	case v.restoring(c.Name):
		return "behind", "a version of its state is being restored"
	case v.Contested[c.Name]:
		return StatusStalled, c.WaitsFor
	case c.DesiredPresence == "absent" && gone && v.Disabled[c.Name] != "":
		return componentRemoved, c.DesiredReason
	case c.DesiredPresence == "absent" && gone:
		return componentRemoved, "it is not deployed"
	case no && refused.Kind == string(workflow.RejectionStalled):
		return StatusStalled, rejectionText(refused)
	case no:
		return StatusRejected, rejectionText(refused)
	case v.planWaits(c.Name):
		return "behind", "a plan waits for approval: " + c.DesiredReason
	case v.Unsatisfiable[c.Name]:
		return StatusStalled, c.WaitsFor
	case v.Applying[c.Name] && c.DesiredPresence != "absent":
		return "behind", applyingText(c.DesiredReason)
	case c.WaitsFor != "":
		return "waiting", "waits: " + c.WaitsFor
	case c.DesiredPresence == "absent" && v.busy(c.Name):
		return "behind", "is being destroyed: " + c.DesiredReason
	case c.DesiredPresence == "absent":
		return "behind", "will be destroyed: " + c.DesiredReason
	case c.DesiredDigest != "" && c.DesiredDigest == c.AppliedDigest:
		return "current", "up to date"
	case v.busy(c.Name):
		return "behind", "is being deployed: " + c.DesiredReason
	}
	return "behind", c.DesiredReason
}

// Blocked reports whether the install cannot continue without a person or another
// release: everything that is not in its desired state waits for something that only
// they provide, such as the value of an input. The reason of Status states what.
func (v View) Blocked() bool {
	if v.Unresolved || v.Install.DesiredPresence == "absent" || len(v.Busy)+len(v.blockingApprovals()) > 0 {
		return false
	}
	blocked := false
	for _, c := range v.Components {
		switch status, _ := v.ComponentStatus(c); {
		case status == "behind", status == StatusWaiting && !c.Stalled:
			return false
		case status == StatusWaiting:
			blocked = true
		}
	}
	return blocked
}

// AffectsStatus reports whether a component is part of the reason for its install's status.
// A component in its desired state, deployed or not, is not part of it, unless one of
// its plans waits or a workflow changes it.
func (v View) AffectsStatus(c store.InstallComponent) bool {
	switch status, _ := v.ComponentStatus(c); status {
	case StatusCurrent:
		return false
	case componentRemoved:
		return v.planWaits(c.Name) || v.busy(c.Name) || v.Install.DesiredPresence == "absent"
	}
	return true
}

// applyingText describes a component that a runner applies now, with the reason for the apply.
func applyingText(reason string) string {
	if strings.HasPrefix(reason, applyRunningText) {
		return reason // more has changed since it started
	}
	return applyRunningText + ": " + reason
}

// Status returns the status of the install and its reason as a sentence, with the
// release that it is pinned to, or the newer one that installs do not get yet. What
// needs a person comes before what does not.
func (v View) Status() (status, reason string) {
	status, reason = v.baseStatus()
	switch {
	case v.Install.DesiredPresence == "absent":
		return status, reason
	case v.Install.PinReleaseID == nil:
		return status, reason + v.newerReleaseText()
	}
	held := fmt.Sprintf("pinned at release %d, the newest", v.Release.Number)
	if v.Release.Number != v.Latest {
		held = fmt.Sprintf("pinned at release %d (newest is %d)", v.Release.Number, v.Latest)
	}
	if v.Install.PinReason != "" {
		held += ": " + v.Install.PinReason
	}
	if status == StatusCurrent {
		return status, held
	}
	return status, strings.TrimRight(reason, ".") + "; " + held
}

// newerReleaseText describes what delays a newer release for the installs.
func (v View) newerReleaseText() string {
	switch {
	case v.Newest.Number <= v.Release.Number:
		return ""
	case v.Newest.Status == release.Building:
		return fmt.Sprintf("; release %d is being built", v.Newest.Number)
	case v.Newest.Status == release.Incomplete:
		return fmt.Sprintf("; release %d is held because it is incomplete: %s", v.Newest.Number, v.Newest.Reason)
	}
	return ""
}

func (v View) baseStatus() (status, reason string) {
	found := map[string][]string{}
	there := false
	for _, c := range v.Components {
		s, why := v.ComponentStatus(c)
		found[s] = append(found[s], c.Name+": "+why)
		there = there || c.AppliedArtifact != ""
	}
	switch {
	case len(v.blockingApprovals()) > 0:
		return StatusWaitingForApproval, v.waitingText()
	case v.Install.DesiredPresence == "absent" && !there && len(v.Busy) == 0 &&
		!slices.Contains(slices.Collect(maps.Values(v.Contested)), true):
		return StatusDeprovisioned, "it is not deployed"
	case v.Install.DesiredPresence == "absent" && len(v.Busy) > 0:
		return StatusDeprovisioning, "everything is being destroyed" + v.runnerUnavailableText()
	case len(v.Busy) > 0:
		return StatusDeploying, "working on " + v.busyText() + v.runnerUnavailableText()
	case v.Unresolved && v.Install.DesiredPresence != "absent" && len(v.Components) > 0: // the stored states may be older
		if !there && len(found[componentRemoved]) < len(v.Components) {
			return StatusNew, v.unresolvedText()
		}
		return StatusBehind, v.unresolvedText()
	case len(found[StatusStalled]) > 0:
		return StatusStalled, strings.TrimRight(strings.Join(found[StatusStalled], "; "), ".") +
			v.remedy(len(found[StatusStalled]))
	case len(found[StatusRejected]) > 0:
		return StatusRejected, joinReasons(found[StatusRejected])
	case v.Install.DesiredPresence == "absent":
		return StatusDeprovisioning, "everything will be destroyed"
	case !there && len(v.Components) == 0:
		return StatusNew, "the app has nothing to deploy yet"
	case !there && len(found[componentRemoved]) < len(v.Components):
		return StatusNew, joinReasons(append(found["waiting"], found["behind"]...))
	case len(found["behind"]) > 0:
		return StatusBehind, joinReasons(found["behind"])
	case len(found["waiting"]) > 0:
		return StatusWaiting, joinReasons(found["waiting"])
	}
	return StatusCurrent, fmt.Sprintf("everything is at release %d", v.Release.Number)
}

func (v View) unresolvedText() string {
	return fmt.Sprintf("the install is not compared with release %d yet", v.Release.Number)
}

// runnerUnavailableText returns why none of the pending work starts.
func (v View) runnerUnavailableText() string {
	if v.RunnerUnavailable == "" {
		return ""
	}
	return ", but " + v.RunnerUnavailable
}

// remedy returns what a person can do about what stalled. The reasons of a contested
// version, and of what can never be deployed, already state it.
func (v View) remedy(stalled int) string {
	selfExplained := 0
	for _, c := range v.Components {
		if (v.Contested[c.Name] || v.Unsatisfiable[c.Name]) && !v.restoring(c.Name) {
			selfExplained++
		}
	}
	if selfExplained == stalled {
		return ""
	}
	return fmt.Sprintf("; fix it and push, or try again with `nuon deploy %s`", v.address())
}

// address returns the install's name for commands. Another app may have an install of
// the same name.
func (v View) address() string {
	if v.App == "" {
		return v.Install.ID
	}
	return v.App + "/" + v.Install.Name
}

// The healths of an install, as in the API.
const (
	HealthGood        = "good"        // all that is to be deployed is deployed
	HealthProgressing = "progressing" // something that was deployed is not ready yet
	HealthDegraded    = "degraded"    // something that was deployed does not work
	HealthAttention   = "attention"   // something is not deployed, or is stalled; a rejection does not count
	HealthUnknown     = "unknown"     // its runner is not online
)

// HealthOf returns the health of a component's Kubernetes objects when the runner
// last checked, or the zero Health if it never did.
func HealthOf(c store.InstallComponent) api.Health {
	var seen api.Health
	if len(c.Health) == 0 || c.AppliedArtifact == "" || json.Unmarshal(c.Health, &seen) != nil {
		return api.Health{}
	}
	return seen
}

// Unhealthy returns the components whose objects were not all ready when the runner last checked.
func (v View) Unhealthy() []api.ComponentHealth {
	var all []api.ComponentHealth
	for _, c := range v.Components {
		if seen := HealthOf(c); seen.Status != "" && seen.Status != api.HealthStatusReady {
			all = append(all, api.ComponentHealth{Component: c.Name, Health: seen})
		}
	}
	return all
}

// Drift returns the components of which the newest plan found that others changed something since the
// last apply.
func (v View) Drift() []api.Drift {
	var all []api.Drift
	for _, c := range v.Components {
		var found api.Drift
		if len(c.Drift) > 0 && c.AppliedArtifact != "" && json.Unmarshal(c.Drift, &found) == nil {
			found.Component = c.Name
			all = append(all, found)
		}
	}
	return all
}

// Health reports whether what is to be deployed is deployed, as far as the control plane knows. A
// component that is deployed and only behind is good.
func (v View) Health(online bool) string {
	if !online {
		return HealthUnknown
	}
	worst := HealthGood
	for _, c := range v.Components {
		status, _ := v.ComponentStatus(c)
		if v.Applying[c.Name] {
			worst = HealthProgressing
			continue
		}
		missing := c.DesiredPresence == "present" && (c.AppliedArtifact == "" || c.AppliedDigest == "")
		if missing || status == StatusStalled {
			return HealthAttention
		}
	}
	for _, u := range v.Unhealthy() {
		switch u.Health.Status {
		case api.HealthStatusDegraded:
			return HealthDegraded
		case api.HealthStatusProgressing:
			worst = HealthProgressing
		}
	}
	return worst
}

// AppliedRelease returns the number of the release that is applied throughout, or 0 if none is.
func (v View) AppliedRelease() int32 {
	if status, _ := v.Status(); status != StatusCurrent {
		return 0
	}
	return v.Release.Number
}

// blockingApprovals returns the approval requests that workflows of the install wait for. A
// request for looser settings blocks nothing.
func (v View) blockingApprovals() []store.WaitingOfInstallsRow {
	return slices.DeleteFunc(slices.Clone(v.Waiting), func(a store.WaitingOfInstallsRow) bool {
		return a.Kind == workflow.ApprovalOfSettings
	})
}

func (v View) waitingText() string {
	var plans []string
	scripts := false
	for _, a := range v.blockingApprovals() {
		if a.Kind == workflow.ApprovalOfScripts {
			scripts = true
		} else {
			plans = append(plans, a.Component)
		}
	}
	var words []string
	if scripts {
		words = append(words, "scripts that are not approved for it wait for approval")
	}
	switch len(plans) {
	case 0:
	case 1:
		words = append(words, "the plan of "+plans[0]+" waits for approval")
	default:
		words = append(words, fmt.Sprintf("%d plans wait for approval: %s", len(plans), strings.Join(plans, ", ")))
	}
	return strings.Join(words, "; ")
}

func (v View) busyText() string {
	var names []string
	for _, b := range v.Busy {
		names = append(names, b.Component)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
