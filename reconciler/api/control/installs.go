package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/breakglass"
	"github.com/nuon-toolkit/nuon/reconciler/inputs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// firstLook is the delay after which a new install is reconciled even if the request to reconcile
// it at once was lost.
const firstLook = time.Minute

var installName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// ListInstalls implements GET /v1/installs.
func (s *Server) ListInstalls(ctx context.Context, r ListInstallsRequestObject) (ListInstallsResponseObject, error) {
	list := api.InstallList{Items: []api.InstallSummary{}}
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) error {
		asked, err := selectionOf(ctx, tx, r.Params)
		if err != nil {
			return err
		}
		list.Items, list.Next, err = asked.page(ctx, tx, int(page(r.Params.Limit))-1)
		return err
	})
	return ListInstalls200JSONResponse(list), err
}

// GetInstall implements GET /v1/installs/{install}.
func (s *Server) GetInstall(ctx context.Context, r GetInstallRequestObject) (GetInstallResponseObject, error) {
	var install api.Install
	err := s.read(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		install, err = s.viewInstall(ctx, tx, r.Install)
		return err
	})
	return GetInstall200JSONResponse(install), err
}

// CreateInstall implements POST /v1/installs.
func (s *Server) CreateInstall(ctx context.Context, r CreateInstallRequestObject) (CreateInstallResponseObject, error) {
	create := repeatable{operation: "createInstall", key: r.Params.IdempotencyKey, request: r.Body}
	made, err := once(ctx, s, create, func(ctx context.Context, tx *store.Tx) (api.CreatedInstall, error) {
		return s.createInstall(ctx, tx, *r.Body)
	})
	if err == nil {
		logContinueError(ctx, s.services.Rollout.Reconcile(ctx, callerOf(ctx).org.ID, made.Install.ID))
	}
	return CreateInstall201JSONResponse(made), err
}

func (s *Server) createInstall(ctx context.Context, tx *store.Tx, n api.NewInstall) (api.CreatedInstall, error) {
	var made api.CreatedInstall
	if !installName.MatchString(n.Name) {
		return made, problem.Error{
			Status: http.StatusUnprocessableEntity, Code: "bad_name",
			Title:  "an install cannot be named " + quoted(n.Name),
			Detail: "Use lower-case letters, digits, - and _, at most 63, the first a letter or digit.",
		}
	}
	if err := notLikeID("an install", "ins", n.Name); err != nil {
		return made, err
	}
	if err := chooseID(&n); err != nil {
		return made, err
	}
	app, err := findApp(ctx, tx, n.App)
	if err != nil {
		return made, err
	}
	fresh, err := newInstall(ctx, tx, app, n)
	if err != nil {
		return made, err
	}
	c := callerOf(ctx)
	to, begin := workflow.SettingsOf(fresh), workflow.Strictest()
	if err := mayLoosen(c, quoted(n.Name), begin, to, fresh.ManagedBy); err != nil {
		return made, err
	}
	runner, created, err := s.runnerFor(ctx, tx, n)
	if err != nil {
		return made, err
	}
	rule, err := workflow.NewRuleRecord(c.actor, "")
	if err != nil {
		return made, err
	}
	begin.ByOthers = to.ByOthers // from the start, so that it also applies to the looser settings
	row, err := tx.AddInstall(ctx, store.AddInstallParams{
		OrgID: tx.Org, ID: n.ID, AppID: app.ID, Name: n.Name, RunnerID: runner.ID, Approval: begin.Approval,
		AllowDestroy:      begin.AllowDestroy,
		ApprovalsByOthers: begin.ByOthers, Rule: rule, ManagedBy: fresh.ManagedBy, Labels: fresh.Labels,
		Account: fresh.Account, Toggles: fresh.Toggles, Overrides: fresh.Overrides,
	})
	if constraint, taken := store.IsUniqueViolation(err); taken {
		return made, installTaken(app, n, constraint)
	}
	if err != nil {
		return made, fmt.Errorf("create install %s: %w", n.Name, err)
	}
	if err := rollout.RecordDesiredBy(ctx, tx, row.ID, c.actor); err != nil {
		return made, err
	}
	if _, err := workflow.ChangeSettings(ctx, tx, row, to, workflow.Author{
		Name: c.actor, CanApprove: c.role >= approver,
	}); err != nil {
		return made, err
	}
	plain := row
	plain.Toggles = json.RawMessage("{}")
	if err := rollout.CheckToggles(ctx, tx, plain, row); err != nil {
		return made, err
	}
	if err := inputs.Put(ctx, tx, s.key, row, n.Inputs); err != nil {
		return made, err
	}
	if err := tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: row.ID}); err != nil {
		return made, err
	}
	// From now on the install is reconciled at intervals, even if that request is lost.
	if err := tx.SetDueIn(ctx, store.SetDueInParams{
		OrgID: tx.Org, Kind: store.DueInstall, ID: row.ID, InSeconds: firstLook.Seconds(),
	}); err != nil {
		return made, err
	}
	if err := tx.Audit(ctx, callerOf(ctx).actor, "install.create", row.ID, map[string]any{
		"name": row.Name, "app": app.Name,
	}); err != nil {
		return made, err
	}
	made.Runner = created
	made.Install, err = s.viewInstall(ctx, tx, row.ID)
	return made, err
}

