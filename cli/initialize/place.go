package initialize

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/go-git/go-git/v5"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/worktree"
)

// place is the location of a new app.
type place struct {
	dir    string // absolute; need not exist
	root   string // of the git work tree that contains dir, otherwise dir
	inGit  bool
	origin string // https:// URL of the repository, if it has one
}

// findPlace finds the repository that contains a directory, which need not exist.
func findPlace(dir string) (place, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return place{}, err
	}
	if info, err := os.Stat(full); err == nil && !info.IsDir() {
		return place{}, exitcode.Usagef("%s is not a directory", dir)
	}
	above, rest := splitExisting(full)
	if above, err = filepath.EvalSymlinks(above); err != nil {
		return place{}, fmt.Errorf("find %s: %w", dir, err)
	}
	p := place{dir: filepath.Join(above, rest)}
	p.root = p.dir
	repo, err := git.PlainOpenWithOptions(above, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return p, nil
	}
	if err != nil {
		return place{}, fmt.Errorf("open the git work tree of %s: %w", dir, err)
	}
	tree, err := repo.Worktree()
	if err != nil {
		return place{}, fmt.Errorf("read the work tree of %s: %w", dir, err)
	}
	if p.root, err = filepath.EvalSymlinks(tree.Filesystem.Root()); err != nil {
		return place{}, err
	}
	p.inGit = true
	if remote, err := repo.Remote(git.DefaultRemoteName); err == nil && len(remote.Config().URLs) > 0 {
		p.origin = worktree.OverHTTPS(remote.Config().URLs[0])
	}
	return p, nil
}

// splitExisting returns the nearest existing directory at or above a path, and the rest of the path.
func splitExisting(full string) (above, rest string) {
	for above = full; ; above = filepath.Dir(above) {
		if _, err := os.Stat(above); err == nil || above == filepath.Dir(above) {
			return above, rest
		}
		rest = filepath.Join(filepath.Base(above), rest)
	}
}

// inRoot returns the path relative to the repository of a path relative to the app's directory.
func (p place) inRoot(below string) string {
	rel, err := filepath.Rel(p.root, p.dir)
	if err != nil {
		return below
	}
	return path.Join(filepath.ToSlash(rel), below)
}

// directory returns the path relative to the repository of a directory that a person named.
func (p place) directory(from string) (string, error) {
	full, err := filepath.Abs(from)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", exitcode.Usagef("--from %s: no such directory", from)
	}
	if err != nil {
		return "", fmt.Errorf("find %s: %w", from, err)
	}
	if info, err := os.Stat(full); err == nil && !info.IsDir() {
		return "", exitcode.Usagef("--from %s is not a directory: name the directory that contains it", from)
	}
	rel, err := filepath.Rel(p.root, full)
	if err != nil || !filepath.IsLocal(rel) {
		where := "the repository " + p.root
		if !p.inGit {
			where = p.root + ", which will be the repository"
		}
		return "", exitcode.Usagef("--from %s is not in %s: copy it there, or create the app in a directory of the "+
			"repository that contains it", from, where)
	}
	return filepath.ToSlash(rel), nil
}
