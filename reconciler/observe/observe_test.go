package observe_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/pkg/gittree"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/observe/observetest"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

func changed(t testing.TB, revision store.Revision) []string {
	t.Helper()
	if revision.ChangedPaths == nil {
		return nil
	}
	var paths []string
	if err := json.Unmarshal(revision.ChangedPaths, &paths); err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestPushesBecomeRevisions(t *testing.T) {
	repo := gittest.New(t).Write("README.md", "one", "modules/web/main.tf", "# web", "modules/web/old.tf", "# old")
	first := repo.Commit("start")
	for name, open := range map[string]func(*testing.T) (observe.Options, string){
		"file": func(*testing.T) (observe.Options, string) { return observetest.FileOptions(repo), repo.URL() },
		"https": func(*testing.T) (observe.Options, string) {
			server := repo.Serve("", nil)
			return observe.Options{AllowPrivate: true, Roots: server.Roots}, server.URL
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo.Git("reset", "--quiet", "--hard", first)
			options, url := open(t)
			b := observetest.New(t, options)
			b.Connect(url, "main", "")

			revision := b.MustPoll()
			if revision.Commit != first || revision.Number != 1 || revision.Forced || revision.ChangedPaths != nil ||
				revision.Author != "Ada" {
				t.Fatalf("the first revision is %+v", revision)
			}
			if _, again := b.Poll(); again.ID != revision.ID {
				t.Fatal("a look at an unmoved ref made a revision")
			}

			repo.Write("README.md", "two").Git("mv", "modules/web/old.tf", "modules/web/new.tf")
			repo.Commit("second")
			repo.Write("modules/web/main.tf", "# changed")
			third := repo.Commit("Third: \"quoted\"\n\nbody")
			revision = b.MustPoll()
			want := []string{"README.md", "modules/web/main.tf", "modules/web/new.tf", "modules/web/old.tf"}
			if diff := cmp.Diff(want, changed(t, revision)); diff != "" {
				t.Fatal(diff)
			}
			if revision.Previous != first || revision.Commit != third || revision.Forced || revision.Number != 2 {
				t.Fatalf("the second revision is %+v", revision)
			}
			if !strings.Contains(revision.Reason, "main moved from "+first[:7]+" to "+third[:7]) {
				t.Fatalf("the reason is %q", revision.Reason)
			}

			repo.Git("reset", "--quiet", "--hard", "HEAD~1")
			forced := repo.Write("modules/db/main.tf", "# db").Commit("instead")
			revision = b.MustPoll()
			if !revision.Forced || revision.Commit != forced ||
				!strings.Contains(revision.Reason, "was force-pushed from "+third[:7]) {
				t.Fatalf("the force-push is %+v", revision)
			}
			if diff := cmp.Diff([]string{"modules/db/main.tf", "modules/web/main.tf"}, changed(t, revision)); diff != "" {
				t.Fatal(diff)
			}

			repo.Git("reset", "--quiet", "--hard", "HEAD~1")
			if revision = b.MustPoll(); !revision.Forced {
				t.Fatalf("a branch that was set back is %+v", revision)
			}
		})
	}
}

// A push of more commits than the first fetch includes is still found to be a fast-forward.
func TestAPushOfManyCommits(t *testing.T) {
	repo := gittest.New(t)
	repo.Write("a", "0").Commit("start")
	server := repo.Serve("", nil)
	b := observetest.New(t, observe.Options{AllowPrivate: true, Roots: server.Roots})
	b.Connect(server.URL, "main", "")
	b.MustPoll()
	for i := range 20 {
		repo.Write("a", strings.Repeat("x", i+1)).Commit("more")
	}
	if revision := b.MustPoll(); revision.Forced || strings.Contains(revision.Reason, "too long") ||
		len(changed(t, revision)) != 1 {
		t.Fatalf("got %+v", revision)
	}
}

