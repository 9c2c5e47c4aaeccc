package approvals

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// atWork returns fleet with four running workflows: a provision of acme that covers
// two of the plans, two deploys of globex, and a teardown of hooli.
func atWork(t *testing.T) *plane {
	t.Helper()
	p := fleet(t, diff.Update)
	add := func(id string, kind api.WorkflowKind, install string) {
		p.workflows = append(p.workflows, api.Workflow{
			ID:        id,
			Number:    1,
			Kind:      kind,
			App:       "hello",
			Install:   install,
			InstallID: "ins_" + install,
			Status:    api.WorkflowStatusRunning,
			Reason:    "it is new",
			Steps: []api.Step{
				{Kind: api.StepKindPlan, Component: "web", Status: api.StepStatusSucceeded},
				{Kind: api.StepKindPlan, Component: "cache", Status: api.StepStatusPending},
			},
		})
	}
	add("wfl_1", api.WorkflowKindProvision, "acme")
	add("wfl_2", api.WorkflowKindDeploy, "globex")
	add("wfl_3", api.WorkflowKindDeploy, "globex")
	add("wfl_4", api.WorkflowKindTeardown, "hooli")
	p.approvals[0].Workflow, p.approvals[4].Workflow, p.approvals[4].Destructive = "wfl_1", "wfl_1", true
	return p
}

// TestApproveAWorkflow checks that a person on a terminal is shown what the approval covers
// and what it does not, and is asked, and that a script passes the id of the workflow.
func TestApproveAWorkflow(t *testing.T) {
	for name, c := range map[string]struct {
		line  string
		types string // "" is without a terminal
		want  []string
		code  int
		says  string
	}{
		"script": {"approve --workflow wfl_1 --reason fine", "", []string{"wfl_1 POST fine"}, 0, ""},
		"script, by name": {"approve --workflow acme --reason fine", "", nil, exitcode.Usage,
			"then run: nuon approve --workflow wfl_1 --reason \"fine\""},
		"yes":           {"approve --workflow acme", "y", []string{"wfl_1 POST"}, 0, ""},
		"by its latest": {"approve --workflow latest:acme", "y", []string{"wfl_1 POST"}, 0, ""},
		"no":            {"approve --workflow acme", "n", nil, exitcode.Rejected, "canceled"},
		"just return":   {"approve --workflow wfl_1", "", []string{"wfl_1 POST"}, 0, ""},
		"taken back":    {"approve --workflow acme --revoke", "", []string{"wfl_1 DELETE"}, 0, ""},
		"several": {"approve --workflow globex", "y", nil, exitcode.Usage,
			"2 workflows are running on globex: name one of wfl_2, wfl_3"},
		"none to approve": {"approve --workflow hooli", "y", nil, exitcode.Failed,
			"no provision or deploy is running on hooli"},
		"not there":          {"approve --workflow wfl_9", "", nil, exitcode.Failed, "workflow wfl_9 not found"},
		"with a plan":        {"approve --workflow wfl_1 acme/web", "", nil, exitcode.Usage, "remove plans"},
		"with all":           {"approve --workflow wfl_1 --all", "", nil, exitcode.Usage, "remove plans"},
		"nothing taken back": {"approve --revoke acme/web", "", nil, exitcode.Usage, "--revoke needs --workflow"},
	} {
		t.Run(name, func(t *testing.T) {
			atWork(t).ends(t, c.types, c.line, c.want, c.code, c.says)
		})
	}
	out, remarks, err := atWork(t).typing(t, "y").run(t, "table", "approve", "--workflow", "acme")
	want := "provision 1 of hello/acme   (wfl_1)\n  because it is new\n  approves now: web: 1 to update; highest risk: " +
		"in place\n  still needs approval: db: 1 to update; highest risk: in place\n  approves once planned: cache\n  " +
		"never approves destroys, replacements, scripts that no approver has seen for acme, plans whose\n  report is " +
		"incomplete, and changes that a person rejected before\n" +
		"this approves everything that provision 1 of hello/acme plans until it ends. Continue? [y/N] "
	if d := cmp.Diff(want, remarks); d != "" || err != nil {
		t.Errorf("remarked (-want +got)\n%s%v", d, err)
	}
	if out != "approved everything that provision 1 of hello/acme plans until it ends; to withdraw: nuon approve "+
		"--workflow wfl_1 --revoke\n" {
		t.Errorf("printed %q", out)
	}
}
