package sourcedir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// Limits of a build context: the bytes of a Dockerfile and of an ignore file, and the patterns of the
// latter, each of which is matched with each file.
const (
	maxDockerfile = 256 << 10
	maxPatterns   = 500
	// maxMatching bounds the work of matching: the length of each path, once for each pattern.
	maxMatching = 1 << 31
)

// context reads the Dockerfile and the ignore file of a build context. The context is one directory:
// what links in it lead to is not part of it.
func (c Code) context(tree fs.FS, where string) (Found, error) {
	found := Found{Directories: []string{c.Directory}}
	if c.Dockerfile != "" {
		name := path.Join(c.Directory, c.Dockerfile)
		text, exists, err := readText(tree, name)
		if err != nil {
			return Found{}, err
		}
		if !exists {
			return Found{}, fmt.Errorf("there is no Dockerfile %s in %s; commit it, or correct dockerfile", name, where)
		}
		found.Dockerfile = text
	}
	var err error
	found.ignored, err = c.readIgnoreFile(tree)
	return found, err
}

// readText reads a file of a build context; it returns false if the file does not exist.
func readText(tree fs.FS, name string) (text string, exists bool, err error) {
	info, err := lstat(tree, name)
	switch {
	case !fs.ValidPath(name), errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("read %s: %w", name, err)
	case !info.Mode().IsRegular():
		return "", false, fmt.Errorf("%s is no file; commit it as one", name)
	case info.Size() > maxDockerfile:
		return "", false, fmt.Errorf("%s has %d bytes, and %d are the most", name, info.Size(), maxDockerfile)
	}
	content, err := fs.ReadFile(tree, name)
	if err != nil {
		return "", false, fmt.Errorf("read %s: %w", name, err)
	}
	return string(content), true, nil
}

// ignoreFile lists what of a directory is not part of the build context.
type ignoreFile struct {
	name      string
	directory string
	matcher   *patternmatcher.PatternMatcher
	parents   []parentMatch // of the path that was matched last, the outermost first
	budget    int           // the work that is left, as for maxMatching
	failed    error         // the first path that could not be matched
}

// parentMatch holds which patterns match a directory or one that it is in.
type parentMatch struct {
	dir     string
	matched patternmatcher.MatchInfo
}

// readIgnoreFile reads the ignore file of the context as builders do: the one of the Dockerfile, or else
// .dockerignore. It returns nil if there is none.
func (c Code) readIgnoreFile(tree fs.FS) (*ignoreFile, error) {
	names := []string{".dockerignore"}
	if c.Dockerfile != "" {
		names = []string{c.Dockerfile + ".dockerignore", ".dockerignore"}
	}
	for _, name := range names {
		name = path.Join(c.Directory, name)
		text, exists, err := readText(tree, name)
		if err != nil {
			return nil, err
		}
		if !exists {
			continue
		}
		patterns, err := ignorefile.ReadAll(strings.NewReader(text))
		if err == nil && len(patterns) > maxPatterns {
			err = fmt.Errorf("it has %d patterns, and %d are the most", len(patterns), maxPatterns)
		}
		var matcher *patternmatcher.PatternMatcher
		if err == nil {
			matcher, err = patternmatcher.New(patterns)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w; correct it", name, err)
		}
		return &ignoreFile{name: name, directory: c.Directory, matcher: matcher, budget: maxMatching}, nil
	}
	return nil, nil //nolint:nilnil // there is none
}

// skips reports whether a file is ignored, or a directory with everything in it.
func (i *ignoreFile) skips(name string, entry fs.DirEntry) bool {
	if i.directory != "." {
		below, inside := strings.CutPrefix(name, i.directory+"/")
		if !inside {
			return false
		}
		name = below
	}
	if name == "." || entry.IsDir() && i.matcher.Exclusions() {
		return false // a pattern that starts with ! may include what is in it
	}
	matches, _ := i.match(name, i.parentOf(name))
	return matches
}

// parentOf returns the match of the directory that a path is in. It computes only what differs from the path
// before, so in a walk each directory is matched once.
func (i *ignoreFile) parentOf(name string) patternmatcher.MatchInfo {
	dir := path.Dir(name)
	for len(i.parents) > 0 && !isBelow(dir, i.parents[len(i.parents)-1].dir) {
		i.parents = i.parents[:len(i.parents)-1]
	}
	known := ""
	var last patternmatcher.MatchInfo // none for the context itself
	if n := len(i.parents); n > 0 {
		known, last = i.parents[n-1].dir, i.parents[n-1].matched
	}
	for dir != "." && known != dir {
		next, _, _ := strings.Cut(strings.TrimPrefix(dir[len(known):], "/"), "/")
		known = path.Join(known, next)
		_, last = i.match(known, last)
		i.parents = append(i.parents, parentMatch{known, last})
	}
	return last
}

// match matches a path below a directory. When the budget is spent, everything is ignored.
func (i *ignoreFile) match(name string, parent patternmatcher.MatchInfo) (bool, patternmatcher.MatchInfo) {
	if i.budget -= len(name) * len(i.matcher.Patterns()); i.budget < 0 {
		if i.failed == nil {
			i.failed = fmt.Errorf("%s has too many patterns (%d) for the files of the directory; use fewer, or leave "+
				"out whole directories", i.name, len(i.matcher.Patterns()))
		}
		return true, parent
	}
	matches, matched, err := i.matcher.MatchesUsingParentResults(name, parent)
	if err != nil && i.failed == nil {
		i.failed = err
	}
	return matches, matched
}

// contextHash identifies what is in a build context, and its Dockerfile, which may be ignored.
func (f Found) contextHash(tree Tree, dir string) (string, error) {
	sum, entries := sha256.New(), 0
	f.ignored.budget = maxMatching
	defer func() { f.ignored.budget = maxMatching }() // packing matches the same files once more
	_, _ = fmt.Fprintf(sum, "%q\n", f.Dockerfile)
	err := fs.WalkDir(tree, dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entries++; entries > maxEntries {
			return fmt.Errorf("%s holds more than %d files; put the image into a directory of its own", dir, maxEntries)
		}
		switch skip := f.ignored.skips(name, entry); {
		case skip && entry.IsDir():
			return fs.SkipDir
		case skip, entry.IsDir():
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		hash, _ := tree.FileHash(name)
		_, _ = fmt.Fprintf(sum, "%v %s %q\n", info.Mode(), hash, name)
		return nil
	})
	if err = errors.Join(err, f.ignored.failed); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
