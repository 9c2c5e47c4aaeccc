package sbom

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

const digest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"

// entry is a file of a layer.
type entry struct {
	name, content string
	mode          int64
	kind          byte   // of archive/tar; a regular file if 0
	link          string // the target
}

func layer(t *testing.T, entries ...entry) *bytes.Buffer {
	t.Helper()
	var made bytes.Buffer
	archive := tar.NewWriter(&made)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.content)), Typeflag: e.kind,
			Linkname: e.link}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return &made
}

// listed returns the document of the layers, and its packages without the image: their package URLs.
func listed(t *testing.T, layers ...*bytes.Buffer) (Document, []string) {
	t.Helper()
	made, err := document(t, layers...)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := spdxjson.Read(bytes.NewReader(made.JSON))
	if err != nil {
		t.Fatal(err)
	}
	checkDocument(t, parsed)
	var urls []string
	for _, one := range parsed.Packages[1:] {
		urls = append(urls, one.PackageExternalReferences[0].Locator)
	}
	if made.Packages != len(urls) {
		t.Errorf("%d packages are %q", made.Packages, urls)
	}
	return made, urls
}

func document(t *testing.T, layers ...*bytes.Buffer) (Document, error) {
	t.Helper()
	inventory := NewInventory(t.TempDir())
	for n, l := range layers {
		if err := inventory.AddLayer(t.Context(), fmt.Sprint(n+1), func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(l.Bytes())), nil
		}); err != nil {
			return Document{}, err
		}
	}
	if left, err := os.ReadDir(inventory.dir); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
	return inventory.Document("api", digest)
}

// checkDocument checks what SPDX requires of each document: ids that occur once, and relationships between them.
func checkDocument(t *testing.T, d *spdx.Document) {
	t.Helper()
	ids := map[string]bool{"DOCUMENT": true}
	for _, one := range d.Packages {
		id := string(one.PackageSPDXIdentifier)
		if ids[id] || one.PackageName == "" || one.PackageDownloadLocation == "" || one.FilesAnalyzed {
			t.Errorf("package %+v", one)
		}
		ids[id] = true
	}
	for _, one := range d.Relationships {
		if !ids[string(one.RefA.ElementRefID)] || !ids[string(one.RefB.ElementRefID)] {
			t.Errorf("relationship %+v", one)
		}
	}
	if len(d.Relationships) != len(d.Packages) || d.DataLicense != "CC0-1.0" || len(d.CreationInfo.Creators) == 0 ||
		d.CreationInfo.Created == "" || !strings.HasPrefix(d.DocumentNamespace, "https://") {
		t.Errorf("%+v", d)
	}
}

// dpkg is a list of Debian packages, of which one is removed.
const dpkg = `Package: zlib1g
Status: install ok installed
Version: 1:1.3.1-1
Architecture: amd64
Description: compression library
 of several lines
 .
 with a paragraph

Package: gone
Status: deinstall ok config-files
Version: 1

Package: curl
Status: install ok triggers-pending
Version: 8.14.1-2
Architecture: amd64

Package: libssl3
Source: openssl (3.0.11-1)
Status: install ok installed
Version: 3.0.11-1~deb13u2
Architecture: amd64

Package: libcurl4
Source: curl
Status: install ok installed
Version: 8.14.1-2
Architecture: amd64
`

