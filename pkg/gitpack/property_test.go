package gitpack_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/gitpack"
	"github.com/nuon-toolkit/nuon/pkg/gitpack/packtest"
)

// drawnPack is a pack with deltas of both kinds on each other, and what is in it.
type drawnPack struct {
	packtest.Pack
	contents [][]byte
	offsets  []int64
}

// drawPack draws a valid pack. Each delta has an object before it as its base, or, if its base is given by
// hash, any object.
func drawPack(t *rapid.T) *drawnPack {
	p := &drawnPack{}
	whole := rapid.IntRange(1, 3).Draw(t, "whole objects")
	for i := range whole {
		p.add(fmt.Appendf(nil, "object %d", i), p.Blob)
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "deltas") {
		base := rapid.IntRange(0, len(p.contents)-1).Draw(t, "base")
		added := fmt.Appendf(nil, "+%d", i)
		from := p.contents[base]
		content := slices.Concat(from, added)
		operations := append([]byte{0x90, byte(len(from)), byte(len(added))}, added...)
		delta := packtest.Delta(int64(len(from)), int64(len(content)), operations...)
		if rapid.Bool().Draw(t, "by hash") {
			hash := hashOf(string(from))
			p.add(content, func([]byte) int64 { return p.RefDelta(hash, delta) })
		} else {
			p.add(content, func([]byte) int64 { return p.OffsetDelta(p.offsets[base], delta) })
		}
	}
	return p
}

func (p *drawnPack) add(content []byte, write func(content []byte) int64) {
	p.contents, p.offsets = append(p.contents, content), append(p.offsets, write(content))
}

// TestEveryPackIsRead checks that Index passes each object of a valid pack once, with the hash of its
// content, regardless of what its deltas are based on, and that a Repository reads the same objects.
func TestEveryPackIsRead(t *testing.T) {
	dir := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawPack(t)
		var want, got []string
		for i, content := range p.contents {
			want = append(want, fmt.Sprintf("%08d %s %s", p.offsets[i], hashOf(string(content)), content))
		}
		pack := p.Bytes()
		options := gitpack.Options{Limits: small(), Content: 1 << 10}
		_, err := gitpack.Index(context.Background(), bytes.NewReader(pack), int64(len(pack)), options,
			func(o gitpack.Object) error {
				got = append(got, fmt.Sprintf("%08d %s %s", o.Offset, o.Hash, o.Content))
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
		runs++
		root := filepath.Join(dir, fmt.Sprint(runs))
		defer func() { _ = os.RemoveAll(root) }()
		if err := gitpack.Store(context.Background(), bytes.NewReader(pack), filepath.Join(root, "objects", "pack"),
			gitpack.Options{Limits: small()}); err != nil {
			t.Fatal(err)
		}
		stored := gitpack.NewRepository(osfs.New(root), gitpack.Options{Limits: small()})
		for _, content := range slices.Backward(p.contents) {
			err := stored.Read(context.Background(), hashOf(string(content)), func(o *plumbing.MemoryObject) error {
				if o.Type() != plumbing.BlobObject || o.Size() != int64(len(content)) {
					return fmt.Errorf("%q is a %s of %d bytes", content, o.Type(), o.Size())
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
