package modules

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// xzReader decompresses one xz stream (https://tukaani.org/xz/xz-file-format.txt) whose blocks have
// no other filter than LZMA2. The library's own reader allocates what each block's header requires,
// which may be 4 GiB; this one checks the header first.
type xzReader struct {
	from    *countingReader
	newHash func() hash.Hash // nil for streams without checks

	block  io.Reader // nil between blocks
	hash   hash.Hash
	start  int64 // position of the compressed data of the block
	ending bool
}

var xzMagic = []byte{0xFD, '7', 'z', 'X', 'Z', 0}

func newXZReader(from io.Reader) (*xzReader, error) {
	r := &xzReader{from: &countingReader{Reader: bufio.NewReader(from)}}
	var header [12]byte
	if _, err := io.ReadFull(r.from, header[:]); err != nil || !bytes.Equal(header[:6], xzMagic) || header[6] != 0 {
		return nil, errors.New("it has no xz header")
	}
	switch header[7] {
	case 0:
	case 1:
		r.newHash = func() hash.Hash { return crc32.NewIEEE() }
	case 4:
		r.newHash = func() hash.Hash { return crc64.New(crc64.MakeTable(crc64.ECMA)) }
	case 10:
		r.newHash = sha256.New
	default:
		return nil, fmt.Errorf("xz check %d is not supported", header[7])
	}
	return r, nil
}

// Read reads the decompressed data.
func (r *xzReader) Read(into []byte) (int, error) {
	for !r.ending {
		if r.block == nil {
			if err := r.open(); err != nil {
				return 0, unexpectedEnd(err)
			}
			continue
		}
		n, err := r.block.Read(into)
		if r.hash != nil {
			_, _ = r.hash.Write(into[:n])
		}
		if errors.Is(err, io.EOF) {
			err = r.close()
		}
		if n > 0 || err != nil {
			return n, unexpectedEnd(err)
		}
	}
	return 0, io.EOF
}

// unexpectedEnd converts the end of the input in the middle of a stream.
func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// open reads the header of the next block, or the start of the index that follows the last one.
func (r *xzReader) open() error {
	size, err := r.from.ReadByte()
	if err != nil {
		return err
	}
	if size == 0 {
		r.ending = true
		return nil
	}
	header := make([]byte, (int(size)+1)*4)
	header[0] = size
	if _, err := io.ReadFull(r.from, header[1:]); err != nil {
		return err
	}
	body, sum := header[:len(header)-4], header[len(header)-4:]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(sum) {
		return errors.New("an xz block header is damaged")
	}
	rest, flags := body[2:], body[1]
	for _, sized := range []byte{0x40, 0x80} { // the sizes, which are not needed
		if flags&sized != 0 {
			_, n := binary.Uvarint(rest)
			if n <= 0 {
				return errors.New("an xz block header is malformed")
			}
			rest = rest[n:]
		}
	}
	if flags&0x3F != 0 || len(rest) < 3 || rest[0] != 0x21 || rest[1] != 1 {
		return errors.New("an xz block has another filter than LZMA2")
	}
	dictionary, err := lzma.DecodeDictCap(rest[2])
	if err != nil {
		return err
	}
	if dictionary > maxWindow {
		return fmt.Errorf("an xz block needs %d bytes of memory, at most %d are allowed", dictionary, maxWindow)
	}
	r.start = r.from.read
	if r.block, err = (lzma.Reader2Config{DictCap: int(max(dictionary, lzma.MinDictCap))}).NewReader2(r.from); err != nil {
		return err
	}
	if r.newHash != nil {
		r.hash = r.newHash()
	}
	return nil
}

// close checks the end of a block.
func (r *xzReader) close() error {
	r.block = nil
	padding := make([]byte, (4-(r.from.read-r.start)%4)%4)
	if _, err := io.ReadFull(r.from, padding); err != nil {
		return err
	}
	if r.hash == nil {
		return nil
	}
	want := r.hash.Sum(nil)
	if len(want) < sha256.Size { // CRCs are little-endian in the file
		for i, j := 0, len(want)-1; i < j; i, j = i+1, j-1 {
			want[i], want[j] = want[j], want[i]
		}
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r.from, got); err != nil {
		return err
	}
	if !bytes.Equal(want, got) {
		return errors.New("an xz block is damaged")
	}
	return nil
}

// countingReader counts the bytes that were read. It is an io.ByteReader, so that the decompressor
// reads no byte too many.
type countingReader struct {
	*bufio.Reader
	read int64
}

// Read reads bytes.
func (c *countingReader) Read(into []byte) (int, error) {
	n, err := c.Reader.Read(into)
	c.read += int64(n)
	return n, err
}

// ReadByte reads one byte.
func (c *countingReader) ReadByte() (byte, error) {
	b, err := c.Reader.ReadByte()
	if err == nil {
		c.read++
	}
	return b, err
}