// TestPackages: the packages of each ecosystem have the addresses that scanners look up.
func TestPackages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entries []entry
		want    []string
	}{
		"dpkg": {
			[]entry{{name: "./var/lib/dpkg/status", content: dpkg},
				{name: "usr/lib/os-release", content: "ID=debian\nVERSION_ID=\"13\"\n"}},
			[]string{"pkg:deb/debian/curl@8.14.1-2?arch=amd64&distro=debian-13",
				"pkg:deb/debian/libcurl4@8.14.1-2?arch=amd64&distro=debian-13&upstream=curl",
				"pkg:deb/debian/libssl3@3.0.11-1~deb13u2?arch=amd64&distro=debian-13&upstream=openssl%403.0.11-1",
				"pkg:deb/debian/zlib1g@1:1.3.1-1?arch=amd64&distro=debian-13"},
		},
		"without dpkg": {
			[]entry{{name: "var/lib/dpkg/status.d/tzdata", content: "Package: tzdata\nVersion: 2026a\nArchitecture: all\n"},
				{name: "var/lib/dpkg/status.d/tzdata.md5sums", content: "0 usr/share/x\n"}},
			[]string{"pkg:deb/debian/tzdata@2026a?arch=all"},
		},
		"apk": {
			[]entry{{name: "lib/apk/db/installed", content: "C:Q1x=\nP:musl\nV:1.2.5-r10\nA:x86_64\nL:MIT\nF:lib\n" +
				"a:0:0:755\no:musl\n\nP:libz\nV:1.3.1-r2\no:zlib\nA:x86_64"},
				{name: "etc/os-release", content: "ID=alpine\nVERSION_ID=3.22.1\n"}},
			[]string{"pkg:apk/alpine/libz@1.3.1-r2?arch=x86_64&distro=alpine-3.22.1&upstream=zlib",
				"pkg:apk/alpine/musl@1.2.5-r10?arch=x86_64&distro=alpine-3.22.1"},
		},
		"both places of os-release": {
			[]entry{{name: "lib/apk/db/installed", content: "P:a\nV:1\n"}, {name: "etc/os-release", content: "ID=mine\n"},
				{name: "usr/lib/os-release", content: "ID=debian\n"}},
			[]string{"pkg:apk/mine/a@1"},
		},
		"python": {
			[]entry{{name: "usr/lib/python3/dist-packages/Flask_Cors-5.0.dist-info/METADATA",
				content: "Metadata-Version: 2.1\nName: Flask_Cors\nVersion: 5.0\n\nA long description:\nno field\n"}},
			[]string{"pkg:pypi/flask-cors@5.0"},
		},
		"eggs": {
			[]entry{{name: "lib/PyGObject-3.42.egg-info", content: "Name: PyGObject\nVersion: 3.42\n"},
				{name: "lib/x-1.egg/EGG-INFO/PKG-INFO", content: "Name: x\nVersion: 1\n"},
				{name: "lib/y.egg-info/PKG-INFO", content: "Name: y\nVersion: 1\nLicense: one\nand another line\n"}},
			[]string{"pkg:pypi/pygobject@3.42", "pkg:pypi/x@1", "pkg:pypi/y@1"},
		},
		"node": {
			[]entry{{name: "app/node_modules/@acme/tool/package.json", content: `{"name":"@acme/tool","version":"2.0.0"}`},
				{name: "app/node_modules/left-pad/package.json",
					content: "\ufeff" + `{"name":"left-pad","version":" 1.3.0 ","Version":"9","NAME":"other"}`},
				{name: "app/node_modules/left-pad/node_modules/esm/package.json", content: `{"type":"module"}`},
				{name: "app/node_modules/left-pad/test/package.json", content: `{"name":"fixture","version":"0"}`},
				{name: "app/package.json", content: `{"name":"app","version":"0"}`}},
			[]string{"pkg:npm/%40acme/tool@2.0.0", "pkg:npm/left-pad@1.3.0"},
		},
		"hard links": {
			[]entry{{name: "root/.store/aa", content: `{"name":"x","version":"1"}`},
				{name: "srv/node_modules/x/package.json", kind: tar.TypeLink, link: "root/.store/aa"},
				{name: "lib/y.dist-info/METADATA", content: "Name: y\nVersion: 1\n"},
				{name: "cache/y.dist-info/METADATA", kind: tar.TypeLink, link: "/lib/y.dist-info/METADATA"}},
			[]string{"pkg:npm/x@1", "pkg:pypi/y@1"},
		},
		"the same twice": {
			[]entry{{name: "a/node_modules/x/package.json", content: `{"name":"x","version":"1"}`},
				{name: "b/node_modules/x/package.json", content: `{"name":"x","version":"1"}`}},
			[]string{"pkg:npm/x@1"},
		},
		"nothing": {
			[]entry{{name: "srv/hello.txt", content: "hello"}, {name: "bin/sh", content: "#!/bin/cat", mode: 0o755}}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, urls := listed(t, layer(t, c.entries...))
			if !slices.Equal(urls, c.want) || len(made.Unread) > 0 {
				t.Errorf("%q, not read %q", urls, made.Unread)
			}
			again, _ := listed(t, layer(t, c.entries...))
			if !bytes.Equal(made.JSON, again.JSON) {
				t.Errorf("the same image has the lists %s and %s", made.JSON, again.JSON)
			}
		})
	}
}