func TestTags(t *testing.T) {
	repo := gittest.New(t).Write("a", "1")
	first := repo.Commit("start")
	repo.Git("tag", "plain")
	repo.Git("tag", "--annotate", "--message", "a release", "v1")
	repo.Write("a", "2").Commit("later")
	server := repo.Serve("", nil)
	for _, url := range []string{repo.URL(), server.URL} {
		for _, ref := range []string{"plain", "v1", "refs/tags/v1", first} {
			options := observetest.FileOptions(repo)
			options.AllowPrivate, options.Roots = true, server.Roots
			b := observetest.New(t, options)
			b.Connect(url, ref, "")
			if revision := b.MustPoll(); revision.Commit != first {
				t.Errorf("%s of %s: got commit %s, want %s", ref, url, revision.Commit, first)
			}
			if _, again := b.Poll(); again.Number != 1 {
				t.Errorf("%s of %s: an unmoved tag made revision %d", ref, url, again.Number)
			}
		}
	}
}

func TestTroubleIsKeptInWordsAndGoesAway(t *testing.T) {
	repo := gittest.New(t)
	b := observetest.New(t, observetest.FileOptions(repo))
	b.Connect(repo.URL(), "main", "")
	b.PollFails("no commits yet")
	repo.Write("a", "1").Commit("start")
	revision := b.MustPoll()

	repo.Git("branch", "--move", "main", "trunk")
	b.PollFails(`no branch or tag "main"`, "push it")
	if _, still := b.Current(); still == nil || still.ID != revision.ID {
		t.Fatal("trouble took the revision away")
	}
	// The pause grows with the time since the last successful poll.
	b.Elapse(10 * time.Minute)
	b.PollFails("main")
	b.CheckPause("after ten minutes of trouble", 8*time.Minute, 12*time.Minute)
	repo.Git("branch", "--move", "trunk", "main")
	if watch, _ := b.Poll(); watch.Error != "" || watch.CheckedAt == nil {
		t.Fatalf("the trouble is over, but the watch says %q", watch.Error)
	}
	b.CheckPause("after the trouble", 50*time.Second, 70*time.Second)

	if err := os.Rename(repo.Dir, repo.Dir+".gone"); err != nil {
		t.Fatal(err)
	}
	b.PollFails("no such directory")
}

func TestServersThatDoNotAnswerWell(t *testing.T) {
	repo := gittest.New(t).Write("a", "1")
	repo.Commit("start")
	answer := func(status int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "\x1b[31msecret details", status)
			return true
		}
	}
	for name, c := range map[string]struct {
		before func(http.ResponseWriter, *http.Request) bool
		words  []string
	}{
		"401": {answer(401), []string{"credential"}},
		"403": {answer(403), []string{"read access"}},
		"404": {answer(404), []string{"does not exist"}},
		"500": {answer(500), []string{"HTTP status 500"}},
		"not git": {func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte("<html>hello</html>"))
			return true
		}, []string{"git repository"}},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "https://169.254.169.254/latest", http.StatusFound)
			return true
		}, []string{"redirects to https://169.254.169.254"}},
		"no pack": {func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost {
				return false
			}
			_, _ = w.Write([]byte("0008NAK\nPACK\x00\x00\x00\x02\x00\x00\x00\x05garbage"))
			return true
		}, []string{"cannot be read"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := repo.Serve("", c.before)
			b := observetest.New(t, observe.Options{AllowPrivate: true, Roots: server.Roots})
			b.Connect(server.URL, "main", "")
			b.PollFails(c.words...)
			if watch, revision := b.Current(); revision != nil || strings.Contains(watch.Error, "\x1b") {
				t.Fatalf("got revision %v and %q", revision, watch.Error)
			}
		})
	}
	t.Run("a certificate of nobody's", func(t *testing.T) {
		server := repo.Serve("", nil)
		b := observetest.New(t, observe.Options{AllowPrivate: true})
		b.Connect(server.URL, "main", "")
		b.PollFails("has a certificate that cannot be verified")
	})
	t.Run("nobody there", func(t *testing.T) {
		b := observetest.New(t, observe.Options{AllowPrivate: true})
		b.Connect("https://127.0.0.1:1/a", "main", "")
		b.PollFails("cannot be reached")
	})
	t.Run("a cloud's own address", func(t *testing.T) {
		b := observetest.New(t, observe.Options{AllowPrivate: true})
		for _, host := range []string{"169.254.169.254", "[fd00:ec2::254]", "[fe80::1]", "0.0.0.0",
			"[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]"} {
			b.Connect("https://"+host+"/a", "main", "")
			b.PollFails("no repository is read from there")
		}
	})
	t.Run("a private address", func(t *testing.T) {
		server := repo.Serve("", nil)
		b := observetest.New(t, observe.Options{Roots: server.Roots})
		b.Connect(server.URL, "main", "")
		b.PollFails("leads to this machine", "--allow-private-remotes")
	})
}

