// Package worktree reads the git repository that contains a directory: its remote, the
// committed tree, and the tree that would be committed if the whole work tree were
// added now. It runs no git commands and changes nothing.
package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	"github.com/go-git/go-git/v5/plumbing/format/index"

	"github.com/nuon-toolkit/nuon/pkg/gittree"
)

// Repository is a git repository on this machine.
type Repository struct {
	Git *git.Repository
	// Root is the absolute path of the work tree; empty for a bare repository.
	Root string
	// Dir is the slash path from the root to the directory for which the repository was
	// opened; "." for the root and for a bare repository.
	Dir string

	tree *git.Worktree
}

// ErrNone is returned for a directory that is in no git repository.
var ErrNone = git.ErrRepositoryNotExists

// Open finds the repository that contains a directory. It returns ErrNone if there is none.
func Open(dir string) (*Repository, error) {
	full, err := filepath.Abs(dir)
	if err == nil {
		full, err = filepath.EvalSymlinks(full) // for a symbolic link, the work tree contains its target
	}
	if err != nil {
		return nil, err
	}
	r := &Repository{Dir: "."}
	options := git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true}
	if r.Git, err = git.PlainOpenWithOptions(full, &options); err != nil {
		return nil, err
	}
	r.tree, err = r.Git.Worktree()
	switch {
	case errors.Is(err, git.ErrIsBareRepository):
		return r, nil
	case err != nil:
		return nil, err
	}
	r.tree.Excludes = userIgnores()
	if r.Root, err = filepath.EvalSymlinks(r.tree.Filesystem.Root()); err != nil {
		return nil, err
	}
	if dir, err := filepath.Rel(r.Root, full); err == nil && filepath.IsLocal(dir) {
		r.Dir = filepath.ToSlash(dir)
	}
	return r, nil
}

// userIgnores returns the patterns of the user's own ignore file, which git applies in all repositories:
// core.excludesFile of ~/.gitconfig, else git/ignore in the configuration directory. A file that cannot be
// read has none.
func userIgnores() []gitignore.Pattern {
	if set, err := gitignore.LoadGlobalPatterns(osfs.New("/")); err == nil && len(set) > 0 {
		return set
	}
	dir := os.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		dir = filepath.Join(home, ".config")
	}
	text, err := os.ReadFile(filepath.Join(dir, "git", "ignore"))
	if err != nil {
		return nil
	}
	var patterns []gitignore.Pattern
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\r\n"); strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			patterns = append(patterns, gitignore.ParsePattern(line, nil))
		}
	}
	return patterns
}

// Branch returns the checked-out branch; empty for a detached HEAD.
func (r *Repository) Branch() string {
	head, err := r.Git.Reference(plumbing.HEAD, false)
	if err != nil || head.Type() != plumbing.SymbolicReference || !head.Target().IsBranch() {
		return ""
	}
	return head.Target().Short()
}

// Remote returns the URL of the remote that the checked-out branch tracks or, if it
// tracks none, of origin; empty if there is no such remote.
func (r *Repository) Remote() string {
	name := git.DefaultRemoteName
	settings, err := r.Git.Config()
	if err != nil {
		return ""
	}
	if tracked := settings.Branches[r.Branch()]; tracked != nil && settings.Remotes[tracked.Remote] != nil {
		name = tracked.Remote
	}
	if remote := settings.Remotes[name]; remote != nil && len(remote.URLs) > 0 {
		return remote.URLs[0]
	}
	return ""
}

// URL returns the URL from which a control plane can read the repository: the https:// form of its remote or, if it
// has none, its work tree on this machine.
func (r *Repository) URL() string {
	switch remote := OverHTTPS(r.Remote()); {
	case remote != "":
		return remote
	case r.Root != "":
		return "file://" + r.Root
	}
	return ""
}

// OverHTTPS returns the https:// form of a remote's URL, which the control plane can
// read, or "" if it has none.
func OverHTTPS(url string) string {
	if strings.HasPrefix(url, "https://") && !strings.Contains(strings.TrimPrefix(url, "https://"), "@") {
		return url
	}
	// The SSH form: git@host:owner/name.
	if host, path, found := strings.Cut(strings.TrimPrefix(url, "git@"), ":"); found && strings.HasPrefix(url, "git@") {
		return "https://" + host + "/" + path
	}
	return ""
}

// Commit returns the tree of a commit.
func (r *Repository) Commit(hash plumbing.Hash) (*gittree.Tree, error) {
	commit, err := r.Git.CommitObject(hash)
	if err != nil {
		return nil, err
	}
	return gittree.New(r.Git.Storer, commit.TreeHash, nil), nil
}

// Changed returns the files of the work tree that differ from the commit, including
// untracked ones, by their paths from the root. It leaves out ignored files.
func (r *Repository) Changed() (git.Status, error) {
	if r.tree == nil {
		return nil, git.ErrIsBareRepository
	}
	changed, err := r.tree.Status()
	if err != nil {
		return nil, fmt.Errorf("compare %s with its commit: %w", r.Root, err)
	}
	return changed, nil
}

// Files returns the sorted paths of the tracked files and of the untracked files that
// are not ignored.
func (r *Repository) Files() ([]string, error) {
	entries, changed, err := r.read()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if e.Mode != filemode.Submodule {
			all = append(all, e.Name)
		}
	}
	for file, status := range changed {
		if status.Worktree == git.Untracked {
			all = append(all, file)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func (r *Repository) read() ([]*index.Entry, git.Status, error) {
	changed, err := r.Changed()
	if err != nil {
		return nil, nil, err
	}
	known, err := r.Git.Storer.Index()
	if err != nil {
		return nil, nil, fmt.Errorf("read the index of %s: %w", r.Root, err)
	}
	return known.Entries, changed, nil
}

// Tree returns the tree of the next commit if the whole work tree were added now. It
// reads only files that differ from the index.
func (r *Repository) Tree() (*gittree.Tree, error) {
	entries, changed, err := r.read()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it is only read
	b := gittree.NewBuilder(r.Git.Storer)
	conflicts := map[string]bool{}
	for _, e := range entries {
		status := changed[e.Name]
		switch {
		case e.Stage != index.Merged:
			conflicts[e.Name] = true
		case status == nil, status.Worktree == git.Unmodified, e.SkipWorktree, e.Mode == filemode.Submodule:
			b.AddHash(e.Name, e.Mode, e.Hash)
			delete(changed, e.Name)
		}
	}
	for file := range conflicts {
		changed[file] = &git.FileStatus{}
	}
	for file := range changed {
		if err := add(b, root, file); err != nil {
			return nil, fmt.Errorf("read the work tree of %s: %w", r.Root, err)
		}
	}
	return b.Tree()
}

// add adds a file or a link with its present content, and skips a file that was removed.
func add(b *gittree.Builder, root *os.Root, file string) error {
	content, info, err := Read(root, file)
	if err != nil || info == nil {
		return err
	}
	return b.Add(file, info.Mode(), content)
}

// Read returns a file of a work tree, or the target of a symbolic link; nil if there is neither.
func Read(root *os.Root, file string) ([]byte, fs.FileInfo, error) {
	name := filepath.FromSlash(file)
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := root.Readlink(name)
		return []byte(filepath.ToSlash(target)), info, err
	case !info.Mode().IsRegular():
		return nil, nil, nil // a directory replaced the file; its files have their own names
	}
	content, err := root.ReadFile(name)
	return content, info, err
}
