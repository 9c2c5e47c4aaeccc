package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// filesOf returns files from pairs of path and content; content that starts with "-> " is a link.
func filesOf(pairs ...string) []artifact.File {
	var files []artifact.File
	for i := 0; i < len(pairs); i += 2 {
		file := artifact.File{Path: pairs[i], Content: []byte(pairs[i+1])}
		if target, is := strings.CutPrefix(pairs[i+1], "-> "); is {
			file.Content, file.Link = nil, target
		}
		files = append(files, file)
	}
	return files
}

// yamlOf returns a Chart.yaml with more lines.
func yamlOf(name, version string, more ...string) string {
	return strings.Join(append([]string{"apiVersion: v2", "name: " + name, "version: " + version}, more...), "\n") + "\n"
}

// needs returns the lines of dependencies, each "name version repository", optionally
// with " alias".
func needs(dependencies ...string) string {
	text := "dependencies:"
	for _, d := range dependencies {
		words := strings.Split(d, " ")
		text += fmt.Sprintf("\n  - name: %s\n    version: %q\n    repository: %q", words[0], words[1], words[2])
		if len(words) > 3 {
			text += "\n    alias: " + words[3]
		}
	}
	return text
}

// tgz packs pairs of path and content.
func tgz(t *testing.T, pairs ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestSpeed) // the race detector makes compression slow
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(compressed)
	for i := 0; i < len(pairs); i += 2 {
		entry := &tar.Header{Typeflag: tar.TypeReg, Name: pairs[i], Mode: 0o644, Size: int64(len(pairs[i+1]))}
		content := pairs[i+1]
		if target, is := strings.CutPrefix(content, "-> "); is {
			entry.Typeflag, entry.Linkname, entry.Size, content = tar.TypeSymlink, target, 0, ""
		}
		if err := archive.WriteHeader(entry); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// packedChart returns a small chart as packed by `helm package`.
func packedChart(t *testing.T, name, version string, more ...string) []byte {
	t.Helper()
	return tgz(t, name+"/Chart.yaml", yamlOf(name, version, more...), name+"/values.yaml", "a: 1\n",
		name+"/templates/x.yaml", "kind: ConfigMap\n")
}

// shop is a chart repository over https, and a registry on the same host without TLS.
type shop struct {
	web, plain *httptest.Server
	files      map[string][]byte // of both, by path
	asked      []string
	// login, if set, is what every request must have: USER:PASSWORD.
	login string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{files: map[string][]byte{}}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked = append(s.asked, r.URL.Path)
		if user, password, _ := r.BasicAuth(); s.login != "" && user+":"+password != s.login {
			w.Header().Set("WWW-Authenticate", `Basic realm="shop"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		content, there := s.files[r.URL.Path]
		if !there {
			http.NotFound(w, r)
			return
		}
		if strings.Contains(r.URL.Path, "/manifests/") {
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			w.Header().Set("Docker-Content-Digest", sha256digest.Of(content))
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if r.Method != http.MethodHead {
			_, _ = w.Write(content)
		}
	})
	s.web, s.plain = httptest.NewTLSServer(handler), httptest.NewServer(handler)
	t.Cleanup(s.web.Close)
	t.Cleanup(s.plain.Close)
	return s
}

// fetcher returns a fetcher that may access the shop.
func (s *shop) fetcher(t *testing.T) (*Fetcher, *said) {
	roots := x509.NewCertPool()
	roots.AddCert(s.web.Certificate())
	log := &said{t: t}
	fetcher := New(Options{AllowPrivate: true, Roots: roots, Log: log})
	fetcher.retryPause = time.Millisecond
	return fetcher, log
}

// said records log messages.
type said struct {
	t     *testing.T
	lines []string
}

func (s *said) Info(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}
func (s *said) Warn(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// publish adds packed charts to an index at a path, "name version" → archive.
func (s *shop) publish(at string, charts map[string][]byte) {
	entries := map[string][]map[string]any{}
	for _, key := range slices.Sorted(func(yield func(string) bool) {
		for key := range charts {
			if !yield(key) {
				return
			}
		}
	}) {
		name, version, _ := strings.Cut(key, " ")
		file := name + "-" + version + ".tgz"
		s.files[at+"/"+file] = charts[key]
		entries[name] = append(entries[name], map[string]any{"version": version, "urls": []string{file},
			"digest": strings.TrimPrefix(sha256digest.Of(charts[key]), "sha256:")})
	}
	// As written by `helm repo index`: block style, names indented by two spaces.
	text := "apiVersion: v1\nentries:\n"
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range entries {
			if !yield(name) {
				return
			}
		}
	}) {
		text += "  " + name + ":\n"
		for _, e := range entries[name] {
			text += fmt.Sprintf("  - version: %s\n    digest: %s\n    urls:\n    - %s\n", e["version"], e["digest"],
				e["urls"].([]string)[0])
		}
	}
	s.files[at+"/index.yaml"] = []byte(text + "generated: \"2020-01-01T00:00:00Z\"\n")
}

// push adds a packed chart to the registry.
func (s *shop) push(t *testing.T, repository, tag string, content []byte) {
	t.Helper()
	digest := sha256digest.Of(content)
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": map[string]any{"mediaType": configMedia, "digest": sha256digest.Of([]byte("{}")), "size": 2},
		"layers": []any{map[string]any{"mediaType": chartMedia, "digest": digest, "size": len(content)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	at := "/v2/" + repository
	s.files[at+"/manifests/"+tag] = manifest
	s.files[at+"/manifests/"+sha256digest.Of(manifest)] = manifest
	s.files[at+"/blobs/"+digest] = content
	var listed struct{ Tags []string }
	if known := s.files[at+"/tags/list"]; known != nil {
		if err := json.Unmarshal(known, &listed); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]any{"name": repository, "tags": append(listed.Tags, tag)})
	if err != nil {
		t.Fatal(err)
	}
	s.files[at+"/tags/list"] = list
}

func (s *shop) host() string { return strings.TrimPrefix(s.plain.URL, "http://") }

// pathsOf returns the paths of a chart's files.
func pathsOf(c *Chart) string {
	var names []string
	for _, file := range c.Files {
		names = append(names, file.Path)
	}
	return strings.Join(names, " ")
}

// contentOf returns a file of a chart.
func contentOf(c *Chart, name string) string {
	for _, file := range c.Files {
		if file.Path == name {
			return string(file.Content)
		}
	}
	return ""
}

// refused fails the test unless err contains all of these words, and no control characters.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", words)
	}
	for _, want := range words {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }) {
		t.Errorf("control characters in %q", err)
	}
}
