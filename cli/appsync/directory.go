package appsync

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
	"path"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/worktree"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	elsewhere "github.com/nuon-toolkit/nuon/pkg/configfetch"
)

// openWorkTree opens the git work tree that contains a directory.
func openWorkTree(dir string) (*worktree.Repository, error) {
	w, err := worktree.Open(dir)
	switch {
	case errors.Is(err, worktree.ErrNone):
		return nil, exitcode.Usagef("%s is not in a git work tree; to sync what was pushed, run `nuon sync --app NAME`",
			dir)
	case err != nil:
		return nil, fmt.Errorf("open the git work tree of %s: %w", dir, err)
	case w.Root == "":
		return nil, exitcode.Usagef("%s is in a git repository without a work tree; to sync what was pushed, run "+
			"`nuon sync --app NAME`", dir)
	}
	return w, nil
}

// committedAt returns the commit of a directory in a git work tree. It returns an error
// if anything below the directory is not committed, because the control plane reads
// the repository, not the directory.
func committedAt(dir string) (string, error) {
	w, err := openWorkTree(dir)
	if err != nil {
		return "", err
	}
	head, err := w.Git.Head()
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return "", exitcode.Usagef("%s has no commit yet: commit and push it", dir)
	}
	if err != nil {
		return "", fmt.Errorf("read the commit of %s: %w", dir, err)
	}
	changed, err := w.Changed()
	if err != nil {
		return "", err
	}
	for _, file := range slices.Sorted(maps.Keys(changed)) {
		if rel, err := filepath.Rel(filepath.FromSlash(w.Dir), filepath.FromSlash(file)); err == nil &&
			filepath.IsLocal(rel) {
			return "", exitcode.Usagef("%s differs from commit %.7s: commit and push it, or sync what was pushed "+
				"with `nuon sync --app NAME`", rel, head.Hash().String())
		}
	}
	return head.Hash().String(), nil
}

// packTree returns the tar+gzip of a work tree: the content of the commit that would
// result from adding all files now.
func packTree(w *worktree.Repository) (io.Reader, error) {
	files, err := w.Files()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(w.Root)
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", w.Root, err)
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
		return nil, fmt.Errorf("pack %s: %w", w.Root, err)
	}
	return &out, nil
}

// add adds a file or a link to an archive, and skips a file that was removed.
func add(t *tar.Writer, root *os.Root, file string) error {
	content, info, err := worktree.Read(root, file)
	switch {
	case err != nil || info == nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink:
		return t.WriteHeader(&tar.Header{Name: file, Linkname: string(content), Mode: 0o777, Typeflag: tar.TypeSymlink})
	}
	if err := t.WriteHeader(&tar.Header{Name: file, Mode: int64(info.Mode().Perm() & 0o755), Size: int64(len(content)),
		Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = t.Write(content)
	return err
}

// pack returns the tar+gzip of a directory: its regular files and the symbolic links that stay in it, without .git, and
// the other local files that its config refers to. The control plane limits and checks the archive.
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
	return fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == ".terraform"):
			return fs.SkipDir
		case e.Name() == ".git": // a file in linked work trees and submodules
			return nil
		case e.Type() == fs.ModeSymlink:
			return packLink(t, files, name)
		case !e.Type().IsRegular():
			return nil
		}
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return entry(t, name, b)
	})
}

// packLink adds a symbolic link that stays in the directory. It skips all others, which the config cannot use: reading
// the config reports those that it needs.
func packLink(t *tar.Writer, files fs.FS, name string) error {
	target, err := fs.ReadLink(files, name)
	if err != nil {
		return err
	}
	target = path.Clean(filepath.ToSlash(target))
	reached := path.Join(path.Dir(name), target)
	if path.IsAbs(target) || !fs.ValidPath(reached) || reached == "." {
		return nil
	}
	is, err := fs.Stat(files, name)
	if err != nil {
		return nil //nolint:nilerr // it leads nowhere, or out of the directory
	}
	if at, err := fs.Stat(files, reached); err != nil || !os.SameFile(is, at) {
		return nil //nolint:nilerr // its target has a link before a ..
	}
	return t.WriteHeader(&tar.Header{Name: name, Linkname: target, Mode: 0o777, Typeflag: tar.TypeSymlink})
}

// packElsewhere adds the files that file:// references name, because only this machine
// can read them.
func packElsewhere(ctx context.Context, t *tar.Writer, config *appconfig.App) error {
	for _, file := range config.Remote {
		if !elsewhere.IsLocal(file.Reference) {
			continue
		}
		text, err := elsewhere.Local().Fetch(ctx, file.Reference, file.Bytes)
		if err != nil {
			return fmt.Errorf("read %s: %w", console.Line(file.Reference), err)
		}
		if err := entry(t, elsewhere.UploadPath(file.Reference), text); err != nil {
			return err
		}
	}
	return nil
}

func entry(t *tar.Writer, name string, content []byte) error {
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)),
		Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err := t.Write(content)
	return err
}