// TestProgram: a program that was written in Go states its modules.
func TestProgram(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	info, _ := debug.ReadBuildInfo()
	_, urls := listed(t, layer(t, entry{name: "bin/api", content: string(content), mode: 0o755},
		entry{name: "srv/not-executable", content: string(content), mode: 0o644},
		entry{name: "bin/other", content: "\x7fELF and nothing more", mode: 0o755}))
	if len(urls) != len(info.Deps)+2 { // and Go, and the module of the program
		t.Errorf("%d packages instead of %d: %q", len(urls), len(info.Deps), urls)
	}
	for _, dep := range info.Deps {
		if want := "pkg:golang/" + strings.ToLower(dep.Path) + "@" + dep.Version; !slices.Contains(urls, want) {
			t.Errorf("%s is missing in %q", want, urls)
		}
	}
}

// TestLayers: a layer replaces and removes what those below have.
func TestLayers(t *testing.T) {
	t.Parallel()
	module := func(name, version string) entry {
		return entry{name: "srv/node_modules/" + name + "/package.json",
			content: fmt.Sprintf(`{"name":%q,"version":%q}`, name, version)}
	}
	base := func() *bytes.Buffer { return layer(t, module("a", "1"), module("b", "1")) }
	for name, c := range map[string]struct {
		entries []entry
		want    string
	}{
		"nothing":             {nil, "a@1 b@1"},
		"another version":     {[]entry{module("a", "2")}, "a@2 b@1"},
		"a file removed":      {[]entry{{name: "srv/node_modules/a/.wh.package.json"}}, "b@1"},
		"a directory removed": {[]entry{{name: "srv/node_modules/.wh.a"}}, "b@1"},
		"all removed":         {[]entry{{name: "srv/.wh.node_modules"}}, ""},
		"an opaque directory": {[]entry{module("c", "1"), {name: "srv/node_modules/.wh..wh..opq"}}, "c@1"},
		"a removed cache": {[]entry{{name: "srv/node_modules/x/package.json", kind: tar.TypeLink,
			link: "srv/node_modules/none"}, {name: "srv/node_modules/.wh.x"}}, "a@1 b@1"},
		"removed and made anew":   {[]entry{module("a", "2"), {name: "srv/node_modules/.wh.a"}}, "a@2 b@1"},
		"opaque, again and again": {[]entry{{name: "srv/.wh..wh..opq"}, module("c", "1"), {name: "srv/.wh..wh..opq"}}, "c@1"},
		"opaque root":             {[]entry{{name: ".wh..wh..opq"}, module("c", "1")}, "c@1"},
		"an odd whiteout":         {[]entry{{name: "srv/node_modules/.wh."}}, "a@1 b@1"},
		"a file for a directory":  {[]entry{{name: "srv/node_modules", content: "x"}}, ""},
		"a link instead":          {[]entry{{name: "srv/node_modules/a", kind: tar.TypeSymlink}}, "b@1"},
		"a damaged file":          {[]entry{{name: "srv/node_modules/a/package.json", content: "{"}}, "b@1"},
		"the directory itself":    {[]entry{{name: "srv/node_modules/a", kind: tar.TypeDir}}, "a@1 b@1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, urls := listed(t, base(), layer(t, c.entries...))
			if got := strings.ReplaceAll(strings.Join(urls, " "), "pkg:npm/", ""); got != c.want {
				t.Errorf("%s instead of %s", got, c.want)
			}
		})
	}
}

