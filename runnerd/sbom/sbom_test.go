package sbom

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
)

const digest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"

// entry is a file of a layer.
type entry struct {
	name, content string
	mode          int64
	kind          byte // of archive/tar; a regular file if 0
}

func layer(t *testing.T, entries ...entry) *bytes.Buffer {
	t.Helper()
	var made bytes.Buffer
	archive := tar.NewWriter(&made)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.content)), Typeflag: e.kind}
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
	for _, l := range layers {
		if err := inventory.AddLayer(bytes.NewReader(l.Bytes())); err != nil {
			return Document{}, err
		}
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
				"pkg:deb/debian/zlib1g@1:1.3.1-1?arch=amd64&distro=debian-13"},
		},
		"without dpkg": {
			[]entry{{name: "var/lib/dpkg/status.d/tzdata", content: "Package: tzdata\nVersion: 2026a\nArchitecture: all\n"},
				{name: "var/lib/dpkg/status.d/tzdata.md5sums", content: "0 usr/share/x\n"}},
			[]string{"pkg:deb/debian/tzdata@2026a?arch=all"},
		},
		"apk": {
			[]entry{{name: "lib/apk/db/installed", content: "C:Q1x=\nP:musl\nV:1.2.5-r10\nA:x86_64\nL:MIT\nF:lib\n" +
				"a:0:0:755\n\nP:zlib\nV:1.3.1-r2\nA:x86_64"},
				{name: "etc/os-release", content: "ID=alpine\nVERSION_ID=3.22.1\n"}},
			[]string{"pkg:apk/alpine/musl@1.2.5-r10?arch=x86_64&distro=alpine-3.22.1",
				"pkg:apk/alpine/zlib@1.3.1-r2?arch=x86_64&distro=alpine-3.22.1"},
		},
		"python": {
			[]entry{{name: "usr/lib/python3/dist-packages/Flask_Cors-5.0.dist-info/METADATA",
				content: "Metadata-Version: 2.1\nName: Flask_Cors\nVersion: 5.0\n\nA long description:\nno field\n"}},
			[]string{"pkg:pypi/flask-cors@5.0"},
		},
		"node": {
			[]entry{{name: "app/node_modules/@acme/tool/package.json", content: `{"name":"@acme/tool","version":"2.0.0"}`},
				{name: "app/node_modules/left-pad/package.json", content: `{"name":"left-pad","version":"1.3.0"}`},
				{name: "app/node_modules/left-pad/test/package.json", content: `{"name":"fixture","version":"0"}`},
				{name: "app/package.json", content: `{"name":"app","version":"0"}`}},
			[]string{"pkg:npm/%40acme/tool@2.0.0", "pkg:npm/left-pad@1.3.0"},
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
		"nothing":              {nil, "a@1 b@1"},
		"another version":      {[]entry{module("a", "2")}, "a@2 b@1"},
		"a file removed":       {[]entry{{name: "srv/node_modules/a/.wh.package.json"}}, "b@1"},
		"a directory removed":  {[]entry{{name: "srv/node_modules/.wh.a"}}, "b@1"},
		"all removed":          {[]entry{{name: "srv/.wh.node_modules"}}, ""},
		"an opaque directory":  {[]entry{module("c", "1"), {name: "srv/node_modules/.wh..wh..opq"}}, "c@1"},
		"a link instead":       {[]entry{{name: "srv/node_modules/a", kind: tar.TypeSymlink}}, "b@1"},
		"a damaged file":       {[]entry{{name: "srv/node_modules/a/package.json", content: "{"}}, "b@1"},
		"the directory itself": {[]entry{{name: "srv/node_modules/a", kind: tar.TypeDir}}, "a@1 b@1"},
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
	}{
		"rpm": {entry{name: "var/lib/rpm/rpmdb.sqlite", content: "SQLite"},
			"/var/lib/rpm/rpmdb.sqlite: RPM database, which is not read"},
		"damaged": {entry{name: "var/lib/dpkg/status", content: "no field\n"},
			"/var/lib/dpkg/status: list of Debian packages: "},
		"large": {entry{name: "x/node_modules/y/package.json", content: strings.Repeat(" ", maxMetadata+1)},
			"/x/node_modules/y/package.json: it has more than 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, urls := listed(t, layer(t, c.entry))
			if len(urls) > 0 || len(made.Unread) != 1 || !strings.HasPrefix(made.Unread[0], c.want) ||
				!strings.Contains(string(made.JSON), c.want) {
				t.Errorf("%q, %q\n%s", urls, made.Unread, made.JSON)
			}
		})
	}
}

// TestHostileLayers: no content of a layer makes a list without bounds, or one that shows control characters.
func TestHostileLayers(t *testing.T) {
	t.Parallel()
	t.Run("names", func(t *testing.T) {
		t.Parallel()
		_, urls := listed(t, layer(t, entry{name: "lib/apk/db/installed",
			content: "P:a\x1b[2J\nV:1\n\nP:" + strings.Repeat("x", maxFieldLetters+1) + "\nV:1\n\nP:good\nV:1\n\nV:1\n\n"}))
		if !slices.Equal(urls, []string{"pkg:apk/alpine/good@1"}) {
			t.Errorf("%q", urls)
		}
	})
	t.Run("many packages", func(t *testing.T) {
		t.Parallel()
		var text strings.Builder
		for n := range maxPackages + 1 {
			fmt.Fprintf(&text, "P:p%d\nV:1\n\n", n)
		}
		made, urls := listed(t, layer(t, entry{name: "lib/apk/db/installed", content: text.String()},
			entry{name: "x/node_modules/y/package.json", content: `{"name":"y","version":"1"}`}))
		if len(urls) != 1 || len(made.Unread) != 1 || !strings.Contains(made.Unread[0], "no room for its 50001 packages") {
			t.Errorf("%q, %q", urls, made.Unread)
		}
	})
	t.Run("no archive", func(t *testing.T) {
		t.Parallel()
		if _, err := document(t, bytes.NewBuffer(bytes.Repeat([]byte("x"), 1024))); !errors.Is(err, tar.ErrHeader) {
			t.Error(err)
		}
	})
	t.Run("many unread files", func(t *testing.T) {
		t.Parallel()
		var entries []entry
		for n := range maxUnread + 5 {
			entries = append(entries, entry{name: fmt.Sprintf("x/node_modules/m%d/package.json", n), content: "["})
		}
		made, _ := listed(t, layer(t, entries...))
		if len(made.Unread) != maxUnread+1 || made.Unread[maxUnread] != "and 5 more" {
			t.Errorf("%q", made.Unread)
		}
	})
}
