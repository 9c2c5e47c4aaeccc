// Package packtest builds git packs for tests byte by byte, including packs that git never writes.
package packtest

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // required by the pack format
	"encoding/binary"

	"github.com/go-git/go-git/v5/plumbing"
)

// Pack is a pack under construction. Its zero value is empty.
type Pack struct {
	body  bytes.Buffer
	count uint32
}

// Add appends an object with a declared size and, if it is a delta, the bytes that identify its
// base. It returns the offset of the object.
func (p *Pack) Add(kind plumbing.ObjectType, declared int64, base, content []byte) int64 {
	return p.AddDeflated(kind, declared, base, Deflate(content))
}

// AddDeflated is Add for content that is already compressed.
func (p *Pack) AddDeflated(kind plumbing.ObjectType, declared int64, base, deflated []byte) int64 {
	at := p.Offset()
	p.count++
	first := byte(kind)<<4 | byte(declared&15)
	for rest := declared >> 4; rest != 0; rest >>= 7 {
		p.body.WriteByte(first | 0x80)
		first = byte(rest & 0x7f)
	}
	p.body.WriteByte(first)
	p.body.Write(base)
	p.body.Write(deflated)
	return at
}

// Blob appends a blob.
func (p *Pack) Blob(content []byte) int64 {
	return p.Add(plumbing.BlobObject, int64(len(content)), nil, content)
}

// OffsetDelta appends a delta of the object at an offset.
func (p *Pack) OffsetDelta(base int64, delta []byte) int64 {
	return p.Add(plumbing.OFSDeltaObject, int64(len(delta)), EncodeDistance(p.Offset()-base), delta)
}

// RefDelta appends a delta of the object with a hash.
func (p *Pack) RefDelta(base plumbing.Hash, delta []byte) int64 {
	return p.Add(plumbing.REFDeltaObject, int64(len(delta)), base[:], delta)
}

// Offset returns the offset of the next object.
func (p *Pack) Offset() int64 { return int64(12 + p.body.Len()) }

// Bytes returns the pack.
func (p *Pack) Bytes() []byte { return p.WithCount(p.count) }

// WithCount returns the pack with another number of objects in its header.
func (p *Pack) WithCount(count uint32) []byte {
	pack := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), count)
	pack = append(pack, p.body.Bytes()...)
	sum := sha1.Sum(pack) //nolint:gosec // required by the pack format
	return append(pack, sum[:]...)
}

// Deflate compresses content.
func Deflate(content []byte) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	_, _ = w.Write(content) // a buffer does not fail
	_ = w.Close()
	return out.Bytes()
}

// Delta returns a delta with two declared sizes and operations.
func Delta(from, to int64, operations ...byte) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(from)), uint64(to)), operations...)
}

// CopyAll returns the operations that copy n bytes from the start of a base, in steps of 64 KiB. n
// is a multiple of 64 KiB.
func CopyAll(n int64) (operations []byte) {
	for at := int64(0); at < n; at += 1 << 16 {
		// The third byte of the offset; without a size, 64 KiB are copied.
		operations = append(operations, 0x80|0x04, byte(at>>16))
	}
	return operations
}

// EncodeDistance encodes the distance back to a base (git's pack-format documentation).
func EncodeDistance(distance int64) []byte {
	out := []byte{byte(distance & 0x7f)}
	for distance >>= 7; distance != 0; distance >>= 7 {
		distance--
		out = append([]byte{0x80 | byte(distance&0x7f)}, out...)
	}
	return out
}