func TestCredentials(t *testing.T) {
	const token = "planted-token-8271"
	repo := gittest.New(t).Write("a", "1")
	repo.Commit("start")
	server := repo.Serve(token, nil)
	b := observetest.New(t, observe.Options{AllowPrivate: true, Roots: server.Roots})
	credential := func(password string) string {
		crd := id.New("crd")
		sealed, err := b.Identity.Recipient().Seal(seal.Context{Org: b.Org, Kind: seal.KindCredential, Component: crd},
			[]byte(password))
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(sealed)
		if err != nil {
			t.Fatal(err)
		}
		b.InTx(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.AddCredential(ctx,
				store.AddCredentialParams{OrgID: b.Org, ID: crd, Name: crd, Sealed: encoded,
					Repositories: []string{server.URL}})
			return err
		})
		return crd
	}
	b.Connect(server.URL, "main", "")
	b.PollFails("credential")
	b.Connect(server.URL, "main", credential("wrong"))
	b.PollFails("credential")
	b.Connect(server.URL, "main", credential(token))
	b.MustPoll()
	if err := filepath.WalkDir(b.Options.MirrorDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), token) {
			t.Errorf("the token is in the mirror's %s", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestCredentialsStayWithTheirRepositories: a credential is sent only to the repositories that it
// names, for any spelling of a URL, and follows no redirect to another one.
func TestCredentialsStayWithTheirRepositories(t *testing.T) {
	const token = "planted-token-8271"
	repo := gittest.New(t).Write("a", "1")
	repo.Commit("start")
	var shown sync.Map // the repositories that the token was sent to
	server := repo.Serve(token, func(w http.ResponseWriter, r *http.Request) bool {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if _, password, _ := r.BasicAuth(); password != "" {
			shown.Store(first, true)
		}
		switch first {
		case "moved.git":
			http.Redirect(w, r, strings.Replace(r.URL.String(), "/moved.git", "/victim.git", 1),
				http.StatusMovedPermanently)
		case "renamed.git":
			http.Redirect(w, r, strings.Replace(r.URL.String(), "/renamed.git", "/repo.git", 1),
				http.StatusMovedPermanently)
		default:
			return false
		}
		return true
	})
	b := observetest.New(t, observe.Options{AllowPrivate: true, Roots: server.Roots})
	sealed, err := b.Identity.Recipient().Seal(seal.Context{Org: b.Org, Kind: seal.KindCredential, Component: "crd_1"},
		[]byte(token))
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(sealed)
	if err != nil {
		t.Fatal(err)
	}
	b.InTx(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.AddCredential(ctx, store.AddCredentialParams{
			OrgID: b.Org, ID: "crd_1", Name: "forge", Sealed: encoded,
			Repositories: []string{server.Origin + "/repo.git", server.Origin + "/moved", server.Origin + "/renamed.git"},
		})
		return err
	})
	for path, words := range map[string]string{
		"/victim.git":         "the credential forge may not be used for " + server.Origin + "/victim.git",
		"/repo.git/../victim": "may not be used for",
		"/moved.git": "redirects to " + server.Origin + "/victim.git, for which the credential forge may " +
			"not be used",
	} {
		b.Connect(server.Origin+path, "main", "crd_1")
		b.PollFails(words, "nuon credentials update forge --add-repository")
	}
	for _, path := range []string{"/repo.git", "/renamed.git"} {
		b.Connect(server.Origin+path, "main", "crd_1")
		b.MustPoll()
	}
	// After its repositories are restricted, it is no longer sent.
	b.InTx(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.SetCredentialRepositories(ctx, []string{server.Origin + "/else"}, b.Org, "crd_1")
		return err
	})
	b.PollFails("may not be used for")
	var sent []string
	shown.Range(func(name, _ any) bool {
		sent = append(sent, name.(string))
		return true
	})
	slices.Sort(sent)
	if want := []string{"moved.git", "renamed.git", "repo.git"}; !slices.Equal(sent, want) {
		t.Errorf("the token was sent to %q, want %q", sent, want)
	}
}

