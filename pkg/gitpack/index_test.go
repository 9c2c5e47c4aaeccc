package gitpack_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/nuon-toolkit/nuon/pkg/gitpack"
	"github.com/nuon-toolkit/nuon/pkg/gitpack/packtest"
)

// small returns limits that a test exceeds quickly.
func small() gitpack.Limits {
	return gitpack.Limits{Pack: 8 << 20, Objects: 500, Object: 8 << 20, Tree: 1 << 20, Total: 64 << 20, Depth: 200,
		Chain: 48 << 20, Memory: 32 << 20}
}

// counted is a pack that counts the bytes that are read from it.
type counted struct {
	*bytes.Reader
	read int64
}

func (c *counted) Read(into []byte) (int, error) {
	n, err := c.Reader.Read(into)
	c.read += int64(n)
	return n, err
}

func index(t testing.TB, limits gitpack.Limits, pack []byte) (objects []gitpack.Object, read int64, err error) {
	t.Helper()
	reader := &counted{Reader: bytes.NewReader(pack)}
	options := gitpack.Options{Limits: limits, Content: 1 << 10}
	_, err = gitpack.Index(t.Context(), reader, int64(len(pack)), options, func(o gitpack.Object) error {
		objects = append(objects, o)
		return nil
	})
	return objects, reader.read, err
}

// allocated returns how many bytes a call allocates in total. The number does not depend on the
// load of the machine.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func hashOf(content string) plumbing.Hash {
	return plumbing.ComputeHash(plumbing.BlobObject, []byte(content))
}

// TestBombs checks that small packs that describe a lot are rejected before they take memory.
func TestBombs(t *testing.T) {
	zeros := make([]byte, 1<<20)
	for name, c := range map[string]struct {
		make func(p *packtest.Pack)
		want string
		// most is the maximum allocation in MiB. Where many objects are inflated, each may take 128
		// KiB more per pass: the git library keeps inflaters and their buffers in pools, which the
		// race detector and the garbage collector empty at any time.
		most uint64
	}{
		"a blob of zeros": {func(p *packtest.Pack) {
			p.Blob(make([]byte, 16<<20))
		}, "a file of more than 8 MiB", 1},
		"a huge tree": {func(p *packtest.Pack) {
			p.Add(plumbing.TreeObject, 2<<20, nil, make([]byte, 2<<20))
		}, "a tree of more than 1 MiB", 1},
		"a huge commit": {func(p *packtest.Pack) {
			p.Add(plumbing.CommitObject, 2<<20, nil, make([]byte, 2<<20))
		}, "a commit of more than 1 MiB", 1},
		"a huge delta": {func(p *packtest.Pack) {
			p.OffsetDelta(p.Blob(zeros), append(packtest.Delta(1<<20, 1), make([]byte, 9<<20)...))
		}, "a delta of more than 8 MiB", 1},
		"a size of petabytes": {func(p *packtest.Pack) {
			p.Add(plumbing.BlobObject, 1<<50, nil, zeros)
		}, "a file of more than 8 MiB", 1},
		"a delta that grows": {func(p *packtest.Pack) {
			p.OffsetDelta(p.Blob(zeros), packtest.Delta(1<<20, 9<<20, bytes.Repeat([]byte{0x80}, 144)...))
		}, "a file of more than 8 MiB", 1},
		"a delta that makes a huge tree": {func(p *packtest.Pack) {
			at := p.Add(plumbing.TreeObject, 1<<16, nil, make([]byte, 1<<16))
			p.OffsetDelta(at, packtest.Delta(1<<16, 2<<20, bytes.Repeat([]byte{0x80}, 32)...))
		}, "a tree of more than 1 MiB", 2},
		"many deltas that grow": {func(p *packtest.Pack) {
			at := p.Blob(zeros)
			for range 10 {
				p.OffsetDelta(at, packtest.Delta(1<<20, 8<<20, bytes.Repeat([]byte{0x80}, 128)...))
			}
		}, "a repository of more than 64 MiB", 1},
		"many blobs of zeros": {func(p *packtest.Pack) {
			packed := packtest.Deflate(zeros)
			for range 65 {
				p.AddDeflated(plumbing.BlobObject, 1<<20, nil, packed)
			}
		}, "a repository of more than 64 MiB", 2 + 9},
		"a deep chain": {func(p *packtest.Pack) {
			at := p.Blob(make([]byte, 1<<16))
			for range 201 {
				at = p.OffsetDelta(at, packtest.Delta(1<<16, 1<<16, 0x80))
			}
		}, "a chain of more than 200 deltas", 64},
		"a deep chain by names": {func(p *packtest.Pack) {
			content := strings.Repeat("a", 300)
			p.Blob([]byte(content))
			for range 201 {
				// One more byte each time. The copy is written out because the opcodes 0x91 and
				// 0x92 would need sizes.
				next := content + "b"
				operations := []byte{0x90 | 0x20, byte(len(content)), byte(len(content) >> 8), 1, 'b'}
				p.RefDelta(hashOf(content), packtest.Delta(int64(len(content)), int64(len(next)), operations...))
				content = next
			}
		}, "a chain of more than 200 deltas", 1 + 50},
		"a heavy chain": {func(p *packtest.Pack) {
			at := p.Blob(zeros)
			for range 60 {
				at = p.OffsetDelta(at, packtest.Delta(1<<20, 1<<20, packtest.CopyAll(1<<20)...))
			}
		}, "a chain of deltas of more than 48 MiB", 256},
		"more objects than allowed": {func(p *packtest.Pack) {
			packed := packtest.Deflate(nil)
			for range 501 {
				p.AddDeflated(plumbing.BlobObject, 0, nil, packed)
			}
		}, "a pack of more than 500 objects", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var p packtest.Pack
			c.make(&p)
			pack := p.Bytes()
			var err error
			took := allocated(func() { _, _, err = index(t, small(), pack) })
			if !errors.Is(err, gitpack.ErrLimit) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if took > c.most<<20 {
				t.Errorf("%d bytes were allocated for a pack of %d", took, len(pack))
			}
		})
	}
}

