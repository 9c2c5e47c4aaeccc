package validate

import "github.com/nuon-toolkit/nuon/cli/worktree"

// workTree is the git work tree of a directory; all fields are empty if there is none.
type workTree struct {
	found      bool
	repository string // URL of its remote
	branch     string // the checked-out branch; empty for a detached HEAD
	dir        string // slash path from the root of the repository; empty for the root itself
	root       string // on this machine; empty for a bare repository
}

// workTreeOf finds the git work tree that contains a directory. It ignores errors,
// because git data is only used for an additional warning and for better file names.
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
