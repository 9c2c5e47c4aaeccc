// Package registrytest serves a Terraform module registry, archives and git repositories on the
// loopback address, over TLS, for tests.
package registrytest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/gittest"
)

// Server is a registry. Its methods are safe for concurrent use.
type Server struct {
	// URL is the server's address, "https://127.0.0.1:PORT", and Host the host in registry sources.
	URL, Host string
	// Roots contain the server's certificate.
	Roots *x509.CertPool

	t      testing.TB
	server *httptest.Server
	mu     sync.Mutex
	// versions maps "namespace/name/system" to versions and the locations of their packages.
	versions map[string]map[string]string
	handlers map[string]http.Handler // by path, or by prefix if the path ends with a slash
	tokens   map[string]string       // by prefix of the path
	requests []string
	down     bool
	delay    time.Duration
}

// New starts a server for the duration of a test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, versions: map[string]map[string]string{}, handlers: map[string]http.Handler{},
		tokens: map[string]string{}}
	s.server = httptest.NewTLSServer(s)
	t.Cleanup(s.server.Close)
	s.URL = s.server.URL
	s.Host = strings.TrimPrefix(s.URL, "https://")
	s.Roots = x509.NewCertPool()
	s.Roots.AddCert(s.server.Certificate())
	return s
}

// Certificate returns the server's certificate.
func (s *Server) Certificate() *x509.Certificate { return s.server.Certificate() }

// CertificateFile writes the server's certificate to a file, for SSL_CERT_FILE and git.
func (s *Server) CertificateFile() string {
	s.t.Helper()
	name := filepath.Join(s.t.TempDir(), "roots.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
	if err := os.WriteFile(name, text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return name
}

// Services is the URL of the registry's modules.v1 service.
func (s *Server) Services() string { return s.URL + "/v1/modules/" }

// Module publishes a version of "namespace/name/system". The location is what a registry answers in
// X-Terraform-Get.
func (s *Server) Module(module, version, location string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.versions[module] == nil {
		s.versions[module] = map[string]string{}
	}
	s.versions[module][version] = location
}

// PublishModule publishes a version whose package is an archive with files, in pairs of path and content.
func (s *Server) PublishModule(module, version string, pairs ...string) {
	s.t.Helper()
	at := "/archives/" + module + "/" + version + ".tar.gz"
	s.Content(at, TarGz(s.t, pairs...))
	s.Module(module, version, s.URL+at)
}

// Content serves bytes at a path.
func (s *Server) Content(path string, content []byte) {
	s.Handle(path, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) }))
}

// Handle serves a path, or everything below it if it ends with a slash.
func (s *Server) Handle(path string, handler http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[path] = handler
}

// Repository creates a git repository and serves it. It returns the repository and its https URL,
// such as https://127.0.0.1:PORT/git/NAME.git.
func (s *Server) Repository(name string) (*gittest.Repo, string) {
	s.t.Helper()
	repo := gittest.New(s.t)
	root := "/git/" + name + ".git"
	s.Handle(root+"/", &cgi.Handler{
		Path: filepath.Join(repo.Git("--exec-path"), "git-http-backend"),
		Root: root,
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Join(repo.Dir, ".git"), "GIT_HTTP_EXPORT_ALL=1",
			"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull},
		Stderr: os.Stderr,
	})
	return repo, s.URL + root
}

// Require makes the server require a token below a path: as a bearer token, or as the password of
// HTTP Basic.
func (s *Server) Require(path, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[path] = token
}

// Stop stops the server before the end of the test.
func (s *Server) Stop() { s.server.Close() }

// SetDown makes the server answer every request with an error, until it is called with false.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// Delay makes the server wait before it answers each request.
func (s *Server) Delay(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = by
}

// Requests returns the paths that were requested since the last call.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.requests
	s.requests = nil
	return asked
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.URL.Path)
	allowed, down, delay := s.allows(r), s.down, s.delay
	handler := s.find(r.URL.Path)
	s.mu.Unlock()
	time.Sleep(delay) //nolint:forbidigo // the registry is slow on purpose
	switch {
	case down:
		http.Error(w, "down", http.StatusServiceUnavailable)
	case !allowed:
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		http.Error(w, "no", http.StatusUnauthorized)
	case handler != nil:
		handler.ServeHTTP(w, r)
	case r.URL.Path == "/.well-known/terraform.json":
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"modules.v1": "/v1/modules/", "other.v1": {"a": 1}}`))
	default:
		s.serveModule(w, r)
	}
}

func (s *Server) allows(r *http.Request) bool {
	for prefix, token := range s.tokens {
		if !strings.HasPrefix(r.URL.Path, prefix) {
			continue
		}
		_, password, _ := r.BasicAuth()
		if password != token && r.Header.Get("Authorization") != "Bearer "+token {
			return false
		}
	}
	return true
}

func (s *Server) find(path string) http.Handler {
	if handler, is := s.handlers[path]; is {
		return handler
	}
	for prefix, handler := range s.handlers {
		if strings.HasSuffix(prefix, "/") && strings.HasPrefix(path, prefix) {
			return handler
		}
	}
	return nil
}

func (s *Server) serveModule(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/modules/"), "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(parts) < 4 || s.versions[strings.Join(parts[:3], "/")] == nil {
		http.NotFound(w, r)
		return
	}
	versions := s.versions[strings.Join(parts[:3], "/")]
	if len(parts) == 4 && parts[3] == "versions" {
		listed := []map[string]string{}
		for _, version := range slices.Sorted(maps.Keys(versions)) {
			listed = append(listed, map[string]string{"version": version})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"modules": []any{map[string]any{"versions": listed}}})
		return
	}
	location, is := versions[parts[3]]
	if len(parts) != 5 || parts[4] != "download" || !is || location == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("X-Terraform-Get", location)
	w.WriteHeader(http.StatusNoContent)
}

// GitSource returns the source of a git repository, such as "git::https://…?ref=v1".
func GitSource(at, ref string) string {
	if ref == "" {
		return "git::" + at
	}
	return "git::" + at + "?ref=" + url.QueryEscape(ref)
}

// Tar packs pairs of path and content. Content that starts with "-> " is a link.
func Tar(t testing.TB, pairs ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for i := 0; i < len(pairs); i += 2 {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: pairs[i], Mode: 0o644, Size: int64(len(pairs[i+1]))}
		content := pairs[i+1]
		if target, is := strings.CutPrefix(content, "-> "); is {
			header.Typeflag, header.Linkname, header.Size, content = tar.TypeSymlink, target, 0, ""
		}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TarGz packs like Tar, and compresses.
func TarGz(t testing.TB, pairs ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := compressed.Write(Tar(t, pairs...)); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Zip packs pairs of path and content. Content that starts with "-> " is a link.
func Zip(t testing.TB, pairs ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for i := 0; i < len(pairs); i += 2 {
		header, content := &zip.FileHeader{Name: pairs[i], Method: zip.Deflate}, pairs[i+1]
		header.SetMode(0o644)
		if target, is := strings.CutPrefix(content, "-> "); is {
			header.SetMode(os.ModeSymlink | 0o777)
			content = target
		}
		into, err := archive.CreateHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := into.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
