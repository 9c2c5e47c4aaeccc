package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/telemetry"
	"github.com/nuon-toolkit/nuon/reconciler/catalog"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// save writes all findings in one transaction: inputs, problems, builds with their jobs, and the
// summaries of the revisions. settled means that no component was left out for a temporary reason;
// only then is a release made.
func (b *Builder) save(ctx context.Context, org string, app appState, findings []*candidate, settled bool) error {
	return b.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		locked, err := tx.LockApp(ctx, org, app.row.ID)
		if err != nil {
			return ignoreNotFound(err)
		}
		now, err := readApp(ctx, tx, app.row.ID)
		if err != nil || now.hasChanged(app) {
			return ignoreNotFound(err) // the transaction that moved it has enqueued a build
		}
		k := saver{tx: tx, app: now, summaries: map[string][]string{}}
		for _, found := range findings {
			if err := k.saveComponent(ctx, found); err != nil {
				return fmt.Errorf("%s: %w", found.config.Title(), err)
			}
		}
		if err := k.writeSummaries(ctx); err != nil {
			return err
		}
		if !settled || k.rerun || !now.allSettled(findings) {
			return nil
		}
		made, err := release.Create(ctx, tx, locked, now.commits())
		if err != nil || made == nil {
			return err
		}
		return enqueueRollout(ctx, tx, *made)
	})
}

// allSettled reports whether the input of every component was determined at the app's version.
func (a appState) allSettled(findings []*candidate) bool {
	found := map[string]bool{}
	for _, f := range findings {
		found[f.row.ID] = true
	}
	return !slices.ContainsFunc(a.components, func(c componentState) bool { return !found[c.row.ID] && !c.settled(a) })
}

// settled reports whether a component that was not examined because the newest config has errors
// still has the input of the app's version: a release was made of that version.
func (c componentState) settled(app appState) bool {
	return c.ownRepository && app.configBroken && app.released && c.current != nil
}

// commits returns the commits from which a release is made, the app's own repository first, or the
// upload.
func (a appState) commits() []release.Commit {
	var all []release.Commit
	add := func(w *store.Watch, r *store.Revision) {
		if w == nil || r == nil {
			return
		}
		c := release.Commit{Repository: w.URL, Ref: w.Ref, Commit: r.Commit, Subject: r.Subject}
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	if a.watch == nil {
		all = append(all, release.Commit{Upload: a.version.Digest})
	}
	add(a.watch, a.readAt)
	for _, c := range a.components {
		if !c.ownRepository {
			add(c.watch, c.revision)
		}
	}
	return all
}

// ignoreNotFound returns nil if the app was deleted in the meantime, which leaves nothing to do.
func ignoreNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, errNothingToBuild) {
		return nil
	}
	return err
}

// hasChanged reports whether the app's version, or a revision at which its components are read, has
// changed.
func (a appState) hasChanged(before appState) bool {
	if a.version.ID != before.version.ID || a.configBroken != before.configBroken ||
		len(a.components) != len(before.components) {
		return true
	}
	for i, component := range a.components {
		was := before.components[i]
		if component.row.ID != was.row.ID || revisionID(component.revision) != revisionID(was.revision) {
			return true
		}
	}
	return false
}

func revisionID(revision *store.Revision) string {
	if revision == nil {
		return ""
	}
	return revision.ID
}

// saver is one run of keep.
type saver struct {
	tx        *store.Tx
	app       appState
	rerun     bool                // another reconcile is needed
	summaries map[string][]string // sentences by revision
}

