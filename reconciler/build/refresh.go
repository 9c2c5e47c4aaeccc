package build

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/timing"
)

// RefreshOwnerKind is the owner kind of the jobs of refreshes in package jobs.
const RefreshOwnerKind = "refresh"

// The statuses of a refresh and of each of its components, with the same values as the tables'
// constraints: running → succeeded or failed.
const (
	refreshRunning   = "running"
	refreshSucceeded = "succeeded"
	refreshFailed    = "failed"
)

// RefreshRequest is a request to resolve the images and module calls of components again.
type RefreshRequest struct {
	Components []string // names; all with images or modules from elsewhere if empty
	DryRun     bool     // only show what would change
	Actor      string
}

// Refresh starts to resolve the images and module calls of a locked app's components again, without what was
// resolved before, and returns the id of the refresh. When the build runner has resolved all of them,
// the changed components get new inputs, which are built and released. If there is nothing to do, or
// another refresh of the app has not ended, the error is a refusal.
func (b *Builder) Refresh(ctx context.Context, tx *store.Tx, row store.App, r RefreshRequest) (string, error) {
	app, err := readApp(ctx, tx, row.ID)
	if errors.Is(err, errNothingToBuild) {
		return "", refusal.New(refusal.Conflict, "not_built", "app "+row.Name+" has no version yet", "Run `nuon sync` first.")
	}
	if err != nil {
		return "", err
	}
	chosen, err := chooseToRefresh(ctx, tx, app, r.Components)
	if err != nil {
		return "", err
	}
	if err := checkNoRefresh(ctx, tx, row); err != nil {
		return "", err
	}
	runner, err := tx.BuildRunner(ctx, tx.Org, timing.Online.Seconds())
	if errors.Is(err, store.ErrNotFound) {
		return "", refusal.New(refusal.Conflict, "no_runner", "there is no build runner to resolve images and modules",
			"Create one with `nuon runners create --kind build NAME`.")
	}
	if err != nil {
		return "", err
	}
	refresh, err := tx.AddModuleRefresh(ctx, store.AddModuleRefreshParams{
		OrgID: tx.Org, ID: id.New("mrf"), AppID: row.ID, DryRun: r.DryRun, RequestedBy: r.Actor,
	})
	if err != nil {
		return "", fmt.Errorf("refresh app %s: %w", row.Name, err)
	}
	for _, c := range chosen {
		if err := c.start(ctx, tx, refresh, runner.ID); err != nil {
			return "", fmt.Errorf("refresh component %s: %w", c.row.Name, err)
		}
	}
	return refresh.ID, nil
}

// checkNoRefresh refuses a refresh of a locked app while another one, dry or not, has not ended. So the build runner
// has at most one job for each component to resolve, however often somebody asks.
func checkNoRefresh(ctx context.Context, tx *store.Tx, app store.App) error {
	running, err := tx.RunningRefresh(ctx, tx.Org, app.ID)
	if err != nil {
		return ignoreNotFound(err)
	}
	return refusal.New(refusal.Conflict, "refresh_running",
		fmt.Sprintf("a refresh of app %s, which %s requested, has not ended", app.Name, running.RequestedBy),
		fmt.Sprintf("Wait until it has ended, or cancel it: `nuon builds cancel-refresh %s %s`.", app.Name, running.ID))
}

// resolvedOf names what a refresh resolves for a component.
func resolvedOf(c componentState) string {
	if c.config.Image != nil {
		return "the image of component " + c.row.Name
	}
	return "the modules of component " + c.row.Name
}

// refreshable is a component whose image or modules can be resolved again.
type refreshable struct {
	componentState
	build  store.Build           // the newest of its input
	before *api.ModuleResolution // what it was built with, or starts from
}

