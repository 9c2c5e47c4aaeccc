package pgcluster

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ulikunitz/xz"

	"github.com/nuon-toolkit/nuon/pkg/testprogram"
)

// fakeBinaries creates a directory whose postgres prints a version.
func fakeBinaries(t *testing.T, dir, version string) string {
	t.Helper()
	for name, script := range map[string]string{"postgres": "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n",
		"initdb": "#!/bin/sh\n"} {
		testprogram.Write(t, filepath.Join(dir, name), script)
	}
	return dir
}

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestFindOrder(t *testing.T) {
	root := place(t)
	named := fakeBinaries(t, filepath.Join(root, "named"), "14.1")
	onPath := fakeBinaries(t, filepath.Join(root, "path"), "15.2 (Debian 15.2-1)")
	for _, version := range []string{"9.6.24", "13.9", "15.9", "16.10", "16.9"} {
		fakeBinaries(t, filepath.Join(root, "usual", version, "bin"), version)
	}
	empty := filepath.Join(root, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	usual := []string{filepath.Join(root, "usual", "*", "bin")}
	tests := map[string]struct {
		search  Search
		version string
		source  string
	}{
		"the variable": {Search{Getenv: environment(map[string]string{BinariesVariable: named, "PATH": onPath}),
			Patterns: usual}, "14.1", BinariesVariable},
		"PATH": {Search{Getenv: environment(map[string]string{"PATH": empty + ":relative:" + onPath}),
			Patterns: usual}, "15.2", "PATH"},
		"the newest":         {Search{Getenv: environment(nil), Patterns: usual}, "16.10", "this machine"},
		"of the right major": {Search{Getenv: environment(nil), Patterns: usual, Major: 15}, "15.9", "this machine"},
		"PATH of another": {Search{Getenv: environment(map[string]string{"PATH": onPath}), Patterns: usual,
			Major: 16}, "16.10", "this machine"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := Find(t.Context(), test.search)
			if err != nil || found.Version != test.version || found.Source != test.source {
				t.Errorf("found %+v, want %s of %s: %v", found, test.version, test.source, err)
			}
		})
	}
}

func TestFindOnThisMachine(t *testing.T) {
	found, err := Find(t.Context(), Search{})
	if err != nil {
		t.Fatal(err)
	}
	if found.Major < OldestMajor || found.Version == "" || found.Dir == "" {
		t.Errorf("found %+v", found)
	}
}

