package configfetch

import (
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// repo is a repository with a working tree, on branch main, that is created with the git program.
// Only tests use that program.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB) repo {
	t.Helper()
	r := repo{t, t.TempDir()}
	r.git("init", "--quiet", "--initial-branch=main")
	r.git("config", "uploadpack.allowFilter", "true")
	r.git("config", "uploadpack.allowAnySHA1InWant", "true")
	return r
}

func (r repo) git(arguments ...string) string {
	r.t.Helper()
	command := exec.Command("git", arguments...)
	command.Dir = r.dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada",
		"GIT_COMMITTER_EMAIL=ada@example.com")
	printed, err := command.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(arguments, " "), err, printed)
	}
	return strings.TrimSpace(string(printed))
}

func (r repo) write(path, text string) repo {
	r.t.Helper()
	file := filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return r
}

func (r repo) commit() string {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message", "change")
	return r.git("rev-parse", "HEAD")
}

// serve returns the URL of the repository, the number of requests to its server, and a Fetcher that
// may connect to it.
func (r repo) serve(before func(http.ResponseWriter, *http.Request) bool) (string, *atomic.Int64, *Fetcher) {
	r.t.Helper()
	backend := &cgi.Handler{
		Path: filepath.Join(r.git("--exec-path"), "git-http-backend"), Root: "/o/r.git", Stderr: r.t.Output(),
		Env: []string{
			"GIT_PROJECT_ROOT=" + filepath.Join(r.dir, ".git"), "GIT_HTTP_EXPORT_ALL=1", "PATH=" + os.Getenv("PATH"),
			"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull,
		},
	}
	var packs atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if before != nil && before(w, request) {
			return
		}
		if request.Method == http.MethodPost {
			packs.Add(1)
		}
		backend.ServeHTTP(w, request)
	}))
	r.t.Cleanup(server.Close)
	return "git::" + server.URL + "/o/r.git", &packs,
		New(Options{AllowPrivate: true, Roots: rootsOf(server), Timeout: testtime.Limit})
}

