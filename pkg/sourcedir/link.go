package sourcedir

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Limits of the links of one component: the number of files that are searched for links, and the
// number of links that one path leads through.
const (
	maxEntries = 100_000
	maxHops    = 40
)

// withLinked adds the directories that symbolic links in dirs lead to, and sorts the result. A link
// is packed as a link, so its target must be packed too. Links without a target in the repository
// add nothing.
func withLinked(tree fs.FS, dirs []string) ([]string, error) {
	entries := 0
	for i := 0; i < len(dirs); i++ {
		links, err := linksIn(tree, dirs[i], &entries)
		if err != nil {
			return nil, err
		}
		for _, link := range links {
			if dirs = addLinked(tree, dirs, link); len(dirs) > maxDirectories {
				return nil, fmt.Errorf("symbolic links in %s lead to more than %d directories; put copies in their place",
					dirs[0], maxDirectories)
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), nil
}

// linksIn returns the symbolic links in a directory; entries counts the files that were searched.
func linksIn(tree fs.FS, dir string, entries *int) ([]string, error) {
	var links []string
	err := fs.WalkDir(tree, dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if *entries++; *entries > maxEntries {
			return fmt.Errorf(
				"%s and what belongs to it hold more than %d files; put the component into a directory of its own",
				dir, maxEntries)
		}
		if entry.Type() == fs.ModeSymlink {
			links = append(links, name)
		}
		return nil
	})
	return links, err
}

// addLinked adds the directories that are needed to follow one link: those of the links on the way
// and of the target. It adds nothing for a link that leads nowhere or out of the repository, which
// packing reports.
func addLinked(tree fs.FS, dirs []string, link string) []string {
	end, through, err := follow(tree, link)
	for _, dir := range through {
		dirs = addDirectory(dirs, dir)
	}
	if err != nil {
		return dirs
	}
	if info, err := lstat(tree, end); err != nil || !info.IsDir() {
		end = path.Dir(end)
	}
	return addDirectory(dirs, end)
}

// errOutside reports a path that leads out of the repository.
var errOutside = errors.New("it leads out of the repository")

// follow returns the path that a path leads to, and the directories of the links on the way. The
// error is errOutside, fs.ErrNotExist, or that there are too many links.
func follow(tree fs.FS, name string) (end string, through []string, err error) {
	end = "."
	rest, hops := strings.Split(name, "/"), 0
	for len(rest) > 0 {
		next := path.Join(end, rest[0])
		rest = rest[1:]
		if !fs.ValidPath(next) {
			return "", through, errOutside
		}
		info, err := lstat(tree, next)
		if err != nil {
			return "", through, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			end = next
			continue
		}
		written, err := fs.ReadLink(tree, next)
		if err != nil {
			return "", through, err
		}
		if path.IsAbs(written) {
			return "", through, errOutside
		}
		if hops++; hops > maxHops {
			return "", through, fmt.Errorf("it leads through more than %d links", maxHops)
		}
		through = append(through, end)
		rest = append(strings.Split(written, "/"), rest...)
	}
	return end, through, nil
}

// lstat describes the file at a path without following a link. An invalid path does not exist.
func lstat(tree fs.FS, name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrNotExist
	}
	return fs.Lstat(tree, name)
}

// addDirectory adds a directory unless it is inside of another one.
func addDirectory(dirs []string, dir string) []string {
	if slices.ContainsFunc(dirs, func(other string) bool { return isBelow(dir, other) }) {
		return dirs
	}
	return append(dirs, dir)
}
