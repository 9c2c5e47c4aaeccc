package catalog_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/configfetch"
	"github.com/nuon-toolkit/nuon/pkg/gittest"
)

// shelf is a server with one file, which can be removed.
type shelf struct {
	mu    sync.Mutex
	text  string
	asked int
	hook  func()
	url   string
	roots *x509.CertPool
}

func newShelf(t testing.TB, text string) *shelf {
	t.Helper()
	s := &shelf{text: text}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked++
		if s.hook != nil {
			s.hook()
		}
		if s.text == "" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, s.text)
	}))
	t.Cleanup(server.Close)
	s.url, s.roots = server.URL+"/readme.md?key=hunter2", x509.NewCertPool()
	s.roots.AddCert(server.Certificate())
	return s
}

func (s *shelf) put(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
}

func (s *shelf) metadata() string { return "version = \"v2\"\nreadme = \"" + s.url + "\"\n" }

func (s *shelf) fetcher() *configfetch.Fetcher {
	return configfetch.New(configfetch.Options{AllowPrivate: true, Roots: s.roots})
}

func readmeOf(t testing.TB, config []byte) appconfig.App {
	t.Helper()
	var app appconfig.App
	if err := json.Unmarshal(config, &app); err != nil {
		t.Fatal(err)
	}
	return app
}

// A file elsewhere is read once per sync. It makes a version when it changes, without any commit;
// while it is unavailable, the version stays.
func TestFilesFromElsewhere(t *testing.T) {
	away := newShelf(t, "one")
	repo := newRepo(t, "metadata.toml", away.metadata(), "components/a.toml", component("a", away.url),
		"components/b.toml", component("b", away.url))
	repo.Commit("start")
	b := newBench(t, filepath.Dir(repo.Dir))
	b.catalog.SetFetcher(away.fetcher())
	b.addApp(repo.URL(), ".", "")

	b.sync()
	_, version := b.row()
	if version == nil || version.Number != 1 || away.asked != 1 {
		app, _ := b.row()
		t.Fatalf("got %+v, %s; the file was asked for %d times", version, app.Diagnostics, away.asked)
	}
	config := readmeOf(t, version.Config)
	if config.Metadata.Readme != "one" || len(config.Remote) != 1 || config.Remote[0].Bytes != 3 ||
		!strings.HasPrefix(config.Remote[0].Digest, "sha256:") {
		t.Fatalf("got the readme %q and %+v", config.Metadata.Readme, config.Remote)
	}

	reconcile := func() {
		t.Helper()
		if err := b.catalog.Reconcile(t.Context(), b.org, b.app); err != nil {
			t.Fatal(err)
		}
	}
	away.put("two")
	reconcile()
	if _, version = b.row(); version.Number != 1 || away.asked != 1 {
		t.Fatalf("nobody asked for a sync, but the file was asked for %d times", away.asked)
	}
	b.sync()
	if _, version = b.row(); version.Number != 2 ||
		!strings.HasSuffix(version.Reason, "/readme.md changed, which the config refers to") ||
		strings.Contains(version.Reason, "hunter2") {
		t.Fatalf("got version %d: %s", version.Number, version.Reason)
	}

	away.put("")
	revision := b.sync()
	app, version := b.row()
	if version.Number != 2 || !strings.Contains(string(app.Diagnostics), "404 Not Found") ||
		!strings.Contains(string(app.Diagnostics), `"file": "metadata.toml"`) {
		t.Fatalf("got version %d and %s", version.Number, app.Diagnostics)
	}
	if !strings.Contains(revision.Outcome, "app version 2 stays") ||
		strings.Contains(revision.Outcome+string(app.Diagnostics), "hunter2") {
		t.Fatalf("got the outcome %q", revision.Outcome)
	}

	away.put("one")
	reconcile() // it is fetched again without a request
	app, version = b.row()
	if version.Number != 1 || strings.Contains(string(app.Diagnostics), `"error"`) {
		t.Fatalf("got version %d and %s", version.Number, app.Diagnostics)
	}
	asked := away.asked
	if reconcile(); away.asked != asked {
		t.Error("a file that was there is asked for again")
	}
}

func component(name, contents string) string {
	return fmt.Sprintf("name = %q\ntype = \"terraform_module\"\nterraform_version = \"1.11.4\"\n[public_repo]\nrepo = "+
		"\".\"\ndirectory = \"sandbox\"\n"+
		"[[var_file]]\ncontents = %q\n", name, contents)
}

// By default only public addresses are read, and no file of the control plane's machine.
func TestFilesThatTheServerDoesNotRead(t *testing.T) {
	away := newShelf(t, "one")
	for name, c := range map[string]struct{ reference, words string }{
		"private":    {away.url, "--allow-private-remotes"},
		"its own":    {"file:///etc/passwd", "only read where the config lies"},
		"a template": {"https://example.com/{{.nuon.install.id}}", "template"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.addApp("", ".", "")
			packed := archive(t, "metadata.toml", "version = \"v2\"\nreadme = \""+c.reference+"\"\n", "runner.toml",
				"runner_type = \"aws\"\n", "sandbox.toml", sandbox)
			found, err := b.upload(packed)
			if err != nil || !found.HasErrors() || !strings.Contains(found.String(), c.words) ||
				strings.Contains(found.String(), "hunter2") {
				t.Fatalf("got %v, %v", found, err)
			}
		})
	}
	if away.asked != 0 {
		t.Error("the private server was asked")
	}
}

// An upload includes the files that only its author's machine can read.
func TestFilesThatAnUploadCarries(t *testing.T) {
	const reference = "file:///home/ada/notes.md"
	elsewhere := gittest.New(t).Write("sandbox/main.tf", "")
	elsewhere.Commit("start")
	b := newBench(t, filepath.Dir(elsewhere.Dir))
	b.addApp("", ".", "")
	base := strings.Replace(sandbox, `repo = "."`, `repo = "`+elsewhere.URL()+`"`+"\nbranch = \"main\"", 1)
	packed := archive(t, "metadata.toml", "version = \"v2\"\nreadme = \""+reference+"\"\n", "runner.toml",
		"runner_type = \"aws\"\n", "sandbox.toml", base,
		configfetch.UploadPath(reference), "# Notes\n")
	found, err := b.upload(packed)
	if err != nil || found.HasErrors() {
		t.Fatalf("got %v, %v", found, err)
	}
	if _, version := b.row(); !strings.Contains(string(version.Config), "# Notes") {
		t.Errorf("got %s", version.Config)
	}
}

// A replica that stops while it reads reports no error of the config.
func TestStoppedWhileReading(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	away := newShelf(t, "one")
	away.hook = stop
	repo := newRepo(t, "metadata.toml", away.metadata())
	repo.Commit("start")
	b := newBench(t, filepath.Dir(repo.Dir))
	b.catalog.SetFetcher(away.fetcher())
	b.addApp(repo.URL(), ".", "")
	if _, err := b.catalog.SyncNow(ctx, b.org, b.app); err == nil {
		t.Fatal("it came to an end")
	}
	if app, _ := b.row(); string(app.Diagnostics) != "[]" || app.RevisionID != nil {
		t.Fatalf("got %s at %v", app.Diagnostics, app.RevisionID)
	}
}