// sample returns a repository with two branches, two kinds of tags, and all kinds of entries.
func sample(t testing.TB) (r repo, first string) {
	t.Helper()
	r = newRepo(t)
	first = r.write("a.yaml", "one").write("deep/er/b.yaml", "deep").write("bin",
		"\xff").write("large", strings.Repeat("a", limit+1)).commit()
	r.git("tag", "light")
	r.git("tag", "--annotate", "--message", "tag", "heavy")
	r.git("branch", "feature/x")
	r.write("a.yaml", "two")
	for name, target := range map[string]string{"link": "a.yaml", "out": "/etc/passwd", "dirlink": "deep"} {
		if err := os.Symlink(target, filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	r.git("add", "--all")
	r.git("update-index", "--add", "--cacheinfo", "160000,"+first+",sub")
	r.git("commit", "--quiet", "--message", "links")
	return r, first
}

func TestGitFiles(t *testing.T) {
	r, first := sample(t)
	for name, setting := range map[string]string{"in parts": "true", "at once": "false"} {
		t.Run(name, func(t *testing.T) {
			r := repo{t, r.dir}
			r.git("config", "uploadpack.allowFilter", setting)
			at, _, fetcher := r.serve(nil)
			for below, want := range map[string]string{
				"//a.yaml": "two", "//deep/er/b.yaml": "deep", "//a.yaml?ref=main": "two",
				"//a.yaml?ref=feature/x": "one", "//a.yaml?ref=light": "one",
				"//a.yaml?ref=heavy": "one", "//a.yaml?ref=refs/tags/heavy": "one", "//a.yaml?ref=" + first: "one",
				"//a.yaml?ref=" + strings.ToUpper(first): "one",
				"//a.yaml?ref=HEAD":                      "two",
			} {
				data, err := fetcher.Fetch(t.Context(), at+below, limit)
				if err != nil || string(data) != want {
					t.Errorf("%s: got %q, %v", below, data, err)
				}
			}
			for below, words := range map[string]string{
				"//none": "there is no none", "//deep/none": "there is no none", "//none/a.yaml": "there is no none",
				"//deep": "a directory", "//deep/er": "a directory",
				"//a.yaml/b": "a file, not a directory", "//link": "symbolic link", "//out": "symbolic link",
				"//dirlink/er/b.yaml": "symbolic link", "//sub": "submodule",
				"//sub/a": "submodule", "//bin": "not UTF-8", "//large": "larger than",
				"//a.yaml?ref=none": "no branch or tag none", "//a.yaml?ref=" + first[:10]: "no branch or tag",
				"//a.yaml?ref=" + strings.Repeat("1", 40): "does not give that commit",
				"//.git/config": "there is no .git",
			} {
				_, err := fetcher.Fetch(t.Context(), at+below, limit)
				refused(t, err, words)
			}
		})
	}
}

// TestGitRefsAreNotTakenOver: a file of a tag is never read from a branch of the same name, also if the branch has the
// full name of the tag, or the digits of a commit.
func TestGitRefsAreNotTakenOver(t *testing.T) {
	r, first := sample(t)
	for _, branch := range []string{"light", "heavy", "refs/tags/none", first} {
		r.git("update-ref", "refs/heads/"+branch, "HEAD")
	}
	r.git("update-ref", "refs/heads/same", first)
	r.git("tag", "--annotate", "--message", "tag", "same", first)
	at, _, fetcher := r.serve(nil)
	for ref, want := range map[string]string{"refs/tags/light": "one", "refs/tags/heavy": "one", "refs/heads/light": "two",
		first: "one", "same": "one"} {
		if data, err := fetcher.Fetch(t.Context(), at+"//a.yaml?ref="+ref, limit); err != nil || string(data) != want {
			t.Errorf("%s: got %q, %v, want %q", ref, data, err, want)
		}
	}
	for ref, words := range map[string]string{"light": "a branch and a tag light with different commits",
		"heavy": "a branch and a tag heavy with different commits", "refs/tags/none": "no branch or tag"} {
		_, err := fetcher.Fetch(t.Context(), at+"//a.yaml?ref="+ref, limit)
		refused(t, err, words)
	}
}

// From a large repository only the file is sent, if the server supports that.
func TestGitReadsParts(t *testing.T) {
	r := newRepo(t)
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	r.write("small", "text").write("big", string(noise)).commit()
	at, packs, fetcher := r.serve(nil)
	budget := newBudget(20_000)
	data, err := fetcher.fetch(t.Context(), at+"//small", limit, budget)
	if err != nil || string(data) != "text" || packs.Load() != 2 {
		t.Fatalf("got %q, %v, with %d packs", data, err, packs.Load())
	}
}

// A server may advertise partial clones and then not support them.
func TestGitFallsBackToTheWhole(t *testing.T) {
	r := newRepo(t)
	r.write("a", "text").commit()
	posts := 0
	at, packs, fetcher := r.serve(func(w http.ResponseWriter, request *http.Request) bool {
		if request.Method != http.MethodPost {
			return false
		}
		if posts++; posts != 2 {
			return false
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		fmt.Fprint(w, "0045ERR upload-pack: not our ref "+strings.Repeat("1", 36))
		return true
	})
	if data, err := fetcher.Fetch(t.Context(), at+"//a", limit); err != nil ||
		string(data) != "text" || packs.Load() != 2 {
		t.Fatalf("got %q, %v, with %d packs", data, err, packs.Load())
	}
}

// Packs of real repositories contain many deltas.
func TestGitDeltas(t *testing.T) {
	r := newRepo(t)
	r.git("config", "uploadpack.allowFilter", "false")
	var lines []string
	for i := range 2000 {
		lines = append(lines, fmt.Sprintf("line %d", i*i))
	}
	for i := range 20 {
		lines[i*50] = "changed"
		r.write(fmt.Sprintf("files/%02d", i), strings.Join(lines, "\n"))
	}
	r.commit()
	r.git("repack", "-adfq", "--depth=50")
	at, _, fetcher := r.serve(nil)
	for i := range 20 {
		name := fmt.Sprintf("files/%02d", i)
		want, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if data, err := fetcher.Fetch(t.Context(), at+"//"+name, 100_000); err != nil || string(data) != string(want) {
			t.Fatalf("%s: got %d bytes, %v", name, len(data), err)
		}
	}
}

func TestGitServersThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		words  string
	}{
		"asks who": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
			"asks who wants to read"},
		"not there": {http.NotFound, "no such repository"},
		"busy": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
		}, "502 Bad Gateway"},
		"a page":  {page("text/html", "<!doctype html>"), "no git repository at that address"},
		"endless": {endless, ""},
		"away": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/"+r.URL.Path, http.StatusFound)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			at, fetcher := serve(t, c.answer)
			_, err := fetcher.Fetch(t.Context(), "git::"+at+"/o/r//a", limit)
			refused(t, err, c.words)
		})
	}
	t.Run("endless refs", func(t *testing.T) {
		at, fetcher := serve(t, endlessRefs)
		budget := newBudget(1 << 40)
		_, err := fetcher.fetch(t.Context(), "git::"+at+"/o/r//a", limit, budget)
		refused(t, err, "more is sent than may be read")
		if read := 1<<40 - budget.Remaining(); read > 16<<20+1 { // one more byte shows that there is more
			t.Errorf("%d bytes were read", read)
		}
	})
	t.Run("no commits", func(t *testing.T) {
		at, _, fetcher := newRepo(t).serve(nil)
		_, err := fetcher.Fetch(t.Context(), at+"//a", limit)
		refused(t, err, "empty")
	})
	t.Run("no packs", func(t *testing.T) {
		r, _ := sample(t)
		at, _, fetcher := r.serve(func(w http.ResponseWriter, request *http.Request) bool {
			if request.Method == http.MethodPost {
				fmt.Fprint(w, "<!doctype html>")
			}
			return request.Method == http.MethodPost
		})
		_, err := fetcher.Fetch(t.Context(), at+"//a.yaml", limit)
		refused(t, err, "no git repository's data")
	})
	t.Run("a pack of nothing", func(t *testing.T) {
		r, _ := sample(t)
		at, _, fetcher := r.serve(func(w http.ResponseWriter, request *http.Request) bool {
			if request.Method != http.MethodPost {
				return false
			}
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			pack := "\x01PACK\x00\x00\x00\x02\xff\xff\xff\xff"
			fmt.Fprintf(w, "00000008NAK\n%04x%s0000", 4+len(pack), pack)
			return true
		})
		_, err := fetcher.Fetch(t.Context(), at+"//a.yaml", limit)
		refused(t, err, "too large to look for a file in")
	})
}

func endlessRefs(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	fmt.Fprintf(w, "001e# service=git-upload-pack\n0000%04x%040x refs/heads/main\x00shallow\n", 4+40+1+15+1+7+1, 1)
	for i := 0; r.Context().Err() == nil; i++ {
		line := fmt.Sprintf("%040x refs/heads/%020d%s\n", i+1, i, strings.Repeat("x", 900))
		if _, err := fmt.Fprintf(w, "%04x%s", len(line)+4, line); err != nil {
			return
		}
	}
}

// The claims of a hostile repository are verified, not trusted.
func TestGitServersDoNotSpoolForever(t *testing.T) {
	r, _ := sample(t)
	at, _, fetcher := r.serve(nil)
	before, err := filepath.Glob(filepath.Join(os.TempDir(), "nuon-pack-*"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := fetcher.Fetch(t.Context(), at+"//a.yaml", limit); err != nil {
			t.Fatal(err)
		}
		_, _ = fetcher.Fetch(t.Context(), at+"//none", limit)
	}
	after, err := filepath.Glob(filepath.Join(os.TempDir(), "nuon-pack-*"))
	if err != nil || len(after) > len(before) {
		t.Fatalf("%d packs lie about, %v", len(after)-len(before), err)
	}
}
