package gitpack

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// Object is an object of a pack.
type Object struct {
	Kind plumbing.ObjectType // commit, tree, blob or tag
	Hash plumbing.Hash       // computed from the content
	Size int64
	// Offset is the start of the object in the pack, and CRC the CRC-32 of its packed bytes.
	Offset int64
	CRC    uint32
	// Content is the content of the object if Options.Content allows its size.
	Content []byte
}

// Options configure Index.
type Options struct {
	Limits Limits
	// Budget is the budget that packs share; nil means that of the process.
	Budget *Budget
	// Content is the maximum size of an object that Index passes with its content. The budget does
	// not count the content after it was passed.
	Content int64
}

// Index reads a pack of size bytes and calls visit once for each of its objects. It returns the
// checksum of the pack. A pack that refers to an object outside of it (a thin pack) is malformed.
func Index(
	ctx context.Context, pack io.ReadSeeker, size int64, options Options, visit func(Object) error,
) (checksum plumbing.Hash, err error) {
	if size > options.Limits.Pack {
		return checksum, &LimitError{What: "a pack", Limit: options.Limits.Pack, Unit: "bytes"}
	}
	if options.Budget == nil {
		options.Budget = Shared()
	}
	if _, err := pack.Seek(0, io.SeekStart); err != nil {
		return checksum, fmt.Errorf("read a pack: %w", err)
	}
	x := &indexer{Options: options, ctx: ctx, scanner: packfile.NewScanner(pack), visit: visit,
		waiting: map[plumbing.Hash][]int32{}}
	_, count, err := x.scanner.Header()
	if err != nil {
		return checksum, malformed(err)
	}
	if int64(count) > x.Limits.Objects {
		return checksum, &LimitError{What: "a pack", Limit: x.Limits.Objects, Unit: "objects"}
	}
	release, err := x.Budget.acquireRecords(ctx, int64(count))
	if err != nil {
		return checksum, err
	}
	defer release()
	if err := x.scan(int(count)); err != nil {
		return checksum, err
	}
	if checksum, err = x.scanner.Checksum(); err != nil {
		return checksum, malformed(err)
	}
	if end, err := x.scanner.SeekFromStart(0); err != nil || end != size {
		return checksum, malformed(errors.New("something follows the pack"))
	}
	return checksum, x.resolve()
}

// malformed marks an error of the git library as ErrMalformed.
func malformed(err error) error {
	var limit *LimitError
	if errors.Is(err, ErrMalformed) || errors.As(err, &limit) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrMalformed, err)
}

// entry is the record of one object in the pack, in the order of offsets.
type entry struct {
	offset      int64
	size        int64 // inflated size, of an object or of the instructions of a delta
	resultSize  int64 // size of the result of a delta
	chain       int64 // total inflated bytes to build the object, including itself
	base        int32 // base of an offset delta; -1 for none
	child       int32 // first offset delta that is based on this entry; -1 for none
	sibling     int32 // next delta with the same base
	descendants int32 // number of offset deltas that descend from this entry, including itself
	depth       int32
	crc         uint32
	kind        plumbing.ObjectType
	resolved    bool
	hash        plumbing.Hash
}

// indexer is one run of Index.
type indexer struct {
	Options
	ctx     context.Context
	scanner *packfile.Scanner
	visit   func(Object) error

	entries []entry
	// waiting contains the deltas that refer to their base by hash.
	waiting map[plumbing.Hash][]int32
	total   int64
	// reserved is the number of bytes of content in memory; needed is the number that resolving may
	// need.
	reserved, needed int64
	done             int
}

// countBytes counts bytes before they are inflated.
func (x *indexer) countBytes(bytes int64) error {
	if x.total += bytes; x.total > x.Limits.Total {
		return &LimitError{What: "a repository", Limit: x.Limits.Total, Unit: "bytes"}
	}
	return nil
}

// scan is the first pass.
func (x *indexer) scan(count int) error {
	for range count {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		header, err := x.scanner.NextObjectHeader()
		if err != nil {
			return malformed(err)
		}
		if err := x.Limits.checkSize(header.Type, header.Length); err != nil {
			return err
		}
		if err := x.countBytes(header.Length); err != nil {
			return err
		}
		if err := x.scanOne(header); err != nil {
			return malformed(err)
		}
	}
	for i := len(x.entries) - 1; i >= 0; i-- {
		if e := x.entries[i]; e.base >= 0 {
			x.entries[e.base].descendants += e.descendants
		}
	}
	return nil
}