func TestFileRemotesStayWhereTheyAreAllowed(t *testing.T) {
	allowed, outside := gittest.New(t), gittest.New(t)
	outside.Write("a", "1").Commit("start")
	allowed.Write("a", "1").Commit("start")
	below := filepath.Dir(allowed.Dir)
	if err := os.Symlink(outside.Dir, filepath.Join(below, "link")); err != nil {
		t.Fatal(err)
	}
	hidden := filepath.Join(below, "hidden")
	if err := os.Mkdir(hidden, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside.Dir, ".git"), filepath.Join(hidden, ".git")); err != nil {
		t.Fatal(err)
	}
	allowed.Git("worktree", "add", "--quiet", "-b", "side", filepath.Join(below, "worktree"))
	b := observetest.New(t, observe.Options{AllowFileRemotes: []string{below}})
	for url, word := range map[string]string{
		outside.URL():                    "is not below",
		"file:///nonexistent/anywhere":   "is not below",
		"file://" + below + "/link":      "is not below",
		"file://" + below + "/hidden":    "is not below",
		"file://" + below + "/../../etc": "is not below",
		"file://" + below + "/nothing":   "no such directory",
		"file://" + below + "/worktree":  "linked worktree",
		"file://" + below:                "not a git repository",
		"http://127.0.0.1/a":             "https://",
		"git@example.com:a/b":            "https://",
	} {
		if err := b.Observer.Check(url, "main"); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: got %v, want words with %q", url, err, word)
		}
	}
	if err := observetest.New(t, observe.Options{}).Observer.Check(allowed.URL(), "main"); err == nil ||
		!strings.Contains(err.Error(), "--allow-file-remotes") {
		t.Errorf("file:// without leave: got %v", err)
	}
	if err := b.Observer.Check(allowed.URL(), "main"); err != nil {
		t.Error(err)
	}
}