// chooseToRefresh returns the named components of an app, or all with images or modules from elsewhere.
func chooseToRefresh(ctx context.Context, tx *store.Tx, app appState, names []string) ([]refreshable, error) {
	var chosen []refreshable
	for _, name := range names {
		if !slices.ContainsFunc(app.components, func(c componentState) bool { return c.row.Name == name }) {
			return nil, refusal.New(refusal.NotFound, "not_found", fmt.Sprintf("app %s has no component %q", app.row.Name, name),
				"`nuon components list "+app.row.Name+"` lists those that it has.")
		}
	}
	for _, c := range app.components {
		if len(names) > 0 && !slices.Contains(names, c.row.Name) {
			continue
		}
		one, err := readRefreshable(ctx, tx, c)
		if err != nil {
			return nil, err
		}
		switch {
		case one.before != nil && (one.build.Status == statusQueued || one.build.Status == statusRunning):
			return nil, refusal.New(refusal.Conflict, "not_built",
				fmt.Sprintf("build %d of component %s has not ended", one.build.Number, c.row.Name),
				"Wait until it has: `nuon builds list --app "+app.row.Name+" --watch`.")
		case one.before != nil:
			chosen = append(chosen, one)
		case len(names) > 0:
			return nil, refusal.New(refusal.Conflict, "no_modules",
				"component "+c.row.Name+" was not built with an image, or with modules from outside of its repository",
				"A component that has not been built resolves them when it is: `nuon builds create "+app.row.Name+"`.")
		}
	}
	if len(chosen) == 0 {
		return nil, refusal.New(refusal.Conflict, "no_modules",
			"no component of app "+app.row.Name+" was built with an image, or with modules from outside of its repository",
			"`nuon builds get` shows what a build resolved.")
	}
	return chosen, nil
}

// readRefreshable reads what a refresh needs. before is nil for a component that resolves nothing.
func readRefreshable(ctx context.Context, tx *store.Tx, c componentState) (refreshable, error) {
	one := refreshable{componentState: c}
	if c.current == nil {
		return one, nil
	}
	build, err := tx.BuildOfInput(ctx, tx.Org, c.current.ID)
	if errors.Is(err, store.ErrNotFound) {
		return one, nil
	}
	if err != nil {
		return one, err
	}
	one.build = build
	if build.Status == statusSucceeded && build.ModulesTool == "" {
		return one, nil // it calls none any more
	}
	one.before, err = startOf(ctx, tx, c.row.ID, c.current)
	return one, err
}

// start queues the job that resolves the modules of a component.
func (c refreshable) start(ctx context.Context, tx *store.Tx, refresh store.ModuleRefresh, runner string) error {
	spec, recipe, err := buildSpec(tx.Org, c.build, c.row, *c.current)
	if err != nil {
		return err
	}
	spec.ResolveOnly, spec.Modules = true, api.ModuleResolution{}
	part := id.New("mrc")
	job, err := jobs.Enqueue(ctx, tx, jobs.NewJob{
		Runner: runner, Kind: "build", OwnerKind: RefreshOwnerKind, OwnerID: part, ComponentKind: recipe.Kind,
		Reason: refresh.RequestedBy + " asked for the newest of " + resolvedOf(c.componentState),
		Spec: api.JobSpec{
			Kind: api.JobSpecKindBuild, TimeoutSeconds: int(math.Ceil(timeoutOf(c.config).Seconds())), Build: spec,
		},
	})
	if err != nil {
		return err
	}
	before, err := json.Marshal(c.before)
	if err != nil {
		return fmt.Errorf("write resolution: %w", err)
	}
	return tx.AddModuleRefreshComponent(ctx, store.AddModuleRefreshComponentParams{
		OrgID: tx.Org, ID: part, RefreshID: refresh.ID, ComponentID: c.row.ID, InputID: c.current.ID, Before: before,
		JobID: job,
	})
}

