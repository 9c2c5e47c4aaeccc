package modules

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// packageCache stores packages by content digest, one tar archive each. An entry whose content does not
// have its digest is removed and counts as missing, so a damaged cache only costs time.
type packageCache struct {
	dir    string
	limits Limits
}

const cacheSuffix = ".tar.gz"

func (c packageCache) file(digest string) string {
	return filepath.Join(c.dir, strings.TrimPrefix(digest, "sha256:")+cacheSuffix)
}

// get returns the files of a package, or false if the cache does not have it.
func (c packageCache) get(digest string) ([]artifact.File, bool) {
	if c.dir == "" || sha256digest.Check(digest) != nil {
		return nil, false
	}
	name := c.file(digest)
	packed, err := os.ReadFile(name)
	if err != nil {
		return nil, false
	}
	files, err := artifact.Untar(packed, c.limits.tree())
	if err != nil || TreeDigest(files) != digest {
		_ = os.Remove(name) // if that fails, the next put replaces it
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now) // marks it as used; otherwise it only leaves the cache earlier
	return files, true
}

// put adds a package.
func (c packageCache) put(digest string, files []artifact.File) (err error) {
	if c.dir == "" {
		return nil
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("cache a module: %w", err)
	}
	packed, err := artifact.Tarball(files, c.limits.tree())
	if err != nil {
		return fmt.Errorf("cache a module: %w", err)
	}
	file, err := os.CreateTemp(c.dir, "new-")
	if err != nil {
		return fmt.Errorf("cache a module: %w", err)
	}
	_, err = file.Write(packed)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), c.file(digest))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cache a module: %w", err), os.Remove(file.Name()))
	}
	return c.prune()
}

// prune removes the entries that were not used for the longest time until the others fit the limit.
func (c packageCache) prune() error {
	listed, err := os.ReadDir(c.dir)
	if err != nil {
		return fmt.Errorf("cache a module: %w", err)
	}
	var entries []fs.FileInfo
	total := int64(0)
	for _, one := range listed {
		info, err := one.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // removed by another process in the meantime
		}
		entries = append(entries, info)
		total += info.Size()
	}
	slices.SortFunc(entries, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, one := range entries {
		// The file that another process is writing is among the newest.
		if total <= c.limits.CacheBytes {
			return nil
		}
		if err := os.Remove(filepath.Join(c.dir, one.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a module from the cache: %w", err)
		}
		total -= one.Size()
	}
	return nil
}