func (x *indexer) scanOne(header *packfile.ObjectHeader) error {
	e := entry{offset: header.Offset, size: header.Length, kind: header.Type, base: -1,
		child: -1, sibling: -1, descendants: 1}
	sink := &sink{remaining: header.Length}
	switch header.Type {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
		hasher := plumbing.NewHasher(header.Type, header.Length)
		sink.hash, sink.keep = hasher, 0
		if header.Length <= x.Content {
			sink.keep = header.Length
		}
		if err := x.inflate(sink, &e); err != nil {
			return err
		}
		e.hash, e.chain, e.resolved = hasher.Sum(), e.size, true
		x.done++
		x.entries = append(x.entries, e)
		return x.visit(Object{Kind: e.kind, Hash: e.hash, Size: e.size, Offset: e.offset,
			CRC: e.crc, Content: sink.content})
	case plumbing.OFSDeltaObject, plumbing.REFDeltaObject:
		sink.keep = maxDeltaHeader
		if err := x.inflate(sink, &e); err != nil {
			return err
		}
		return x.scanDelta(header, e, sink.content)
	}
	return fmt.Errorf("an object of kind %d", header.Type)
}

// maxDeltaHeader is the maximum length of the two sizes at the start of a delta.
const maxDeltaHeader = 2 * binary.MaxVarintLen64

// scanDelta checks the declared size of a delta's result.
func (x *indexer) scanDelta(header *packfile.ObjectHeader, e entry, head []byte) error {
	result, err := resultSize(head)
	if err != nil {
		return err
	}
	if result < 0 || result > x.Limits.Object {
		return &LimitError{What: "a file", Limit: x.Limits.Object, Unit: "bytes"}
	}
	if err := x.countBytes(result); err != nil {
		return err
	}
	e.resultSize = result
	x.needed += e.size + 2*result
	index := int32(len(x.entries)) //nolint:gosec // bounded by Limits.Objects
	if header.Type == plumbing.REFDeltaObject {
		x.waiting[header.Reference] = append(x.waiting[header.Reference], index)
		x.entries = append(x.entries, e)
		return nil
	}
	base, found := slices.BinarySearchFunc(x.entries, header.OffsetReference, func(e entry, offset int64) int {
		switch {
		case e.offset < offset:
			return -1
		case e.offset > offset:
			return 1
		}
		return 0
	})
	if !found {
		return errors.New("a delta is based on no object")
	}
	e.base, e.sibling = int32(base), x.entries[base].child //nolint:gosec // bounded by Limits.Objects
	x.entries = append(x.entries, e)
	x.entries[base].child = index
	return nil
}

// resultSize parses the size of a delta's result: the second of the two numbers at its start (git's
// pack-format documentation).
func resultSize(head []byte) (int64, error) {
	_, n := binary.Uvarint(head)
	if n <= 0 {
		return 0, errors.New("a delta without sizes")
	}
	size, n := binary.Uvarint(head[n:])
	if n <= 0 || size > 1<<62 {
		return 0, errors.New("a delta without sizes")
	}
	return int64(size), nil
}

// inflate reads the object at the position of the scanner.
func (x *indexer) inflate(into *sink, e *entry) error {
	n, crc, err := x.scanner.NextObject(into)
	if err != nil {
		return err
	}
	if n != e.size {
		return errors.New("an object is shorter than it says")
	}
	e.crc = crc
	return nil
}

// sink receives an inflated object. It hashes the object, stores its first bytes, and fails if the
// object is longer than declared.
type sink struct {
	remaining int64
	hash      io.Writer // nil for none
	keep      int64
	content   []byte
}

// Write accepts the next bytes.
func (s *sink) Write(data []byte) (int, error) {
	if s.remaining -= int64(len(data)); s.remaining < 0 {
		return 0, errors.New("an object is longer than it says")
	}
	if s.hash != nil {
		if _, err := s.hash.Write(data); err != nil {
			return 0, err
		}
	}
	if space := s.keep - int64(len(s.content)); space > 0 {
		s.content = append(s.content, data[:min(int64(len(data)), space)]...)
	}
	return len(data), nil
}

// read inflates an object again, whose size the first pass has verified.
func (x *indexer) read(e *entry) ([]byte, error) {
	if _, err := x.scanner.SeekObjectHeader(e.offset); err != nil {
		return nil, malformed(err)
	}
	content := bytes.NewBuffer(make([]byte, 0, e.size))
	if _, _, err := x.scanner.NextObject(content); err != nil {
		return nil, malformed(err)
	}
	return content.Bytes(), nil
}
