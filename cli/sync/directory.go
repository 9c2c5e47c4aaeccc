package sync

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
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

	"github.com/nuon-toolkit/nuon/cli/exit"
)

// committed is the commit that a directory of a git work tree is at. What is not committed below it is refused: the control plane
// reads the repository, not this directory.
func committed(dir string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir) // the work tree is above what a link leads to, not above the link
	if err != nil {
		return "", err
	}
	repo, err := git.PlainOpenWithOptions(dir, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return "", exit.Usagef("%s is not in a git work tree; to take what was pushed, run `nuon sync --app NAME`", dir)
	}
	if err != nil {
		return "", fmt.Errorf("open the git work tree of %s: %w", dir, err)
	}
	head, err := repo.Head()
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return "", exit.Usagef("%s has no commit yet: commit and push it", dir)
	}
	if err != nil {
		return "", fmt.Errorf("read the commit of %s: %w", dir, err)
	}
	tree, err := repo.Worktree()
	if err != nil {
		return "", fmt.Errorf("read the work tree of %s: %w", dir, err)
	}
	changed, err := tree.Status()
	if err != nil {
		return "", fmt.Errorf("compare %s with its commit: %w", dir, err)
	}
	root, err := filepath.EvalSymlinks(tree.Filesystem.Root())
	if err != nil {
		return "", err
	}
	for _, file := range slices.Sorted(maps.Keys(changed)) {
		if rel, err := filepath.Rel(dir, filepath.Join(root, filepath.FromSlash(file))); err == nil && filepath.IsLocal(rel) {
			return "", exit.Usagef("%s differs from commit %.7s: commit and push it, or take what was pushed with `nuon sync --app NAME`", rel, head.Hash().String())
		}
	}
	return head.Hash().String(), nil
}

// pack makes the tar+gzip of a directory: its regular files, without .git. The control plane bounds and checks what it gets.
func pack(dir string) (io.Reader, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	t := tar.NewWriter(z)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", dir, err)
	}
	defer root.Close() //nolint:errcheck // only read
	err = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == ".terraform"):
			return fs.SkipDir
		case !e.Type().IsRegular(), e.Name() == ".git": // a work tree or submodule has a file that says where its repository is
			return nil
		}
		b, err := fs.ReadFile(root.FS(), path)
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(b)), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err = t.Write(b)
		return err
	})
	if err := errors.Join(err, t.Close(), z.Close()); err != nil {
		return nil, fmt.Errorf("pack %s: %w", dir, err)
	}
	return &out, nil
}