// TestUnread: what cannot be read is named, in the list, too.
func TestUnread(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entry entry
		want  string
		urls  int
	}{
		"rpm": {entry{name: "usr/share/rpm/Packages", content: "x"},
			"/usr/share/rpm/Packages: RPM database, which is not read", 0},
		"damaged": {entry{name: "var/lib/dpkg/status", content: strings.Repeat("no field ", 1000) + "\n"},
			"/var/lib/dpkg/status: list of Debian packages, which is damaged", 0},
		"large": {entry{name: "x/node_modules/y/package.json", content: strings.Repeat(" ", maxMetadata+1)},
			"/x/node_modules/y/package.json: Node module of more than 1 MiB", 0},
		"names that are none": {entry{name: "lib/apk/db/installed", content: "P:a\x1b[2J\nV:1\n\nP:good\nV:1\n\n" +
			"P:b\nV:1 2\n\nP:" + strings.Repeat("x", maxField+1) + "\nV:1\n"},
			"/lib/apk/db/installed: 3 packages whose name or version is none", 1},
		"a name that leads up": {entry{name: "x/node_modules/y/package.json", content: `{"name":"/../..","version":"1"}`},
			"/x/node_modules/y/package.json: 1 packages whose name or version is none", 0},
		"a control character": {entry{name: "a\x1b[2J\nFAKE/node_modules/y/package.json", content: "["},
			`"/a\x1b[2J\nFAKE/node_modules/y/package.json": Node module, which is damaged`, 0},
		"a link to nothing": {entry{name: "x/node_modules/y/package.json", kind: tar.TypeLink, link: "gone"},
			"/x/node_modules/y/package.json: a hard link to a file that the layer does not have", 0},
		"a Go program": {entry{name: "bin/x", content: hostileProgram(t, "dep\ta\tb\n", 200_000), mode: 0o755},
			"/bin/x: a Go program whose list of modules is damaged, or has more than 1 MiB", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, urls := listed(t, layer(t, c.entry))
			if len(urls) != c.urls || len(made.Unread) != 1 || made.Unread[0] != c.want {
				t.Errorf("%q, %q", urls, made.Unread)
			}
			parsed, err := spdxjson.Read(bytes.NewReader(made.JSON))
			if err != nil || !strings.Contains(parsed.CreationInfo.CreatorComment, c.want) {
				t.Errorf("%v\n%s", err, made.JSON)
			}
		})
	}
}

