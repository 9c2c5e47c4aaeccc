package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/gittree"
	"github.com/nuon-toolkit/nuon/reconciler/catalog"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// DryRun is the effect that another config and repository of the app would have on a component.
type DryRun struct {
	InputChanged bool   // it would have another input than it has
	Rebuild      bool   // and a build would be created
	Problem      string // why it could not be built, for people; the other fields are then as without it
	Reason       string // for people
	// Build is the build that would be used. A build that does not exist yet has no number and
	// counts as succeeded.
	Build store.Build
	// Variables are those of the module of a sandbox that nuon may pass.
	Variables []appconfig.ModuleVariable
}

// dryRunDigest replaces the digest of an artifact that does not exist yet.
const dryRunDigest = "draft"

// DryRunBuilds returns the effect of a config on each of its components, with the files of its own
// repository. The app may have no version yet. A component that names the app's repository and
// branch by URL is built from the same files. Code in other repositories counts as it was when it
// was last read. DryRunBuilds writes nothing.
func DryRunBuilds(
	ctx context.Context, tx *store.Tx, appID string, config *appconfig.App, tree *gittree.Tree,
) (map[string]DryRun, error) {
	now, err := readApp(ctx, tx, appID)
	if err != nil && !errors.Is(err, errNothingToBuild) {
		return nil, fmt.Errorf("read app %s: %w", appID, err)
	}
	rows, err := tx.ComponentsForRollout(ctx, tx.Org, appID)
	if err != nil {
		return nil, err
	}
	d := dryRunner{tree: tree, app: config, present: map[string]componentState{}, rows: map[string]store.Component{}}
	if now.watch != nil {
		d.url, d.branch = now.watch.URL, now.watch.Ref
	}
	for _, component := range now.components {
		d.present[component.row.Name] = component
	}
	for _, row := range rows {
		d.rows[row.Name] = row
	}
	all := map[string]DryRun{}
	for _, component := range config.Built() {
		draft, err := d.draft(ctx, tx, component)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", component.Title(), err)
		}
		all[component.Name] = draft
	}
	return all, tree.Err()
}

// dryRunner holds the current components, and the files that replace the committed ones.
type dryRunner struct {
	tree    *gittree.Tree
	app     *appconfig.App
	url     string                     // of the app's repository
	branch  string                     // that the app follows
	present map[string]componentState  // components of the current version
	rows    map[string]store.Component // all components that ever existed
}

func (d dryRunner) draft(ctx context.Context, tx *store.Tx, config appconfig.Component) (DryRun, error) {
	was := d.present[config.Name]
	found := &candidate{
		app:            d.app,
		componentState: componentState{config: config, row: d.rows[config.Name], url: "the files that were sent"},
	}
	found.current = was.current
	if was.current != nil && config.Kind == appconfig.KindSandbox { // unless the module is read below
		if err := json.Unmarshal(was.current.Variables, &found.variables); err != nil {
			return DryRun{}, fmt.Errorf("read its variables: %w", err)
		}
	}
	switch {
	case config.Source == nil:
		found.inline = true
		found.inspect()
	case config.Source.IsIn(d.url, d.branch):
		found.tree = d.tree
		found.inspect()
	case was.current != nil && sameCode(&was.config, &config):
		var before Recipe
		if err := json.Unmarshal(was.current.Recipe, &before); err != nil {
			return DryRun{}, fmt.Errorf("read its input: %w", err)
		}
		found.recipe = BaseRecipe(&config)
		found.recipe.Sources = before.Sources
		if d := found.recipe.Docker; d != nil && d.Dockerfile != "" && before.Docker != nil {
			d.Text = before.Docker.Text
		}
		found.digest = found.recipe.Digest()
	default:
		reason := fmt.Sprintf("it is built from %s in %s at %s, which a sync reads",
			config.Source.Directory, config.Source.Repo, config.Source.Branch)
		return DryRun{InputChanged: true, Rebuild: true, Reason: reason, Build: plannedBuild(reason),
			Variables: found.variables}, nil
	}
	if found.problem != "" {
		return DryRun{Problem: found.problem, Reason: "it could not be built: " + found.problem}, nil
	}
	var err error
	if found.row.ID != "" {
		found.known, err = findKnown(ctx, tx, found.row.ID, found.digest)
	}
	draft := found.dryRun()
	draft.Variables = found.variables
	return draft, err
}

// sameCode reports whether two configs of a component name the same code, so that facts about one
// hold for the other.
func sameCode(was, is *appconfig.Component) bool {
	before, after := BaseRecipe(was), BaseRecipe(is)
	if before.Kustomize != nil && after.Kustomize != nil {
		before.Kustomize.EnableHelm = after.Kustomize.EnableHelm // which does not affect the files that are read
	}
	if before.Docker != nil && after.Docker != nil && before.Docker.Dockerfile != after.Docker.Dockerfile {
		return false
	}
	return was.Source != nil && *was.Source == *is.Source && was.Kind == is.Kind &&
		before.Directory == after.Directory &&
		reflect.DeepEqual(before.Kustomize, after.Kustomize)
}

// dryRun returns the effect of an input that was determined.
func (f *candidate) dryRun() DryRun {
	if f.current != nil && f.known.build != nil && f.current.ID == f.known.input.ID {
		return DryRun{Reason: "nothing that it is built from would change", Build: *f.known.build}
	}
	if f.known.build != nil {
		return DryRun{InputChanged: true, Reason: adoptedOutcome(f), Build: *f.known.build}
	}
	reason := dryRunReason(f)
	return DryRun{InputChanged: true, Rebuild: true, Reason: reason, Build: plannedBuild(reason)}
}

func plannedBuild(reason string) store.Build {
	return store.Build{Status: statusSucceeded, ArtifactDigest: dryRunDigest, Reason: reason}
}

// dryRunReason returns why a component would have another input than it has.
func dryRunReason(f *candidate) string {
	var before Recipe
	if f.current == nil || json.Unmarshal(f.current.Recipe, &before) != nil {
		return "it would be built for the first time"
	}
	if shape := shapeReason(before, f.recipe, f.config.Title(), "this config"); shape != "" {
		return shape
	}
	if moved := changedDirectories(before, f.recipe); len(moved) > 0 {
		return fmt.Sprintf("the code in %s would change", catalog.Summarize(moved))
	}
	return optionReason(before, f.recipe, f.config.Title(), "this config")
}
