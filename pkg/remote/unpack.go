package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// Bounds of a repository's snapshot, which is held in memory while a file is looked for in it.
const (
	maxObjects  = 200_000
	maxObject   = 32 << 20
	maxUnpacked = 128 << 20
)

// object is a git object; its kind is commit, tree, blob or tag.
type object struct {
	kind plumbing.ObjectType
	data []byte
}

// errPack says that a server sent something that git would not.
var errPack = errors.New("the repository's data cannot be read")

// unpack takes apart what a git server sent, and calls objects by the digest of what they really are. The work that it does is in
// proportion to what comes out, which is bounded: a delta costs what it makes, never what it is made of.
func unpack(ctx context.Context, pack io.Reader) (map[plumbing.Hash]object, error) {
	scanner := packfile.NewScanner(pack)
	_, count, err := scanner.Header()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPack, err)
	}
	if count > maxObjects {
		return nil, errTooMuch
	}
	u := unpacker{scanner: scanner, left: maxUnpacked, byHash: map[plumbing.Hash]object{}, byOffset: map[int64]object{}}
	for range count {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := u.next(); err != nil {
			return nil, err
		}
	}
	return u.byHash, nil
}

// unpacker is one run of unpack.
type unpacker struct {
	scanner  *packfile.Scanner
	left     int64 // bytes that may still come out
	byHash   map[plumbing.Hash]object
	byOffset map[int64]object
}

func (u *unpacker) next() error {
	header, err := u.scanner.NextObjectHeader()
	if err != nil {
		return fmt.Errorf("%w: %w", errPack, err)
	}
	if err := u.take(header.Length); err != nil {
		return err
	}
	var inflated bytes.Buffer
	inflated.Grow(int(header.Length))
	n, _, err := u.scanner.NextObject(&inflated)
	if err != nil {
		return fmt.Errorf("%w: %w", errPack, err)
	}
	if n != header.Length {
		return fmt.Errorf("%w: an object is shorter than it says", errPack)
	}
	made := object{kind: header.Type, data: inflated.Bytes()}
	switch header.Type {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
	case plumbing.OFSDeltaObject:
		made, err = u.patch(u.byOffset[header.OffsetReference], made.data)
	case plumbing.REFDeltaObject:
		made, err = u.patch(u.byHash[header.Reference], made.data)
	default:
		return fmt.Errorf("%w: an object is of no kind", errPack)
	}
	if err != nil {
		return err
	}
	u.byOffset[header.Offset] = made
	u.byHash[plumbing.ComputeHash(made.kind, made.data)] = made
	return nil
}

// take counts what comes out before it does.
func (u *unpacker) take(bytes int64) error {
	if bytes < 0 || bytes > maxObject || bytes > u.left {
		return errTooMuch
	}
	u.left -= bytes
	return nil
}

// patch makes an object from the one that it is described by. A pack holds that one first.
func (u *unpacker) patch(base object, delta []byte) (object, error) {
	if base.data == nil {
		return object{}, fmt.Errorf("%w: an object is described by one that is not there", errPack)
	}
	length, err := lengthOfPatched(delta)
	if err != nil {
		return object{}, err
	}
	if err := u.take(length); err != nil {
		return object{}, err
	}
	data, err := packfile.PatchDelta(base.data, delta)
	if err != nil {
		return object{}, fmt.Errorf("%w: %w", errPack, err)
	}
	return object{kind: base.kind, data: data}, nil
}

// lengthOfPatched reads how long the result of a delta is: the second of the two numbers that it begins with, each in groups of seven
// bits, the lowest first (git's pack-format documentation).
func lengthOfPatched(delta []byte) (int64, error) {
	var length int64
	number, shift := 0, 0
	for _, b := range delta {
		if shift > 56 {
			break
		}
		if number == 1 {
			length |= int64(b&0x7f) << shift
		}
		if shift += 7; b&0x80 == 0 {
			if number++; number == 2 {
				return length, nil
			}
			shift = 0
		}
	}
	return 0, fmt.Errorf("%w: a delta has no length", errPack)
}
