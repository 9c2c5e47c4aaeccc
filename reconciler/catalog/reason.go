package catalog

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// connectedReason returns why a revision made a version current.
func connectedReason(at appState, moved versionChange, version *store.AppVersion) string {
	commit := CommitName(*at.revision)
	switch {
	case moved == versionRevived:
		return fmt.Sprintf("%s set the config back to that of version %d", commit, version.Number)
	case at.current == nil:
		return "the first version, from " + commit
	}
	changed := PathsIn(ChangedPaths(*at.revision), at.app.Directory)
	if len(changed) == 0 {
		// Several commits may have passed, or the paths are not known.
		return fmt.Sprintf("the config at %s differs from version %d", commit, at.current.Number)
	}
	return fmt.Sprintf("%s changed %s", commit, Summarize(changed))
}

// brokenOutcome returns the summary of a config with errors.
func brokenOutcome(current *store.AppVersion, found appconfig.Diagnostics) string {
	errors, first := 0, ""
	for _, one := range found {
		if one.Severity != diagnostic.Error {
			continue
		}
		if errors++; first == "" {
			first = diagnosticText(one)
		}
	}
	count := "an error"
	if errors > 1 {
		count = fmt.Sprintf("%d errors, the first of which is", errors)
	}
	stays := "there is no version yet"
	if current != nil {
		stays = fmt.Sprintf("app version %d stays", current.Number)
	}
	return fmt.Sprintf("the config has %s: %s; %s", count, first, stays)
}

// diagnosticText returns a diagnostic as a sentence: its place, if it has one, what is wrong, and what to
// do.
func diagnosticText(d appconfig.Diagnostic) string {
	if d.File != "." {
		return d.String()
	}
	if d.Hint == "" {
		return d.Message
	}
	return d.Message + " (" + d.Hint + ")"
}

// CommitName describes a revision for use in a sentence: commit 1a2b3c4 ("its subject").
func CommitName(revision store.Revision) string {
	name := "commit " + ShortCommit(revision.Commit)
	if revision.Subject != "" {
		name += fmt.Sprintf(" (%q)", revision.Subject)
	}
	return name
}

// ShortCommit returns the short form of a commit hash.
func ShortCommit(commit string) string { return commit[:min(7, len(commit))] }

// ChangedPaths returns the paths that changed with a revision, or nil if they are not known.
func ChangedPaths(revision store.Revision) []string {
	var paths []string
	if len(revision.ChangedPaths) > 0 {
		// Only observe writes the column, as a list of strings.
		_ = json.Unmarshal(revision.ChangedPaths, &paths)
	}
	return paths
}

// PathsIn returns the paths that are in a directory.
func PathsIn(paths []string, directory string) []string {
	directory = path.Clean(directory)
	var inside []string
	for _, one := range paths {
		if directory == "." || strings.HasPrefix(one, directory+"/") || one == directory {
			inside = append(inside, one)
		}
	}
	return inside
}

// Summarize names up to three things and counts the rest.
func Summarize(things []string) string {
	const most = 3
	if len(things) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(things[:most], ", "), len(things)-most)
	}
	if len(things) < 2 {
		return strings.Join(things, "")
	}
	return strings.Join(things[:len(things)-1], ", ") + " and " + things[len(things)-1]
}