// CancelRefresh cancels the jobs of a running refresh, which then fails and changes nothing. reason is for people. If
// the refresh has ended, the error is a refusal.
func (b *Builder) CancelRefresh(ctx context.Context, tx *store.Tx, refresh store.ModuleRefresh, reason string) error {
	if refresh.Status != refreshRunning {
		return refusal.New(refusal.Conflict, "ended", "the refresh has ended: "+refresh.Status, "")
	}
	parts, err := tx.ModuleRefreshComponents(ctx, tx.Org, refresh.ID)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if p.ModuleRefreshComponent.Status != refreshRunning {
			continue
		}
		if err := jobs.Cancel(ctx, tx, p.ModuleRefreshComponent.JobID, reason); err != nil {
			return fmt.Errorf("cancel the refresh of component %s: %w", p.Name, err)
		}
	}
	return nil
}

// Refreshes is the owner of the jobs of refreshes for package jobs.
type Refreshes struct{}

var _ jobs.Owner = Refreshes{}

// JobAccepted allows every accept.
func (Refreshes) JobAccepted(context.Context, *store.Tx, store.Job) error { return nil }

// JobEnded records what was resolved for a component. After the last one it applies the refresh.
func (Refreshes) JobEnded(ctx context.Context, tx *store.Tx, job store.Job, result api.JobResult) error {
	found, err := tx.RefreshOfComponent(ctx, tx.Org, job.OwnerID)
	if errors.Is(err, store.ErrNotFound) {
		return nil // the app was deleted
	}
	if err != nil {
		return fmt.Errorf("end the refresh of %s: %w", job.OwnerID, err)
	}
	// Components that end at the same time wait for each other here, so that one of them is the last.
	app, err := tx.LockApp(ctx, tx.Org, found.ModuleRefresh.AppID)
	if err != nil {
		return ignoreNotFound(err)
	}
	ended, err := endOfRefresh(ctx, tx, found.InputID, result)
	if err != nil {
		return fmt.Errorf("end the refresh of %s: %w", job.OwnerID, err)
	}
	ended.OrgID, ended.ID = tx.Org, job.OwnerID
	if changed, err := tx.EndModuleRefreshComponent(ctx, ended); err != nil || changed == 0 {
		return err
	}
	if err := finishRefresh(ctx, tx, app, found.ModuleRefresh); err != nil {
		return fmt.Errorf("finish refresh %s of app %s: %w", found.ModuleRefresh.ID, app.Name, err)
	}
	return nil
}

// endOfRefresh returns how the refresh of one component ended. It checks what the runner reports.
func endOfRefresh(
	ctx context.Context, tx *store.Tx, inputID string, result api.JobResult,
) (ended store.EndModuleRefreshComponentParams, err error) {
	if result.Status == api.JobResultStatusCancelled && result.Error == "" {
		result.Error = "it was cancelled"
	}
	if result.Status != api.JobResultStatusSucceeded {
		ended.Status, ended.Error = refreshFailed, failureReason(result)
		return ended, nil
	}
	input, err := tx.ComponentInputByID(ctx, tx.Org, inputID)
	if err != nil {
		return ended, err
	}
	var recipe Recipe
	if err := json.Unmarshal(input.Recipe, &recipe); err != nil {
		return ended, fmt.Errorf("read recipe: %w", err)
	}
	if trouble := validModules(recipe, result.Build.Modules); trouble != nil {
		ended.Status, ended.Error = refreshFailed, trouble.Error()+"; update the runner and refresh again"
		return ended, nil //nolint:nilerr // the error is how the refresh ended
	}
	ended.Status = refreshSucceeded
	ended.After, err = json.Marshal(result.Build.Modules)
	return ended, err
}

