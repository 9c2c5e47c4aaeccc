package validate

import (
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

// workTree is what git knows of a directory; all of it is empty where there is no git.
type workTree struct {
	found      bool
	repository string // the address of its remote
	branch     string // that is checked out; empty for a commit without one
	dir        string // slash path from the root of the repository; empty for the root itself
	root       string // of the work tree on this machine; empty for a repository without one
}

// workTreeOf looks for the git work tree that a directory is in. What git says only makes a warning possible and names better, so that
// whatever is wrong with it is no matter here.
func workTreeOf(dir string) workTree {
	full, err := filepath.Abs(dir)
	if err != nil {
		return workTree{}
	}
	if full, err = filepath.EvalSymlinks(full); err != nil { // the work tree is above what a link leads to
		return workTree{}
	}
	repo, err := git.PlainOpenWithOptions(full, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if err != nil {
		return workTree{}
	}
	w := workTree{found: true}
	w.root, w.dir = below(repo, full)
	head, err := repo.Reference(plumbing.HEAD, false)
	if err == nil && head.Type() == plumbing.SymbolicReference && head.Target().IsBranch() {
		w.branch = head.Target().Short()
	}
	w.repository = remoteOf(repo, w.branch)
	return w
}

// below returns the root of the work tree, and the path of a directory from there.
func below(repo *git.Repository, full string) (root, dir string) {
	tree, err := repo.Worktree()
	if err != nil {
		return "", ""
	}
	if root, err = filepath.EvalSymlinks(tree.Filesystem.Root()); err != nil {
		return "", ""
	}
	dir, err = filepath.Rel(root, full)
	if err != nil || strings.HasPrefix(dir, "..") {
		return "", ""
	}
	if dir == "." {
		dir = ""
	}
	return root, filepath.ToSlash(dir)
}

// remoteOf gives the address that a branch is pushed to, or that the repository came from.
func remoteOf(repo *git.Repository, branch string) string {
	name := git.DefaultRemoteName
	settings, err := repo.Config()
	if err != nil {
		return ""
	}
	if tracked := settings.Branches[branch]; tracked != nil && settings.Remotes[tracked.Remote] != nil {
		name = tracked.Remote
	}
	if remote := settings.Remotes[name]; remote != nil && len(remote.URLs) > 0 {
		return remote.URLs[0]
	}
	return ""
}
