package rollout_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// TestDrift checks that an install has the drift that the newest plan of a component found, with few and
// short names, until a plan finds none or is applied.
func TestDrift(t *testing.T) {
	t.Parallel()
	w := newProvisionedWorld(t)
	plan := func(drifts ...string) string {
		t.Helper()
		w.drifts = map[string][]string{"web": drifts}
		granted, err := w.wish(rollout.DeployRequest{Kind: workflow.KindDeploy, Components: []string{"web"},
			Redeploy: true, PlanOnly: true})
		must(t, err)
		w.runJobs()
		return granted.Workflow
	}
	wants := func(want ...api.Drift) {
		t.Helper()
		now, stored := w.views()
		for _, got := range [][]api.Drift{now.Drift(), stored.Drift()} {
			if d := cmp.Diff(want, got, cmpopts.IgnoreFields(api.Drift{}, "At"), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		}
	}
	wants()
	id := plan("a.0"+strings.Repeat("x", 200), "a.1", "a.2", "a.3", "a.4")
	wants(api.Drift{Component: "web", Changes: 5, Objects: []string{"a.1", "a.2", "a.3"}, Workflow: id})
	plan()
	wants()
	id = plan("a.one")
	wants(api.Drift{Component: "web", Changes: 1, Objects: []string{"a.one"}, Workflow: id})
	w.input("greeting", "hi")
	w.look()
	w.runJobs()
	must(t, w.answer("web", workflow.Approve, ""))
	w.runJobs()
	wants()
}
