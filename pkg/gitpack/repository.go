package gitpack

import (
	"bufio"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// Repository reads objects of a repository on this machine that another program writes. It checks
// the sizes along an object's whole chain of deltas before it inflates any of it. It is not safe
// for concurrent use.
type Repository struct {
	root    billy.Filesystem // the directory that contains objects
	options Options
	packs   []indexedPack
	listed  bool
	total   int64
}

// indexedPack is a pack of a Repository.
type indexedPack struct {
	path  string
	index *idxfile.MemoryIndex
	// bases caches recently used bases of deltas: one byte for the kind, followed by the content.
	bases *cache.BufferLRU
}

// NewRepository returns the repository with the .git directory, or bare directory, root.
func NewRepository(root billy.Filesystem, options Options) *Repository {
	if options.Budget == nil {
		options.Budget = Shared()
	}
	return &Repository{root: root, options: options}
}

// Read calls use with an object. It returns plumbing.ErrObjectNotFound if the repository does not
// have the object. use must not call Read: the memory for the object is taken from the budget until
// use returns.
func (r *Repository) Read(ctx context.Context, hash plumbing.Hash, use func(*plumbing.MemoryObject) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := r.readLoose(ctx, hash, use)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		err = r.readPacked(ctx, hash, use)
	}
	return err
}

// countObject counts an object before it is read.
func (r *Repository) countObject(kind plumbing.ObjectType, size int64) error {
	if err := r.options.Limits.checkSize(kind, size); err != nil {
		return err
	}
	if r.total += size; r.total > r.options.Limits.Total {
		return &LimitError{What: "a repository", Limit: r.options.Limits.Total, Unit: "bytes"}
	}
	return nil
}

// maxHeader is the maximum length of "commit ", the digits of a size, and a zero byte.
const maxHeader = 32

// readLoose reads an object from its own file, which contains compressed a header such as "blob
// 12\x00" and the content.
func (r *Repository) readLoose(
	ctx context.Context, hash plumbing.Hash, use func(*plumbing.MemoryObject) error,
) (err error) {
	name := hash.String()
	file, err := r.root.Open(r.root.Join("objects", name[:2], name[2:]))
	if errors.Is(err, fs.ErrNotExist) {
		return plumbing.ErrObjectNotFound
	}
	if err != nil {
		return fmt.Errorf("read object %s: %w", name, err)
	}
	defer func() { _ = file.Close() }() // the close error does not matter: it was only read
	inflated, err := zlib.NewReader(file)
	if err != nil {
		return fmt.Errorf("object %s: %w", name, malformed(err))
	}
	buffered := bufio.NewReader(inflated)
	kind, size, err := looseHeader(buffered)
	if err != nil {
		return fmt.Errorf("object %s: %w", name, malformed(err))
	}
	if err := r.countObject(kind, size); err != nil {
		return err
	}
	release, err := r.options.Budget.Acquire(ctx, size)
	if err != nil {
		return err
	}
	defer release()
	content := make([]byte, size)
	if _, err := io.ReadFull(buffered, content); err != nil {
		return fmt.Errorf("object %s: %w", name, malformed(err))
	}
	if _, err := buffered.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("object %s: %w", name, malformed(errors.New("it is longer than it says")))
	}
	return useObject(kind, content, hash, use)
}

func looseHeader(from *bufio.Reader) (kind plumbing.ObjectType, size int64, err error) {
	start, err := from.Peek(maxHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		return kind, 0, err
	}
	header, _, terminated := strings.Cut(string(start), "\x00")
	word, digits, spaced := strings.Cut(header, " ")
	if !terminated || !spaced {
		return kind, 0, errors.New("it has no header")
	}
	if kind, err = plumbing.ParseObjectType(word); err != nil || kind.IsDelta() || kind == plumbing.AnyObject {
		return kind, 0, fmt.Errorf("it is a %q", word)
	}
	if size, err = strconv.ParseInt(digits, 10, 64); err != nil || size < 0 {
		return kind, 0, errors.New("it has no size")
	}
	_, err = from.Discard(len(header) + 1)
	return kind, size, err
}

func useObject(
	kind plumbing.ObjectType, content []byte, hash plumbing.Hash, use func(*plumbing.MemoryObject) error,
) error {
	if plumbing.ComputeHash(kind, content) != hash {
		return fmt.Errorf("object %s: %w", hash, malformed(errors.New("it is another object than its name says")))
	}
	object := new(plumbing.MemoryObject)
	object.SetType(kind)
	if _, err := object.Write(content); err != nil {
		return err
	}
	return use(object)
}

// list reads the indexes of the packs.
func (r *Repository) list() error {
	if r.listed {
		return nil
	}
	dir := r.root.Join("objects", "pack")
	files, err := r.root.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list packs: %w", err)
	}
	for _, info := range files {
		name, isIndex := strings.CutSuffix(info.Name(), ".idx")
		if !isIndex || !strings.HasPrefix(name, "pack-") {
			continue
		}
		index, err := r.readIndex(r.root.Join(dir, info.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // repacked in the meantime
		}
		if err != nil {
			return fmt.Errorf("index of %s: %w", name, malformed(err))
		}
		r.packs = append(r.packs, indexedPack{r.root.Join(dir, name+".pack"), index,
			cache.NewBufferLRU(16 * cache.MiByte)})
	}
	r.listed = true
	return nil
}

