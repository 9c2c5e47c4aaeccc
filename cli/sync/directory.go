package sync

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	elsewhere "github.com/nuon-toolkit/nuon/pkg/remote"
)

// workTree is the git repository that a directory is in.
type workTree struct {
	repo *git.Repository
	tree *git.Worktree
	root string // of the work tree
	dir  string // the directory, relative to the root
}

// openWorkTree finds the work tree that a directory is in.
func openWorkTree(dir string) (w workTree, err error) {
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // the work tree is above what a link leads to, not above the link
		return w, err
	}
	w.repo, err = git.PlainOpenWithOptions(dir, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return w, exit.Usagef("%s is not in a git work tree; to take what was pushed, run `nuon sync --app NAME`", dir)
	}
	if err != nil {
		return w, fmt.Errorf("open the git work tree of %s: %w", dir, err)
	}
	if w.tree, err = w.repo.Worktree(); err != nil {
		return w, fmt.Errorf("read the work tree of %s: %w", dir, err)
	}
	if w.root, err = filepath.EvalSymlinks(w.tree.Filesystem.Root()); err != nil {
		return w, err
	}
	w.dir, err = filepath.Rel(w.root, dir)
	return w, err
}

// changed are the files that are not as they are in the commit, new ones among them, relative to the root; those that git ignores
// are not.
func (w workTree) changed() (git.Status, error) {
	changed, err := w.tree.Status()
	if err != nil {
		return nil, fmt.Errorf("compare %s with its commit: %w", w.root, err)
	}
	return changed, nil
}

// committed is the commit that a directory of a git work tree is at. What is not committed below it is refused: the control plane
// reads the repository, not this directory.
func committed(dir string) (string, error) {
	w, err := openWorkTree(dir)
	if err != nil {
		return "", err
	}
	head, err := w.repo.Head()
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return "", exit.Usagef("%s has no commit yet: commit and push it", dir)
	}
	if err != nil {
		return "", fmt.Errorf("read the commit of %s: %w", dir, err)
	}
	changed, err := w.changed()
	if err != nil {
		return "", err
	}
	for _, file := range slices.Sorted(maps.Keys(changed)) {
		if rel, err := filepath.Rel(w.dir, filepath.FromSlash(file)); err == nil && filepath.IsLocal(rel) {
			return "", exit.Usagef("%s differs from commit %.7s: commit and push it, or take what was pushed with `nuon sync --app NAME`", rel, head.Hash().String())
		}
	}
	return head.Hash().String(), nil
}

// packTree makes the tar+gzip of a work tree: what would be in the next commit if all of it were added now.
func (w workTree) packTree() (io.Reader, error) {
	files, err := w.files()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(w.root)
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", w.root, err)
	}
	defer root.Close() //nolint:errcheck // only read
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	t := tar.NewWriter(z)
	for _, file := range files {
		if err = add(t, root, file); err != nil {
			break
		}
	}
	if err := errors.Join(err, t.Close(), z.Close()); err != nil {
		return nil, fmt.Errorf("pack %s: %w", w.root, err)
	}
	return &out, nil
}

// files are those that git knows, and those that it would be asked to add.
func (w workTree) files() ([]string, error) {
	index, err := w.repo.Storer.Index()
	if err != nil {
		return nil, fmt.Errorf("read the index of %s: %w", w.root, err)
	}
	changed, err := w.changed()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range index.Entries {
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

// add puts a file or a link into an archive; one that was removed is left out.
func add(t *tar.Writer, root *os.Root, file string) error {
	info, err := root.Lstat(filepath.FromSlash(file))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := root.Readlink(filepath.FromSlash(file))
		if err != nil {
			return err
		}
		return t.WriteHeader(&tar.Header{Name: file, Linkname: filepath.ToSlash(target), Mode: 0o777, Typeflag: tar.TypeSymlink})
	case !info.Mode().IsRegular():
		return nil // a directory that took its place; the files in it have names of their own
	}
	content, err := root.ReadFile(filepath.FromSlash(file))
	if err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Name: file, Mode: int64(info.Mode().Perm() & 0o755), Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = t.Write(content)
	return err
}

// pack makes the tar+gzip of a directory: its regular files, without .git, and what its config refers to elsewhere on this machine. The
// control plane bounds and checks what it gets.
func (d directory) pack(ctx context.Context) (io.Reader, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	t := tar.NewWriter(z)
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", d.path, err)
	}
	defer root.Close() //nolint:errcheck // only read
	if err := errors.Join(packFiles(t, root.FS()), packElsewhere(ctx, t, d.config), t.Close(), z.Close()); err != nil {
		return nil, fmt.Errorf("pack %s: %w", d.path, err)
	}
	return &out, nil
}

func packFiles(t *tar.Writer, files fs.FS) error {
	return fs.WalkDir(files, ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == ".terraform"):
			return fs.SkipDir
		case !e.Type().IsRegular(), e.Name() == ".git": // a work tree or submodule has a file that says where its repository is
			return nil
		}
		b, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		return entry(t, path, b)
	})
}

// packElsewhere adds what file:// references name: nobody else can read it.
func packElsewhere(ctx context.Context, t *tar.Writer, config *appconfig.App) error {
	for _, file := range config.Remote {
		if !elsewhere.IsLocal(file.Reference) {
			continue
		}
		text, err := elsewhere.Local().Fetch(ctx, file.Reference, file.Bytes)
		if err != nil {
			return fmt.Errorf("read %s: %w", console.Line(file.Reference), err)
		}
		if err := entry(t, elsewhere.Carried(file.Reference), text); err != nil {
			return err
		}
	}
	return nil
}

func entry(t *tar.Writer, name string, content []byte) error {
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err := t.Write(content)
	return err
}
