// Package gittest creates real git repositories for tests with the git program, and a real
// smart-HTTP server for them (git http-backend behind TLS and a token). Only tests use it; the
// product never runs git.
package gittest

import (
	"crypto/x509"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Repo is a repository with a working tree, on branch main.
type Repo struct {
	Dir string
	t   testing.TB
}

// New creates an empty repository in a temporary directory of the test.
func New(t testing.TB) *Repo {
	t.Helper()
	// Resolve the path: on some systems the temporary directory is behind a link.
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := &Repo{Dir: filepath.Join(dir, "repo"), t: t}
	if err := os.Mkdir(repo.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	repo.Git("init", "--quiet", "--initial-branch=main")
	return repo
}

// URL returns the repository's file:// URL.
func (r *Repo) URL() string { return "file://" + r.Dir }

// Git runs git in the working tree and returns its output.
func (r *Repo) Git(arguments ...string) string {
	r.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		r.t.Fatal("these tests make repositories with git; install the package git")
	}
	command := exec.Command("git", arguments...)
	command.Dir = r.Dir
	command.Env = environment()
	printed, err := command.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(arguments, " "), err, printed)
	}
	return strings.TrimSpace(string(printed))
}

func environment() []string {
	return append(os.Environ(),
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada",
		"GIT_COMMITTER_EMAIL=ada@example.com")
}

// Write writes files; the arguments alternate between path and content.
func (r *Repo) Write(pathsAndContents ...string) *Repo {
	r.t.Helper()
	for i := 0; i < len(pathsAndContents); i += 2 {
		file := filepath.Join(r.Dir, pathsAndContents[i])
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(pathsAndContents[i+1]), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	return r
}

// Remove removes files or directories.
func (r *Repo) Remove(paths ...string) *Repo {
	r.t.Helper()
	for _, path := range paths {
		if err := os.RemoveAll(filepath.Join(r.Dir, path)); err != nil {
			r.t.Fatal(err)
		}
	}
	return r
}

// Symlink creates a symbolic link.
func (r *Repo) Symlink(target, path string) *Repo {
	r.t.Helper()
	file := filepath.Join(r.Dir, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(target, file); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// Commit commits everything and returns the commit's hash.
func (r *Repo) Commit(message string) string {
	r.t.Helper()
	r.Git("add", "--all")
	r.Git("commit", "--quiet", "--allow-empty", "--message", message)
	return r.Head()
}

// Head returns the commit that is checked out.
func (r *Repo) Head() string {
	r.t.Helper()
	return r.Git("rev-parse", "HEAD")
}

// Server serves one repository over https.
type Server struct {
	// URL of the repository.
	URL string
	// Roots contain the server's certificate.
	Roots *x509.CertPool
	// Origin is the server's URL without a path.
	Origin string
}

// Serve serves a repository through git http-backend at /repo.git. If token is not empty, clients
// must send it as the password of HTTP Basic. before may answer a request instead of git; it
// returns true then.
func (r *Repo) Serve(token string, before func(http.ResponseWriter, *http.Request) bool) Server {
	r.t.Helper()
	backend := &cgi.Handler{
		Path: filepath.Join(r.Git("--exec-path"), "git-http-backend"),
		Root: "/repo.git",
		Env: []string{
			"GIT_PROJECT_ROOT=" + filepath.Join(r.Dir, ".git"), "GIT_HTTP_EXPORT_ALL=1", "PATH=" + os.Getenv("PATH"),
			"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull,
		},
		Stderr: os.Stderr,
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if before != nil && before(w, request) {
			return
		}
		if _, password, _ := request.BasicAuth(); token != "" && password != token {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, request)
	}))
	r.t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return Server{URL: server.URL + "/repo.git", Roots: roots, Origin: server.URL}
}
