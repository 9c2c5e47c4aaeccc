package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	buildsvc "github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// Explain implements GET /v1/explain/{kind}/{id}. Every derived record stores its own reason, so
// the chain is read backwards, from the record to its inputs, and returned with the cause first.
func (s *Server) Explain(ctx context.Context, r ExplainRequestObject) (ExplainResponseObject, error) {
	var chain []api.Cause
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		chain, err = s.explain(ctx, tx, string(r.Kind), r.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(chain)
	return Explain200JSONResponse(api.Explanation{Chain: append([]api.Cause{}, chain...)}), nil
}

// explain returns the chain of a record, the effect first.
func (s *Server) explain(ctx context.Context, tx *store.Tx, kind, key string) ([]api.Cause, error) {
	switch kind {
	case "revision":
		if err := revisionIsSeen(ctx, tx, key); err != nil {
			return nil, err
		}
		return revisionChain(ctx, tx, &key)
	case "app":
		return appChain(ctx, tx, key)
	case "build":
		return buildChain(ctx, tx, key)
	case "install":
		return installChain(ctx, tx, key)
	case "workflow":
		return workflowChain(ctx, tx, key)
	case "plan":
		return planChain(ctx, tx, key)
	}
	return nil, problem.Error{
		Status: http.StatusBadRequest, Code: "bad_request", Title: "cannot explain a " + quoted(kind),
	}
}

func revisionChain(ctx context.Context, tx *store.Tx, revision *string) ([]api.Cause, error) {
	if revision == nil {
		return nil, nil
	}
	r, err := findRevision(ctx, tx, *revision)
	if err != nil {
		return nil, err
	}
	reason := r.Reason
	if r.Outcome != "" {
		reason += ". " + r.Outcome
	}
	return []api.Cause{{
		Record: "revision", ID: r.ID, Name: fmt.Sprintf("%.7s %s", r.Commit, r.Subject),
		Reason: reason, At: r.ObservedAt,
	}}, nil
}

// appChain explains an app's current version, and the newest revision if that made no other
// version.
func appChain(ctx context.Context, tx *store.Tx, key string) ([]api.Cause, error) {
	app, err := findApp(ctx, tx, key)
	if err != nil {
		return nil, err
	}
	chain, err := versionChain(ctx, tx, app.VersionID)
	if err != nil || app.WatchID == nil {
		return chain, err
	}
	watch, err := tx.WatchByID(ctx, tx.Org, *app.WatchID)
	if err != nil {
		return nil, err
	}
	newest, err := revisionChain(ctx, tx, watch.RevisionID)
	if err != nil || len(newest) == 0 ||
		slices.ContainsFunc(chain, func(c api.Cause) bool { return c.ID == newest[0].ID }) {
		return chain, err
	}
	return append(newest, chain...), nil
}

func versionChain(ctx context.Context, tx *store.Tx, version *string) ([]api.Cause, error) {
	if version == nil {
		return nil, nil
	}
	rows, err := tx.ViewAppVersions(ctx, tx.Org, []string{*version})
	if err == nil && len(rows) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	v := rows[0]
	below, err := revisionChain(ctx, tx, v.RevisionID)
	return append([]api.Cause{{
		Record: "app_version", ID: v.ID, Name: fmt.Sprintf("version %d", v.Number), Reason: v.Reason, At: v.CreatedAt,
	}}, below...), err
}

func buildChain(ctx context.Context, tx *store.Tx, key string) ([]api.Cause, error) {
	b, err := tx.ViewBuild(ctx, tx.Org, key)
	if err != nil {
		return nil, named("build", key, err)
	}
	in, err := tx.ComponentInputByID(ctx, tx.Org, b.Build.InputID)
	if err != nil {
		return nil, err
	}
	below, err := revisionChain(ctx, tx, in.RevisionID)
	if err != nil {
		return nil, err
	}
	modules, err := buildsvc.Modules(ctx, tx, b.Build.ID, b.Build.ModulesTool)
	return append([]api.Cause{
		{
			Record: "build", ID: b.Build.ID,
			Name:   fmt.Sprintf("build %d of %s (%s)", b.Build.Number, b.Component, b.Build.Status),
			Reason: orElse(b.Build.Error, b.Build.Reason), At: b.Build.CreatedAt, Modules: modules,
		},
		{Record: "component_input", ID: in.ID, Name: b.Component, Reason: in.Reason, At: in.CreatedAt},
	}, below...), err
}

// installChain explains the status of each component of an install, and the build that it should
// run.
func installChain(ctx context.Context, tx *store.Tx, key string) ([]api.Cause, error) {
	install, _, err := findInstall(ctx, tx, key)
	if err != nil {
		return nil, err
	}
	view, err := standing(ctx, tx, install)
	if err != nil {
		return nil, err
	}
	rows, err := tx.ViewInstallComponents(ctx, tx.Org, install.ID)
	if err != nil {
		return nil, err
	}
	status, reason := view.Status()
	chain := []api.Cause{{Record: "install", ID: install.ID, Name: install.Name + " (" + status + ")", Reason: reason}}
	approved, err := approvedCauses(ctx, tx, install)
	if err != nil {
		return nil, err
	}
	chain = append(chain, approved...)
	for _, row := range rows {
		ic := row.InstallComponent
		if !view.AffectsStatus(view.ComponentByID(ic.ID)) {
			continue
		}
		status, reason := view.ComponentStatus(view.ComponentByID(ic.ID))
		below, err := componentChain(ctx, tx, ic)
		if err != nil {
			return nil, err
		}
		chain = append(chain, api.Cause{
			Record: "install_component", ID: ic.ID, Name: ic.Name + " (" + status + ")", Reason: reason,
		})
		chain = append(chain, below...)
	}
	return chain, nil
}

// approvedCauses returns the standing approvals of an install: the rule that approves plans
// automatically and the approved scripts.
func approvedCauses(ctx context.Context, tx *store.Tx, install store.Install) ([]api.Cause, error) {
	var all []api.Cause
	rows, err := tx.ScriptAnswers(ctx, tx.Org, install.ID)
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(rows) {
		reason := r.Answer + "d by " + r.Actor
		if r.Answer == string(workflow.Reject) {
			reason = "rejected by " + r.Actor
		}
		if r.Reason != "" {
			reason += ": " + r.Reason
		}
		all = append(all, api.Cause{
			Record: "script", ID: r.Digest, Name: fmt.Sprintf("%s (%.19s)", r.Action, r.Digest),
			Reason: reason, At: r.At,
		})
	}
	if settings := workflow.SettingsOf(install); workflow.Strictest().Loosens(settings) {
		rule, err := workflow.ApprovalRuleOf(install)
		if err != nil {
			return nil, err
		}
		reason := "set by " + orElse(rule.By, "somebody")
		if rule.ApprovedBy != "" {
			reason += ", approved by " + rule.ApprovedBy
		}
		all = append(all, api.Cause{
			Record: "approval_rule", ID: rule.Digest, Name: settings.Summary(), Reason: reason, At: rule.At,
		})
	}
	return all, nil
}

// componentChain explains the desired state of an install's component, and what that is made from.
func componentChain(ctx context.Context, tx *store.Tx, ic store.InstallComponent) ([]api.Cause, error) {
	install, err := tx.InstallForStatus(ctx, tx.Org, ic.InstallID)
	if err != nil {
		return nil, err
	}
	view, err := standing(ctx, tx, install)
	if err != nil {
		return nil, err
	}
	wanted := view.Release.ID
	build, err := tx.BuildWanted(ctx, wanted, tx.Org, ic.ID)
	if err != nil && !isNotFound(err) {
		return nil, err
	}
	below, err := madeFrom(ctx, tx, build, wanted)
	return append([]api.Cause{desired(ic.DesiredDigest, ic.Name, orElse(ic.WaitsFor, ic.DesiredReason))}, below...), err
}

// plannedChain explains what a plan was made from. It does not use the install's current reason,
// because the install's desired state may have changed since.
func plannedChain(ctx context.Context, tx *store.Tx, p store.Plan, why string) ([]api.Cause, error) {
	var target workflow.Target
	if err := json.Unmarshal(p.Target, &target); err != nil {
		return nil, fmt.Errorf("read the target of plan %s: %w", p.ID, err)
	}
	ic, err := tx.InstallComponentByID(ctx, tx.Org, p.InstallComponentID)
	if err != nil {
		return nil, err
	}
	if ic.DesiredDigest == p.DesiredDigest {
		why = ic.DesiredReason
	}
	build, err := tx.BuildOfArtifact(ctx, tx.Org, ic.ComponentID, target.Deploy.Artifact.Digest)
	if err != nil && !isNotFound(err) {
		return nil, err
	}
	below, err := madeFrom(ctx, tx, build, target.Release)
	return append([]api.Cause{desired(p.DesiredDigest, p.Component, why)}, below...), err
}

func desired(digest, component, why string) api.Cause {
	return api.Cause{Record: "desired", ID: digest, Name: component, Reason: why}
}

// madeFrom explains the release that something is made from, and its build. Either may be missing.
func madeFrom(ctx context.Context, tx *store.Tx, build, release string) (chain []api.Cause, err error) {
	if release != "" {
		if chain, err = releaseChain(ctx, tx, release); err != nil {
			return nil, err
		}
	}
	if build == "" {
		return chain, nil
	}
	below, err := buildChain(ctx, tx, build)
	// One commit may have changed both the config and the code.
	chain = slices.DeleteFunc(chain, func(c api.Cause) bool {
		return slices.ContainsFunc(below, func(b api.Cause) bool { return b.ID == c.ID })
	})
	return append(chain, below...), err
}

// releaseChain explains a release, and its config if that is newer than in the release before.
func releaseChain(ctx context.Context, tx *store.Tx, id string) ([]api.Cause, error) {
	r, err := tx.ReleaseByID(ctx, tx.Org, id)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("release %d (%s)", r.Number, r.Status)
	chain := []api.Cause{{Record: "release", ID: r.ID, Name: name, Reason: r.Cause, At: r.CreatedAt}}
	before, err := tx.ReleaseByNumber(ctx, tx.Org, r.AppID, r.Number-1)
	if err != nil && !isNotFound(err) {
		return nil, err
	}
	if before.VersionID == r.VersionID {
		return chain, nil
	}
	config, err := versionChain(ctx, tx, &r.VersionID)
	return append(chain, config...), err
}

func workflowChain(ctx context.Context, tx *store.Tx, key string) ([]api.Cause, error) {
	w, err := viewWorkflow(ctx, tx, key)
	if err != nil {
		return nil, err
	}
	var chain []api.Cause
	for _, s := range slices.Backward(w.Steps) {
		chain = append(chain, api.Cause{Record: "step", ID: s.ID, Name: stepName(s), Reason: stepReason(s), At: lastTime(s)})
	}
	chain = append(chain, api.Cause{
		Record: "workflow", ID: w.ID, Name: fmt.Sprintf("%s %d of %s (%s)", w.Kind, w.Number, w.Install, w.Status),
		Reason: w.Reason, At: w.CreatedAt,
	})
	if rule := w.Rule; rule.By != "" {
		reason := rule.By + " approved what it plans until it ends"
		if rule.Reason != "" {
			reason += ": " + rule.Reason
		}
		if rule.Void != "" {
			reason += "; it approves nothing any more: " + rule.Void
		}
		chain = append(chain, api.Cause{
			Record: "workflow_rule", ID: w.ID, Name: "rule of " + rule.By, Reason: reason, At: rule.At,
		})
	}
	components, err := tx.ViewInstallComponents(ctx, tx.Org, w.InstallID)
	if err != nil {
		return nil, err
	}
	for _, c := range components {
		i := slices.IndexFunc(w.Steps, func(s api.Step) bool { return s.Component == c.InstallComponent.Name })
		if i < 0 {
			continue
		}
		below, err := partChain(ctx, tx, w, w.Steps[i], c.InstallComponent)
		if err != nil {
			return nil, err
		}
		chain = append(chain, below...)
	}
	return chain, nil
}

// partChain explains why a component is part of a workflow: what its plan was made from, or,
// without a plan, the current desired state.
func partChain(
	ctx context.Context, tx *store.Tx, w api.Workflow, first api.Step, ic store.InstallComponent,
) ([]api.Cause, error) {
	switch {
	case first.Plan != "":
		p, err := tx.ViewPlan(ctx, tx.Org, first.Plan)
		if err != nil {
			return nil, err
		}
		return plannedChain(ctx, tx, p, w.Reason)
	case w.Status == api.WorkflowStatusRunning:
		return componentChain(ctx, tx, ic)
	}
	return nil, nil
}

func planChain(ctx context.Context, tx *store.Tx, key string) ([]api.Cause, error) {
	p, err := tx.ViewPlan(ctx, tx.Org, key)
	if err != nil {
		return nil, named("plan", key, err)
	}
	w, err := tx.FindWorkflow(ctx, tx.Org, p.WorkflowID)
	if err != nil {
		return nil, err
	}
	below, err := plannedChain(ctx, tx, p, w.Reason)
	return append([]api.Cause{{
		Record: "plan", ID: p.ID, Name: p.Component + " (" + p.Status + ")", Reason: p.Reason, At: p.CreatedAt,
	}}, below...), err
}

// stepReason returns the reason of a step, with the code of repositories that it ran.
func stepReason(s api.Step) string {
	words := []string{s.Reason}
	if s.Reason == "" {
		words = nil
	}
	for _, source := range s.Sources {
		words = append(words, fmt.Sprintf("step %s ran %s at commit %.7s (%.19s)", source.Step, source.Name, source.Commit,
			source.Artifact))
	}
	return strings.Join(words, "; ")
}

func stepName(s api.Step) string {
	name := string(s.Kind) + " " + s.Component
	if s.Action != "" {
		name = string(s.Kind) + " " + s.Action
	}
	return name + " (" + string(s.Status) + ")"
}

func lastTime(s api.Step) time.Time {
	if !s.EndedAt.IsZero() {
		return s.EndedAt
	}
	return s.StartedAt
}
