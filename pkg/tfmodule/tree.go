package tfmodule

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

const (
	// maxFileBytes bounds one .tf file. Terraform has no limit; the largest hand-written files have
	// a tenth of it.
	maxFileBytes = 1 << 20
	// maxTotalBytes bounds all files of one closure together.
	maxTotalBytes = 64 << 20
	// maxEntries bounds how many entries of the tree are searched for links.
	maxEntries = 100_000
)

// tree is a file system that is read without following a link out of it.
type tree struct {
	fsys fs.FS
	read *int // bytes read so far
}

// checkDir checks that name is a directory whose path contains no link. A link on the path would
// have to be packed too, which users do not expect.
func (t tree) checkDir(name string) error {
	if link, err := t.firstLink(name); err != nil {
		return err
	} else if link != "" {
		return fmt.Errorf("%s goes through the symbolic link %s; name the directory that it leads to", name, link)
	}
	info, err := fs.Lstat(t.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no directory %s in the repository; check its spelling", name)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory; name the directory that holds the .tf files", name)
	}
	return nil
}

// firstLink returns the first part of name that is a symbolic link, or the empty string. A
// missing part ends the search.
func (t tree) firstLink(name string) (string, error) {
	parts := strings.Split(name, "/")
	for i := range parts {
		upTo := strings.Join(parts[:i+1], "/")
		info, err := fs.Lstat(t.fsys, upTo)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("read %s: %w", upTo, err)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return upTo, nil
		}
	}
	return "", nil
}

// resolveLink returns the path that a link leads to inside the tree. The path must not contain a second
// link, because chains of links could leave the tree.
func (t tree) resolveLink(link string) (string, error) {
	written, err := fs.ReadLink(t.fsys, link)
	if err != nil {
		return "", fmt.Errorf("read link %s: %w", link, err)
	}
	reached := path.Join(path.Dir(link), written)
	if path.IsAbs(written) || !fs.ValidPath(reached) || strings.ContainsAny(written, "\\\x00") {
		return "", fmt.Errorf("the symbolic link %s leads out of the repository, to %q; put the file itself there",
			link, written)
	}
	second, err := t.firstLink(reached)
	if err != nil {
		return "", err
	}
	if second != "" {
		return "", fmt.Errorf("the symbolic link %s leads through another one, %s; let it name the file itself",
			link, second)
	}
	return reached, nil
}

// readFile reads a regular file, or the target of a link inside the tree.
func (t tree) readFile(name string) ([]byte, error) {
	info, err := fs.Lstat(t.fsys, name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if name, err = t.resolveLink(name); err != nil {
			return nil, err
		}
		if info, err = fs.Lstat(t.fsys, name); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file; remove it or rename it", name)
	}
	opened, err := t.fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer func() { _ = opened.Close() }()
	content, err := io.ReadAll(io.LimitReader(opened, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(content) > maxFileBytes {
		return nil, fmt.Errorf("%s has more than %d bytes; split it", name, maxFileBytes)
	}
	if *t.read += len(content); *t.read > maxTotalBytes {
		return nil, fmt.Errorf("%s: the module and those that it calls have more than %d bytes; split the component",
			name, maxTotalBytes)
	}
	return content, nil
}

// linkedDirs walks dir and returns the directories outside of it that its links lead to: the target
// itself, or the directory of a target file.
func (t tree) linkedDirs(dir string) ([]string, error) {
	var found []string
	entries := 0
	err := fs.WalkDir(t.fsys, dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entries++; entries > maxEntries {
			return fmt.Errorf("%s holds more than %d files; put the module into a directory of its own",
				dir, maxEntries)
		}
		if name != dir && isIgnored(entry.Name()) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.Type() != fs.ModeSymlink {
			return nil
		}
		reached, err := t.resolveLink(name)
		if err != nil {
			return err
		}
		info, err := fs.Lstat(t.fsys, reached)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // git allows dangling links and so does packing; there is nothing to add
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			reached = path.Dir(reached)
		}
		if !isBelow(reached, dir) {
			found = append(found, reached)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read module %s: %w", dir, err)
	}
	return found, nil
}
