package gitpack

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/semaphore"

	"github.com/go-git/go-git/v5/plumbing"
)

// Limits bound one pack. Sizes are in bytes.
type Limits struct {
	// Pack is the maximum size of the pack itself.
	Pack int64
	// Objects is the maximum number of objects in it.
	Objects int64
	// Object is the maximum size of one blob, and of one delta's instructions.
	Object int64
	// Tree is the maximum size of one tree, commit or tag.
	Tree int64
	// Total is the maximum size of all objects and all deltas together.
	Total int64
	// Depth is the maximum number of deltas between an object and the whole object at the end of
	// its chain.
	Depth int
	// Chain is the maximum size of everything that is inflated to read one object: its base, and
	// each delta and its result.
	Chain int64
	// Memory is the maximum size of the content that Index has in memory at one time.
	Memory int64
}

// Default returns the limits of a repository that a control plane mirrors.
func Default() Limits {
	return Limits{
		Pack: 1 << 30, Objects: 1_000_000, Object: 64 << 20, Tree: 16 << 20, Total: 4 << 30,
		Depth: 4095, // git's own limit (pack-objects.h, OE_DEPTH_BITS)
		Chain: 1 << 30, Memory: 256 << 20,
	}
}

// ErrLimit is wrapped by every *LimitError.
var ErrLimit = errors.New("too much")

// ErrMalformed is wrapped when a pack is invalid.
var ErrMalformed = errors.New("malformed pack")

// LimitError reports a limit that a pack exceeds.
type LimitError struct {
	What  string // such as "an object"
	Limit int64
	Unit  string // "bytes", "objects" or "deltas"
}

// Error describes the limit, such as "an object of more than 64 MiB".
func (e *LimitError) Error() string {
	if e.Unit == "bytes" && e.Limit >= 1<<20 {
		return fmt.Sprintf("%s of more than %d MiB", e.What, e.Limit>>20)
	}
	return fmt.Sprintf("%s of more than %d %s", e.What, e.Limit, e.Unit)
}

// Unwrap returns ErrLimit.
func (e *LimitError) Unwrap() error { return ErrLimit }

// maxSizeOf returns the maximum size of an object of a kind, and the name of the kind for messages.
func (l Limits) maxSizeOf(kind plumbing.ObjectType) (int64, string) {
	switch kind {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.TagObject:
		return l.Tree, "a " + kind.String()
	case plumbing.BlobObject:
		return l.Object, "a file"
	}
	return l.Object, "a delta"
}

// checkSize fails if an object of a kind exceeds its maximum size.
func (l Limits) checkSize(kind plumbing.ObjectType, size int64) error {
	if max, what := l.maxSizeOf(kind); size < 0 || size > max {
		return &LimitError{What: what, Limit: max, Unit: "bytes"}
	}
	return nil
}

// recordSize is the memory in bytes that Index uses for each object of a pack, including the index.
const recordSize = 256

// Budget bounds the memory and the work of all packs that are read at the same time. It is safe for
// concurrent use.
type Budget struct {
	size     int64
	records  *semaphore.Weighted // acquired first
	contents *semaphore.Weighted
	workers  *semaphore.Weighted
}

// NewBudget returns a budget of size bytes for content, and as much for records. At most workers
// packs are resolved at the same time.
func NewBudget(size int64, workers int) *Budget {
	return &Budget{
		size: size, records: semaphore.NewWeighted(size), contents: semaphore.NewWeighted(size),
		workers: semaphore.NewWeighted(int64(workers)),
	}
}

// shared is the budget of this process.
var shared = NewBudget(512<<20, max(2, runtime.GOMAXPROCS(0)))

// Shared returns the budget that all packs of this process share.
func Shared() *Budget { return shared }

// acquireRecords waits for room for the records of n objects, and for a worker.
func (b *Budget) acquireRecords(ctx context.Context, n int64) (release func(), err error) {
	if err := b.workers.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	weight := min(n*recordSize, b.size)
	if err := b.records.Acquire(ctx, weight); err != nil {
		b.workers.Release(1)
		return nil, err
	}
	return func() { b.records.Release(weight); b.workers.Release(1) }, nil
}

// Acquire waits for room for n bytes of content. A caller that holds some must not acquire more.
func (b *Budget) Acquire(ctx context.Context, n int64) (release func(), err error) {
	weight := min(n, b.size)
	if err := b.contents.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	return func() { b.contents.Release(weight) }, nil
}
