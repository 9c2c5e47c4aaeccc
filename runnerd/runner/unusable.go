package runner

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
	"github.com/nuon-toolkit/nuon/runnerd/jobrole"
)

// maxUnusable bounds the roles that are tried again.
const maxUnusable = 100

// unusableRole is a role under which the cloud let a job not start, and that job.
type unusableRole struct {
	api.UnusableRole

	spec api.JobSpec
}

// unusableRoles returns the roles as they are reported, in the order of their names. The caller holds the mutex.
func (r *rules) unusableRoles() []api.UnusableRole {
	var all []api.UnusableRole
	for _, name := range slices.Sorted(maps.Keys(r.unusable)) {
		all = append(all, r.unusable[name].UnusableRole)
	}
	return all
}

// setUnusable notes a role that the cloud does not let the runner use now, so that no job under it is offered.
func (r *rules) setUnusable(role unusableRole) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if _, known := r.unusable[role.Role]; !known && len(r.unusable) >= maxUnusable {
		return // the next job under it fails to start again
	}
	r.unusable[role.Role] = role
	r.apply(r.rule)
}

// setUsable ends that.
func (r *rules) setUsable(role string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.unusable, role)
	r.apply(r.rule)
}

// allUnusable returns the roles to try again.
func (r *rules) allUnusable() []unusableRole {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Collect(maps.Values(r.unusable))
}

// noteUnusable notes the role of a job that did not start because of it.
func (a *attempt) noteUnusable(final api.JobResult) {
	spec, found, err := a.dir.TrustedSpec()
	if final.Status != api.JobResultStatusNotStarted || err != nil || !found || final.UnusableRole.Role == "" {
		return
	}
	a.log.Warn("jobs under a role wait", "role", final.UnusableRole.Role, "reason", final.UnusableRole.Reason)
	a.runner.rules.setUnusable(unusableRole{final.UnusableRole, spec})
}

// roleLoop tries the roles that are unusable again, until they work.
func (r *runner) roleLoop(ctx context.Context) {
	task := status.Register(ctx, "unusable roles")
	defer task.Unregister()
	task.SetWaiting("for the next try of roles that the cloud does not let this runner use")
	next := time.NewTicker(r.Timing.RoleInterval)
	defer next.Stop()
	for {
		select {
		case <-next.C:
			for _, role := range r.rules.allUnusable() {
				r.tryRole(ctx, role)
			}
		case <-ctx.Done():
			return
		}
	}
}

// tryRole starts a session of a role. An error that has nothing to do with the cloud ends the waiting, too: the next
// job under the role fails with it.
func (r *runner) tryRole(ctx context.Context, role unusableRole) {
	rule, _ := r.rules.currentRule()
	err := r.TryRole(ctx, jobrole.Options{Spec: role.spec, Policy: rule, Dir: r.Dir, Redact: &redact.Set{}})
	if ctx.Err() != nil {
		return
	}
	if again, still := jobrole.Unusable(role.spec, err); still {
		if again.Refused != role.Refused { // the same reason has another id of a request in it each time
			r.rules.setUnusable(unusableRole{again, role.spec})
		}
		return
	}
	r.log.Info("jobs under a role can start again", "role", role.Role, "error", err)
	r.rules.setUsable(role.Role)
}