// saveComponent writes the finding about one component.
func (k *saver) saveComponent(ctx context.Context, found *candidate) error {
	if found.revision != nil {
		if _, there := k.summaries[found.revision.ID]; !there {
			k.summaries[found.revision.ID] = nil
		}
	}
	if found.problem != "" {
		return k.saveProblem(ctx, found)
	}
	current, err := k.tx.ComponentToBuild(ctx, k.tx.Org, found.row.ID)
	if err != nil {
		return err
	}
	if found.known, err = findKnown(ctx, k.tx, found.row.ID, found.digest); err != nil {
		return err
	}
	if rerun, err := k.sourceIsDeleted(ctx, found); err != nil || rerun {
		return err
	}
	switch verdict := decide(current.InputID, found.known); {
	case verdict == verdictBuild && !found.packed:
		k.rerun = true // its build existed a moment ago
		return k.tx.Enqueue(ctx, queue.Build{Org: k.tx.Org, App: k.app.row.ID})
	case verdict == verdictBuild:
		return k.createBuild(ctx, found)
	case verdict == verdictAdopt:
		k.addSummary(found, adoptedOutcome(found))
	}
	if err := k.setSource(ctx, found); err != nil {
		return err
	}
	if err := k.setInput(ctx, found, current); err != nil {
		return err
	}
	return k.startWaiting(ctx, found)
}

// sourceIsDeleted reports whether the source that was packed for a finding may have been deleted from the registry
// since, and then has the app reconciled again.
func (k *saver) sourceIsDeleted(ctx context.Context, found *candidate) (bool, error) {
	if found.source == "" {
		return false, nil
	}
	deleted, err := k.tx.MayBeDeleted(ctx, k.tx.Org, SourceRepository(k.tx.Org, found.row.ID), found.source)
	if err != nil || !deleted {
		return false, err
	}
	k.rerun = true
	return true, k.tx.Enqueue(ctx, queue.Build{Org: k.tx.Org, App: k.app.row.ID})
}

// setSource records the source that was packed again for an input whose build has none any more.
func (k *saver) setSource(ctx context.Context, found *candidate) error {
	if found.source == "" || !found.lacksSource() {
		return nil
	}
	return k.tx.SetBuildSource(ctx, store.SetBuildSourceParams{OrgID: k.tx.Org, ID: found.known.build.ID,
		SourceDigest: found.source, SourceBytes: found.sourceBytes})
}

// saveProblem records why a component cannot be built. Its input stays, and so does what is deployed of
// it.
func (k *saver) saveProblem(ctx context.Context, found *candidate) error {
	digest := found.problemDigest()
	if digest == found.row.ProblemDigest {
		return nil
	}
	if !found.temporary {
		k.addSummary(found, fmt.Sprintf("%s cannot be built: %s", found.config.Title(), found.problem))
	}
	return k.tx.SetComponentProblem(ctx, store.SetComponentProblemParams{
		OrgID: k.tx.Org, ID: found.row.ID, Problem: found.problem, ProblemDigest: digest,
	})
}

// setInput makes the found input the component's current one, if it is not, and clears its problem.
func (k *saver) setInput(ctx context.Context, found *candidate, current store.Component) error {
	if equalPtr(current.InputID, &found.known.input.ID) && current.Problem == "" {
		return nil
	}
	return k.tx.SetComponentInput(ctx, &found.known.input.ID, k.tx.Org, found.row.ID)
}

// createBuild creates a build of an input, and the input if it does not exist.
func (k *saver) createBuild(ctx context.Context, found *candidate) (err error) {
	reason := newInputReason(found, k.app)
	var revision *string
	commit, trace := "", ""
	if found.revision != nil {
		revision, commit, trace = &found.revision.ID, found.revision.Commit, found.revision.Trace
	}
	ctx, span := telemetry.StartSpan(telemetry.Extract(ctx, trace), "build",
		slog.String("org", k.tx.Org), slog.String("component", found.row.ID),
		slog.String("revision", revisionID(found.revision)))
	defer func() { span.End(err) }()
	if found.known.input == nil {
		var start *api.ModuleResolution
		if found.resolves {
			if start, err = startOf(ctx, k.tx, found.row.ID, k.app.currentInput(found.row.ID)); err != nil {
				return err
			}
			if !found.recipe.startsFrom(start) {
				start = nil
			}
		}
		input, err := addInput(ctx, k.tx, newInput{component: found.row.ID, recipe: found.recipe,
			variables: found.variablesJSON(), revision: revision, reason: reason}, start)
		if err != nil {
			return err
		}
		found.known.input = &input
	}
	if err := k.tx.SetComponentInput(ctx, &found.known.input.ID, k.tx.Org, found.row.ID); err != nil {
		return err
	}
	build, err := k.tx.AddBuild(ctx, store.AddBuildParams{
		OrgID: k.tx.Org, ID: id.New("bld"), ComponentID: found.row.ID, InputID: found.known.input.ID,
		Repository: found.url, Commit: commit, SourceDigest: found.source, SourceBytes: found.sourceBytes, Reason: reason,
		Trace: telemetry.Inject(ctx),
	})
	if err != nil {
		return err
	}
	started, err := startJob(ctx, k.tx, build, found.row, *found.known.input, timeoutOf(found.config))
	if err != nil {
		return err
	}
	k.addSummary(found, buildOutcome(found, build, started))
	return nil
}