// chooseID sets the id of a new install, unless its client chose one: sensitive inputs are sealed
// to that id before the install exists.
func chooseID(n *api.NewInstall) error {
	switch {
	case n.ID != "" && !id.Valid("ins", n.ID):
		return problem.New(http.StatusUnprocessableEntity, "bad_id", "an install cannot have the id "+quoted(n.ID),
			"Choose ins and 26 random characters of 0-9 and a-v, or omit it.")
	case n.ID != "":
		return nil
	case slices.ContainsFunc(n.Inputs, func(v api.InputValue) bool { return !v.Sealed.IsZero() }):
		return problem.New(http.StatusUnprocessableEntity, "id_needed",
			"an install with sensitive inputs needs an ID chosen by the client",
			"Choose an id, seal the inputs for it and send it with them, as the nuon command does.")
	}
	n.ID = id.New("ins")
	return nil
}

// installTaken returns the error for a new install whose name or id is in use.
func installTaken(app store.App, n api.NewInstall, constraint string) error {
	if constraint == "installs_pkey" {
		return problem.New(http.StatusConflict, "exists", "an install with the id "+n.ID+" already exists",
			"If this repeats a create whose response was lost, the install exists: see `nuon installs get "+n.ID+
				"`. Otherwise choose another id.")
	}
	return problem.Error{
		Status: http.StatusConflict, Code: "exists",
		Title: fmt.Sprintf("install %s of app %s already exists", quoted(n.Name), app.Name),
	}
}

// newInstall returns the row of a new install without its runner, after checking its inputs and
// settings against the app's current version.
func newInstall(ctx context.Context, tx *store.Tx, app store.App, n api.NewInstall) (store.Install, error) {
	if app.VersionID == nil {
		return store.Install{}, problem.Error{
			Status: http.StatusConflict, Code: "no_version", Title: "app " + app.Name + " has no version yet",
			Detail: "Run `nuon sync` first; `nuon apps get " + app.Name + "` shows what is wrong.",
		}
	}
	config, err := currentConfig(ctx, tx, app)
	if err != nil {
		return store.Install{}, err
	}
	none := json.RawMessage("{}")
	managedBy := orElse(string(n.ManagedBy), string(api.InstallManagedByManual))
	bare := store.Install{Name: n.Name, Approval: "prompt", ManagedBy: managedBy, Labels: none, Account: none,
		Toggles: none, Overrides: none}
	made, err := changed(bare, config, api.InstallChange{
		Approval: api.InstallChangeApproval(n.Approval), AllowDestroy: &n.AllowDestroy,
		ApprovalsByOthers: &n.ApprovalsByOthers, Toggles: n.Toggles, Labels: n.Labels, Account: n.Account,
		Overrides: n.Overrides, ManagedBy: api.InstallChangeManagedBy(managedBy), By: api.InstallChangeBy(managedBy),
	})
	if err == nil {
		err = inputs.Check(config, nil, n.Inputs)
	}
	return made, err
}

