package diff

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/worktree"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/gittree"
)

// head is the revision of the commit that is checked out.
const head = "HEAD"

// origin is where one of the two configs is: a directory, or a directory in a revision.
type origin struct {
	name      string // as given by the user
	directory bool
	beside    string // for a revision: the other side's directory, which sets the repository and the path in it
	shown     string // for a revision: the prefix of file names in messages

	dir        string               // for a revision: the directory in it
	repository *worktree.Repository // the repository of the files; nil if there is none
	committed  *gittree.Tree        // for a revision: its full tree
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// directoryOf reports whether name is a directory. A file of that name is an error.
func directoryOf(name string) (bool, error) {
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() {
		return false, exitcode.Usagef("%s is not a directory; name the directory of the app's metadata.toml",
			console.Line(name))
	}
	return err == nil, nil
}

// open returns the files of a side and sets its repository. A directory may have no repository.
func (s *origin) open() (fs.FS, error) {
	if s.directory {
		s.repository, _ = worktree.Open(s.name) // without a repository no code is compared
		return os.DirFS(s.name), nil
	}
	revision, dir, said := strings.Cut(s.name, ":")
	repository, err := repositoryOf(s.beside)
	if err != nil {
		return nil, fmt.Errorf("%s is not a directory, and %w", console.Line(s.name), err)
	}
	if !said {
		dir = repository.Dir
	}
	if dir = path.Clean(dir); dir == "/" || dir == "" {
		dir = "."
	}
	if !fs.ValidPath(dir) {
		return nil, exitcode.Usagef("%s: use a directory in the repository, relative to its root",
			console.Line(s.name))
	}
	if s.committed, err = treeOf(repository, revision); err != nil {
		return nil, err
	}
	s.repository, s.dir = repository, dir
	s.shown = revision + ":"
	if dir != "." {
		s.shown += dir
	}
	files, err := fs.Sub(s.committed, dir)
	if err != nil {
		return nil, err
	}
	if info, err := fs.Stat(s.committed, dir); err != nil || !info.IsDir() {
		return nil, exitcode.Usagef("no directory %s in %s; name the directory of the config as %s:DIRECTORY",
			console.Line(dir), console.Line(revision), console.Line(revision))
	}
	return files, nil
}

// inRepository returns options that follow links in the repository of a side, and a function to call after use.
func (s *origin) inRepository() (options appconfig.Options, done func()) {
	done = func() {}
	switch {
	case s.committed != nil:
		options.Root, options.Directory = s.committed, s.dir
	case s.repository != nil && s.repository.Root != "":
		root, err := os.OpenRoot(s.repository.Root)
		if err != nil {
			break // links that leave the directory are errors then
		}
		options.Root, options.Directory = root.FS(), s.repository.Dir
		done = func() { _ = root.Close() } // only read
	}
	return options, done
}

// tree returns the full tree of the repository: that of the revision, or what git would commit
// if the whole work tree were added now. It is nil for a directory outside a repository.
func (s *origin) tree() (*gittree.Tree, error) {
	if s.committed != nil || s.repository == nil || s.repository.Root == "" {
		return s.committed, nil
	}
	return s.repository.Tree()
}

// repositoryOf opens the repository that contains a directory.
func repositoryOf(dir string) (*worktree.Repository, error) {
	repository, err := worktree.Open(dir)
	switch {
	case errors.Is(err, worktree.ErrNone):
		return nil, errors.New("the current directory is not in a git repository that could have such a revision")
	case err != nil:
		return nil, fmt.Errorf("the current git repository cannot be read: %w", cause(err))
	}
	return repository, nil
}

// treeOf returns the tree of a revision.
func treeOf(repository *worktree.Repository, revision string) (*gittree.Tree, error) {
	hash, err := repository.Git.ResolveRevision(plumbing.Revision(revision))
	if err != nil {
		if revision == head {
			return nil, exitcode.Usagef(
				"the current git repository has no commit to compare with; name two directories")
		}
		return nil, exitcode.Usagef("%s is neither a directory nor a revision of the current git repository",
			console.Line(revision))
	}
	tree, err := repository.Commit(*hash)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", console.Line(revision), err)
	}
	return tree, nil
}
