package artifact

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrUnsafe is wrapped when a tree has an entry that must not be packed or unpacked: a path or link
// that leaves the tree, a device, or two entries with one name.
var ErrUnsafe = errors.New("unsafe tree")

// File is one file or symbolic link of a tree. Directories follow from the paths; empty ones are
// dropped, as in git.
type File struct {
	// Path is relative to the root of the tree, with slashes: "modules/net/main.tf".
	Path string
	// Executable selects mode 0755 instead of 0644; no other bit is stored.
	Executable bool
	// Link, if not empty, makes the file a symbolic link to that relative target, which must be
	// inside the tree. Content is then empty.
	Link string
	// Content is the content of the file.
	Content []byte
}

// ReadOptions select what of a directory is read. The zero value selects everything, within the
// default limits.
type ReadOptions struct {
	Limits Limits
	// Skip, if set, is called for every file and directory. If it returns true, the file, or the
	// directory with its content, is left out.
	Skip func(path string, entry fs.DirEntry) bool
	// Accept, if set, is called for every opened file. An error from it ends the read.
	Accept func(info fs.FileInfo) error
}

// ReadDir reads the tree below a directory of the local machine. It reads a symbolic link as a link
// and never follows it, also when the tree changes in the meantime.
func ReadDir(dir string, options ReadOptions) ([]File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("read tree: %w", err)
	}
	defer func() { _ = root.Close() }()
	return ReadFS(root.FS(), options)
}

// ReadFS reads a whole file system as a tree, in the order of its paths. The result passes
// CheckTree. Links require an fs.ReadLinkFS.
func ReadFS(fsys fs.FS, options ReadOptions) ([]File, error) {
	var files []File
	count := tally{limits: options.Limits.orDefault()}
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name != "." && options.Skip != nil && options.Skip(name, entry) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			return nil
		}
		file, err := readEntry(fsys, name, entry, &count, options.Accept)
		if err != nil {
			return err
		}
		files = append(files, file)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read tree: %w", err)
	}
	if err := CheckTree(files, options.Limits); err != nil {
		return nil, err
	}
	return sorted(files), nil
}

func readEntry(fsys fs.FS, name string, entry fs.DirEntry, count *tally, accept func(fs.FileInfo) error) (File, error) {
	remaining, err := count.remaining(name)
	if err != nil {
		return File{}, err
	}
	switch entry.Type() {
	case fs.ModeSymlink:
		target, err := fs.ReadLink(fsys, name)
		if err != nil {
			return File{}, fmt.Errorf("read link %s: %w", name, err)
		}
		return File{Path: name, Link: target}, nil
	case 0:
	default:
		return File{}, fmt.Errorf("%w: %s is neither a file, a directory nor a symbolic link; remove it from the tree",
			ErrUnsafe, name)
	}
	opened, err := fsys.Open(name)
	if err != nil {
		return File{}, err
	}
	defer func() { _ = opened.Close() }()
	info, err := opened.Stat()
	if err != nil {
		return File{}, err
	}
	if !info.Mode().IsRegular() {
		return File{}, fmt.Errorf("%w: %s changed while it was read", ErrUnsafe, name)
	}
	if accept != nil {
		if err := accept(info); err != nil {
			return File{}, err
		}
	}
	content, err := io.ReadAll(io.LimitReader(opened, remaining+1))
	if err != nil {
		return File{}, fmt.Errorf("read %s: %w", name, err)
	}
	if err := count.add(name, int64(len(content))); err != nil {
		return File{}, err
	}
	// Use only the owner's bit, as git does: the other bits depend on the umask.
	return File{Path: name, Executable: info.Mode()&0o100 != 0, Content: content}, nil
}

// CheckTree checks that files, in any order, can be packed: paths are relative, clean and distinct,
// no path is below another entry, links stay inside the tree, and the limits hold. The error wraps
// ErrUnsafe or ErrTooLarge.
func CheckTree(files []File, limits Limits) error {
	count := tally{limits: limits.orDefault()}
	seen := make(map[string]bool, len(files))
	for _, file := range files {
		if _, err := count.remaining(file.Path); err != nil {
			return err
		}
		if err := count.add(file.Path, int64(len(file.Content))); err != nil {
			return err
		}
		if err := checkPath(file.Path); err != nil {
			return err
		}
		if seen[file.Path] {
			return fmt.Errorf("%w: %s is there twice", ErrUnsafe, file.Path)
		}
		seen[file.Path] = true
		if file.Link == "" {
			continue
		}
		if len(file.Content) > 0 || file.Executable {
			return fmt.Errorf("%w: %s is a link and cannot have content or a mode", ErrUnsafe, file.Path)
		}
		if err := checkLink(file.Path, file.Link, count.limits); err != nil {
			return err
		}
	}
	for _, file := range files {
		for parent := path.Dir(file.Path); parent != "."; parent = path.Dir(parent) {
			if seen[parent] {
				return fmt.Errorf("%w: %s lies below %s, which is not a directory", ErrUnsafe, file.Path, parent)
			}
		}
	}
	return nil
}

func checkPath(name string) error {
	if !fs.ValidPath(name) || name == "." || !plainName(name) {
		return fmt.Errorf("%w: path %q must be relative, clean and inside the tree", ErrUnsafe, name)
	}
	return nil
}

// checkLink accepts only targets whose ".." elements are at the front and do not leave the tree. A
// ".." after a name ("a/../..") could leave from the directory that a links to, if a is a link.
// Without such targets it follows by induction that links never leave the tree.
func checkLink(name, target string, limits Limits) error {
	if len(target) > limits.PathBytes {
		return fmt.Errorf("%w: the target of link %s has %d bytes", ErrTooLarge, name, len(target))
	}
	if path.IsAbs(target) || !plainName(target) || path.Clean(target) != target {
		return fmt.Errorf("%w: link %s to %q must have a relative, clean target", ErrUnsafe, name, target)
	}
	reached := path.Join(path.Dir(name), target)
	if reached == ".." || strings.HasPrefix(reached, "../") {
		return fmt.Errorf("%w: link %s to %q leads out of the tree", ErrUnsafe, name, target)
	}
	return nil
}

// plainName rejects names with characters that another system reads as a separator or as the end of
// the name.
func plainName(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsAny(name, "\\\x00")
}

// sorted returns the files in the byte order of their paths.
func sorted(files []File) []File {
	ordered := slices.Clone(files)
	slices.SortFunc(ordered, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return ordered
}