// knownRule refuses an unknown approval rule; an empty one means that none was set.
func knownRule(rule string) error {
	return oneOf(rule == "" || api.InstallApproval(rule).Valid(), "bad_approval", "approval rule", rule,
		"prompt", "approve-all")
}

// UpdateInstall implements PATCH /v1/installs/{install}.
func (s *Server) UpdateInstall(ctx context.Context, r UpdateInstallRequestObject) (UpdateInstallResponseObject, error) {
	install, err := s.moveInstall(ctx, r.Install, func(ctx context.Context, tx *store.Tx, row store.Install) error {
		return s.changeInstall(ctx, tx, row, *r.Body)
	})
	return UpdateInstall200JSONResponse(install), err
}

func (s *Server) changeInstall(ctx context.Context, tx *store.Tx, row store.Install, c api.InstallChange) error {
	config, err := declared(ctx, tx, row)
	if err != nil {
		return err
	}
	as, err := changed(row, config, c)
	if err != nil {
		return err
	}
	who, by := callerOf(ctx), orElse(string(c.By), string(api.InstallManagedByManual))
	now, to := workflow.SettingsOf(row), workflow.SettingsOf(as)
	if err := mayLoosen(who, row.Name, now, to, by); err != nil {
		return err
	}
	if err := mayNameAccount(who, row, as, by); err != nil {
		return err
	}
	if err := rollout.CheckToggles(ctx, tx, row, as); err != nil {
		return err
	}
	if c.Approval != "" || c.AllowDestroy != nil || c.ApprovalsByOthers != nil {
		if _, err := workflow.ChangeSettings(ctx, tx, row, to, workflow.Author{
			Name: who.actor, CanApprove: who.role >= approver,
		}); err != nil {
			return err
		}
	}
	if len(c.Inputs) > 0 {
		kept, err := tx.InputsOfInstalls(ctx, tx.Org, []string{row.ID})
		if err != nil {
			return err
		}
		if err := inputs.Check(config, kept, c.Inputs); err != nil {
			return err
		}
		if err := inputs.Put(ctx, tx, s.key, row, c.Inputs); err != nil {
			return err
		}
		if inputs.Differ(kept, c.Inputs) {
			if err := workflow.VoidRules(ctx, tx, row.ID, who.actor, "the inputs"); err != nil {
				return err
			}
		}
	}
	if err := recordChange(ctx, tx, row, as); err != nil {
		return err
	}
	err = tx.ChangeInstall(ctx, store.ChangeInstallParams{
		OrgID: tx.Org, ID: row.ID, ManagedBy: as.ManagedBy, Labels: as.Labels, Account: as.Account, Toggles: as.Toggles,
		Overrides: as.Overrides,
	})
	if err != nil {
		return err
	}
	detail := map[string]any{
		"inputs": each(c.Inputs, func(i api.InputValue) string { return i.Name }), "approval": c.Approval,
		"allow_destroy": as.AllowDestroy, "by": by,
	}
	for name, given := range map[string]any{
		"toggles": c.Toggles, "labels": c.Labels, "account": c.Account, "managed_by": c.ManagedBy,
		"overrides": slices.Sorted(maps.Keys(c.Overrides)),
	} {
		if v := reflect.ValueOf(given); v.Len() > 0 {
			detail[name] = given
		}
	}
	if err := tx.Audit(ctx, callerOf(ctx).actor, "install.change", row.ID, detail); err != nil {
		return err
	}
	return tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: row.ID})
}

// ForgetInstall implements DELETE /v1/installs/{install}.
func (s *Server) ForgetInstall(ctx context.Context, r ForgetInstallRequestObject) (ForgetInstallResponseObject, error) {
	err := s.change(ctx, func(ctx context.Context, tx *store.Tx) error {
		found, app, err := findInstall(ctx, tx, r.Install)
		if err != nil {
			return err
		}
		// Locked, so that nothing is started for it until the end.
		row, err := tx.LockInstall(ctx, tx.Org, found.ID)
		if err != nil {
			return err
		}
		gone, err := rollout.FullyRemoved(ctx, tx, row.ID)
		if err != nil {
			return err
		}
		if !gone && !r.Params.Force {
			return problem.Error{
				Status: http.StatusConflict, Code: "not_empty",
				Title: "install " + row.Name + " still has deployed components",
				Detail: "Run `nuon installs deprovision " + app + "/" + row.Name +
					"` first, or forget it with --force and leave what is deployed.",
			}
		}
		if err := cancelJobsOf(ctx, tx, row); err != nil {
			return err
		}
		if err := tx.DropInstall(ctx, tx.Org, row.ID); err != nil {
			return err
		}
		return tx.Audit(ctx, callerOf(ctx).actor, "install.forget", row.ID, map[string]any{
			"name": row.Name, "force": r.Params.Force,
		})
	})
	return ForgetInstall204Response{}, err
}

