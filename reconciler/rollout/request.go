package rollout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/envname"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// Bounds of the environment that a person passes to an action.
const (
	maxEnv      = 100
	maxEnvBytes = 32 << 10
)

// The codes of the refusals of Request, RequestAction, RequestRestore, Dismiss and Abandon.
const (
	CodeUnknownComponent = "unknown_component"
	CodeUnknownAction    = "unknown_action"
	CodeNotManual        = "not_manual"
	CodeBadEnv           = "bad_env"
	CodeBadRole          = "bad_role"
	CodeBadInputs        = "bad_inputs"
	CodeNoVersion        = "no_version"
	CodeUnknownVersion   = "unknown_version"
	CodeUnknownRelease   = "unknown_release"
	CodeNewestVersion    = "newest_version"
	CodeStateNotHere     = "state_not_here"
	CodeNotRestorable    = "not_restorable"
	CodeNoState          = "no_state"
	CodeKeyUnknown       = "key_unknown"
	CodeReadable         = "readable"
	CodeApproveAll       = "approve_all"
	CodeNoBreakGlass     = "no_break_glass"
)

// conflict returns the refusal of a request that the install's current state does not allow.
func conflict(code, remedy, title string, args ...any) error {
	return refusal.New(refusal.Conflict, code, fmt.Sprintf(title, args...), remedy)
}

// invalid returns the refusal of a request that is wrong in every state.
func invalid(code, remedy, title string, args ...any) error {
	return refusal.New(refusal.Invalid, code, fmt.Sprintf(title, args...), remedy)
}

// RequestResult is the result of a request.
type RequestResult struct {
	Workflow string           // id of the workflow that was started; empty if none was
	DryRun   []DryRunWorkflow // of a dry run: what would be started
	Note     string           // notes for the requester, or why nothing is started, as sentences
}

// DryRunWorkflow is a workflow that would be started.
type DryRunWorkflow struct {
	Request workflow.Request
	Steps   []*workflow.Step // with meaningless ids
}

// Request applies a person's request to an install. It deletes the refusals of the named
// components (of all, if none is named), and starts what is missing at once, in the
// person's name. A plan-only request changes no desired state, and ignores earlier
// refusals. The caller audits the call. Errors: store.ErrNotFound, *refusal.Error.
func (r *Rollout) Request(ctx context.Context, tx *store.Tx, install store.Install,
	req DeployRequest) (RequestResult, error) {
	locked, err := tx.LockInstall(ctx, tx.Org, install.ID)
	if err != nil {
		return RequestResult{}, fmt.Errorf("install %s: %w", install.Name, err)
	}
	s, err := loadLocked(ctx, tx, locked, r.configs)
	if err != nil {
		return RequestResult{}, err
	}
	g, err := s.resolveRequest(req)
	if err != nil {
		return RequestResult{}, err
	}
	if req.PlanOnly {
		return s.startPlanOnly(ctx, tx, g)
	}
	if err := g.store(ctx, tx, locked); err != nil {
		return RequestResult{}, fmt.Errorf("install %s: %w", install.Name, err)
	}
	if s, err = loadLocked(ctx, tx, s.install, r.configs); err != nil {
		return RequestResult{}, err
	}
	all, err := s.ensureInstall(ctx, tx, &g, req.Actor)
	if err != nil || len(all) == 0 {
		return RequestResult{Note: g.note()}, err
	}
	return RequestResult{Workflow: all[0].id, Note: g.note()}, nil
}

// store stores the desired state that was resolved from the request.
func (r resolvedRequest) store(ctx context.Context, tx *store.Tx, install store.Install) error {
	if err := RecordDesiredBy(ctx, tx, install.ID, r.Actor); err != nil {
		return err
	}
	wanted := "present"
	if r.Kind == workflow.KindDeprovision {
		wanted = "absent"
	}
	if r.Kind != workflow.KindTeardown {
		if err := tx.SetInstallPresence(ctx, wanted, tx.Org, install.ID); err != nil {
			return err
		}
	}
	for _, name := range r.tearDown {
		if err := tx.MarkTornDown(ctx, store.MarkTornDownParams{OrgID: tx.Org, InstallID: install.ID, Names: []string{name},
			Reason: r.tearDownReason(name)}); err != nil {
			return err
		}
	}
	if err := tx.ClearTornDown(ctx, tx.Org, install.ID, append([]string{}, r.bringBack...)); err != nil {
		return err
	}
	return tx.DeleteRejections(ctx, tx.Org, install.ID, append([]string{}, r.selected...))
}

// note returns notes on what the request causes in addition.
func (r resolvedRequest) note() string {
	var besides []string
	for _, name := range r.bringBack {
		if !slices.Contains(r.Components, name) {
			besides = append(besides, name)
		}
	}
	if len(besides) == 0 {
		return ""
	}
	return strings.Join(besides, ", ") + " was torn down, is needed, and is deployed again too"
}

