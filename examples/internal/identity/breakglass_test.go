package identity

import (
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/nuon-toolkit/nuon/examples/internal/account"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// owner runs a command of runnerd as the owner of the runner in a directory, and returns what it prints.
func (w *world) owner(dir string, args ...string) string {
	w.Helper()
	args = append(args, "--dir", filepath.Join(dir, "runner"))
	said, err := exec.CommandContext(w.Ctx, filepath.Join(w.Fleet.Bin, "runnerd"), args...).CombinedOutput()
	if err != nil {
		w.Fatalf("runnerd %s: %v\n%s", args, err, said)
	}
	return string(said)
}

// repair runs the action of the break-glass role.
func (w *world) repair(install, reason string) (done api.Workflow, waits bool) {
	w.Helper()
	return w.act(install, "repair", reason)
}

// act runs an action and approves its script. It returns the workflow when it has ended, or when its step waits for the
// reason.
func (w *world) act(install, action, reason string) (done api.Workflow, waits bool) {
	w.Helper()
	var begun api.Asked
	w.Must(w.Fleet.JSON(w.Ctx, &begun, "run", install, action))
	w.Must(fleet.Until(w.Ctx, testtime.Limit, "the action ends or waits", func() (bool, error) {
		if err := w.Fleet.JSON(w.Ctx, &done, "workflows", "get", begun.Workflow.ID); err != nil {
			return false, err
		}
		step := done.Steps[0]
		if step.Status == api.StepStatusWaiting && step.Approval != "" {
			_, err := w.Fleet.Nuon(w.Ctx, "approve", step.Approval)
			return false, err
		}
		waits = reason != "" && strings.Contains(w.Nuon("workflows", "get", begun.Workflow.ID), reason)
		return waits || done.Status != api.WorkflowStatusRunning, nil
	}))
	return done, waits
}

// ended waits until a workflow has ended, and returns its status.
func (w *world) ended(workflow string) api.WorkflowStatus {
	w.Helper()
	var done api.Workflow
	w.Must(fleet.Until(w.Ctx, testtime.Limit, "the workflow ends", func() (bool, error) {
		err := w.Fleet.JSON(w.Ctx, &done, "workflows", "get", workflow)
		return done.Status != api.WorkflowStatusRunning, err
	}))
	return done.Status
}

// breakGlass follows emergency access from the vendor's request to its end: a job waits for each grant of the customer,
// runs under the role alone, and gets nothing after the end. The customer does what the request prints.
func (w *world) breakGlass(install, dir string, stack *account.Stack, template []byte) {
	w.Helper()
	if done, _ := w.repair(install, ""); !strings.Contains(done.Steps[0].Reason,
		"nuon break-glass request cloud/"+install) {
		w.Errorf("without a request the step is %s: %s", done.Steps[0].Status, done.Steps[0].Reason)
	}
	said := w.Nuon("break-glass", "request", install, "repair", "--reason", "INC-7", "--for", "2h")
	var all []api.BreakGlassRequest
	w.Must(w.Fleet.JSON(w.Ctx, &all, "break-glass", "list", install))
	if len(all) != 1 || len(all[0].Steps) != 2 || !strings.Contains(said, all[0].Steps[0].Command) ||
		!strings.Contains(said, all[0].Steps[1].Command) {
		w.Fatalf("the request prints\n%s, and the list has %+v", said, all)
	}
	role, steps := all[0].Role, all[0].Steps
	if said := w.Nuon("status"); !strings.Contains(said, "it waits for the customer: the role is off") {
		w.Errorf("nuon status prints\n%s", said)
	}
	if done, _ := w.repair(install, ""); !strings.Contains(done.Steps[0].Reason, "the customer has not switched on") {
		w.Errorf("with the role off the step is %s: %s", done.Steps[0].Status, done.Steps[0].Reason)
	}

	parameters := entered()
	for _, word := range strings.Fields(steps[0].Command) {
		name, value, _ := strings.Cut(word, "=")
		parameters[name] = value
	}
	answer, err := stack.Update(w.Ctx, install, template, parameters)
	w.Must(err)
	if answer.Status != "SUCCESS" {
		w.Fatalf("the function answers %+v", answer)
	}
	waiting, waits := w.repair(install, "which the owner of runner "+install+" has not granted")
	if !waits || len(w.cloud.AWS.Sessions(role)) > 0 {
		w.Errorf("without a grant on the runner the step is %s: %s", waiting.Steps[0].Status, waiting.Steps[0].Reason)
	}
	w.owner(dir, strings.Fields(strings.TrimPrefix(steps[1].Command, "sudo runnerd "))...)
	if status := w.ended(waiting.ID); status != api.WorkflowStatusSucceeded {
		w.Errorf("with both grants the repair %s\n%s", status, w.Nuon("logs", "workflow", waiting.ID))
	}
	sessions := w.cloud.AWS.Sessions(role)
	if len(sessions) != 1 || sessions[0].Tags["operation"] != "trigger" || sessions[0].Tags["component"] != "repair" {
		w.Errorf("the sessions of the role are %+v", sessions)
	}
	if said := w.Nuon("break-glass", "list", install, "-o", "json"); !strings.Contains(said, `"granted"`) {
		w.Errorf("nuon break-glass list prints\n%s", said)
	}

	w.Must(account.EndGrants(dir))
	w.Must(fleet.Until(w.Ctx, testtime.Limit, "the runner reports the end", func() (bool, error) {
		return strings.Contains(w.Nuon("break-glass", "list", install, "-o", "json"), `"waiting"`), nil
	}))
	waiting, waits = w.repair(install, "which the owner of runner "+install+" has not granted")
	if !waits || len(w.cloud.AWS.Sessions(role)) != 1 {
		w.Errorf("after the end of the grant the step is %s: %s", waiting.Steps[0].Status, waiting.Steps[0].Reason)
	}
	w.Nuon("break-glass", "revoke", install, "repair", "--reason", "resolved")
	const secret = "known-to-the-owner-alone"
	w.owner(dir, "grants", "add", role, "--for", "1h", "--reason", secret)
	if done, _ := w.repair(install, ""); !strings.Contains(done.Steps[0].Reason, "is not requested") {
		w.Errorf("after it was revoked the step is %s: %s", done.Steps[0].Status, done.Steps[0].Reason)
	}
	w.Nuon("workflows", "cancel", waiting.ID)
	audit := w.owner(dir, "audit")
	for _, event := range []string{"grant added", "role assumed", "INC-7"} {
		if !strings.Contains(audit, event) {
			w.Errorf("runnerd audit has no %s:\n%s", event, audit)
		}
	}
	w.Must(fleet.Until(w.Ctx, testtime.Limit, "the runner reports the grant", func() (bool, error) {
		return strings.Contains(w.Nuon("runners", "get", install, "-o", "json"), role), nil
	}))
	for _, command := range []string{"audit", "runners get " + install, "break-glass list " + install} {
		if strings.Contains(w.Nuon(append(strings.Fields(command), "-o", "json")...), secret) {
			w.Errorf("nuon %s has the reason of the runner's owner", command)
		}
	}
	if said := w.Nuon("audit"); !strings.Contains(said, "break_glass.request") ||
		!strings.Contains(said, "break_glass.revoke") {
		w.Errorf("nuon audit prints\n%s", said)
	}
}
