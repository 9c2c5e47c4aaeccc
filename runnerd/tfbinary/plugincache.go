package tfbinary

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

// PluginCaches returns the directories of the provider caches of a runner, which need not exist: that of jobs whose
// programs run as the runner's user, and that of jobs whose programs run as another.
func PluginCaches(root string) []string {
	return []string{filepath.Join(root, "tools", "plugins"), filepath.Join(root, "tools", "plugins-of-jobs")}
}

// PluginCache returns the directory of the provider cache, or "" when the runner's owner
// has their own CLI configuration. Terraform's cache does not support concurrent writers:
// callers hold a lock while they run init with it.
func (t Tool) PluginCache() string {
	if !t.ownConfig {
		return ""
	}
	caches := PluginCaches(t.root)
	if subprocess.HasOtherUser() {
		// The jobs' user writes this cache, and another cache is for this user.
		return caches[1]
	}
	return caches[0]
}

// MakePluginCache creates the provider cache as a directory that programs can write.
func MakePluginCache(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if err == nil {
		err = subprocess.GrantOwnership(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the plugin cache: %w", err)
	}
	return nil
}

// The bounds of a provider cache. Programs of jobs write it, and nothing else removes what they leave there.
const (
	maxCacheBytes = 8 << 30
	maxCacheFiles = 100_000
	maxCacheDepth = 32 // directories below each other
)

// errCacheTooLarge ends the walk of a provider cache.
var errCacheTooLarge = errors.New("the provider cache is too large")

// IsCacheTooLarge reports whether a provider cache is above its bounds, or cannot be read.
func IsCacheTooLarge(dir string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer func() { _ = root.Close() }()
	return (&cacheSize{}).add(root, 1) != nil
}

// cacheSize is the size of what was found in a provider cache so far.
type cacheSize struct {
	files int
	bytes int64
}

// add adds everything in a directory, which has this depth. It reads few entries at a time, because a job can make
// more of them than memory has room for, and follows no link out of the cache.
func (c *cacheSize) add(dir *os.Root, depth int) error {
	list, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = list.Close() }()
	for {
		names, err := list.Readdirnames(1024)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := c.addEntry(dir, name, depth); err != nil && !errors.Is(err, fs.ErrNotExist) { // removed meanwhile
				return err
			}
		}
	}
}

func (c *cacheSize) addEntry(dir *os.Root, name string, depth int) error {
	info, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	c.files++
	c.bytes += info.Size()
	if c.files > maxCacheFiles || c.bytes > maxCacheBytes || depth > maxCacheDepth {
		return errCacheTooLarge
	}
	if !info.IsDir() {
		return nil
	}
	below, err := dir.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { _ = below.Close() }()
	return c.add(below, depth+1)
}
