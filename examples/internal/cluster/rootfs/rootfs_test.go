package rootfs

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// entry is a file of a layer; a name that ends with a slash is a directory.
type entry struct {
	name, content string
	kind          byte
	link          string
	mode          int64
}

func layer(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Mode: e.mode, Size: int64(len(e.content))}
		switch {
		case h.Typeflag == 0 && strings.HasSuffix(e.name, "/"):
			h.Typeflag = tar.TypeDir
		case h.Typeflag == 0:
			h.Typeflag = tar.TypeReg
		}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can unpack images")
	}
}

// content returns what is in a directory: name=content, name/ and name -> target.
func content(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch {
		case d.IsDir():
			name += "/"
		case d.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			name += " -> " + to
		default:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name += "=" + string(text)
		}
		all = append(all, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(all)
	return strings.Join(all, " ")
}

func TestLayers(t *testing.T) {
	needsRoot(t)
	for name, test := range map[string]struct {
		layers [][]entry
		want   string
	}{
		"files": {[][]entry{{{name: "a/"}, {name: "a/b", content: "1"}, {name: "c/d/e", content: "2"}}},
			"a/ a/b=1 c/ c/d/ c/d/e=2"},
		"replaced": {[][]entry{{{name: "a", content: "1"}}, {{name: "a", content: "2"}}}, "a=2"},
		"other kind": {[][]entry{{{name: "a", content: "1"}, {name: "b/c", content: "1"}},
			{{name: "a/"}, {name: "b", content: "2"}}}, "a/ b=2"},
		"directory stays": {[][]entry{{{name: "a/b", content: "1"}}, {{name: "a/", mode: 0o700}}}, "a/ a/b=1"},
		"whiteout": {[][]entry{{{name: "a/b", content: "1"}, {name: "a/c", content: "1"}}, {{name: "a/.wh.b"}}},
			"a/ a/c=1"},
		"opaque": {[][]entry{{{name: "a/b/c", content: "1"}, {name: "a/d", content: "1"}},
			{{name: "a/b/e", content: "2"}, {name: "a/.wh..wh..opq"}}}, "a/ a/b/ a/b/e=2"},
		"hard link": {[][]entry{{{name: "a", content: "1"}, {name: "b", kind: tar.TypeLink, link: "a"}}}, "a=1 b=1"},
		"through a link": {[][]entry{{{name: "usr/lib/x", content: "1"}, {name: "lib", kind: tar.TypeSymlink,
			link: "/usr/lib"}}, {{name: "lib/y", content: "2"}}}, "lib -> /usr/lib usr/ usr/lib/ usr/lib/x=1 usr/lib/y=2"},
		"devices": {[][]entry{{{name: "disk", kind: tar.TypeBlock}, {name: "null", kind: tar.TypeChar},
			{name: "a", content: "1"}}}, "a=1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, entries := range test.layers {
				if err := Apply(t.Context(), dir, bytes.NewReader(layer(t, entries...))); err != nil {
					t.Fatal(err)
				}
			}
			if got := content(t, dir); got != test.want {
				t.Errorf("it is %s, want %s", got, test.want)
			}
		})
	}
}

// TestHostileLayers unpacks layers that name what is outside of their directory. Nothing changes there.
func TestHostileLayers(t *testing.T) {
	needsRoot(t)
	for name, entries := range map[string][]entry{
		"parents":           {{name: "../../outside/a", content: "x"}},
		"absolute":          {{name: "OUTSIDE/a", content: "x"}},
		"link":              {{name: "l", kind: tar.TypeSymlink, link: "OUTSIDE"}, {name: "l/a", content: "x"}},
		"relative link":     {{name: "l", kind: tar.TypeSymlink, link: "../outside"}, {name: "l/a", content: "x"}},
		"link to a file":    {{name: "l", kind: tar.TypeSymlink, link: "OUTSIDE/kept"}, {name: "l", content: "x"}},
		"hard link":         {{name: "l", kind: tar.TypeLink, link: "OUTSIDE/kept"}},
		"whiteout":          {{name: "l", kind: tar.TypeSymlink, link: "OUTSIDE"}, {name: "l/.wh.kept"}},
		"opaque":            {{name: "l", kind: tar.TypeSymlink, link: "OUTSIDE"}, {name: "l/.wh..wh..opq"}},
		"whiteout of above": {{name: ".wh..."}},
		"the root":          {{name: ".", content: "x", kind: tar.TypeReg}},
	} {
		t.Run(name, func(t *testing.T) {
			above := t.TempDir()
			dir, outside := filepath.Join(above, "root"), filepath.Join(above, "outside")
			for _, d := range []string{dir, outside} {
				if err := os.Mkdir(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(outside, "kept"), []byte("1"), 0o600); err != nil {
				t.Fatal(err)
			}
			for i := range entries {
				entries[i].name = strings.ReplaceAll(entries[i].name, "OUTSIDE", outside)
				entries[i].link = strings.ReplaceAll(entries[i].link, "OUTSIDE", outside)
			}
			err := Apply(t.Context(), dir, bytes.NewReader(layer(t, entries...)))
			if got := content(t, outside); got != "kept=1" {
				t.Errorf("outside is %s, and the error %v", got, err)
			}
			if entries, _ := os.ReadDir(above); len(entries) != 2 {
				t.Errorf("there are %v", entries)
			}
		})
	}
}

func TestBrokenLayer(t *testing.T) {
	needsRoot(t)
	whole := layer(t, entry{name: "a", content: strings.Repeat("x", 5000)})
	for name, bytes := range map[string][]byte{"text": bytes.Repeat([]byte("no tar"), 200), "cut": whole[:3000]} {
		if err := Apply(t.Context(), t.TempDir(), strings.NewReader(string(bytes))); err == nil {
			t.Errorf("%s is unpacked", name)
		}
	}
}
