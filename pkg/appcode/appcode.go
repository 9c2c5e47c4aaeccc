// Package appcode compares the code of an app's components and actions in two trees of the app's repository.
//
// It identifies code in the same way as the control plane's builds (appconfig's Sources), so a
// component is listed exactly if its build input differs. `nuon diff app` and tests of the control
// plane use the package.
package appcode

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/gittree"
	"github.com/nuon-toolkit/nuon/pkg/sourcedir"
)

// Side is one of two states of an app.
type Side struct {
	App *appconfig.App
	// Tree is the whole repository.
	Tree *gittree.Tree
	// Repository and Branch identify the tree: it contains the code of the components that name
	// both. They may be empty.
	Repository, Branch string
}

// Change describes how the code of a component or of an action's steps differs.
type Change struct {
	// Files are the changed files in the directories that the component is built from, sorted by
	// path.
	Files []gittree.Change
	// NotListed states why no changed files are listed; empty if they are.
	NotListed string
	// Before and After state why the component cannot be built on that side; empty if it can.
	Before, After string
}

// maxFiles bounds the number of listed files of all components together.
const maxFiles = 10_000

// Compare returns what is built of the app (appconfig's Built) and whose code differs, by name. It leaves out
// code that is not in both trees.
func Compare(before, after Side) (map[string]Change, error) {
	codeBefore, codeAfter := before.readCode(), after.readCode()
	if err := cmp.Or(before.Tree.Err(), after.Tree.Err()); err != nil {
		return nil, fmt.Errorf("read the code: %w", err)
	}
	all := map[string]Change{}
	for name, now := range codeAfter {
		if old, both := codeBefore[name]; both && (old.problem != now.problem || !slices.Equal(old.sources, now.sources)) {
			all[name] = Change{Before: old.problem, After: now.problem}
		}
	}
	if len(all) == 0 {
		return all, nil
	}
	files, err := gittree.Changes(before.Tree, after.Tree, maxFiles)
	notListed := ""
	switch {
	case errors.Is(err, gittree.ErrTooManyChanges):
		notListed = fmt.Sprintf("more than %d files of the repository changed", maxFiles)
	case errors.Is(err, gittree.ErrTooManyEntries), errors.Is(err, gittree.ErrLongPath):
		notListed = err.Error()
	case err != nil:
		return nil, fmt.Errorf("compare the code: %w", err)
	}
	for name, change := range all {
		change.NotListed = notListed
		for _, file := range files {
			if codeBefore[name].contains(file.Path) || codeAfter[name].contains(file.Path) {
				change.Files = append(change.Files, file)
			}
		}
		all[name] = change
	}
	return all, nil
}

// code is the input of a component's build, or the reason why it cannot be built.
type code struct {
	sources []sourcedir.Source
	problem string
}

// readCode returns the code of everything that is built of the app and whose code is in the tree.
func (s Side) readCode() map[string]code {
	all := map[string]code{}
	built := s.App.Built()
	for i := range built {
		c := &built[i]
		if c.Source == nil || !c.Source.IsIn(s.Repository, s.Branch) {
			continue
		}
		sources, err := s.App.Sources(c, s.Tree, "the repository")
		componentCode := code{sources: sources}
		if err != nil {
			componentCode.problem = err.Error()
		}
		all[c.Name] = componentCode
	}
	return all
}

// contains reports whether a file is in one of the directories.
func (c code) contains(file string) bool {
	return slices.ContainsFunc(c.sources, func(s sourcedir.Source) bool {
		return s.Directory == "." || strings.HasPrefix(file, s.Directory+"/")
	})
}
