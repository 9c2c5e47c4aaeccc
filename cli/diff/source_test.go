package diff

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// place creates files in a directory; the content of each is its name.
func place(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		p := filepath.Join(dir, filepath.FromSlash(f))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(f), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func link(t *testing.T, dir, name, to string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// read returns the manifests that were read, as lines of NAME: CONTENT with names relative to dir.
func read(t *testing.T, r *reader, dir, name string) ([]string, error) {
	t.Helper()
	sources, err := r.manifests(name)
	var got []string
	for _, s := range sources {
		rel, relErr := filepath.Rel(dir, s.Name)
		if relErr != nil {
			rel = s.Name
		}
		got = append(got, rel+": "+string(s.Data))
	}
	return got, err
}

// TestDirectory checks that exactly the files with an extension of manifests
// are read, ordered by path, without hidden ones.
func TestDirectory(t *testing.T) {
	dir := place(t, "b.yaml", "a/z.YML", "a/c.json", "a/.hidden/x.yaml", ".x.yaml", ".git/y.yaml", "README.md",
		"a/yaml", "..2026/data.yaml")
	link(t, dir, "linked.yaml", "..2026/data.yaml") // as in a mounted ConfigMap
	link(t, dir, "folder.yaml", "a")
	got, err := read(t, &reader{max: 100, files: 4}, dir, dir)
	want := []string{"a/c.json: a/c.json", "a/z.YML: a/z.YML", "b.yaml: b.yaml", "linked.yaml: ..2026/data.yaml"}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

// TestUnread checks that a file that cannot be read is an error with its name
// and a remedy, and is never skipped.
func TestUnread(t *testing.T) {
	out := place(t, "secret.yaml")
	escaping, dangling, pipe := place(t, "a.yaml"), place(t), place(t)
	link(t, escaping, "b.yaml", filepath.Join(out, "secret.yaml"))
	link(t, dangling, "b.yaml", "none.yaml")
	if err := syscall.Mkfifo(filepath.Join(pipe, "p.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	loop := place(t)
	link(t, loop, "a.yaml", "a.yaml")
	for name, want := range map[string]string{
		filepath.Join(out, "none.yaml"): "none.yaml: no such file",
		escaping: "b.yaml: path escapes from parent; a link must point to a file in " +
			escaping,
		dangling:                          "b.yaml: no such file or directory; a link must point to a file in ",
		pipe:                              "p.yaml: not a regular file; remove it from ",
		loop:                              "a.yaml: ",
		place(t, "Chart.yaml"):            "is a Helm chart; render it first: <(helm template /",
		place(t, "kustomization.yaml"):    "is a kustomization; build it first: <(kubectl kustomize /",
		place(t, strings.Repeat("x", 95)): "", // its content is never read
	} {
		got, err := read(t, &reader{max: 90, files: 9, remark: func(string) {}}, "/", name)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: read %v, %v; want %q", name, got, err, want)
		}
	}
}

// TestBounds checks the limits on the size of a side and on the number of files.
func TestBounds(t *testing.T) {
	dir := place(t, "a.yaml", "b.yaml") // of six bytes each
	for _, c := range []struct {
		name string
		max  int64
		want string
	}{
		{dir, 12, ""},
		{dir, 11, "is larger than 11 bytes, the maximum for one side; compare it in parts"},
		{filepath.Join(dir, "a.yaml"), 6, ""},
		{filepath.Join(dir, "a.yaml"), 5, "a.yaml is larger than 5 bytes"},
		{stdin, 6, ""},
		{stdin, 5, "- is larger than 5 bytes"},
	} {
		_, err := read(t, &reader{in: strings.NewReader("a.yaml"), max: c.max, files: 2}, dir, c.name)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %d: %v", c.name, c.max, err)
		}
	}
	if size(maxBytes) != "256 MiB" {
		t.Error(size(maxBytes))
	}
	if _, err := read(t, &reader{max: 100, files: 1}, dir, dir); err == nil ||
		!strings.Contains(err.Error(), "has more than 1 files with manifests; compare it in parts") {
		t.Errorf("more files than one: %v", err)
	}
	// A file that grows while it is read, or that reports no size, is cut at the limit.
	if _, err := read(t, &reader{max: 1 << 16}, "/", "/dev/zero"); err == nil ||
		!strings.Contains(err.Error(), "larger than 65536 bytes") {
		t.Errorf("an endless file: %v", err)
	}
}

// TestPipes checks that a pipe is read to its end, that stdin is read once,
// and that a directory without manifests prints a remark.
func TestPipes(t *testing.T) {
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() { // writes in parts, then closes
		for range 3 {
			_, _ = io.WriteString(to, "part ")
		}
		_ = to.Close()
	}()
	defer from.Close() //nolint:errcheck // it was only read
	var remarks []string
	r := &reader{in: strings.NewReader("typed"), max: 100, files: 1,
		remark: func(text string) { remarks = append(remarks, text) }}
	got, err := read(t, r, "/", fmt.Sprintf("/dev/fd/%d", from.Fd()))
	if err != nil || len(got) != 1 || !strings.HasSuffix(got[0], ": part part part ") {
		t.Errorf("read %v, %v", got, err)
	}
	if got, err := read(t, r, ".", stdin); err != nil || got[0] != "-: typed" {
		t.Errorf("read %v, %v", got, err)
	}
	if _, err := r.manifests(stdin); exitcode.CodeOf(err) != exitcode.Usage ||
		!strings.Contains(err.Error(), "only one side can be -") {
		t.Errorf("stdin again: %v", err)
	}
	if got, err := r.manifests(place(t, "README.md")); err != nil || len(got) != 0 || len(remarks) != 1 ||
		!strings.Contains(remarks[0], "has no manifests") {
		t.Errorf("no manifests: read %v, %v, remarks %v", got, err, remarks)
	}
}
