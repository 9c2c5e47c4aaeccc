package build

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/reconciler/catalog"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// newInputReason returns why a component has another input than before.
func newInputReason(found *candidate, app appState) string {
	title, version := found.config.Title(), fmt.Sprintf("app version %d", app.version.Number)
	commit := version
	if found.revision != nil {
		commit = catalog.CommitName(*found.revision)
	}
	if found.current == nil {
		reason := fmt.Sprintf("the first input of %s, at %s", title, commit)
		if fetched := found.recipe.fetched(); fetched != "" {
			reason += ": " + fetched
		}
		return reason
	}
	var before Recipe
	if err := json.Unmarshal(found.current.Recipe, &before); err != nil {
		return fmt.Sprintf("the input of %s changed at %s", title, commit)
	}
	now := found.recipe
	if shape := shapeReason(before, now, title, version); shape != "" {
		return shape
	}
	if moved := changedDirectories(before, now); len(moved) > 0 {
		return codeReason(title, commit, moved, *found.revision)
	}
	return optionReason(before, now, title, version)
}

// shapeReason returns what differs besides the code and the Terraform version, and whom to
// attribute it to. It is empty if nothing does.
func shapeReason(before, now Recipe, title, whom string) string {
	switch {
	case before.Format != now.Format:
		return fmt.Sprintf("this version of the control plane computes inputs differently, so %s is built again",
			title)
	case before.Kind != now.Kind:
		return fmt.Sprintf("%s makes %s a %s instead of a %s", whom, title, now.Kind, before.Kind)
	case now.fetched() != "" && now.fetched() != before.fetched():
		return fmt.Sprintf("%s builds %s from %s", whom, title, now.fetched()) + previousText(before)
	case now.Manifest != "" && before.Manifest != "" && before.Manifest != now.Manifest:
		return fmt.Sprintf("%s changes the manifest of %s", whom, title)
	case now.Manifest != "" && before.Manifest == "":
		return fmt.Sprintf("%s builds %s from a manifest in the config", whom, title) + previousText(before)
	case now.fetched() != before.fetched(), now.Manifest == "" && before.Manifest != "":
		return fmt.Sprintf("%s builds %s from %s", whom, title, now.Directory) + previousText(before)
	case before.Directory != now.Directory:
		return fmt.Sprintf("%s builds %s from %s instead of %s", whom, title, now.Directory, before.Directory)
	}
	return ""
}

// previousText returns what a component was built from before, as the end of a sentence.
func previousText(before Recipe) string {
	switch {
	case before.fetched() != "":
		return " instead of " + before.fetched()
	case before.Manifest != "":
		return " instead of a manifest in the config"
	}
	return " instead of " + before.Directory
}

// optionReason returns what differs besides the shape and the code.
func optionReason(before, now Recipe, title, whom string) string {
	switch {
	case now.Kustomize != nil:
		return fmt.Sprintf("%s changes the kustomize options of %s", whom, title)
	case now.Docker != nil && before.Docker != nil:
		return dockerReason(*before.Docker, *now.Docker, title, whom)
	}
	return terraformReason(before, now, title, whom)
}

func dockerReason(before, now Docker, title, whom string) string {
	switch {
	case now.Dockerfile != before.Dockerfile && now.Dockerfile != "":
		return fmt.Sprintf("%s builds %s with %s", whom, title, now.Dockerfile)
	case now.Text != before.Text:
		return fmt.Sprintf("%s changes the Dockerfile of %s", whom, title)
	case now.Target != before.Target && now.Target != "":
		return fmt.Sprintf("%s builds stage %s of %s", whom, now.Target, title)
	case !slices.Equal(now.Platforms, before.Platforms):
		return fmt.Sprintf("%s changes the platforms of %s", whom, title)
	case !maps.Equal(now.Args, before.Args):
		return fmt.Sprintf("%s changes the build arguments of %s", whom, title)
	}
	return fmt.Sprintf("%s changes how %s is built", whom, title)
}

func terraformReason(before, now Recipe, title, whom string) string {
	return fmt.Sprintf("%s builds %s with Terraform %s instead of %s",
		whom, title, now.TerraformVersion, before.TerraformVersion)
}

// codeReason names the changed files if the revision itself changed them, otherwise the
// directories.
func codeReason(title, commit string, moved []string, revision store.Revision) string {
	var files []string
	for _, directory := range moved {
		files = append(files, catalog.PathsIn(catalog.ChangedPaths(revision), directory)...)
	}
	if len(files) == 0 {
		return fmt.Sprintf("the code in %s, which %s is built from, changed at %s",
			catalog.Summarize(moved), title, commit)
	}
	return fmt.Sprintf("%s changed %s, which %s is built from", commit, catalog.Summarize(files), title)
}

// changedDirectories returns the directories whose code has changed, was added or was removed.
func changedDirectories(before, now Recipe) []string {
	var moved []string
	for _, source := range now.Sources {
		if tree, there := before.tree(source.Directory); !there || tree != source.Tree {
			moved = append(moved, source.Directory)
		}
	}
	for _, source := range before.Sources {
		if _, there := now.tree(source.Directory); !there {
			moved = append(moved, source.Directory)
		}
	}
	return moved
}

// buildOutcome describes a created build.
func buildOutcome(found *candidate, build store.Build, started bool) string {
	sentence := fmt.Sprintf("%s: input changed, build %d", found.config.Title(), build.Number)
	if found.current == nil {
		sentence = fmt.Sprintf("%s: first input, build %d", found.config.Title(), build.Number)
	}
	if !started {
		sentence += ", which waits for the org's first build runner"
	}
	return sentence
}

// adoptedOutcome describes a component's return to an input that already has a build.
func adoptedOutcome(found *candidate) string {
	build := found.known.build
	sentence := fmt.Sprintf("%s: the same input as that of build %d", found.config.Title(), build.Number)
	switch build.Status {
	case statusSucceeded:
		return sentence + ", which is used again"
	case statusFailed:
		return sentence + ", which failed; retry it with `nuon builds retry`"
	}
	return sentence + ", which is running"
}

// noEffectReason returns why a revision had no effect.
func noEffectReason(revision store.Revision, app appState) string {
	paths := catalog.ChangedPaths(revision)
	if paths == nil {
		return "no component's input changed"
	}
	if len(paths) == 0 {
		return "no file changed"
	}
	sentence := "changed " + catalog.Summarize(paths) + " only: "
	if app.revision != nil && revision.ID == app.revision.ID && len(catalog.PathsIn(paths, app.row.Directory)) > 0 {
		return sentence + "the config is equivalent, and no component is built from it"
	}
	return sentence + "no component is built from it"
}
