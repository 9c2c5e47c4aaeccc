package validate

import "github.com/nuon-toolkit/nuon/cli/worktree"

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
	r, err := worktree.Open(dir)
	if err != nil {
		return workTree{}
	}
	w := workTree{found: true, repository: r.Remote(), branch: r.Branch(), dir: r.Dir, root: r.Root}
	if w.dir == "." {
		w.dir = ""
	}
	return w
}
