package gitpack_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"

	"github.com/nuon-toolkit/nuon/pkg/gitpack"
	"github.com/nuon-toolkit/nuon/pkg/gitpack/packtest"
)

// unchecked writes a pack and an arbitrary index into a repository.
func unchecked(t *testing.T, pack []byte, offsets map[plumbing.Hash]int64) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "objects", "pack")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var writer idxfile.Writer
	for hash, at := range offsets {
		writer.Add(hash, uint64(at), 0)
	}
	sum := plumbing.Hash(pack[len(pack)-20:])
	if err := writer.OnFooter(sum); err != nil {
		t.Fatal(err)
	}
	table, err := writer.Index()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, "pack-"+sum.String()+".idx"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = idxfile.NewEncoder(file).Encode(table)
	if err := errors.Join(err, file.Close(),
		os.WriteFile(filepath.Join(dir, "pack-"+sum.String()+".pack"), pack, 0o600)); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestBombsOnThisMachine checks that objects in a repository of another program have the same
// limits as those from a server.
func TestBombsOnThisMachine(t *testing.T) {
	wanted := hashOf("wanted")
	for name, c := range map[string]struct {
		make func(p *packtest.Pack) int64
		want error
	}{
		"a blob of zeros": {func(p *packtest.Pack) int64 { return p.Blob(make([]byte, 16<<20)) }, gitpack.ErrLimit},
		"on a large base": {func(p *packtest.Pack) int64 {
			return p.OffsetDelta(p.Blob(make([]byte, 16<<20)), packtest.Delta(16<<20, 6, 6, 'w', 'a', 'n', 't', 'e', 'd'))
		}, gitpack.ErrLimit},
		"a delta that grows": {func(p *packtest.Pack) int64 {
			return p.OffsetDelta(p.Blob(make([]byte, 1<<16)), packtest.Delta(1<<16, 16<<20, 0x80))
		}, gitpack.ErrLimit},
		"a heavy chain": {func(p *packtest.Pack) int64 {
			at := p.Blob(make([]byte, 1<<20))
			for range 60 {
				at = p.OffsetDelta(at, packtest.Delta(1<<20, 1<<20, packtest.CopyAll(1<<20)...))
			}
			return at
		}, gitpack.ErrLimit},
		"in a circle": {func(p *packtest.Pack) int64 {
			return p.RefDelta(wanted, packtest.Delta(6, 6, 0x90, 6))
		}, gitpack.ErrLimit},
		"another object": {func(p *packtest.Pack) int64 { return p.Blob([]byte("another")) }, gitpack.ErrMalformed},
		"longer than said": {func(p *packtest.Pack) int64 {
			return p.Add(plumbing.BlobObject, 3, nil, []byte("wanted"))
		}, gitpack.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			var p packtest.Pack
			at := c.make(&p)
			root := unchecked(t, p.Bytes(), map[plumbing.Hash]int64{wanted: at})
			from := gitpack.NewRepository(osfs.New(root), gitpack.Options{Limits: small()})
			var err error
			took := allocated(func() {
				err = from.Read(t.Context(), wanted, func(*plumbing.MemoryObject) error { return nil })
			})
			if !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
			// For a cyclic chain, 200 deltas are started (see TestBombs for the memory of each).
			if took > 2<<20+200*(128<<10) {
				t.Errorf("%d bytes were allocated", took)
			}
		})
	}
}

func TestLooseObjects(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want error
	}{
		"as it is":         {"blob 6\x00wanted", nil},
		"too large":        {"blob 9999999999\x00wanted", gitpack.ErrLimit},
		"longer than said": {"blob 6\x00wanted" + strings.Repeat("\x00", 8<<20), gitpack.ErrMalformed},
		"shorter":          {"blob 7\x00wanted", gitpack.ErrMalformed},
		"endless header":   {strings.Repeat(" ", 8<<20), gitpack.ErrMalformed},
		"no kind":          {"blub 6\x00wanted", gitpack.ErrMalformed},
		"less than none":   {"blob -6\x00wanted", gitpack.ErrMalformed},
		"another":          {"blob 7\x00another", gitpack.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			hash := hashOf("wanted")
			root := t.TempDir()
			dir := filepath.Join(root, "objects", hash.String()[:2])
			packed := packtest.Deflate([]byte(c.file))
			if err := errors.Join(os.MkdirAll(dir, 0o700),
				os.WriteFile(filepath.Join(dir, hash.String()[2:]), packed, 0o600)); err != nil {
				t.Fatal(err)
			}
			from := gitpack.NewRepository(osfs.New(root), gitpack.Options{Limits: small()})
			var err error
			took := allocated(func() {
				err = from.Read(t.Context(), hash, func(o *plumbing.MemoryObject) error {
					if o.Size() != 6 {
						return fmt.Errorf("%d bytes", o.Size())
					}
					return nil
				})
			})
			if !errors.Is(err, c.want) || took > 1<<20 {
				t.Errorf("got %v, with %d bytes", err, took)
			}
		})
	}
}