// finishRefresh ends a refresh whose components have all been resolved. All changes are made, or none.
func finishRefresh(ctx context.Context, tx *store.Tx, app store.App, refresh store.ModuleRefresh) error {
	parts, err := tx.ModuleRefreshComponents(ctx, tx.Org, refresh.ID)
	if err != nil {
		return err
	}
	var failed []string
	changed := false
	for _, p := range parts {
		one := p.ModuleRefreshComponent
		changes, err := Changes(one)
		switch {
		case err != nil:
			return err
		case one.Status == refreshRunning:
			return nil
		case one.Status == refreshFailed:
			failed = append(failed, p.Name+": "+one.Error)
		case p.CurrentInputID == nil || *p.CurrentInputID != one.InputID:
			failed = append(failed, p.Name+": another push changed what it is built from in the meantime; refresh again")
		}
		changed = changed || len(changes) > 0
	}
	end := store.EndModuleRefreshParams{OrgID: tx.Org, ID: refresh.ID, Status: refreshSucceeded}
	switch {
	case len(failed) > 0:
		end.Status, end.Error = refreshFailed, strings.Join(failed, "\n")
	case changed && !refresh.DryRun:
		if end.Release, err = applyRefresh(ctx, tx, app, refresh, parts); err != nil {
			return err
		}
	}
	_, err = tx.EndModuleRefresh(ctx, end)
	return err
}

