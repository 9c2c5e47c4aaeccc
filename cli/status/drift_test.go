package status

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestDriftNeedsAPerson checks that drift of the same kind on several installs is one action item, that
// a plan which waits for an approval is not listed twice, and that the fleet shows drift.
func TestDriftNeedsAPerson(t *testing.T) {
	drifted := func(i *api.InstallSummary) {
		i.Drift = []api.Drift{{Component: "web", Changes: 4, Objects: []string{"a.1", "a.2"}, At: earlier(time.Hour)}}
	}
	s := snapshot{apps: []api.App{{Name: "shop"}}, installs: []api.InstallSummary{
		install("shop", "acme", "current", drifted), install("shop", "globex", "current", drifted),
		install("shop", "initech", "current", drifted), install("shop", "umbrella", "current")},
		approvals: []api.Approval{{ID: "apr_1", App: "shop", Install: "initech", InstallID: "ins_initech", Component: "web"}}}
	out := s.status(noon)
	n := slices.IndexFunc(out.Waiting, func(m ActionItem) bool { return m.Kind == KindDrift })
	if n < 0 {
		t.Fatalf("no drift in %+v", out.Waiting)
	}
	m := out.Waiting[n]
	if got := strings.Join(m.Installs, " "); got != "acme globex" || m.What != "web has drifted" ||
		m.Why != "others changed 4 objects since the last apply: a.1, a.2 and 2 more" ||
		m.Command != "nuon deploy acme web --redeploy" {
		t.Errorf("%+v", m)
	}
	var drift []string
	for _, g := range out.Apps[0].Groups {
		drift = append(drift, strings.Join(g.Installs, " ")+": "+strings.Join(g.Drift, " "))
	}
	if got := strings.Join(drift, "; "); got != "acme globex initech: web; umbrella: " {
		t.Errorf("groups %q", got)
	}
}