// cancelJobsOf cancels the jobs of an install that is about to be forgotten, and refuses while an
// apply or an action is running.
func cancelJobsOf(ctx context.Context, tx *store.Tx, install store.Install) error {
	err := jobs.CancelInstallJobs(ctx, tx, install.ID, "install "+install.Name+" was forgotten")
	var busy *jobs.RunningJobError
	if !errors.As(err, &busy) {
		return err
	}
	return problem.New(http.StatusConflict, "at_work",
		fmt.Sprintf("install %s cannot be forgotten now: runner %s is running an %s on it",
			install.Name, busy.Runner, busy.Job.Kind),
		fmt.Sprintf("Wait for it, or cancel its workflow (`nuon workflows cancel`) and wait until it has ended. If the "+
			"runner's machine is permanently gone, run `nuon runners replace %s` first.", busy.Runner))
}

// findInstall finds an install by id, name or app/name. A name that two apps use must include the
// app. An id finds its own install, even if another one has it as its name.
func findInstall(ctx context.Context, tx *store.Tx, key string) (store.Install, string, error) {
	rows, err := tx.ViewInstall(ctx, tx.Org, key)
	switch {
	case err != nil:
		return store.Install{}, "", err
	case len(rows) == 0:
		return store.Install{}, "", named("install", key, store.ErrNotFound)
	case len(rows) > 1 && rows[0].Install.ID != key:
		return store.Install{}, "", problem.Error{
			Status: http.StatusConflict, Code: "ambiguous", Title: "several apps have an install " + quoted(key),
			Detail: fmt.Sprintf("Use %s/%s or %s/%s.", rows[0].App, key, rows[1].App, key),
		}
	}
	return rows[0].Install, rows[0].App, nil
}

func (*Server) viewInstall(ctx context.Context, tx *store.Tx, key string) (api.Install, error) {
	row, app, err := findInstall(ctx, tx, key)
	if err != nil {
		return api.Install{}, err
	}
	view, err := standing(ctx, tx, row)
	if err != nil {
		return api.Install{}, err
	}
	all, err := summarize(ctx, tx, []store.ViewInstallsRow{{Install: row, App: app}}, []rollout.View{view})
	if err != nil {
		return api.Install{}, err
	}
	s := all[0]
	out := api.Install{
		ID: s.ID, Name: s.Name, App: s.App, Status: api.InstallStatus(s.Status), Reason: s.Reason, Blocked: s.Blocked,
		RejectedAt: s.RejectedAt, Release: s.Release, Target: s.Target, Commit: s.Commit, Latest: s.Latest,
		Pinned: s.Pinned, PinReason: row.PinReason, PinnedBy: row.PinnedBy, Behind: s.Behind,
		Health: api.InstallHealth(s.Health), Unhealthy: s.Unhealthy, Drift: s.Drift,
		Runner: s.Runner, RunnerOnline: s.RunnerOnline, ManagedBy: api.InstallManagedBy(s.ManagedBy), Labels: s.Labels,
		LastWorkflow: s.LastWorkflow,
		Approval:     api.InstallApproval(row.Approval), AllowDestroy: row.AllowDestroy,
		ApprovalsByOthers: row.ApprovalsByOthers,
		DesiredPresence:   api.InstallDesiredPresence(row.DesiredPresence), CreatedAt: row.CreatedAt,
	}
	settings, err := settingsOf(row)
	if err != nil {
		return api.Install{}, err
	}
	out.Account, out.Toggles, out.Overrides = settings.account, settings.toggles, viewOverrides(settings.overrides)
	runner, err := tx.ViewRunner(ctx, tx.Org, row.RunnerID)
	if err != nil {
		return api.Install{}, err
	}
	if runner.Recipient != "" {
		to, err := seal.ParseRecipient(runner.Recipient)
		if err != nil {
			return api.Install{}, err
		}
		out.KeyFingerprint = to.Fingerprint()
	}
	if out.Rule, err = workflow.ApprovalRuleOf(row); err != nil {
		return api.Install{}, err
	}
	if out.Pending, err = pendingSettings(view); err != nil {
		return api.Install{}, err
	}
	values, err := tx.InputsOfInstalls(ctx, tx.Org, []string{row.ID})
	if err != nil {
		return api.Install{}, err
	}
	out.Inputs = each(values, viewInput)
	stack, err := currentStackOutputs(ctx, tx, row)
	if err != nil {
		return api.Install{}, err
	}
	if stack.Version > 0 || len(stack.Missing) > 0 {
		out.StackOutputs = stack
	}
	status, err := stackStatus(ctx, tx, row)
	if err != nil {
		return api.Install{}, err
	}
	if status.Newest > 0 {
		out.Stack = status
	}
	requests, err := breakglass.List(ctx, tx, breakglass.Filter{Install: row.ID, Most: maxBreakGlass})
	if err != nil {
		return api.Install{}, err
	}
	if len(requests) > 0 {
		out.BreakGlass = requests
	}
	out.Components, err = viewInstallComponents(ctx, tx, row.ID, view)
	return out, err
}

