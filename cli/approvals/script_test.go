package approvals

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestOneAnswerToAWorkflowsScriptsAndPlans checks that --all on an install displays
// the waiting scripts and plans and asks once. A plan with scripts names them, and one
// confirmation approves both.
func TestOneAnswerToAWorkflowsScriptsAndPlans(t *testing.T) {
	p := fleet(t, diff.Update).typing(t, "2")
	scripts, plan := &p.approvals[0], &p.approvals[4]
	scripts.Component, scripts.Kind, scripts.Plan, scripts.Group = "", api.ApprovalKindScripts, "", ""
	scripts.Scripts, plan.Scripts = []api.ApprovalScript{{Action: "migrate", Digest: "sha256:m"}},
		[]api.ApprovalScript{{Action: "smoke", Digest: "sha256:s"}}
	p.approvals = []api.Approval{*scripts, *plan}
	_, remarks, err := p.run(t, "table", "approve", "--all", "--install", "acme")
	if err != nil || strings.Count(remarks, "Type ") != 1 ||
		!strings.HasSuffix(remarks, "Type 2 to approve 2 plans: ") {
		t.Errorf("%v after\n%s", err, remarks)
	}
	for _, want := range []string{"run scripts on hello/acme   (apr_1)\n", "  with script migrate\n",
		"deploy db on hello/acme   (apr_5)\n", "  with script smoke\n"} {
		if !strings.Contains(remarks, want) {
			t.Errorf("%q is not displayed:\n%s", want, remarks)
		}
	}
	if d := cmp.Diff([]string{"apr_1 approve sha256:1", "apr_5 approve sha256:5"}, p.answers); d != "" {
		t.Error(d)
	}
}