func TestTree(t *testing.T) {
	repo := gittest.New(t).Write("README.md", "hello", "modules/web/main.tf", "# web", "modules/web/sub/x.tf", "# x")
	repo.Write("run.sh", "#!/bin/sh\n").Git("add", "run.sh")
	repo.Git("update-index", "--chmod=+x", "run.sh")
	repo.Git("config", "core.fileMode", "false")
	repo.Symlink("../../README.md", "modules/web/link.md").Symlink("/etc/passwd", "passwd")
	repo.Commit("start")
	b := observetest.New(t, observetest.FileOptions(repo))
	b.Connect(repo.URL(), "main", "")
	revision := b.MustPoll()
	tree, err := b.Observer.Tree(t.Context(), b.Org, revision.ID)
	if err != nil {
		t.Fatal(err)
	}
	repo.Git("rm", "--quiet", "--cached", "modules/web/link.md", "passwd") // fstest opens all files that it finds
	repo.Remove("modules/web/link.md", "passwd").Commit("without links")
	plain, err := b.Observer.Tree(t.Context(), b.Org, b.MustPoll().ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(plain, "README.md", "modules/web/main.tf", "modules/web/sub/x.tf", "run.sh"); err != nil {
		t.Fatal(err)
	}
	if info, err := plain.Stat("run.sh"); err != nil || info.Mode() != 0o755 {
		t.Errorf("run.sh is %v, %v", info.Mode(), err)
	}

	for _, path := range []string{"passwd", "modules/web/link.md"} {
		if _, err := fs.ReadFile(tree, path); !errors.Is(err, gittree.ErrLink) {
			t.Errorf("%s was read: %v", path, err)
		}
		if _, err := tree.Open(path); !errors.Is(err, gittree.ErrLink) {
			t.Errorf("%s was opened: %v", path, err)
		}
		if info, err := fs.Stat(tree, path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is seen as %v, %v", path, info, err)
		}
	}
	if _, err := tree.Open("passwd/x"); !errors.Is(err, gittree.ErrLink) {
		t.Errorf("a path through a link: %v", err)
	}
	if target, err := tree.ReadLink("passwd"); err != nil || target != "/etc/passwd" {
		t.Errorf("got %q, %v", target, err)
	}
	want := repo.Git("rev-parse", revision.Commit+":modules/web")
	if hash, there := tree.Hash("modules/web"); !there || hash != want {
		t.Errorf("the hash of modules/web is %q, want %q", hash, want)
	}
	if hash, there := tree.Hash("."); !there || hash != revision.Tree {
		t.Errorf("the hash of the root is %q, want %q", hash, revision.Tree)
	}
	for _, missing := range []string{"nothing", "README.md", "../x", "modules/web/link.md"} {
		if _, there := tree.Hash(missing); there {
			t.Errorf("%s has a tree hash", missing)
		}
	}
	if tree.Err() != nil {
		t.Error(tree.Err())
	}
}

// A mirror is a cache: it may be lost or damaged at any time.
func TestLostAndDamagedMirrors(t *testing.T) {
	repo := gittest.New(t).Write("a", "1", "dir/b", "1")
	repo.Commit("start")
	server := repo.Serve("", nil)
	for name, url := range map[string]string{"file": repo.URL(), "https": server.URL} {
		for damage, do := range map[string]func(string) error{
			"gone":  os.RemoveAll,
			"empty": func(dir string) error { return errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)) },
			"without objects": func(dir string) error {
				return eachFile(dir, func(file string) error {
					if strings.Contains(file, "/objects/") {
						return os.Remove(file)
					}
					return nil
				})
			},
			"garbage": func(dir string) error {
				return eachFile(dir, func(file string) error {
					if strings.Contains(file, "/objects/") {
						return errors.Join(os.Chmod(file, 0o600), os.WriteFile(file, []byte("garbage"), 0o600))
					}
					return nil
				})
			},
		} {
			t.Run(name+"/"+damage, func(t *testing.T) {
				options := observetest.FileOptions(repo)
				options.AllowPrivate, options.Roots = true, server.Roots
				b := observetest.New(t, options)
				b.Connect(url, "main", "")
				first := b.MustPoll()
				mirrors, err := filepath.Glob(filepath.Join(b.Options.MirrorDir, b.Org, "*"))
				if err != nil || len(mirrors) != 1 {
					t.Fatalf("got the mirrors %v, %v", mirrors, err)
				}
				if err := do(mirrors[0]); err != nil {
					t.Fatal(err)
				}
				tree, err := b.Observer.Tree(t.Context(), b.Org, first.ID)
				if err != nil {
					t.Fatal(err)
				}
				if content, err := fs.ReadFile(tree, "dir/b"); err != nil || string(content) != "1" {
					t.Fatalf("read %q, %v", content, err)
				}
				if err := do(mirrors[0]); err != nil {
					t.Fatal(err)
				}
				repo.Write("dir/b", repo.Head()).Commit("next")
				second := b.MustPoll()
				if diff := cmp.Diff([]string{"dir/b"}, changed(t, second)); diff != "" {
					t.Fatal(diff)
				}
				repo.Git("reset", "--quiet", "--hard", first.Commit)
			})
		}
	}
}

func eachFile(dir string, do func(string) error) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return do(path)
	})
}

