package preview

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/diff/app"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/gittree"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// releaseSide is one of two releases that are compared.
type releaseSide struct {
	config     *appconfig.App
	components map[string]store.ReleaseComponentsRow
	recipes    map[string]build.Recipe
}

// Releases compares what two releases of an app deploy to installs: the configs, and what each
// component is built from.
func Releases(ctx context.Context, tx *store.Tx, from, to store.Release) (api.ReleaseDiff, error) {
	was, err := readRelease(ctx, tx, from)
	if err != nil {
		return api.ReleaseDiff{}, err
	}
	is, err := readRelease(ctx, tx, to)
	if err != nil {
		return api.ReleaseDiff{}, err
	}
	out := api.ReleaseDiff{Components: compareComponents(was, is)}
	code := map[string]appcode.Change{}
	for _, c := range out.Components {
		if change, differs := codeChange(c, was.components[c.Name].Problem); differs {
			code[c.Name] = change
		}
	}
	options := app.Options{Code: code, Subject: fmt.Sprintf("Release %d", to.Number)}
	report, err := app.Report(was.config, is.config, options)
	if err != nil {
		return out, fmt.Errorf("compare releases %d and %d: %w", from.Number, to.Number, err)
	}
	out.Report, err = json.Marshal(report)
	return out, err
}

func readRelease(ctx context.Context, tx *store.Tx, r store.Release) (releaseSide, error) {
	side := releaseSide{
		config: &appconfig.App{}, components: map[string]store.ReleaseComponentsRow{},
		recipes: map[string]build.Recipe{},
	}
	version, err := tx.AppVersionByID(ctx, tx.Org, r.VersionID)
	if err == nil {
		err = json.Unmarshal(version.Config, side.config)
	}
	if err != nil {
		return side, fmt.Errorf("read the config of release %d: %w", r.Number, err)
	}
	rows, err := tx.ReleaseComponents(ctx, tx.Org, r.ID)
	if err != nil {
		return side, fmt.Errorf("read the components of release %d: %w", r.Number, err)
	}
	for _, row := range rows {
		side.components[row.Name] = row
		if row.InputID == "" {
			continue
		}
		var recipe build.Recipe
		input, err := tx.ComponentInputByID(ctx, tx.Org, row.InputID)
		if err == nil {
			err = json.Unmarshal(input.Recipe, &recipe)
		}
		if err != nil {
			return side, fmt.Errorf("read the input of %s in release %d: %w", row.Name, r.Number, err)
		}
		side.recipes[row.Name] = recipe
	}
	return side, nil
}

// compareComponents lists the components of both releases, the sandbox first.
func compareComponents(was, is releaseSide) []api.ReleaseDiffComponent {
	names := map[string]bool{}
	for _, side := range []releaseSide{was, is} {
		for name := range side.components {
			names[name] = true
		}
	}
	all := []api.ReleaseDiffComponent{}
	for _, name := range slices.SortedFunc(maps.Keys(names), appconfig.SandboxFirst) {
		all = append(all, compareComponent(name, was, is))
	}
	return all
}

func compareComponent(name string, was, is releaseSide) api.ReleaseDiffComponent {
	before, had := was.components[name]
	after, has := is.components[name]
	c := api.ReleaseDiffComponent{
		Name: name, Kind: after.Kind, Change: api.ReleaseDiffComponentChangeNone, Problem: after.Problem,
		FromBuild: int(before.Build), ToBuild: int(after.Build), FromArtifact: before.Artifact,
		ToArtifact: after.Artifact,
	}
	switch {
	case !has:
		c.Kind, c.Change = before.Kind, api.ReleaseDiffComponentChangeRemoved
		return c
	case !had:
		c.Change, c.Rebuilt = api.ReleaseDiffComponentChangeAdded, true
		c.Redeployed = c.Kind != appconfig.KindActionSource
		return c
	}
	old, _ := was.config.Component(name)
	now, _ := is.config.Component(name)
	c.Rebuilt = before.InputDigest != after.InputDigest
	c.Redeployed = c.Kind != appconfig.KindActionSource && before.Artifact != after.Artifact ||
		old != nil && now != nil && old.ConfigDigest() != now.ConfigDigest()
	if c.Rebuilt || c.Redeployed || old != nil && now != nil && len(app.ChangedKeys(old, now)) > 0 {
		c.Change = api.ReleaseDiffComponentChangeChanged
	}
	c.Code = codeChanges(was.recipes[name], is.recipes[name])
	return c
}

// codeChanges lists the directories of a component's code whose content differs.
func codeChanges(was, is build.Recipe) []api.CodeChange {
	trees := func(r build.Recipe) map[string]string {
		all := map[string]string{}
		for _, source := range r.Sources {
			all[source.Directory] = source.Tree
		}
		return all
	}
	before, after := trees(was), trees(is)
	var changes []api.CodeChange
	for _, dir := range slices.Sorted(maps.Keys(after)) {
		if before[dir] != after[dir] {
			changes = append(changes, api.CodeChange{Directory: dir, From: before[dir], To: after[dir]})
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(before)) {
		if _, still := after[dir]; !still {
			changes = append(changes, api.CodeChange{Directory: dir, From: before[dir]})
		}
	}
	return changes
}

// codeChange returns the code changes of a component in the form of a report: by directory, since a
// release stores only the directories' hashes and not their files.
func codeChange(c api.ReleaseDiffComponent, problemBefore string) (appcode.Change, bool) {
	if c.Change == api.ReleaseDiffComponentChangeAdded || c.Change == api.ReleaseDiffComponentChangeRemoved {
		return appcode.Change{}, false
	}
	change := appcode.Change{Before: problemBefore, After: c.Problem}
	dir := func(hash string) gittree.File {
		if hash == "" {
			return gittree.File{}
		}
		return gittree.File{Hash: hash, Mode: fs.ModeDir}
	}
	for _, code := range c.Code {
		change.Files = append(change.Files,
			gittree.Change{Path: code.Directory, Before: dir(code.From), After: dir(code.To)})
	}
	return change, len(change.Files) > 0 || change.Before != change.After
}
