package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Bounds of a resolution that a runner reports. They are those of runners, with room: a runner is not
// trusted.
const (
	maxModules    = 500
	maxModuleKey  = 300
	maxModuleText = 3000
)

var (
	moduleKey    = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_-]*(\.[\p{L}_][\p{L}\p{N}_-]*)*$`)
	moduleCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// Tools that modules are packed for, with the same values as the table's constraint.
const (
	toolTerraform = "terraform"
	toolOpenTofu  = "tofu"
)

// checkModules checks the resolution that the runner reports for a build of an input. It returns nil
// for none, unless the input is an image. A call that the input's own resolution has must have the same content.
func checkModules(input store.ComponentInput, made api.ModuleResolution) error {
	var recipe Recipe
	if err := json.Unmarshal(input.Recipe, &recipe); err != nil {
		return fmt.Errorf("read recipe: %w", err)
	}
	if made.Tool == "" && len(made.Modules) == 0 && recipe.Image == nil {
		return nil
	}
	var start api.ModuleResolution
	if input.Resolution != nil {
		if err := json.Unmarshal(input.Resolution, &start); err != nil {
			return fmt.Errorf("read resolution: %w", err)
		}
	}
	if err := validModules(recipe, made); err != nil {
		return fmt.Errorf("%w; update the runner and build again", err)
	}
	if start.Tool != made.Tool {
		return nil // the same addresses mean other registries
	}
	return checkUnchanged(start, made)
}

// validModules checks the form of a reported resolution.
func validModules(recipe Recipe, made api.ModuleResolution) error {
	if recipe.Image != nil {
		return validImage(*recipe.Image, made)
	}
	switch {
	case recipe.TerraformVersion == "":
		return fmt.Errorf("the runner reported modules of a %s", recipe.Kind)
	case made.Tool != toolTerraform && made.Tool != toolOpenTofu:
		return errors.New("the runner reported modules for an unknown tool")
	case len(made.Modules) == 0 || len(made.Modules) > maxModules:
		return fmt.Errorf("the runner reported %d modules; at least 1 and at most %d are allowed", len(made.Modules),
			maxModules)
	}
	seen := map[string]bool{}
	for i, m := range made.Modules {
		if field := invalidField(m); field != "" {
			return fmt.Errorf("the runner reported an invalid %s for module %d", field, i+1)
		}
		if seen[m.Key] {
			return fmt.Errorf("the runner reported module %s twice", m.Key)
		}
		seen[m.Key] = true
	}
	return nil
}

// invalidField returns the name of the first field of a module that cannot be right, or "".
func invalidField(m api.ResolvedModule) string {
	for name, text := range map[string]string{
		"source": m.Source, "constraint": m.Constraint, "version": m.Version, "directory": m.Directory,
		"repository": m.Repository,
	} {
		if len(text) > maxModuleText || !utf8.ValidString(text) ||
			strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return name
		}
	}
	at, err := url.Parse(m.Repository)
	switch {
	case len(m.Key) > maxModuleKey || !moduleKey.MatchString(m.Key):
		return "key"
	case m.Source == "":
		return "source"
	case err != nil || at.RawQuery != "" || hasPassword(at):
		return "repository"
	case m.Commit != "" && !moduleCommit.MatchString(m.Commit):
		return "commit"
	case m.Archive != "" && sha256digest.Check(m.Archive) != nil:
		return "digest of the archive"
	case sha256digest.Check(m.Tree) != nil:
		return "digest"
	case !fs.ValidPath(m.Directory):
		return "directory"
	}
	return ""
}

func hasPassword(at *url.URL) bool {
	_, has := at.User.Password()
	return has
}

// checkUnchanged returns an error that names both digests if a call has other content than before.
func checkUnchanged(start, made api.ModuleResolution) error {
	type call struct{ source, constraint string }
	type content struct{ version, commit, tree string }
	before := map[call]map[content]bool{}
	one := map[call]api.ResolvedModule{}
	for _, m := range start.Modules {
		at := call{m.Source, m.Constraint}
		if before[at] == nil {
			before[at] = map[content]bool{}
		}
		before[at][content{m.Version, m.Commit, m.Tree}], one[at] = true, m
	}
	for _, m := range made.Modules {
		at := call{m.Source, m.Constraint}
		if before[at] == nil || before[at][content{m.Version, m.Commit, m.Tree}] {
			continue
		}
		was := one[at]
		if isImage(m) {
			return fmt.Errorf("image %s: %s was requested, and %s was copied", m.Source, contentName(was), contentName(m))
		}
		return fmt.Errorf("module %s (%s): the content changed: %s was recorded, %s was packed; ask the owner of the "+
			"module why, and run \"nuon builds refresh\" to accept it",
			m.Key, m.Source, contentName(was), contentName(m))
	}
	return nil
}

// conflictingResolution returns the modules of the newest build of a component if that has other content for a call
// than a build that started from no resolution, or nil. Of two builds that end at once, the second waits for the first.
func conflictingResolution(
	ctx context.Context, tx *store.Tx, componentID string, made api.ModuleResolution,
) (*api.ModuleResolution, error) {
	component, err := tx.ComponentToBuild(ctx, tx.Org, componentID)
	if err != nil {
		return nil, err
	}
	if _, err := tx.LockApp(ctx, tx.Org, component.AppID); err != nil {
		return nil, err
	}
	built, err := tx.BuildToResolveLike(ctx, tx.Org, componentID, "")
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	first, err := Modules(ctx, tx, built.ID, built.ModulesTool)
	if err != nil || first.Tool != made.Tool || checkUnchanged(first, made) == nil {
		return nil, err
	}
	return &first, nil
}

// contentName names the content of a module: its version or commit, and its digest.
func contentName(m api.ResolvedModule) string {
	switch {
	case m.Version != "":
		return m.Version + " (" + m.Tree + ")"
	case m.Commit != "":
		return fmt.Sprintf("commit %.12s (%s)", m.Commit, m.Tree)
	}
	return m.Tree
}

// addModules stores the resolution of a build.
func addModules(ctx context.Context, tx *store.Tx, build string, made api.ModuleResolution) error {
	add := store.AddBuildModulesParams{OrgID: tx.Org, BuildID: build}
	for _, m := range made.Modules {
		add.Keys, add.Sources = append(add.Keys, m.Key), append(add.Sources, m.Source)
		add.VersionConstraints, add.Versions = append(add.VersionConstraints, m.Constraint), append(add.Versions, m.Version)
		add.Repositories, add.Commits = append(add.Repositories, m.Repository), append(add.Commits, m.Commit)
		add.Archives, add.Trees = append(add.Archives, m.Archive), append(add.Trees, m.Tree)
		add.Directories = append(add.Directories, m.Directory)
	}
	return tx.AddBuildModules(ctx, add)
}

// Modules returns the modules that a build packed. It returns the zero value for a build without any.
func Modules(ctx context.Context, tx *store.Tx, build, tool string) (api.ModuleResolution, error) {
	if tool == "" {
		return api.ModuleResolution{}, nil
	}
	made := api.ModuleResolution{Tool: tool, Modules: []api.ResolvedModule{}}
	rows, err := tx.BuildModules(ctx, tx.Org, build)
	for _, m := range rows {
		made.Modules = append(made.Modules, api.ResolvedModule{
			Key: m.Key, Source: m.Source, Constraint: m.VersionConstraint, Version: m.Version, Repository: m.Repository,
			Commit: m.Commit, Archive: m.Archive, Tree: m.Tree, Directory: m.Directory,
		})
	}
	return made, err
}

// startOf returns the resolution that a new input of a component starts from, or nil: the one that the
// component's current input was built with or starts from, otherwise that of the newest build.
func startOf(
	ctx context.Context, tx *store.Tx, componentID string, current *store.ComponentInput,
) (*api.ModuleResolution, error) {
	currentID := ""
	if current != nil {
		currentID = current.ID
	}
	built, err := tx.BuildToResolveLike(ctx, tx.Org, componentID, currentID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	var start api.ModuleResolution
	switch {
	case built.InputID != currentID && current != nil && current.Resolution != nil:
		err = json.Unmarshal(current.Resolution, &start) // it has no build with modules yet
	case built.ID == "":
		return nil, nil
	default:
		start, err = Modules(ctx, tx, built.ID, built.ModulesTool)
	}
	if err != nil {
		return nil, fmt.Errorf("read resolution: %w", err)
	}
	return &start, nil
}