// hostileProgram returns an ELF file with a build info of as many lines.
func hostileProgram(t *testing.T, line string, lines int) string {
	t.Helper()
	info := "\xff Go buildinf:\x08\x02" + strings.Repeat("\x00", 16)
	text := "path\tx\n" + strings.Repeat(line, lines)
	for _, part := range []string{"go1.26", strings.Repeat("0", 16) + text + "\n" + strings.Repeat("0", 16)} {
		info += string(binary.AppendUvarint(nil, uint64(len(part)))) + part
	}
	names := "\x00.go.buildinfo\x00.shstrtab\x00"
	var file bytes.Buffer
	const header, section = 64, 64
	write := func(v any) {
		if err := binary.Write(&file, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	write(elf.Header64{Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: 2, Machine: 62, Version: 1,
		Shoff: header, Ehsize: header, Shentsize: section, Shnum: 3, Shstrndx: 2})
	start := uint64(header + 3*section)
	write(elf.Section64{})
	write(elf.Section64{Name: 1, Type: 1, Off: start, Size: uint64(len(info))})
	write(elf.Section64{Name: 15, Type: 3, Off: start + uint64(len(info)), Size: uint64(len(names))})
	file.WriteString(info + names)
	return file.String()
}

// TestHostileProgram: the program above is one that is read, if it states few modules.
func TestHostileProgram(t *testing.T) {
	t.Parallel()
	_, urls := listed(t, layer(t, entry{name: "bin/x", content: hostileProgram(t, "dep\texample.com/a\tv1.0.0\n"+
		"dep\texample.com/b\tv1.0.0\n=>\t../b\t(devel)\t\n", 1), mode: 0o755}))
	want := []string{"pkg:golang/example.com/a@v1.0.0", "pkg:golang/example.com/b", "pkg:golang/stdlib@1.26"}
	if !slices.Equal(urls, want) {
		t.Errorf("%q", urls)
	}
}

// TestHostileLayers: no content of a layer makes a list without bounds, takes much more time than its size, or fails
// the build of an image that is fine otherwise.
func TestHostileLayers(t *testing.T) {
	t.Parallel()
	t.Run("many packages", func(t *testing.T) {
		t.Parallel()
		var text strings.Builder
		for n := range maxPackages + 1 {
			fmt.Fprintf(&text, "P:p%d\nV:1\n\n", n)
		}
		made, urls := listed(t, layer(t, entry{name: "lib/apk/db/installed", content: text.String()},
			entry{name: "x/node_modules/y/package.json", content: `{"name":"y","version":"1"}`}))
		if len(urls) != 1 || !slices.Equal(made.Unread, []string{"1 more files"}) {
			t.Errorf("%q, %q", urls, made.Unread)
		}
	})
	t.Run("no archive", func(t *testing.T) {
		t.Parallel()
		made, urls := listed(t, bytes.NewBuffer(bytes.Repeat([]byte("x"), 1024)),
			layer(t, entry{name: "lib/apk/db/installed", content: "P:a\nV:1\n"}))
		if len(urls) != 1 || !slices.Equal(made.Unread, []string{"layer 1: it is damaged, so the rest of it was not read"}) {
			t.Errorf("%q, %q", urls, made.Unread)
		}
	})
	t.Run("many unread files", func(t *testing.T) {
		t.Parallel()
		var entries []entry
		for n := range maxUnread + 5 {
			entries = append(entries, entry{name: fmt.Sprintf("x/node_modules/m%d/package.json", n), content: "["})
		}
		made, _ := listed(t, layer(t, entries...))
		if len(made.Unread) != maxUnread+1 || made.Unread[maxUnread] != "5 more files" {
			t.Errorf("%q", made.Unread)
		}
	})
	t.Run("no space", func(t *testing.T) {
		t.Parallel()
		i := NewInventory(filepath.Join(t.TempDir(), "none"))
		content := hostileProgram(t, "", 0)
		if err := i.AddLayer(t.Context(), "1", func() (io.ReadCloser, error) {
			return io.NopCloser(layer(t, entry{name: "bin/x", content: content, mode: 0o755})), nil
		}); err != nil || len(i.Unread()) != 1 || !strings.Contains(i.Unread()[0], "no space in "+i.dir) {
			t.Errorf("%v, %q", err, i.Unread())
		}
	})
	t.Run("canceled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := NewInventory(t.TempDir()).AddLayer(ctx, "1", func() (io.ReadCloser, error) {
			return io.NopCloser(layer(t)), nil
		}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestManyEntries: the work for a layer grows with its entries, not with their product with what those below it have.
func TestManyEntries(t *testing.T) {
	t.Parallel()
	const many = 10_000
	var below, above []entry
	for n := range many {
		below = append(below, entry{name: fmt.Sprintf("x/node_modules/m%d/package.json", n), content: "["})
		above = append(above, entry{name: fmt.Sprintf("x/f%d", n)}, entry{name: fmt.Sprintf("y/.wh.f%d", n)},
			entry{name: "x/node_modules/.wh..wh..opq"}, entry{name: fmt.Sprintf("x/node_modules/n%d/package.json", n),
				content: "["})
	}
	layers := []*bytes.Buffer{layer(t, below...), layer(t, above...)}
	testtime.CheckCPUCost(t, 6000, func() {
		made, err := document(t, layers...)
		if want := fmt.Sprintf("%d more files", many-maxUnread); err != nil || made.Unread[maxUnread] != want {
			t.Errorf("%v, %q", err, made.Unread)
		}
	})
}
