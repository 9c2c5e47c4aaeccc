package api

import (
	"time"

	"github.com/nuon-toolkit/nuon/pkg/namepattern"
)

// GrantedUntil returns the end of the longest grant of a role that has not ended. The runner decides by it whether a
// program gets credentials, and the control plane which jobs to offer.
func (r RunnerRoles) GrantedUntil(role string, now time.Time) (end time.Time, granted bool) {
	for _, g := range r.Granted {
		if g.Until.After(now) && g.Until.After(end) && namepattern.Match(g.Role, role) {
			end, granted = g.Until, true
		}
	}
	return end, granted
}
