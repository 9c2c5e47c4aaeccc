package diff

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exit"
)

// head is the revision that is checked out.
const head = "HEAD"

// origin is where one of two configs is: a directory, or a directory of a revision.
type origin struct {
	name      string // as it was given
	directory bool
	beside    string // of a revision: the directory that its config is compared with, which says where it is in the repository
	shown     string // of a revision: how the names of its files begin
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// directoryOf says whether there is a directory of this name. A file of the name is an error.
func directoryOf(name string) (bool, error) {
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() {
		return false, exit.Usagef("%s is not a directory; name the one with the app's metadata.toml", console.Line(name))
	}
	return err == nil, nil
}

// open gives the files of a side.
func (s *origin) open() (fs.FS, error) {
	if s.directory {
		return os.DirFS(s.name), nil
	}
	revision, dir, said := strings.Cut(s.name, ":")
	repo, below, err := repositoryOf(s.beside)
	if err != nil {
		return nil, fmt.Errorf("%s is no directory, and %w", console.Line(s.name), err)
	}
	if !said {
		dir = below
	}
	if dir = path.Clean(dir); dir == "/" || dir == "" {
		dir = "."
	}
	if !fs.ValidPath(dir) {
		return nil, exit.Usagef("%s: the directory must lie in the repository, and is named from its root", console.Line(s.name))
	}
	tree, err := treeOf(repo, revision)
	if err != nil {
		return nil, err
	}
	s.shown = revision + ":"
	if dir != "." {
		s.shown += dir
	}
	files, err := fs.Sub(tree, dir)
	if err != nil {
		return nil, err
	}
	if info, err := fs.Stat(tree, dir); err != nil || !info.IsDir() {
		return nil, exit.Usagef("there is no directory %s in %s; say where the config was, as %s:DIRECTORY",
			console.Line(dir), console.Line(revision), console.Line(revision))
	}
	return files, nil
}

// repositoryOf opens the repository that a directory is in, and says where in it that is, as a slash path.
func repositoryOf(dir string) (repo *git.Repository, below string, err error) {
	full, err := filepath.Abs(dir)
	if err == nil {
		full, err = filepath.EvalSymlinks(full) // the work tree is above what a link leads to
	}
	if err != nil {
		return nil, "", cause(err)
	}
	repo, err = git.PlainOpenWithOptions(full, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	switch {
	case errors.Is(err, git.ErrRepositoryNotExists):
		return nil, "", errors.New("there is no git repository here whose revision it could be")
	case err != nil:
		return nil, "", fmt.Errorf("the git repository here cannot be read: %w", err)
	}
	below, err = belowRoot(repo, full)
	return repo, below, err
}

// belowRoot is the slash path of a directory from the root of its work tree; that of a repository without one is the root itself.
func belowRoot(repo *git.Repository, full string) (string, error) {
	tree, err := repo.Worktree()
	if errors.Is(err, git.ErrIsBareRepository) {
		return ".", nil
	}
	if err != nil {
		return "", err
	}
	root, err := filepath.EvalSymlinks(tree.Filesystem.Root())
	if err != nil {
		return "", cause(err)
	}
	at, err := filepath.Rel(root, full)
	if err != nil || !filepath.IsLocal(at) {
		at = "."
	}
	return filepath.ToSlash(at), nil
}

// treeOf gives the files of a revision.
func treeOf(repo *git.Repository, revision string) (*commitFS, error) {
	hash, err := repo.ResolveRevision(plumbing.Revision(revision))
	if err != nil {
		if revision == head {
			return nil, exit.Usagef("nothing is committed here yet, so there is nothing to compare with; name two directories")
		}
		return nil, exit.Usagef("%s is neither a directory nor a revision of the git repository here", console.Line(revision))
	}
	commit, err := repo.CommitObject(*hash)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", console.Line(revision), err)
	}
	return &commitFS{store: repo.Storer, root: commit.TreeHash}, nil
}