// applyRefresh makes inputs and builds of what a refresh changed, and the release of them. It returns
// the release's number, or 0 if the pipeline makes it together with a newer version of the app.
func applyRefresh(
	ctx context.Context, tx *store.Tx, app store.App, refresh store.ModuleRefresh,
	parts []store.ModuleRefreshComponentsRow,
) (int32, error) {
	now, err := readApp(ctx, tx, app.ID)
	if err != nil {
		return 0, err
	}
	for _, p := range parts {
		at := slices.IndexFunc(now.components, func(c componentState) bool {
			return c.row.ID == p.ModuleRefreshComponent.ComponentID
		})
		if at < 0 {
			continue // it has left the app
		}
		if err := applyToComponent(ctx, tx, now.components[at], refresh, p.ModuleRefreshComponent); err != nil {
			return 0, fmt.Errorf("component %s: %w", p.Name, err)
		}
	}
	newest, err := tx.NewestRelease(ctx, tx.Org, app.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	if err != nil || newest.VersionID != now.version.ID {
		return 0, tx.Enqueue(ctx, queue.Build{Org: tx.Org, App: app.ID})
	}
	commits, err := release.Commits(newest)
	if err != nil {
		return 0, err
	}
	made, err := release.Create(ctx, tx, app, commits)
	if err != nil || made == nil {
		return 0, err
	}
	return made.Number, enqueueRollout(ctx, tx, *made)
}

// applyToComponent makes the new resolution of a component the one that it is built with.
func applyToComponent(
	ctx context.Context, tx *store.Tx, c componentState, refresh store.ModuleRefresh,
	part store.ModuleRefreshComponent,
) error {
	changes, err := Changes(part)
	if err != nil || len(changes) == 0 {
		return err
	}
	var (
		recipe Recipe
		after  api.ModuleResolution
	)
	if err := errors.Join(json.Unmarshal(c.current.Recipe, &recipe), json.Unmarshal(part.After, &after)); err != nil {
		return fmt.Errorf("read recipe and resolution: %w", err)
	}
	old, err := tx.BuildOfInput(ctx, tx.Org, c.current.ID)
	if err != nil {
		return err
	}
	reason := fmt.Sprintf("%s refreshed %s: %s", refresh.RequestedBy, resolvedOf(c), describeChanges(changes))
	input, err := chooseInput(ctx, tx, c, recipe, after, reason)
	if err != nil {
		return err
	}
	if err := tx.SetComponentInput(ctx, &input.ID, tx.Org, c.row.ID); err != nil {
		return err
	}
	if built, err := tx.BuildOfInput(ctx, tx.Org, input.ID); err == nil {
		return tx.SetModuleRefreshBuild(ctx, built.ID, tx.Org, part.ID)
	} else if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	build, err := tx.AddBuild(ctx, store.AddBuildParams{
		OrgID: tx.Org, ID: id.New("bld"), ComponentID: c.row.ID, InputID: input.ID, Repository: old.Repository,
		Commit: old.Commit, SourceDigest: old.SourceDigest, SourceBytes: old.SourceBytes, Reason: reason, Trace: old.Trace,
	})
	if err != nil {
		return err
	}
	if _, err := startJob(ctx, tx, build, c.row, input, timeoutOf(c.config)); err != nil {
		return err
	}
	return tx.SetModuleRefreshBuild(ctx, build.ID, tx.Org, part.ID)
}

// chooseInput returns the input of a component's present code that starts from a resolution: a new
// one, or the one that an earlier refresh made.
func chooseInput(
	ctx context.Context, tx *store.Tx, c componentState, recipe Recipe, after api.ModuleResolution, reason string,
) (store.ComponentInput, error) {
	recipe.Modules = digestOf(after)
	input, err := tx.ChooseInput(ctx, tx.Org, c.row.ID, recipe.Digest())
	if errors.Is(err, store.ErrNotFound) {
		return addInput(ctx, tx, newInput{component: c.row.ID, recipe: recipe, variables: c.current.Variables,
			revision: c.current.RevisionID, reason: reason}, &after)
	}
	return input, err
}

// Changes returns what a refresh changes for a component: nothing before it has ended.
func Changes(part store.ModuleRefreshComponent) ([]api.ModuleChange, error) {
	changes := []api.ModuleChange{}
	if part.After == nil {
		return changes, nil
	}
	var before, after api.ModuleResolution
	if err := errors.Join(json.Unmarshal(part.Before, &before), json.Unmarshal(part.After, &after)); err != nil {
		return nil, fmt.Errorf("read resolution: %w", err)
	}
	was := map[string]api.ResolvedModule{}
	for _, m := range before.Modules {
		was[m.Key] = m
	}
	for _, m := range after.Modules {
		old, is := was[m.Key]
		delete(was, m.Key)
		if old.Archive == "" || m.Archive == "" || old.Tree == m.Tree {
			old.Archive = m.Archive // the same files, possibly packed again
		}
		if !is || old != m || before.Tool != after.Tool {
			if !is {
				old = api.ResolvedModule{}
			}
			changes = append(changes, api.ModuleChange{Key: m.Key, Before: old, After: m})
		}
	}
	for key, old := range was {
		changes = append(changes, api.ModuleChange{Key: key, Before: old})
	}
	slices.SortFunc(changes, func(a, b api.ModuleChange) int { return cmp.Compare(a.Key, b.Key) })
	return changes, nil
}

// maxDescribed is the number of changes that a reason lists.
const maxDescribed = 4

// describeChanges returns changes as a part of a sentence, such as "vpc 1.0.0 → 1.1.0".
func describeChanges(changes []api.ModuleChange) string {
	var words []string
	for _, c := range changes[:min(len(changes), maxDescribed)] {
		switch {
		case c.Before.Key != "" && isImage(c.After):
			words = append(words, describeImage(c))
		case c.Before.Key == "":
			words = append(words, c.Key+" is new")
		case c.After.Key == "":
			words = append(words, c.Key+" is gone")
		default:
			words = append(words, fmt.Sprintf("%s %s → %s",
				c.Key, shortVersion(c.Before, c.After), shortVersion(c.After, c.Before)))
		}
	}
	if more := len(changes) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}

// shortVersion returns a module's version, with its digest if another module has the same one.
func shortVersion(m, other api.ResolvedModule) string {
	tree := strings.TrimPrefix(m.Tree, "sha256:")
	tree = tree[:min(len(tree), 12)]
	switch {
	case m.Version != "" && m.Version != other.Version:
		return m.Version
	case m.Version != "":
		return m.Version + " (" + tree + ")"
	case m.Commit != "" && m.Commit != other.Commit:
		return fmt.Sprintf("%.12s", m.Commit)
	}
	return tree
}
