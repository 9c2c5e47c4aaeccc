package observe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// errDamaged is the error for a mirror that lacks objects or is unreadable. The remedy is to
// create it again.
var errDamaged = errors.New("the mirror of the repository is damaged")

// mirrors are the bare, shallow copies of remotes on this machine: one per (org, URL), in a
// directory that only this process uses.
type mirrors struct {
	dir string

	mu    sync.Mutex
	locks map[string]chan struct{}
}

func newMirrors(dir string) *mirrors {
	return &mirrors{dir: dir, locks: map[string]chan struct{}{}}
}

// mirror is one of them, while its lock is held.
type mirror struct {
	dir   string
	store *filesystem.Storage
}

// withMirror runs work on the mirror of a remote, exclusively. If work finds it damaged, with creates
// it again and runs work once more.
func (m *mirrors) withMirror(ctx context.Context, org, url string, work func(*mirror) error) error {
	sum := sha256.Sum256([]byte(url))
	dir := filepath.Join(m.dir, org, hex.EncodeToString(sum[:16]))
	unlock, err := m.lock(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(damagedMarker(dir)); err == nil || tooManyPacks(dir) {
		if err := discard(dir); err != nil {
			return err
		}
	}
	for again := false; ; again = true {
		opened, err := openMirror(dir)
		if err != nil {
			return err
		}
		if err = work(opened); !errors.Is(err, errDamaged) || again {
			return err
		}
		if err := discard(dir); err != nil {
			return err
		}
	}
}

func (m *mirrors) lock(ctx context.Context, dir string) (unlock func(), err error) {
	m.mu.Lock()
	held, there := m.locks[dir]
	if !there {
		held = make(chan struct{}, 1)
		m.locks[dir] = held
	}
	m.mu.Unlock()
	select {
	case held <- struct{}{}:
		return func() { <-held }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// damagedMarker returns the file by which a reader marks a mirror as damaged.
func damagedMarker(dir string) string { return dir + ".broken" }

// maxPacks is how many packs a mirror collects, one per push, before creating it again is cheaper
// than searching them all.
const maxPacks = 200

// maxPackBytes bounds the total size of a mirror's packs: twice the limit of one fetch.
const maxPackBytes = 2 << 30

// tooManyPacks reports whether a mirror has more packs, or more bytes, than are worth storing.
func tooManyPacks(dir string) bool {
	packs, err := os.ReadDir(packsOf(dir))
	if err != nil {
		return false
	}
	count, total := 0, int64(0)
	for _, pack := range packs {
		if info, err := pack.Info(); err == nil && strings.HasSuffix(pack.Name(), ".pack") {
			count++
			total += info.Size()
		}
	}
	return count > maxPacks || total > maxPackBytes
}

func packsOf(dir string) string { return filepath.Join(dir, "objects", "pack") }

// packs returns the directory of the mirror's packs.
func (m *mirror) packs() string { return packsOf(m.dir) }

func discard(dir string) error {
	if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(damagedMarker(dir))); err != nil {
		return fmt.Errorf("remove a damaged mirror: %w", err)
	}
	return nil
}

func openMirror(dir string) (*mirror, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create a mirror: %w", err)
	}
	opened := filesystem.NewStorage(osfs.New(dir, osfs.WithBoundOS()), cache.NewObjectLRU(16*cache.MiByte))
	if _, err := os.Stat(filepath.Join(dir, "objects")); errors.Is(err, fs.ErrNotExist) {
		if err := opened.Init(); err != nil {
			return nil, fmt.Errorf("create a mirror: %w", err)
		}
	}
	return &mirror{dir: dir, store: opened}, nil
}

// refresh reloads the list of packs after one was added.
func (m *mirror) refresh() { m.store.Reindex() }

// has reports whether the mirror contains an object.
func (m *mirror) has(hash plumbing.Hash) bool { return m.store.HasEncodedObject(hash) == nil }

// commit reads a commit, or the commit that a tag object points at.
func (m *mirror) commit(hash plumbing.Hash) (*object.Commit, error) {
	// A tag may point at a tag, but rarely more than once.
	for range 8 {
		found, err := object.GetObject(m.store, hash)
		if err != nil {
			return nil, fmt.Errorf("%w: read commit %s: %w", errDamaged, shortCommit(hash.String()), err)
		}
		switch found := found.(type) {
		case *object.Commit:
			return found, nil
		case *object.Tag:
			hash = found.Target
		default:
			return nil, repoErrorf("the ref points to a %s, not to a commit; name a branch, a tag of a commit, or a commit",
				found.Type())
		}
	}
	return nil, repoErrorf("the tag points to too many nested tags; name the commit")
}

// parents implements parentsOf.
func (m *mirror) parents(hash plumbing.Hash) ([]plumbing.Hash, bool) {
	found, err := object.GetCommit(m.store, hash)
	if err != nil {
		return nil, false
	}
	return found.ParentHashes, true
}

// Bounds of a tree.
const (
	maxEntries   = 500_000
	maxTreeDepth = 128
)

// checkTree checks that every object of a tree is in the mirror and that every name in it is a valid
// part of a path. It counts entries once for each path, so it rejects a tree that is small in
// storage but expands without limit (each level containing the next one twice).
func (m *mirror) checkTree(tree plumbing.Hash) error {
	_, err := m.countEntries(tree, 0, map[plumbing.Hash]int{})
	return err
}

func (m *mirror) countEntries(hash plumbing.Hash, deep int, counted map[plumbing.Hash]int) (int, error) {
	if n, known := counted[hash]; known {
		return n, nil
	}
	if deep > maxTreeDepth {
		return 0, repoErrorf("the repository has directories more than %d deep; flatten them", maxTreeDepth)
	}
	entries, err := readTree(m.store, hash)
	if err != nil {
		return 0, err
	}
	total := len(entries)
	for _, entry := range entries {
		switch {
		case isDir(entry):
			below, err := m.countEntries(entry.Hash, deep+1, counted)
			if err != nil {
				return 0, err
			}
			total += below
		case isSubmodule(entry):
		case !m.has(entry.Hash):
			return 0, fmt.Errorf("%w: %s is missing", errDamaged, entry.Hash)
		}
		if total > maxEntries {
			return 0, repoErrorf("the repository has more than %d files and directories; keep the app in a smaller one",
				maxEntries)
		}
	}
	counted[hash] = total
	return total, nil
}

// shortCommit returns the abbreviated form of a commit.
func shortCommit(commit string) string {
	if len(commit) > 7 {
		return commit[:7]
	}
	return commit
}
