package observe_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/observe/observetest"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

func TestParseGitMirrors(t *testing.T) {
	for entry, want := range map[string]string{
		"https://github.com/=https://git.example/github/":   "",
		"https://GitHub.com=file:///srv/git":                "",
		"https://github.com/acme=http://127.0.0.1:8080/git": "",
		"https://github.com/acme=http://localhost/git":      "",
		"https://github.com":                                "has no =",
		"https://github.com/=http://git.example/":           "http:// would send",
		"http://github.com/=https://git.example/":           "is not a prefix of https:// URLs",
		"https:///=https://git.example/":                    "names no repository",
		"https://github.com/=git@git.example":               "over https:// only",
		"https://github.com/=https://vera:x@git.example/":   "holds a user name or a password",
		"https://github.com/a/../b=https://git.example/":    "empty or dot segments",
		"https://github.com/=https://git.example//x":        "empty or dot segments",
	} {
		_, err := observe.ParseGitMirrors([]string{entry})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", entry, err, want)
		}
	}
	_, err := observe.ParseGitMirrors([]string{"https://github.com/=https://a.example/x",
		"https://github.com=https://b.example/x"})
	if err == nil || !strings.Contains(err.Error(), "has two mirrors") {
		t.Errorf("two mirrors of one server: %v", err)
	}
}

func mirrors(t *testing.T, entries ...string) []observe.GitMirror {
	t.Helper()
	parsed, err := observe.ParseGitMirrors(entries)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestGitMirror reads repositories of a server that does not exist from mirrors: over https, although
// private addresses are not allowed, and from a directory, although file:// is not.
func TestGitMirror(t *testing.T) {
	forge, local := gittest.New(t).Write("a", "forge"), gittest.New(t).Write("a", "local")
	forge.Commit("start")
	local.Commit("start")
	server := forge.Serve("", nil)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "acme"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(local.Dir, filepath.Join(dir, "acme", "shop.git")); err != nil {
		t.Fatal(err)
	}
	local.Dir = filepath.Join(dir, "acme", "shop.git")
	b := observetest.New(t, observe.Options{Roots: server.Roots, GitMirrors: mirrors(t,
		"https://forge.invalid/=file://"+dir, "https://forge.invalid/acme/web="+server.URL)})
	for url, want := range map[string]string{
		"https://forge.invalid/acme/shop.git": local.Head(), // the shorter prefix
		"https://forge.invalid/acme/web":      forge.Head(), // the longer one, with either spelling
		"https://forge.invalid/acme/web.git":  forge.Head(),
		"https://FORGE.invalid/acme/web":      forge.Head(),
	} {
		b.Connect(url, "main", "")
		if revision := b.MustPoll(); revision.Commit != want {
			t.Errorf("%s: commit %s, want %s", url, revision.Commit, want)
		}
		if watch, _ := b.Current(); !strings.HasPrefix(watch.URL, "https://forge.invalid/") {
			t.Errorf("%s is stored as %s", url, watch.URL)
		}
	}
	for url, words := range map[string][]string{
		// Only whole segments of a path match.
		"https://forge.invalid/acme/website": {"https://forge.invalid/acme/website (read from its mirror file://" + dir +
			"/acme/website): there is no such directory"},
		"https://forge.invalid/acme/../../etc": {"empty or dot segments"},
		"https://forge.invalid/acme/%2e%2e/x":  {"empty or dot segments"},
		"https://forge.invalid.example/acme":   {"forge.invalid.example"},
	} {
		b.Connect(url, "main", "")
		b.PollFails(words...)
	}
	// file:// stays closed to those who write configs, and a link does not lead out of the mirror.
	if err := b.Observer.CheckForm(local.URL(), "main"); err == nil {
		t.Error("a mirror on this machine allows file:// for everybody")
	}
	if err := os.Symlink(forge.Dir, filepath.Join(dir, "acme", "out")); err != nil {
		t.Fatal(err)
	}
	b.Connect("https://forge.invalid/acme/out", "main", "")
	b.PollFails("is not below a directory")
}

// TestCredentialsAreNotSentToMirrors: the credential of a repository is sent to its mirror only if it
// names the mirror's repository as well.
func TestCredentialsAreNotSentToMirrors(t *testing.T) {
	const token = "planted-token-5521"
	repo := gittest.New(t).Write("a", "1")
	repo.Commit("start")
	var sent sync.Map
	server := repo.Serve(token, func(_ http.ResponseWriter, r *http.Request) bool {
		if _, password, _ := r.BasicAuth(); password != "" {
			sent.Store(password, true)
		}
		return false
	})
	b := observetest.New(t, observe.Options{Roots: server.Roots,
		GitMirrors: mirrors(t, "https://forge.invalid/acme/web="+server.URL)})
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
		_, err := tx.AddCredential(ctx, store.AddCredentialParams{OrgID: b.Org, ID: "crd_1", Name: "forge", Sealed: encoded,
			Repositories: []string{"https://forge.invalid/*"}})
		return err
	})
	b.Connect("https://forge.invalid/acme/web", "main", "crd_1")
	b.PollFails("https://forge.invalid/acme/web (read from its mirror "+server.URL+")", "requires a credential")
	if _, leaked := sent.Load(token); leaked {
		t.Fatal("the mirror received the credential of the server that it mirrors")
	}
	b.InTx(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.SetCredentialRepositories(ctx, []string{"https://forge.invalid/*", server.URL}, b.Org, "crd_1")
		return err
	})
	b.MustPoll()
}
