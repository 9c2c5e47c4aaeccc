package remote

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// packed is a pack under construction.
type packed struct {
	bytes.Buffer
	count uint32
}

// add writes an object that calls itself length bytes long, and gives where it begins.
func (p *packed) add(kind plumbing.ObjectType, length int, base []byte, data []byte) int {
	at := 12 + p.Len()
	p.count++
	first := byte(kind)<<4 | byte(length&15)
	for rest := length >> 4; ; rest >>= 7 {
		if rest == 0 {
			p.WriteByte(first)
			break
		}
		p.WriteByte(first | 0x80)
		first = byte(rest & 0x7f)
	}
	p.Write(base)
	out := zlib.NewWriter(p)
	_, _ = out.Write(data)
	_ = out.Close()
	return at
}

func (p *packed) pack(count uint32) []byte {
	head := append([]byte("PACK\x00\x00\x00\x02"), binary.BigEndian.AppendUint32(nil, count)...)
	return append(append(head, p.Bytes()...), make([]byte, 20)...)
}

func TestUnpackHostilePacks(t *testing.T) {
	base := bytes.Repeat([]byte("a"), 1000)
	delta := func(from, to int, operations ...byte) []byte {
		return append(append(binary.AppendUvarint(nil, uint64(from)), binary.AppendUvarint(nil, uint64(to))...), operations...)
	}
	for name, c := range map[string]struct {
		make func(p *packed)
		want error
	}{
		"a large object":     {func(p *packed) { p.add(plumbing.BlobObject, maxObject+1, nil, nil) }, errTooMuch},
		"longer than said":   {func(p *packed) { p.add(plumbing.BlobObject, 10, nil, base) }, errPack},
		"shorter than said":  {func(p *packed) { p.add(plumbing.BlobObject, 2000, nil, base) }, errPack},
		"no kind":            {func(p *packed) { p.add(plumbing.ObjectType(5), 1000, nil, base) }, errPack},
		"no base":            {func(p *packed) { p.add(plumbing.REFDeltaObject, 5, make([]byte, 20), delta(1000, 10)) }, errPack},
		"no base before":     {func(p *packed) { p.add(plumbing.OFSDeltaObject, 5, []byte{1}, delta(1000, 10)) }, errPack},
		"a delta that grows": {func(p *packed) { onBase(p, base, delta(1000, maxObject+1, 0x80)) }, errTooMuch},
		"a delta of nothing": {func(p *packed) { onBase(p, base, nil) }, errPack},
		"no length":          {func(p *packed) { onBase(p, base, bytes.Repeat([]byte{0xff}, 30)) }, errPack},
		"out of its base":    {func(p *packed) { onBase(p, base, delta(1000, 900, 0x93, 0xff, 0xff, 0x10)) }, errPack},
		"many that grow":     {func(p *packed) { growing(p) }, errTooMuch},
	} {
		t.Run(name, func(t *testing.T) {
			var p packed
			c.make(&p)
			if _, err := unpack(t.Context(), bytes.NewReader(p.pack(p.count))); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
		})
	}
	if _, err := unpack(t.Context(), bytes.NewReader(new(packed).pack(maxObjects+1))); !errors.Is(err, errTooMuch) {
		t.Errorf("many objects: got %v", err)
	}
}

// onBase adds an object and a delta of it.
func onBase(p *packed, base, delta []byte) {
	at := p.add(plumbing.BlobObject, len(base), nil, base)
	p.add(plumbing.OFSDeltaObject, len(delta), offset(12+p.Len()-at), delta)
}

// offset is how far back a base is, as far as two groups of seven bits go (git's pack-format documentation).
func offset(back int) []byte {
	if back < 128 {
		return []byte{byte(back)}
	}
	back -= 128
	return []byte{0x80 | byte(back>>7), byte(back & 0x7f)}
}

// growing adds deltas of a few bytes that each make eight megabytes.
func growing(p *packed) {
	base := make([]byte, 1<<16)
	at := p.add(plumbing.BlobObject, len(base), nil, base)
	delta := append(binary.AppendUvarint(nil, 1<<16), binary.AppendUvarint(nil, 8<<20)...)
	delta = append(delta, bytes.Repeat([]byte{0x80}, 128)...) // copies 65536 bytes from the beginning
	for range 17 {
		p.add(plumbing.OFSDeltaObject, len(delta), offset(12+p.Len()-at), delta)
	}
}

func TestFindInHostileObjects(t *testing.T) {
	hash := func(s string) plumbing.Hash { return plumbing.ComputeHash(plumbing.BlobObject, []byte(s)) }
	objects := map[plumbing.Hash]object{
		hash("loop"):      {plumbing.TagObject, []byte("object " + hash("loop").String() + "\n")},
		hash("blob"):      {plumbing.BlobObject, []byte("x")},
		hash("bare"):      {plumbing.CommitObject, []byte("nothing")},
		hash("leads"):     {plumbing.CommitObject, []byte("tree " + hash("blob").String() + "\n")},
		hash("cut"):       {plumbing.CommitObject, []byte("tree " + hash("cut tree").String() + "\n")},
		hash("cut tree"):  {plumbing.TreeObject, []byte("100644 a\x00short")},
		hash("odd"):       {plumbing.CommitObject, []byte("tree " + hash("odd tree").String() + "\n")},
		hash("odd tree"):  {plumbing.TreeObject, []byte("777 a\x00" + strings.Repeat("x", 20))},
		hash("self"):      {plumbing.CommitObject, []byte("tree " + hash("self tree").String() + "\n")},
		hash("self tree"): {plumbing.TreeObject, append([]byte("40000 a\x00"), selfHash()...)},
	}
	for _, from := range []string{"loop", "blob", "bare", "leads", "cut", "odd", "absent"} {
		if at, err := find(objects, hash(from), "a"); err == nil {
			t.Errorf("%s: found %s", from, at)
		}
	}
	if _, err := find(objects, hash("self"), strings.Repeat("a/", 500)+"a"); err == nil {
		t.Error("a directory in itself has a file")
	}
}

func selfHash() []byte {
	hash := plumbing.ComputeHash(plumbing.BlobObject, []byte("self tree"))
	return hash[:]
}

// Whatever a server sends comes to an end, within the bounds.
func FuzzUnpack(f *testing.F) {
	r, _ := sample(f)
	r.git("repack", "-adfq")
	packs, err := filepath.Glob(filepath.Join(r.dir, ".git/objects/pack/*.pack"))
	if err != nil || len(packs) != 1 {
		f.Fatal(packs, err, exec.ErrNotFound)
	}
	data, err := os.ReadFile(packs[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	var p packed
	onBase(&p, []byte("base"), []byte{4, 4, 0x90, 4})
	f.Add(p.pack(2))
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, err := unpack(t.Context(), bytes.NewReader(data))
		if err != nil {
			return
		}
		for hash, found := range objects {
			if plumbing.ComputeHash(found.kind, found.data) != hash {
				t.Fatal("an object is not what it is called")
			}
			_, _ = find(objects, hash, "a/b")
		}
	})
}
