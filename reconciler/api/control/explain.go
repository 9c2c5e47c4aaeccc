package control

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Explain implements GET /v1/explain/{kind}/{id}. Every derived record holds its own reason, so the chain is only read backwards,
// from the record to what it was made from, and shown the cause first.
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

// explain gives the chain of a record, the effect first.
func (s *Server) explain(ctx context.Context, tx *store.Tx, kind, key string) ([]api.Cause, error) {
	switch kind {
	case "revision":
		return revisionChain(ctx, tx, &key)
	case "app":
		return appChain(ctx, tx, key)
	case "build":
		return buildChain(ctx, tx, key)
	case "install":
		return s.installChain(ctx, tx, key)
	case "workflow":
		return workflowChain(ctx, tx, key)
	case "plan":
		return planChain(ctx, tx, key)
	}
	return nil, problem.Error{Status: http.StatusBadRequest, Code: "bad_request", Title: "cannot explain a " + quoted(kind)}
}

func revisionChain(ctx context.Context, tx *store.Tx, revision *string) ([]api.Cause, error) {
	if revision == nil {
		return nil, nil
	}
	r, err := viewRevision(ctx, tx, *revision)
	if err != nil {
		return nil, named("revision", *revision, err)
	}
	reason := r.Reason
	if r.Outcome != "" {
		reason += ". " + r.Outcome
	}
	return []api.Cause{{Record: "revision", ID: r.ID, Name: fmt.Sprintf("%.7s %s", r.Commit, r.Subject), Reason: reason, At: r.ObservedAt}}, nil
}

// appChain is why an app is at its version, and what came of the newest revision if that made no other.
func appChain(ctx context.Context, tx *store.Tx, key string) ([]api.Cause, error) {
	app, err := findApp(ctx, tx, key)
	if err != nil {
		return nil, err
	}
	chain, err := versionChain(ctx, tx, app.VersionID)
	if err != nil || app.WatchID == nil {
		return chain, err
	}
	watch, err := tx.ViewWatch(ctx, tx.Org, *app.WatchID)
	if err != nil {
		return nil, err
	}
	newest, err := revisionChain(ctx, tx, watch.RevisionID)
	if err != nil || len(newest) == 0 || slices.ContainsFunc(chain, func(c api.Cause) bool { return c.ID == newest[0].ID }) {
		return chain, err
	}
	return append(newest, chain...), nil
}

func versionChain(ctx context.Context, tx *store.Tx, version *string) ([]api.Cause, error) {
	if version == nil {
		return nil, nil
	}
	v, err := tx.ViewAppVersion(ctx, tx.Org, *version)
	if err != nil {
		return nil, err
	}
	below, err := revisionChain(ctx, tx, v.RevisionID)
	return append([]api.Cause{{Record: "app_version", ID: v.ID, Name: fmt.Sprintf("version %d", v.Number), Reason: v.Reason, At: v.CreatedAt}}, below...), err
}

func buildChain(ctx context.Context, tx *store.Tx, key string) ([]api.Cause, error) {
	b, err := tx.ViewBuild(ctx, tx.Org, key)
	if err != nil {
		return nil, named("build", key, err)
	}
	in, err := tx.ViewComponentInput(ctx, tx.Org, b.Build.InputID)
	if err != nil {
		return nil, err
	}
	below, err := revisionChain(ctx, tx, in.RevisionID)
	return append([]api.Cause{
		{Record: "build", ID: b.Build.ID, Name: fmt.Sprintf("build %d of %s (%s)", b.Build.Number, b.Component, b.Build.Status), Reason: orElse(b.Build.Error, b.Build.Reason), At: b.Build.CreatedAt},
		{Record: "component_input", ID: in.ID, Name: b.Component, Reason: in.Reason, At: in.CreatedAt},
	}, below...), err
}

// installChain tells of each component of an install how it stands and of the build that it should run.
func (s *Server) installChain(ctx context.Context, tx *store.Tx, key string) ([]api.Cause, error) {
	install, _, err := findInstall(ctx, tx, key)
	if err != nil {
		return nil, err
	}
	st, err := s.rooms.Standing(ctx, tx, install)
	if err != nil {
		return nil, err
	}
	rows, err := tx.ViewInstallComponents(ctx, tx.Org, install.ID)
	if err != nil {
		return nil, err
	}
	chain := []api.Cause{{Record: "install", ID: install.ID, Name: install.Name + " (" + st.Status + ")", Reason: st.Reason}}
	for _, r := range rows {
		ic := r.InstallComponent
		if st.Components[ic.ID].Status == "current" {
			continue
		}
		below, err := componentChain(ctx, tx, ic)
		if err != nil {
			return nil, err
		}
		chain = append(chain, api.Cause{
			Record: "install_component", ID: ic.ID, Name: ic.Name + " (" + st.Components[ic.ID].Status + ")", Reason: st.Components[ic.ID].Reason,
		})
		chain = append(chain, below...)
	}
	return chain, nil
}

// componentChain is why an install's component should be what it should be: its newest build and what that came from.
func componentChain(ctx context.Context, tx *store.Tx, ic store.InstallComponent) ([]api.Cause, error) {
	chain := []api.Cause{{Record: "desired", ID: ic.DesiredDigest, Name: ic.Name, Reason: orElse(ic.WaitsFor, ic.DesiredReason)}}
	build, err := tx.BuildWanted(ctx, tx.Org, ic.ComponentID)
	if isNotFound(err) {
		return chain, nil
	}
	if err != nil {
		return nil, err
	}
	below, err := buildChain(ctx, tx, build)
	return append(chain, below...), err
}

func workflowChain(ctx context.Context, tx *store.Tx, key string) ([]api.Cause, error) {
	w, err := viewWorkflow(ctx, tx, key)
	if err != nil {
		return nil, err
	}
	var chain []api.Cause
	for _, s := range slices.Backward(w.Steps) {
		chain = append(chain, api.Cause{Record: "step", ID: s.ID, Name: stepName(s), Reason: s.Reason, At: lastTime(s)})
	}
	chain = append(chain, api.Cause{
		Record: "workflow", ID: w.ID, Name: fmt.Sprintf("%s %d of %s (%s)", w.Kind, w.Number, w.Install, w.Status), Reason: w.Reason, At: w.CreatedAt,
	})
	components, err := tx.ViewInstallComponents(ctx, tx.Org, w.InstallID)
	if err != nil {
		return nil, err
	}
	for _, c := range components {
		if !slices.ContainsFunc(w.Steps, func(s api.Step) bool { return s.Component == c.InstallComponent.Name }) {
			continue
		}
		below, err := componentChain(ctx, tx, c.InstallComponent)
		if err != nil {
			return nil, err
		}
		chain = append(chain, below...)
	}
	return chain, nil
}

func planChain(ctx context.Context, tx *store.Tx, key string) ([]api.Cause, error) {
	p, err := tx.ViewPlan(ctx, tx.Org, key)
	if err != nil {
		return nil, named("plan", key, err)
	}
	ic, err := tx.ViewInstallComponent(ctx, tx.Org, p.InstallComponentID)
	if err != nil {
		return nil, err
	}
	below, err := componentChain(ctx, tx, ic)
	return append([]api.Cause{{Record: "plan", ID: p.ID, Name: p.Component + " (" + p.Status + ")", Reason: p.Reason, At: p.CreatedAt}}, below...), err
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
