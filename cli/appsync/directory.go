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
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/worktree"
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

// pack returns the tar+gzip of a directory: its regular files and the symbolic links that stay in it, and the other
// local files that its config refers to. In a git work tree it leaves out what git ignores. The control plane
// limits and checks the archive.
func (d directory) pack(ctx context.Context) (io.Reader, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	t := tar.NewWriter(z)
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", d.path, err)
	}
	defer root.Close() //nolint:errcheck // only read
	names, known, err := d.files(root.FS())
	if err != nil {
		return nil, err
	}
	if err := errors.Join(packFiles(t, root.FS(), names), d.packElsewhere(ctx, t, known), t.Close(),
		z.Close()); err != nil {
		return nil, fmt.Errorf("pack %s: %w", d.path, err)
	}
	return &out, nil
}

// files returns the slash paths of the files to upload, and the absolute paths of the files that a file:// reference
// may name. In a git work tree, both are the tracked files and the untracked ones that are not ignored: the first those
// of the directory, the second those of the whole work tree. Elsewhere, both are the files of the directory.
func (d directory) files(root fs.FS) (names []string, known map[string]bool, err error) {
	w, err := worktree.Open(d.path)
	if errors.Is(err, worktree.ErrNone) || err == nil && w.Root == "" {
		return d.walk(root)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open the git work tree of %s: %w", d.path, err)
	}
	all, err := w.Files()
	if err != nil {
		return nil, nil, err
	}
	known = map[string]bool{}
	for _, file := range all {
		known[filepath.Join(w.Root, filepath.FromSlash(file))] = true
		name, err := filepath.Rel(filepath.FromSlash(w.Dir), filepath.FromSlash(file))
		below := err == nil && filepath.IsLocal(name)
		if name = filepath.ToSlash(name); below && !slices.ContainsFunc(strings.Split(name, "/"), isSkipped) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil, exitcode.Usagef("git ignores all files of %s, and an upload leaves them out: change .gitignore",
			d.path)
	}
	return names, known, nil
}

// isSkipped reports whether an upload leaves out a file or directory of this name in any case.
func isSkipped(name string) bool { return name == ".git" || name == ".terraform" }

func (d directory) walk(root fs.FS) (names []string, known map[string]bool, err error) {
	path, err := filepath.EvalSymlinks(d.path)
	if err != nil {
		return nil, nil, err
	}
	known = map[string]bool{}
	err = fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && isSkipped(e.Name()):
			return fs.SkipDir
		case !e.IsDir() && e.Name() != ".git": // a file in linked work trees and submodules
			names = append(names, name)
			known[filepath.Join(path, filepath.FromSlash(name))] = true
		}
		return nil
	})
	return names, known, err
}

func packFiles(t *tar.Writer, files fs.FS, names []string) error {
	for _, name := range names {
		info, err := fs.Lstat(files, name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // a tracked file that was removed
			continue
		case err != nil:
			return err
		case info.Mode().Type() == fs.ModeSymlink:
			if err := packLink(t, files, name); err != nil {
				return err
			}
			continue
		case !info.Mode().IsRegular():
			continue
		}
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if err := entry(t, name, b); err != nil {
			return err
		}
	}
	return nil
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
func (d directory) packElsewhere(ctx context.Context, t *tar.Writer, known map[string]bool) error {
	for _, file := range d.config.Remote {
		if !elsewhere.IsLocal(file.Reference) {
			continue
		}
		if err := d.checkLocal(file.Reference, known); err != nil {
			return err
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

// checkLocal returns an error for a file:// reference to a file that an upload may not contain: the config of somebody
// else must not collect files of this user. It allows the known files, and those below the directories of --allow-file.
func (d directory) checkLocal(reference string, known map[string]bool) error {
	file, err := filepath.EvalSymlinks(elsewhere.LocalPath(reference))
	if err != nil {
		return fmt.Errorf("read %s: %w", console.Line(reference), err)
	}
	if known[file] {
		return nil
	}
	for _, dir := range d.allowed {
		base, err := filepath.Abs(dir)
		if err == nil {
			base, err = filepath.EvalSymlinks(base)
		}
		if err != nil {
			return exitcode.Usagef("--allow-file %s: %v", dir, err)
		}
		if below, err := filepath.Rel(base, file); err == nil && filepath.IsLocal(below) {
			return nil
		}
	}
	return exitcode.Usagef("the config refers to %s, which is outside of the directory or ignored by git, so it is not "+
		"uploaded: move the file into the directory, or pass %s", reference,
		console.CommandLine("--allow-file", filepath.Dir(file)))
}

func entry(t *tar.Writer, name string, content []byte) error {
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)),
		Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err := t.Write(content)
	return err
}