// startPlanOnly starts the plan-only workflows of a request.
func (s *snapshot) startPlanOnly(ctx context.Context, tx *store.Tx, g resolvedRequest) (RequestResult, error) {
	starts, states, why, err := s.wouldStart(ctx, tx, g)
	if err != nil || len(starts) == 0 {
		return RequestResult{Note: why}, err
	}
	var out RequestResult
	for i, st := range starts {
		request := s.workflowRequest(st, states, g.Actor)
		request.PlanOnly, request.Assumptions = true, g.assumptions()
		id, err := workflow.Start(ctx, tx, request)
		if err != nil {
			return RequestResult{}, err
		}
		if i == 0 {
			out.Workflow = id
		}
	}
	return out, nil
}

// DryRun returns what Request would start. It starts and writes nothing. Errors: those of Request.
func (r *Rollout) DryRun(ctx context.Context, tx *store.Tx, install store.Install,
	req DeployRequest) (RequestResult, error) {
	all, err := loadReadOnly(ctx, tx, []store.Install{install})
	if err != nil {
		return RequestResult{}, err
	}
	s := all[0]
	g, err := s.resolveRequest(req)
	if err != nil {
		return RequestResult{}, err
	}
	starts, states, why, err := s.wouldStart(ctx, tx, g)
	if err != nil || len(starts) == 0 {
		return RequestResult{Note: why}, err
	}
	out := RequestResult{Note: g.note()}
	for _, st := range starts {
		request := s.workflowRequest(st, states, g.Actor)
		request.PlanOnly = req.PlanOnly
		n := 0
		steps, err := request.Steps(func() string { n++; return strconv.Itoa(n) })
		if err != nil {
			return RequestResult{}, err
		}
		out.DryRun = append(out.DryRun, DryRunWorkflow{request, steps})
	}
	return out, nil
}

// wouldStart returns the workflows that a request leads to now, or why there are
// none. For a plan-only request they contain only its components.
func (s *snapshot) wouldStart(ctx context.Context, tx *store.Tx, g resolvedRequest) (starts []workflowStart,
	states map[string]*desiredState,
	why string, err error) {
	states = s.desiredStates()
	all, err := readRunning(ctx, tx, s.install.ID)
	if err != nil {
		return nil, nil, "", err
	}
	now := all[s.install.ID]
	busy := slices.Sorted(maps.Keys(now.busy))
	starts = s.allStarts(states, now, &g)
	if g.PlanOnly {
		starts = filterStarts(starts, g.selected)
	}
	switch status, reason := s.view().Status(); {
	case len(starts) > 0:
	case len(busy) > 0:
		why = "a workflow is running on " + strings.Join(busy, ", ")
	default:
		why = fmt.Sprintf("nothing to do: the install is %s: %s", status, reason)
	}
	return starts, states, why, nil
}

// filterStarts reduces workflows to the named components; without names it returns all.
func filterStarts(starts []workflowStart, named []string) []workflowStart {
	if len(named) == 0 {
		return starts
	}
	var all []workflowStart
	for _, st := range starts {
		st.components = slices.DeleteFunc(slices.Clone(st.components), func(name string) bool {
			return !slices.Contains(named, name)
		})
		if len(st.components) > 0 {
			all = append(all, st)
		}
	}
	return all
}

// ActionRequest is a person's request for one run of an action.
type ActionRequest struct {
	Action string
	Env    map[string]string // added to its environment
	Inputs map[string]string // values of its declared inputs
	Role   string            // the name of a role of the app to run under; empty for the one that the app gives it
	Actor  string
}

// RequestAction starts one run of an action that has a manual trigger, and returns the
// workflow's id. Errors: store.ErrNotFound, *refusal.Error.
func (r *Rollout) RequestAction(ctx context.Context, tx *store.Tx, install store.Install,
	run ActionRequest) (workflowID string,
	err error) {
	locked, err := tx.LockInstall(ctx, tx.Org, install.ID)
	if err != nil {
		return "", fmt.Errorf("install %s: %w", install.Name, err)
	}
	s, err := loadLocked(ctx, tx, locked, r.configs)
	if err != nil {
		return "", err
	}
	request, err := s.actionRequest(run)
	if err != nil {
		return "", err
	}
	return workflow.Start(ctx, tx, request)
}