// TestNothingIsInflatedThatIsTooLarge checks that only the header of an object that declares too
// large a size is read.
func TestNothingIsInflatedThatIsTooLarge(t *testing.T) {
	noise := make([]byte, 5<<20)
	random := rand.NewChaCha8([32]byte{7})
	_, _ = random.Read(noise)
	var p packtest.Pack
	p.Add(plumbing.BlobObject, 9<<20, nil, noise)
	if _, read, err := index(t, small(), p.Bytes()); !errors.Is(err, gitpack.ErrLimit) || read > 1<<16 {
		t.Errorf("%d bytes of the pack were read, %v", read, err)
	}
	if _, read, err := index(t, small(), new(packtest.Pack).WithCount(501)); !errors.Is(err, gitpack.ErrLimit) ||
		read > 1<<16 {
		t.Errorf("%d bytes of the pack were read, %v", read, err)
	}
	p = packtest.Pack{}
	p.Blob(noise)
	p.Blob(noise)
	if _, read, err := index(t, small(), p.Bytes()); !errors.Is(err, gitpack.ErrLimit) || read > 0 {
		t.Errorf("%d bytes of a pack that is too large were read, %v", read, err)
	}
}

func TestBrokenPacks(t *testing.T) {
	base := bytes.Repeat([]byte("a"), 1000)
	whole := func() []byte {
		var p packtest.Pack
		p.OffsetDelta(p.Blob(base), packtest.Delta(1000, 4, 0x90, 4))
		return p.Bytes()
	}
	if _, _, err := index(t, small(), whole()); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(p *packtest.Pack){
		"longer than said":  func(p *packtest.Pack) { p.Add(plumbing.BlobObject, 10, nil, base) },
		"shorter than said": func(p *packtest.Pack) { p.Add(plumbing.BlobObject, 2000, nil, base) },
		"no kind":           func(p *packtest.Pack) { p.Add(plumbing.ObjectType(5), 1000, nil, base) },
		"kind 0":            func(p *packtest.Pack) { p.Add(plumbing.ObjectType(0), 1000, nil, base) },
		"a base that is not here": func(p *packtest.Pack) {
			p.RefDelta(hashOf("elsewhere"), packtest.Delta(1000, 10, 0x90, 10))
		},
		"no base before": func(p *packtest.Pack) {
			p.Add(plumbing.OFSDeltaObject, 5, []byte{1}, packtest.Delta(1000, 10))
		},
		"inside of its base": func(p *packtest.Pack) { p.OffsetDelta(p.Blob(base)+1, packtest.Delta(1000, 10, 0x90, 10)) },
		"based on itself": func(p *packtest.Pack) {
			p.Add(plumbing.OFSDeltaObject, 5, []byte{0}, packtest.Delta(1000, 10))
		},
		"a delta of nothing":   func(p *packtest.Pack) { p.OffsetDelta(p.Blob(base), nil) },
		"sizes without an end": func(p *packtest.Pack) { p.OffsetDelta(p.Blob(base), bytes.Repeat([]byte{0xff}, 30)) },
		"out of its base": func(p *packtest.Pack) {
			p.OffsetDelta(p.Blob(base), packtest.Delta(1000, 900, 0x93, 0xff, 0xff, 0x10))
		},
		"of a larger base":  func(p *packtest.Pack) { p.OffsetDelta(p.Blob(base), packtest.Delta(2000, 10, 0x90, 10)) },
		"less than it says": func(p *packtest.Pack) { p.OffsetDelta(p.Blob(base), packtest.Delta(1000, 10, 0x90, 9)) },
		"more than it says": func(p *packtest.Pack) { p.OffsetDelta(p.Blob(base), packtest.Delta(1000, 10, 0x90, 11)) },
		// Each refers to the other. Such hashes cannot be computed, but they can be claimed.
		"in a circle": func(p *packtest.Pack) {
			p.RefDelta(hashOf("b"), packtest.Delta(1, 1, 1, 'a'))
			p.RefDelta(hashOf("a"), packtest.Delta(1, 1, 1, 'b'))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var p packtest.Pack
			make(&p)
			if _, _, err := index(t, small(), p.Bytes()); !errors.Is(err, gitpack.ErrMalformed) {
				t.Fatalf("got %v", err)
			}
		})
	}
	t.Run("cut off", func(t *testing.T) {
		pack := whole()
		for n := range len(pack) {
			if _, _, err := index(t, small(), pack[:n]); !errors.Is(err, gitpack.ErrMalformed) {
				t.Fatalf("%d of %d bytes: got %v", n, len(pack), err)
			}
		}
	})
	t.Run("something behind it", func(t *testing.T) {
		if _, _, err := index(t, small(), append(whole(), 0)); !errors.Is(err, gitpack.ErrMalformed) {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("a byte that changed", func(t *testing.T) {
		for at := range whole() {
			pack := whole()
			pack[at] ^= 0x10
			if _, _, err := index(t, small(), pack); err == nil {
				t.Fatalf("byte %d was changed unnoticed", at)
			}
		}
	})
}

// TestALongChainTakesTheMemoryOfTwo resolves a chain whose objects together take far more memory
// than Limits.Memory.
func TestALongChainTakesTheMemoryOfTwo(t *testing.T) {
	limits := small()
	limits.Memory, limits.Total, limits.Chain = 5<<20, 1<<30, 1<<30
	var p packtest.Pack
	at := p.Blob(make([]byte, 1<<20))
	for range 150 {
		p.OffsetDelta(at, packtest.Delta(1<<20, 1, 0x90, 1))
		at = p.OffsetDelta(at, packtest.Delta(1<<20, 1<<20, packtest.CopyAll(1<<20)...))
	}
	if objects, _, err := index(t, limits, p.Bytes()); err != nil || len(objects) != 301 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
}

// TestBranchesAreHeldWithinBounds resolves deltas that fork at every level, each of which requires
// an object in memory.
func TestBranchesAreHeldWithinBounds(t *testing.T) {
	const size = 1 << 19
	var p packtest.Pack
	level := []int64{p.Blob(make([]byte, size))}
	for range 5 {
		var next []int64
		for _, at := range level {
			for range 2 {
				next = append(next, p.OffsetDelta(at, packtest.Delta(size, size, packtest.CopyAll(size)...)))
			}
		}
		level = next
	}
	limits := small()
	if _, _, err := index(t, limits, p.Bytes()); err != nil {
		t.Fatal(err)
	}
	limits.Memory = 3 << 20
	if _, _, err := index(t, limits, p.Bytes()); err == nil ||
		err.Error() != "a pack whose deltas need memory of more than 3 MiB" {
		t.Fatalf("got %v", err)
	}
}

// TestManyObjects checks that a large repository is accepted.
func TestManyObjects(t *testing.T) {
	const many = 30_000
	var p packtest.Pack
	packed := packtest.Deflate([]byte("a file of a large repository"))
	for range many {
		p.AddDeflated(plumbing.BlobObject, 28, nil, packed)
	}
	if objects, _, err := index(t, gitpack.Default(), p.Bytes()); err != nil || len(objects) != many {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
}

// TestPacksShareABudget checks that a pack waits while another one leaves no room in the budget.
func TestPacksShareABudget(t *testing.T) {
	var p packtest.Pack
	p.Blob([]byte("a"))
	pack := p.Bytes()
	options := gitpack.Options{Limits: small(), Budget: gitpack.NewBudget(300, 8)}
	read := func(ctx context.Context, visit func(gitpack.Object) error) error {
		_, err := gitpack.Index(ctx, bytes.NewReader(pack), int64(len(pack)), options, visit)
		return err
	}
	within := 0
	err := read(t.Context(), func(gitpack.Object) error {
		waiting, stop := context.WithCancel(t.Context())
		stop()
		if err := read(waiting,
			func(gitpack.Object) error { within++; return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		return nil
	})
	if err != nil || within > 0 {
		t.Fatalf("%d objects of another pack were read meanwhile, %v", within, err)
	}
	if err := read(t.Context(), func(gitpack.Object) error { within++; return nil }); err != nil || within != 1 {
		t.Fatalf("%d objects were read after it, %v", within, err)
	}
}

// git runs the git program in a directory.
func git(t testing.TB, dir string, arguments ...string) string {
	t.Helper()
	command := exec.Command("git", arguments...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada",
		"GIT_COMMITTER_EMAIL=ada@example.com")
	printed, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(arguments, " "), err, printed)
	}
	return string(printed)
}

// repository creates a repository with a history of deltified files in one pack.
func repository(t testing.TB, repack ...string) (dir, pack string) {
	t.Helper()
	dir = t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	random := rand.New(rand.NewPCG(1, 2))
	var lines []string
	for range 2000 {
		lines = append(lines, fmt.Sprintf("line %d", random.Int64()))
	}
	for change := range 20 {
		for n := range 5 {
			lines[random.IntN(len(lines))] = fmt.Sprintf("changed %d", change)
			name := filepath.Join(dir, fmt.Sprintf("dir%d", n), "file")
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		git(t, dir, "add", "--all")
		git(t, dir, "commit", "--quiet", "--message", "change")
	}
	git(t, dir, "tag", "--annotate", "--message", "tag", "v1")
	git(t, dir, append([]string{"repack", "-adfq"}, repack...)...)
	packs, err := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	return dir, packs[0]
}

// TestGitAgrees checks that Index and git agree about a real pack, and that go-git can read what
// Store wrote.
func TestGitAgrees(t *testing.T) {
	for name, how := range map[string][]string{
		"deltas by offset": {"--depth=50"}, "deltas by name": {"--depth=50", "--no-write-bitmap-index"},
		"a long chain": {"--depth=4000", "--window=200"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, path := repository(t, how...)
			if name == "deltas by name" {
				objects := git(t, dir, "rev-list", "--objects", "--all", "--no-object-names")
				into := filepath.Join(t.TempDir(), "by-name.pack")
				command := exec.Command("sh", "-c", "git pack-objects --stdout --no-reuse-delta --depth=50 > "+into)
				command.Dir, command.Stdin = dir, strings.NewReader(objects)
				if err := command.Run(); err != nil {
					t.Fatal(err)
				}
				path = into
			}
			pack, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			into := filepath.Join(t.TempDir(), ".git", "objects", "pack")
			if err := gitpack.Store(t.Context(), bytes.NewReader(pack), into,
				gitpack.Options{Limits: gitpack.Default()}); err != nil {
				t.Fatal(err)
			}
			root := osfs.New(filepath.Dir(filepath.Dir(into)))
			stored := filesystem.NewStorage(root, cache.NewObjectLRU(cache.MiByte))
			bounded := gitpack.NewRepository(root, gitpack.Options{Limits: gitpack.Default()})
			listed := strings.Fields(git(t, dir, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"))
			if len(listed) < 150 {
				t.Fatalf("only %d objects", len(listed))
			}
			for _, hash := range listed {
				want, err := stored.EncodedObject(plumbing.AnyObject, plumbing.NewHash(hash))
				if err != nil {
					t.Fatalf("object %s: %v", hash, err)
				}
				err = bounded.Read(t.Context(), plumbing.NewHash(hash), func(o *plumbing.MemoryObject) error {
					if o.Hash() != want.Hash() || o.Type() != want.Type() || o.Size() != want.Size() {
						return fmt.Errorf("another object: %s %s", o.Hash(), o.Type())
					}
					return nil
				})
				if err != nil {
					t.Fatalf("object %s: %v", hash, err)
				}
			}
			indexes, err := filepath.Glob(filepath.Join(into, "*.idx"))
			if err != nil || len(indexes) != 1 {
				t.Fatal(indexes, err)
			}
			git(t, dir, "verify-pack", indexes[0])
		})
	}
}

func TestStoreLeavesNothingOfABrokenPack(t *testing.T) {
	dir := t.TempDir()
	var p packtest.Pack
	p.Blob([]byte("a"))
	for name, pack := range map[string][]byte{"cut off": p.Bytes()[:20], "large": make([]byte, 9<<20), "empty": nil} {
		err := gitpack.Store(t.Context(), bytes.NewReader(pack), dir, gitpack.Options{Limits: small()})
		if (err == nil) != (len(pack) == 0) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	endless := io.LimitReader(neverEnds{}, 1<<40)
	if err := gitpack.Store(t.Context(), endless, dir,
		gitpack.Options{Limits: small()}); !errors.Is(err, gitpack.ErrLimit) {
		t.Errorf("endless: got %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

type neverEnds struct{}

func (neverEnds) Read(into []byte) (int, error) { return len(into), nil }

// FuzzIndex checks that reading any input ends within the limits, and that objects match their
// hashes.
func FuzzIndex(f *testing.F) {
	var p packtest.Pack
	p.OffsetDelta(p.Blob([]byte("base")), packtest.Delta(4, 4, 0x90, 4))
	p.RefDelta(hashOf("base"), packtest.Delta(4, 1, 0x90, 1))
	f.Add(p.Bytes())
	f.Fuzz(func(t *testing.T, pack []byte) {
		objects, _, err := index(t, small(), pack)
		if err != nil && !errors.Is(err, gitpack.ErrMalformed) && !errors.Is(err, gitpack.ErrLimit) {
			t.Fatal(err)
		}
		for _, o := range objects {
			if o.Content != nil && plumbing.ComputeHash(o.Kind, o.Content) != o.Hash {
				t.Fatal("an object is not what it is called")
			}
		}
	})
}
