package modules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCache(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	c := packageCache{dir: dir, limits: Limits{}.orDefault()}
	files := filesOf("main.tf", "# 1", "l", "-> main.tf")
	digest := TreeDigest(files)
	if _, is := c.get(digest); is {
		t.Error("it is empty")
	}
	if err := c.put(digest, files); err != nil {
		t.Fatal(err)
	}
	if got, is := c.get(digest); !is || TreeDigest(got) != digest {
		t.Errorf("%t %v", is, got)
	}
	for _, other := range []string{"", "sha256:../../x", "sha256:" + strings.Repeat("0", 64)} {
		if _, is := c.get(other); is {
			t.Errorf("%q is there", other)
		}
	}
	// Another package under this digest, and a damaged one, are missing and leave.
	for _, content := range []string{"", "text"} {
		if content == "" {
			if err := c.put(digest, filesOf("main.tf", "# 2")); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(c.file(digest), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, is := c.get(digest); is {
			t.Error("it is not what its digest says")
		}
		if _, err := os.Stat(c.file(digest)); err == nil {
			t.Error("it is still there")
		}
	}
}

// TestCacheIsBounded: what was not used for the longest time leaves.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := packageCache{dir: t.TempDir(), limits: Limits{CacheBytes: 700}.orDefault()}
	var digests []string
	for i, text := range []string{"1", "2", "3"} {
		files := filesOf("main.tf", "# "+text)
		digests = append(digests, TreeDigest(files))
		if err := c.put(digests[i], files); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(c.file(digests[i]), at, at); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(c.file(digests[0]))
	if err != nil {
		t.Fatal(err)
	}
	if _, is := c.get(digests[0]); !is {
		t.Fatal("the first is missing")
	}
	c.limits.CacheBytes = 2 * info.Size()
	if err := c.prune(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, true} {
		if _, is := c.get(digests[i]); is != want {
			t.Errorf("package %d: %t, want %t", i, is, want)
		}
	}
}