// maxBreakGlass bounds the requests for break-glass roles that an install shows.
const maxBreakGlass = 100

// pendingSettings returns the looser settings of an install that wait for an approver.
func pendingSettings(view rollout.View) (api.PendingSettings, error) {
	for _, w := range view.Waiting {
		if w.Kind != workflow.ApprovalOfSettings {
			continue
		}
		p := api.PendingSettings{
			Approval: w.ID, Author: w.Author, CreatedAt: w.CreatedAt, ContentDigest: w.ContentDigest,
		}
		if err := json.Unmarshal(w.Subject, &p.Settings); err != nil {
			return p, fmt.Errorf("read the requested settings of %s: %w", w.ID, err)
		}
		return p, nil
	}
	return api.PendingSettings{}, nil
}

func viewInput(i store.InstallInput) api.InputValue {
	v := api.InputValue{Name: i.Name, Sensitive: i.Sealed != nil}
	if i.Value != nil {
		v.Value = *i.Value
	}
	return v
}

func viewInstallComponents(
	ctx context.Context, tx *store.Tx, install string, view rollout.View,
) ([]api.InstallComponent, error) {
	outputs, err := tx.OutputsOfInstalls(ctx, tx.Org, []string{install})
	if err != nil {
		return nil, err
	}
	byComponent := map[string][]api.OutputValue{}
	for _, o := range outputs {
		if o.Scope == "component" {
			byComponent[o.Owner] = append(byComponent[o.Owner], api.OutputValue{
				Name: o.Name, Value: o.Value, Sensitive: o.Sealed != nil,
			})
		}
	}
	rows, err := tx.ViewInstallComponents(ctx, tx.Org, install)
	return each(rows, func(r store.ViewInstallComponentsRow) api.InstallComponent {
		ic := view.ComponentByID(r.InstallComponent.ID)
		status, reason := view.ComponentStatus(ic)
		c := api.InstallComponent{
			ID: ic.ID, Name: ic.Name, Kind: r.Kind, DesiredPresence: api.InstallComponentDesiredPresence(ic.DesiredPresence),
			Status: api.InstallComponentStatus(status), Reason: reason,
			Off: api.InstallComponentOff(view.Disabled[ic.Name]), DesiredDigest: ic.DesiredDigest,
			AppliedDigest: ic.AppliedDigest,
			Outputs:       append([]api.OutputValue{}, byComponent[ic.Name]...), Health: rollout.HealthOf(ic),
		}
		if ic.AppliedAt != nil {
			c.AppliedAt = *ic.AppliedAt
		}
		return c
	}), err
}