func TestFindSaysWhatToInstall(t *testing.T) {
	root := place(t)
	old := fakeBinaries(t, filepath.Join(root, "old"), "13.4")
	for name, test := range map[string]struct {
		search Search
		want   []string
	}{
		"nothing": {Search{Getenv: environment(nil), Patterns: []string{}},
			[]string{BinariesVariable, "DATABASE_URL"}},
		"too old": {Search{Getenv: environment(nil), Patterns: []string{old}}, []string{"13.4", "older than 14"}},
		"wrong major": {Search{Getenv: environment(map[string]string{"PATH": old}), Patterns: []string{}, Major: 15},
			[]string{"older than 14"}},
		"bad variable": {Search{Getenv: environment(map[string]string{BinariesVariable: root})},
			[]string{BinariesVariable, root, "unset it"}},
		"old variable": {Search{Getenv: environment(map[string]string{BinariesVariable: old})}, []string{"13.4"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Find(t.Context(), test.search)
			if !errors.Is(err, ErrNoBinaries) {
				t.Fatalf("got %v, want ErrNoBinaries", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
}

func TestInstallHint(t *testing.T) {
	for _, test := range []struct {
		system, release string
		major           int
		want            string
	}{
		{"linux", "ID=debian\n", 0, "apt-get install postgresql"},
		{"linux", "NAME=x\nID=pop\nID_LIKE=\"ubuntu debian\"\n", 16, "apt-get install postgresql-16"},
		{"linux", "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", 0, "dnf install postgresql-server"},
		{"linux", "ID=alpine\n", 17, "apk add postgresql17"},
		{"linux", "ID=arch\n", 0, "pacman -S postgresql"},
		{"linux", "ID=opensuse-leap\nID_LIKE=\"suse opensuse\"\n", 0, "zypper install postgresql-server"},
		{"linux", "ID=strange\n", 0, ""},
		{"darwin", "", 15, "brew install postgresql@15"},
	} {
		if got := packageCommand(test.system, test.release, test.major); got != test.want {
			t.Errorf("%s %q %d gives %q, want %q", test.system, test.release, test.major, got, test.want)
		}
	}
}

// jar packs files like the published jars.
func jar(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var packed bytes.Buffer
	compressed, err := xz.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(compressed)
	for _, entry := range entries {
		content := entry.PAXRecords["content"]
		entry.PAXRecords = nil
		entry.Size = int64(len(content))
		if entry.Typeflag == 0 {
			entry.Typeflag = tar.TypeReg
		}
		if err := archive.WriteHeader(&entry); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return zipped(t, map[string][]byte{"META-INF/MANIFEST.MF": nil, "postgres-test.txz": packed.Bytes()})
}

func zipped(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for name, content := range files {
		file, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func file(name, content string, mode int64) tar.Header {
	return tar.Header{Name: name, Mode: mode, PAXRecords: map[string]string{"content": content}}
}

func goodJar(t *testing.T) []byte {
	return jar(t,
		tar.Header{Name: "./bin/", Typeflag: tar.TypeDir, Mode: 0o700},
		file("bin/postgres", "#!/bin/sh\necho 'postgres (PostgreSQL) 17.6'\n", 0o755),
		file("bin/initdb", "#!/bin/sh\n", 0o755),
		file("lib/libpq.so.5.17", "x", 0o644),
		tar.Header{Name: "lib/libpq.so.5", Typeflag: tar.TypeSymlink, Linkname: "libpq.so.5.17", Mode: 0o777},
	)
}

// mirror serves one jar and its digest in the layout of a Maven repository.
func mirror(t *testing.T, content []byte, digest string) (Fetch, *int) {
	t.Helper()
	asked := new(int)
	var mu sync.Mutex
	const path = "/maven/embedded-postgres-binaries-test-amd64/" + fetchVersion +
		"/embedded-postgres-binaries-test-amd64-" + fetchVersion + ".jar"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case path:
			mu.Lock()
			*asked++
			mu.Unlock()
			_, _ = w.Write(content)
		case path + ".sha256":
			_, _ = fmt.Fprint(w, digest)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return Fetch{Base: server.URL + "/maven/", Cache: filepath.Join(place(t), "cache"), platform: "test-amd64"}, asked
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func TestFetch(t *testing.T) {
	content := goodJar(t)
	fetch, asked := mirror(t, content, strings.ToUpper(digestOf(content))+"  name.jar\n")
	var said []string
	fetch.Progress = func(text string) { said = append(said, text) }
	search := Search{Getenv: environment(nil), Patterns: []string{}, Fetch: &fetch}
	for range 2 {
		found, err := Find(t.Context(), search)
		if err != nil {
			t.Fatal(err)
		}
		if found.Version != "17.6" || found.Source != "fetched" || !strings.HasPrefix(found.Dir, fetch.Cache) {
			t.Errorf("found %+v", found)
		}
	}
	if *asked != 1 || len(said) != 1 {
		t.Errorf("downloaded %d times and said %q, want once", *asked, said)
	}
	left, err := os.ReadDir(fetch.Cache)
	if err != nil || len(left) != 1 {
		t.Errorf("the cache holds %v: %v", left, err)
	}
	search.Major = 15
	if _, err := Find(t.Context(), search); !errors.Is(err, ErrNoBinaries) ||
		!strings.Contains(err.Error(), "only PostgreSQL 17") {
		t.Errorf("for version 15: %v", err)
	}
}

// TestFetchOfManyAtOnce downloads while other processes are started continuously. Each of them
// briefly inherits the files that are being unpacked.
func TestFetchOfManyAtOnce(t *testing.T) {
	content := goodJar(t)
	fetch, _ := mirror(t, content, digestOf(content))
	var fetching, others sync.WaitGroup
	fetched := make(chan struct{})
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-fetched:
					return
				default:
				}
				if err := exec.CommandContext(t.Context(), "true").Run(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 6 {
		fetching.Go(func() {
			if _, err := fetch.get(t.Context(), 0); err != nil {
				t.Error(err)
			}
		})
	}
	fetching.Wait()
	close(fetched)
	others.Wait()
}

// TestABusyPostgres inspects a postgres that is open for writing for a while.
func TestABusyPostgres(t *testing.T) {
	dir := fakeBinaries(t, filepath.Join(place(t), "bin"), "17.6")
	writer, err := os.OpenFile(filepath.Join(dir, "postgres"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	//walltime: how long the file is busy; the program under test waits a hundred times longer
	defer time.AfterFunc(200*time.Millisecond, func() { _ = writer.Close() }).Stop()
	found, err := Search{}.inspect(t.Context(), dir, "PATH")
	if err != nil || found.Version != "17.6" {
		t.Errorf("found %+v: %v", found, err)
	}
}

func TestFetchRefuses(t *testing.T) {
	good := goodJar(t)
	climbing := jar(t, file("../../evil", "x", 0o755))
	absolute := jar(t, file("/tmp/evil", "x", 0o755))
	through := jar(t, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "../../..", Mode: 0o777},
		file("l/evil", "x", 0o644))
	device := jar(t, tar.Header{Name: "d", Typeflag: tar.TypeChar, Mode: 0o644})
	useless := jar(t, file("bin/postgres", "#!/bin/sh\nexit 3\n", 0o755), file("bin/initdb", "", 0o755))
	noTar := zipped(t, map[string][]byte{"readme": []byte("x")})
	two := zipped(t, map[string][]byte{"a.txz": nil, "b.txz": nil})
	broken := zipped(t, map[string][]byte{"a.txz": []byte("not xz")})
	for name, test := range map[string]struct {
		content []byte
		digest  string
		want    string
	}{
		"another digest":  {good, digestOf([]byte("x")), "nothing of it was used"},
		"no digest":       {good, "<html>", "is no SHA-256"},
		"an empty digest": {good, "", "it is empty"},
		"not a jar":       {[]byte("hello"), digestOf([]byte("hello")), "open the jar"},
		"cut short":       {good[:len(good)/2], digestOf(good[:len(good)/2]), "open the jar"},
		"climbing":        {climbing, digestOf(climbing), "evil"},
		"absolute":        {absolute, digestOf(absolute), "evil"},
		"through a link":  {through, digestOf(through), "leaves the tree"},
		"a device":        {device, digestOf(device), "is not taken"},
		"does not run":    {useless, digestOf(useless), "does not run here"},
		"nothing in it":   {noTar, digestOf(noTar), "no .txz"},
		"two in it":       {two, digestOf(two), "both"},
		"not xz":          {broken, digestOf(broken), "a.txz"},
	} {
		t.Run(name, func(t *testing.T) {
			fetch, _ := mirror(t, test.content, test.digest)
			_, err := fetch.get(t.Context(), 0)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
			if left, err := os.ReadDir(fetch.Cache); err != nil || len(left) != 0 {
				t.Errorf("the cache holds %v: %v", left, err)
			}
		})
	}
}

func TestFetchFromNowhere(t *testing.T) {
	fetch, _ := mirror(t, goodJar(t), "")
	fetch.Base += "elsewhere"
	_, err := Find(t.Context(), Search{Getenv: environment(nil), Patterns: []string{}, Fetch: &fetch})
	if !errors.Is(err, ErrNoBinaries) || !strings.Contains(err.Error(), "404") ||
		!strings.Contains(err.Error(), "DATABASE_URL") {
		t.Errorf("got %v, want the status and what to install", err)
	}
}