func (r *Repository) readIndex(path string) (*idxfile.MemoryIndex, error) {
	file, err := r.root.Open(path)
	if err != nil {
		return nil, err
	}
	index := idxfile.NewMemoryIndex()
	return index, errors.Join(idxfile.NewDecoder(bufio.NewReader(file)).Decode(index), file.Close())
}

func (r *Repository) readPacked(ctx context.Context, hash plumbing.Hash, use func(*plumbing.MemoryObject) error) error {
	if err := r.list(); err != nil {
		return err
	}
	for _, pack := range r.packs {
		offset, err := pack.index.FindOffset(hash)
		if err != nil {
			continue
		}
		file, err := r.root.Open(pack.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // repacked in the meantime
		}
		if err != nil {
			return fmt.Errorf("read object %s: %w", hash, err)
		}
		defer func() { _ = file.Close() }() // the close error does not matter: it was only read
		found := chain{repository: r, pack: pack, scanner: packfile.NewScanner(file)}
		if err := found.measure(offset); err != nil {
			return fmt.Errorf("object %s: %w", hash, malformed(err))
		}
		release, err := r.options.Budget.Acquire(ctx, found.maxSize)
		if err != nil {
			return err
		}
		defer release()
		content, err := found.read()
		if err != nil {
			return fmt.Errorf("object %s: %w", hash, malformed(err))
		}
		return useObject(found.kind, content, hash, use)
	}
	return plumbing.ErrObjectNotFound
}

// chain contains the deltas from an object of a pack to the whole object at the end of its chain.
type chain struct {
	repository *Repository
	pack       indexedPack
	scanner    *packfile.Scanner

	deltas  []link // starts with the requested object
	base    link
	cached  []byte // the base, if it was read before
	kind    plumbing.ObjectType
	maxSize int64 // the maximum memory of one step
}

type link struct{ offset, size, result int64 }

// measure follows the chain and checks every size in it. A cyclic chain exceeds the maximum depth.
func (c *chain) measure(offset int64) error {
	limits, sum := c.repository.options.Limits, int64(0)
	for {
		if cached, found := c.pack.bases.Get(offset); found {
			c.kind, c.cached = plumbing.ObjectType(cached[0]), cached[1:]
			c.base = link{offset: offset, size: int64(len(c.cached)), result: int64(len(c.cached))}
			break
		}
		header, err := c.scanner.SeekObjectHeader(offset)
		if err != nil {
			return err
		}
		if err := limits.checkSize(header.Type, header.Length); err != nil {
			return err
		}
		entry := link{offset, header.Length, header.Length}
		if !header.Type.IsDelta() {
			c.kind, c.base = header.Type, entry
			break
		}
		if entry.result, err = c.resultOf(header); err != nil {
			return err
		}
		if sum += entry.size + entry.result; entry.result > limits.Object || sum > limits.Chain {
			return &LimitError{What: "a chain of deltas", Limit: min(limits.Object, limits.Chain), Unit: "bytes"}
		}
		if c.deltas = append(c.deltas, entry); len(c.deltas) > limits.Depth {
			return &LimitError{What: "a chain", Limit: int64(limits.Depth), Unit: "deltas"}
		}
		if offset = header.OffsetReference; header.Type == plumbing.REFDeltaObject {
			if offset, err = c.pack.index.FindOffset(header.Reference); err != nil {
				return errors.New("it is based on an object that its pack does not hold")
			}
		}
	}
	before := c.base.result
	for i := len(c.deltas) - 1; i >= 0; i-- {
		entry := c.deltas[i]
		c.maxSize, before = max(c.maxSize, before+entry.size+2*entry.result), entry.result
	}
	c.maxSize = max(c.maxSize, c.base.size)
	return c.repository.countObject(c.kind, before)
}

// resultOf reads the start of a delta.
func (c *chain) resultOf(header *packfile.ObjectHeader) (int64, error) {
	inflated, err := c.scanner.ReadObject()
	if err != nil {
		return 0, err
	}
	head := make([]byte, min(header.Length, maxDeltaHeader))
	_, err = io.ReadFull(inflated, head)
	if err := errors.Join(err, inflated.Close()); err != nil {
		return 0, err
	}
	return resultSize(head)
}

// read builds the object.
func (c *chain) read() (content []byte, err error) {
	if content = c.cached; content == nil {
		if content, err = c.inflate(c.base); err != nil {
			return nil, err
		}
	}
	for i := len(c.deltas) - 1; i >= 0; i-- {
		if entry := c.base; i < len(c.deltas)-1 {
			entry = c.deltas[i+1]
			c.pack.bases.Put(entry.offset, append([]byte{byte(c.kind)}, content...))
		} else if c.cached == nil {
			c.pack.bases.Put(entry.offset, append([]byte{byte(c.kind)}, content...))
		}
		instructions, err := c.inflate(c.deltas[i])
		if err != nil {
			return nil, err
		}
		if content, err = packfile.PatchDelta(content, instructions); err != nil {
			return nil, err
		}
		if int64(len(content)) != c.deltas[i].result {
			return nil, errors.New("a delta makes another size than it says")
		}
	}
	return content, nil
}

// inflate inflates the entry at one offset.
func (c *chain) inflate(entry link) ([]byte, error) {
	if _, err := c.scanner.SeekObjectHeader(entry.offset); err != nil {
		return nil, err
	}
	into := &sink{remaining: entry.size, keep: entry.size}
	n, _, err := c.scanner.NextObject(into)
	if err != nil {
		return nil, err
	}
	if n != entry.size {
		return nil, errors.New("it is shorter than it says")
	}
	return into.content, nil
}