// A reader that finds damage returns an error that does not blame the repository, and the next
// reader gets a new mirror.
func TestDamageUnderAReader(t *testing.T) {
	repo := gittest.New(t).Write("a", "1")
	repo.Commit("start")
	b := observetest.New(t, observetest.FileOptions(repo))
	b.Connect(repo.URL(), "main", "")
	revision := b.MustPoll()
	tree, err := b.Observer.Tree(t.Context(), b.Org, revision.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(b.Options.MirrorDir); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(tree, "a"); !errors.Is(err, observe.ErrMirror) ||
		!errors.Is(tree.Err(), observe.ErrMirror) {
		t.Fatalf("got %v and %v, want ErrMirror", err, tree.Err())
	}
	if tree, err = b.Observer.Tree(t.Context(), b.Org, revision.ID); err != nil {
		t.Fatal(err)
	}
	if content, err := fs.ReadFile(tree, "a"); err != nil || string(content) != "1" {
		t.Fatalf("read %q, %v", content, err)
	}
}

// If the old commit no longer exists anywhere, the changed paths are unknown, and the revision
// has the reason.
func TestACommitThatIsGoneEverywhere(t *testing.T) {
	t.Run("file", func(t *testing.T) { testACommitThatIsGone(t, func(repo *gittest.Repo) string { return repo.URL() }) })
	t.Run("https", func(t *testing.T) {
		testACommitThatIsGone(t, func(repo *gittest.Repo) string { return repo.Serve("", nil).URL })
	})
}

func testACommitThatIsGone(t *testing.T, address func(*gittest.Repo) string) {
	repo := gittest.New(t).Write("a", "1")
	repo.Commit("start")
	options := observetest.FileOptions(repo)
	options.AllowPrivate, options.Roots = true, repo.Serve("", nil).Roots
	b := observetest.New(t, options)
	b.Connect(address(repo), "main", "")
	first := b.MustPoll()
	if err := os.RemoveAll(b.Options.MirrorDir); err != nil {
		t.Fatal(err)
	}
	repo.Write("a", "2").Git("commit", "--quiet", "--all", "--amend", "--message", "other")
	repo.Git("reflog", "expire", "--expire=now", "--all")
	repo.Git("gc", "--quiet", "--prune=now")
	revision := b.MustPoll()
	if revision.ChangedPaths != nil || !revision.Forced ||
		!strings.Contains(revision.Reason, "what changed is not known") {
		t.Fatalf("got %+v", revision)
	}
	if _, err := b.Observer.Tree(t.Context(), b.Org, first.ID); err == nil ||
		!strings.Contains(err.Error(), "does not serve this commit") {
		t.Fatalf("got %v", err)
	}
}

// Two replicas that poll at the same moment create one revision.
func TestTwoReplicas(t *testing.T) {
	repo := gittest.New(t).Write("a", "1")
	repo.Commit("start")
	b := observetest.New(t, observetest.FileOptions(repo))
	b.Connect(repo.URL(), "main", "")
	options := b.Options
	options.MirrorDir = filepath.Join(t.TempDir(), "mirrors")
	other := observe.New(b.Store, b.Identity, options)
	for round := range 5 {
		repo.Write("a", strings.Repeat("x", round+2)).Commit("more")
		var wait sync.WaitGroup
		for _, observer := range []*observe.Observer{b.Observer, other, b.Observer, other} {
			wait.Go(func() {
				if err := observer.Poll(t.Context(), b.Org, b.Watch); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if _, revision := b.Current(); int(revision.Number) != round+1 || revision.Commit != repo.Head() {
			t.Fatalf("round %d ended with revision %d", round, revision.Number)
		}
	}
}

// A watch without readers is not polled.
func TestUnwatched(t *testing.T) {
	repo := gittest.New(t).Write("a", "1")
	repo.Commit("start")
	b := observetest.New(t, observetest.FileOptions(repo))
	b.InTx(func(ctx context.Context, tx *store.Tx) error {
		watch, err := b.Observer.EnsureWatch(ctx, tx, repo.URL(), "main", "")
		b.Watch = watch.ID
		return err
	})
	if _, revision := b.Poll(); revision != nil {
		t.Fatal("a watch that nobody reads was polled")
	}
	b.InTx(func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.DueOf(ctx, b.Org, store.DueWatch, b.Watch); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("it is still due: %v", err)
		}
		return nil
	})
}

// Trees that a git client would never create are rejected, and nothing of them is read.
func TestHostileTrees(t *testing.T) {
	repo := gittest.New(t).Write("a", "1")
	repo.Commit("start")
	b := observetest.New(t, observetest.FileOptions(repo))
	b.Connect(repo.URL(), "main", "")
	b.MustPoll()
	blob := repo.Git("rev-parse", "HEAD:a")
	for _, name := range []string{"..", ".git", "a\\b"} {
		tree := mktree(t, repo, "100644 blob "+blob+"\t"+name)
		repo.Git("update-ref", "refs/heads/main", repo.Git("commit-tree", "-p", "HEAD", "-m", "evil", tree))
		b.PollFails("rename it")
	}
	// Ten levels, each containing the next one ten times: ten billion files in a few hundred bytes.
	tree := mktree(t, repo, "100644 blob "+blob+"\tf")
	for range 10 {
		var lines []string
		for _, name := range strings.Split("abcdefghij", "") {
			lines = append(lines, "040000 tree "+tree+"\t"+name)
		}
		tree = mktree(t, repo, lines...)
	}
	repo.Git("update-ref", "refs/heads/main", repo.Git("commit-tree", "-p", "HEAD", "-m", "bomb", tree))
	b.PollFails("more than 500000 files")
}

// A file that compresses to almost nothing is rejected before it takes memory, from a server and
// from this machine alike. A smaller one becomes a revision.
func TestPackBombs(t *testing.T) {
	repo := gittest.New(t).Write("a", "1")
	repo.Commit("start")
	first := repo.Git("rev-parse", "HEAD")
	if err := os.Truncate(filepath.Join(repo.Dir, "a"), 200<<20); err != nil {
		t.Fatal(err)
	}
	repo.Git("add", "--all")
	repo.Commit("bomb")
	server := repo.Serve("", nil)
	for name, c := range map[string]struct {
		url     string
		options observe.Options
	}{
		"https": {server.URL, observe.Options{AllowPrivate: true, Roots: server.Roots}},
		"file":  {repo.URL(), observetest.FileOptions(repo)},
	} {
		t.Run(name, func(t *testing.T) {
			repo.Git("update-ref", "refs/heads/side", "main")
			b := observetest.New(t, c.options)
			b.Connect(c.url, "side", "")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b.PollFails("sends more than may be read (a file of more than 64 MiB)")
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
				t.Errorf("%d bytes were allocated", took)
			}
			repo.Git("update-ref", "refs/heads/side", first)
			b.MustPoll()
		})
	}
}

// An app that starts to read a watch while it is being taken off the due list puts it back.
func TestAWatchThatIsReadAgain(t *testing.T) {
	repo := gittest.New(t).Write("a", "1")
	repo.Commit("start")
	b := observetest.New(t, observetest.FileOptions(repo))
	b.InTx(func(ctx context.Context, tx *store.Tx) error {
		watch, err := b.Observer.EnsureWatch(ctx, tx, repo.URL(), "main", "")
		b.Watch = watch.ID
		return err
	})
	polled := make(chan error, 1)
	b.InTx(func(ctx context.Context, tx *store.Tx) error {
		watch, err := b.Observer.EnsureWatch(ctx, tx, repo.URL(), "main", "")
		if err != nil {
			return err
		}
		go func() { polled <- b.Observer.Poll(t.Context(), b.Org, b.Watch) }()
		select { // it waits for this transaction; otherwise it would be done by now
		case err := <-polled:
			t.Errorf("nobody was waited for: %v", err)
			polled <- err
		case <-time.After(200 * time.Millisecond): //walltime: nothing says that nothing comes
		}
		_, err = tx.AddApp(ctx, store.AddAppParams{OrgID: b.Org, ID: id.New("app"), Name: "hello", WatchID: &watch.ID,
			Directory: "."})
		return err
	})
	if err := <-polled; err != nil {
		t.Fatal(err)
	}
	if _, revision := b.Current(); revision == nil {
		t.Error("the watch was not looked at")
	}
	b.UntilDue() // fails if it is not due
}