// DryRunAction returns what RequestAction would start. It starts and writes nothing. Errors: those of
// RequestAction.
func (r *Rollout) DryRunAction(ctx context.Context, tx *store.Tx, install store.Install,
	run ActionRequest) (DryRunWorkflow, error) {
	all, err := loadReadOnly(ctx, tx, []store.Install{install})
	if err != nil {
		return DryRunWorkflow{}, err
	}
	request, err := all[0].actionRequest(run)
	if err != nil {
		return DryRunWorkflow{}, err
	}
	steps, err := request.Steps(func() string { return "1" })
	return DryRunWorkflow{request, steps}, err
}

// actionRequest returns the workflow of a run that a person requests.
func (s *snapshot) actionRequest(run ActionRequest) (workflow.Request, error) {
	if err := s.checkEnv(run.Env); err != nil {
		return workflow.Request{}, err
	}
	if s.config == nil {
		return workflow.Request{}, conflict(CodeNoVersion, "Sync it first.", "app %s has no version yet", s.app.Name)
	}
	action, ok := s.config.Action(run.Action)
	manual := ok && slices.ContainsFunc(action.Triggers, func(t appconfig.Trigger) bool {
		return t.Type == appconfig.TriggerManual
	})
	switch {
	case !ok:
		return workflow.Request{}, s.unknownAction(run.Action)
	case !manual:
		return workflow.Request{}, conflict(CodeNotManual, `Add a trigger with type = "manual" to it.`,
			"action %s has no manual trigger", run.Action)
	}
	if err := checkInputs(action, run.Inputs); err != nil {
		return workflow.Request{}, err
	}
	reason := fmt.Sprintf("%s requested action %s", run.Actor, run.Action)
	if run.Role != "" {
		if err := s.checkChosenRole(run.Role); err != nil {
			return workflow.Request{}, err
		}
		reason += " under role " + run.Role
	}
	return workflow.Request{
		Install: s.install.ID, Kind: workflow.KindAction, Reason: reason, Release: s.release.Number, Role: run.Role,
		RequestedBy: run.Actor, Action: workflow.TriggeredAction{Action: run.Action, Trigger: appconfig.TriggerManual},
		Env:    run.Env,
		Inputs: run.Inputs,
	}, nil
}

func (s *snapshot) unknownAction(name string) error {
	return conflict(CodeUnknownAction, "Name one of: "+strings.Join(actionNames(s.config), ", ")+".",
		"app %s has no action %.60q", s.app.Name, name)
}

func actionNames(config *appconfig.App) []string {
	var names []string
	for _, a := range config.Actions {
		names = append(names, a.Name)
	}
	return names
}

// checkEnv checks the variables that a person passes to a run in addition to the action's inputs.
func (s *snapshot) checkEnv(env map[string]string) error {
	if len(env) > 0 && !runners.ReportedPolicy(s.runner).FreeEnv {
		return invalid(CodeBadEnv,
			"Declare them as inputs of the action, or have the runner's owner set free_env = true under [actions] in its "+
				"runner file.",
			"runner %s takes no environment that an action does not declare, such as %.60q", s.runner.Name,
			slices.Min(slices.Collect(maps.Keys(env))))
	}
	if len(env) > maxEnv {
		return invalid(CodeBadEnv, "Give fewer.", "there are more than %d variables", maxEnv)
	}
	size := 0
	for name, value := range env {
		if err := envname.Check(name); err != nil {
			return invalid(CodeBadEnv, "Use another name.", "%s", err)
		}
		if size += len(name) + len(value); size > maxEnvBytes {
			return invalid(CodeBadEnv, "Give less.", "the variables are larger than %d bytes", maxEnvBytes)
		}
		if err := envname.CheckValue(name, value); err != nil {
			return invalid(CodeBadEnv, "Correct its value.", "%s", err)
		}
	}
	return nil
}

// checkInputs checks a person's values for an action's inputs.
func checkInputs(action *appconfig.Action, given map[string]string) error {
	if _, problems := action.CheckInputs(given); len(problems) > 0 {
		return invalid(CodeBadInputs, fmt.Sprintf("Use the inputs that `nuon actions get` shows for %s.", action.Name), "%s",
			strings.Join(problems, "; "))
	}
	return nil
}

// FullyRemoved reports whether nothing of an install is left, so that its record may be
// deleted. It is false while anything may be deployed, and while a contested state
// refers to something that may be.
func FullyRemoved(ctx context.Context, tx *store.Tx, installID string) (bool, error) {
	places, err := tx.ListInstallComponents(ctx, tx.Org, installID)
	if err != nil {
		return false, fmt.Errorf("install %s: %w", installID, err)
	}
	contested, err := tx.ContestedStates(ctx, tx.Org, installID)
	if err != nil {
		return false, fmt.Errorf("install %s: %w", installID, err)
	}
	there := slices.ContainsFunc(places, func(p store.InstallComponent) bool { return p.AppliedArtifact != "" })
	return !there && len(contested) == 0, nil
}