// newInput is an input of a component to store.
type newInput struct {
	component string
	recipe    Recipe
	variables json.RawMessage // appconfig.ModuleVariables
	revision  *string
	reason    string
}

// variablesJSON returns the variables of the module of a sandbox that nuon may pass.
func (f *candidate) variablesJSON() json.RawMessage {
	raw, _ := json.Marshal(append([]appconfig.ModuleVariable{}, f.variables...)) // texts always encode
	return raw
}

// addInput adds an input. Its builds start from an earlier resolution of modules, unless that is nil.
func addInput(ctx context.Context, tx *store.Tx, made newInput,
	start *api.ModuleResolution) (store.ComponentInput, error) {
	recipe := made.recipe
	add := store.AddComponentInputParams{
		OrgID: tx.Org, ID: id.New("inp"), ComponentID: made.component, RevisionID: made.revision, Reason: made.reason,
		Variables: made.variables,
	}
	var err error
	if start != nil {
		recipe.Modules = ""
		add.Base = recipe.Digest()
		if add.Resolution, err = json.Marshal(start); err != nil {
			return store.ComponentInput{}, fmt.Errorf("write resolution: %w", err)
		}
		recipe.Modules = digestOf(start)
	}
	add.Digest = recipe.Digest()
	if add.Recipe, err = json.Marshal(recipe); err != nil {
		return store.ComponentInput{}, fmt.Errorf("write recipe: %w", err)
	}
	return tx.AddComponentInput(ctx, add)
}

// startWaiting queues the job of a build that had no runner when it was created.
func (k *saver) startWaiting(ctx context.Context, found *candidate) error {
	build := found.known.build
	if build.Status != statusQueued || build.JobID != nil {
		return nil
	}
	_, err := startJob(ctx, k.tx, *build, found.row, *found.known.input, timeoutOf(found.config))
	return err
}

// addSummary adds a sentence to the summary of a component's revision, if it has a revision.
func (k *saver) addSummary(found *candidate, sentence string) {
	if found.revision == nil {
		return
	}
	k.summaries[found.revision.ID] = append(k.summaries[found.revision.ID], sentence)
}

// writeSummaries writes the summaries of the revisions that were read.
func (k *saver) writeSummaries(ctx context.Context) error {
	if k.app.revision != nil && !k.app.configBroken {
		if _, there := k.summaries[k.app.revision.ID]; !there {
			k.summaries[k.app.revision.ID] = nil
		}
	}
	// Always in the same order, so that two apps of one repository do not deadlock.
	for _, revisionID := range slices.Sorted(maps.Keys(k.summaries)) {
		revision, err := k.tx.WatchRevision(ctx, k.tx.Org, revisionID)
		if err != nil {
			return err
		}
		if err := catalog.WriteOutcome(
			ctx, k.tx, revisionID, k.app.row.Name, k.summaries[revisionID], noEffectReason(revision, k.app),
		); err != nil {
			return err
		}
	}
	return nil
}

// enqueueRollout enqueues a reconcile of every install of an app if the installs follow the created or
// changed release. A release that became complete after a partial one took its place is made again.
func enqueueRollout(ctx context.Context, tx *store.Tx, r store.Release) error {
	followed, err := release.IsFollowed(ctx, tx, r)
	if err != nil {
		return err
	}
	if !followed && r.Status == release.Complete {
		return tx.Enqueue(ctx, queue.Build{Org: tx.Org, App: r.AppID})
	}
	if !followed {
		return nil
	}
	return tx.Enqueue(ctx, queue.FanOut{Org: tx.Org, App: r.AppID})
}

func equalPtr(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }
