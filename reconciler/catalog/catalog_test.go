package catalog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/catalog"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// asked counts the calls of the builder, which fail with err.
type asked struct {
	times int
	err   error
}

func (a *asked) Reconcile(context.Context, string, string) error {
	a.times++
	return a.err
}

type bench struct {
	t        testing.TB
	store    *store.Store
	org, app string
	observer *observe.Observer
	catalog  *catalog.Catalog
	asked    *asked
}

func newBench(t testing.TB, allowed ...string) *bench {
	t.Helper()
	s, org := storetest.New(t)
	identity, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, store: s, org: org.ID, asked: &asked{}}
	b.observer = observe.New(s, identity, observe.Options{
		MirrorDir: filepath.Join(t.TempDir(), "mirrors"), AllowFileRemotes: allowed,
	})
	b.catalog = catalog.New(s, b.observer, b.asked)
	return b
}

func (b *bench) in(work func(context.Context, *store.Tx) error) {
	b.t.Helper()
	if err := b.store.InTx(b.t.Context(), b.org, work); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) addApp(url, directory, credential string) {
	b.t.Helper()
	b.app = id.New("app")
	b.in(func(ctx context.Context, tx *store.Tx) error {
		app := store.AddAppParams{OrgID: b.org, ID: b.app, Name: "hello", Directory: directory}
		if url != "" {
			watch, err := b.observer.EnsureWatch(ctx, tx, url, "main", credential)
			if err != nil {
				return err
			}
			app.WatchID = &watch.ID
		}
		_, err := tx.AddApp(ctx, app)
		return err
	})
}

func (b *bench) row() (app store.App, version *store.AppVersion) {
	b.t.Helper()
	b.in(func(ctx context.Context, tx *store.Tx) (err error) {
		if app, err = tx.AppByID(ctx, b.org, b.app); err != nil || app.VersionID == nil {
			return err
		}
		row, err := tx.AppVersionByID(ctx, b.org, *app.VersionID)
		version = &row
		return err
	})
	return app, version
}

// upload uploads an archive of the app's directory, with an audit event.
func (b *bench) upload(packed []byte) (appconfig.Diagnostics, error) {
	return b.catalog.Upload(b.t.Context(), b.org, b.app, "uploaded by ada", bytes.NewReader(packed),
		func(ctx context.Context, tx *store.Tx) error { return tx.Audit(ctx, "ada", "app.upload", b.app, nil) })
}

func (b *bench) sync() *store.Revision {
	b.t.Helper()
	revision, err := b.catalog.SyncNow(b.t.Context(), b.org, b.app)
	if err != nil {
		b.t.Fatal(err)
	}
	return revision
}

const sandbox = "terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\ndirectory = \"sandbox\"\n"

func newRepo(t testing.TB, filesAndContents ...string) *gittest.Repo {
	t.Helper()
	return gittest.New(t).Write(append([]string{
		"metadata.toml", "version = \"v2\"\n", "sandbox.toml", sandbox, "runner.toml", "runner_type = \"aws\"\n",
	}, filesAndContents...)...)
}

func TestVersionsSayWhy(t *testing.T) {
	repo := newRepo(t)
	first := repo.Commit("start")
	b := newBench(t, filepath.Dir(repo.Dir))
	b.addApp(repo.URL(), ".", "")
	b.sync()
	app, version := b.row()
	if version == nil || version.Number != 1 ||
		version.Reason != "the first version, from commit "+first[:7]+` ("start")` || b.asked.times != 1 {
		t.Fatalf("got %+v, builds asked for %d times", version, b.asked.times)
	}
	var config appconfig.App
	if err := json.Unmarshal(version.Config, &config); err != nil || config.Digest() != version.Digest {
		t.Fatalf("the config that is kept is not the one that was read: %v", err)
	}
	// Reconcile again: nothing to read.
	if err := b.catalog.Reconcile(t.Context(), b.org, b.app); err != nil {
		t.Fatal(err)
	}
	if again, _ := b.row(); *again.VersionID != *app.VersionID {
		t.Fatal("nothing moved, but the version did")
	}
	second := repo.Write("metadata.toml", "version = \"v2\"\ndisplay_name = \"Hello\"\n").Commit("name it")
	b.sync()
	if _, version = b.row(); version.Number != 2 ||
		version.Reason != "commit "+second[:7]+` ("name it") changed metadata.toml` {
		t.Fatalf("got %+v", version)
	}
	repo.Git("revert", "--no-edit", "HEAD")
	b.sync()
	if _, version = b.row(); version.Number != 1 ||
		!strings.Contains(version.Reason, "set the config back to that of version 1") {
		t.Fatalf("got %+v", version)
	}
}

// An app is reconciled at intervals although nothing changed, because its builds may have been
// abandoned; a deleted app is not.
func TestAnAppIsLookedAtAgain(t *testing.T) {
	repo := newRepo(t)
	repo.Commit("start")
	b := newBench(t, filepath.Dir(repo.Dir))
	b.addApp(repo.URL(), ".", "")
	dueAt := func(app string) (at time.Time, due bool) {
		t.Helper()
		b.in(func(ctx context.Context, tx *store.Tx) (err error) {
			at, err = tx.DueOf(ctx, b.org, store.DueApp, app)
			due = err == nil
			if errors.Is(err, store.ErrNotFound) {
				err = nil
			}
			return err
		})
		return at, due
	}
	b.sync() // the caller of sync runs the builds itself, and may die before it does
	if at, due := dueAt(b.app); !due || at.After(time.Now().Add(time.Minute)) {
		t.Errorf("after it was taken in it is due: %t, at %s", due, at)
	}
	begun := time.Now()
	if err := b.catalog.Reconcile(t.Context(), b.org, b.app); err != nil {
		t.Fatal(err)
	}
	if at, due := dueAt(b.app); !due || at.Before(begun.Add(14*time.Minute)) ||
		at.After(time.Now().Add(15*time.Minute)) {
		t.Errorf("it is due: %t, at %s", due, at)
	}
	b.in(func(ctx context.Context, tx *store.Tx) error {
		return tx.SetDueIn(ctx, store.SetDueInParams{OrgID: b.org, Kind: store.DueApp, ID: "app_gone"})
	})
	if err := b.catalog.Reconcile(t.Context(), b.org, "app_gone"); err != nil {
		t.Fatal(err)
	}
	if _, due := dueAt("app_gone"); due {
		t.Error("an app that is gone is still due")
	}
}

func TestConfigsThatCannotBeUsed(t *testing.T) {
	repo := newRepo(t)
	good := repo.Commit("start")
	other := func(url string) string {
		return strings.Replace(sandbox, `repo = "."`, `repo = "`+url+`"`+"\nbranch = \"main\"", 1)
	}
	for name, c := range map[string]struct {
		change func()
		words  string
	}{
		"broken TOML": {func() { repo.Write("metadata.toml", "version = ") }, `"file": "metadata.toml"`},
		"no file":     {func() { repo.Remove("sandbox.toml") }, "sandbox"},
		"no directory": {
			func() { repo.Remove("metadata.toml", "sandbox.toml", "runner.toml").Write("x", "x") }, "metadata",
		},
		"a link as a file": {
			func() { repo.Remove("metadata.toml").Symlink("/etc/passwd", "metadata.toml") }, "link",
		},
		"a readme that leaves": {
			func() { repo.Write("metadata.toml", "version = \"v2\"\nreadme = \"../../secret\"\n") }, "../../secret",
		},
		"a file remote": {
			func() { repo.Write("sandbox.toml", other("file:///etc")) }, "is not below a directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo.Git("reset", "--quiet", "--hard", good)
			b := newBench(t, filepath.Dir(repo.Dir))
			b.addApp(repo.URL(), ".", "")
			b.sync()
			before, _ := b.row()
			c.change()
			repo.Commit("break it")
			revision := b.sync()
			after, _ := b.row()
			if *after.VersionID != *before.VersionID || !strings.Contains(string(after.Diagnostics), c.words) {
				t.Fatalf("got the diagnostics %s", after.Diagnostics)
			}
			if !strings.Contains(revision.Outcome, "app version 1 stays") {
				t.Errorf("the outcome is %q", revision.Outcome)
			}
			repo.Git("reset", "--quiet", "--hard", good)
			b.sync()
			if mended, version := b.row(); string(mended.Diagnostics) != "[]" || version.Number != 1 {
				t.Fatalf("got %s", mended.Diagnostics)
			}
		})
	}
	t.Run("never good", func(t *testing.T) {
		b := newBench(t, filepath.Dir(repo.Dir))
		b.addApp(repo.URL(), "nowhere", "")
		revision := b.sync()
		if app, version := b.row(); version != nil ||
			!strings.Contains(string(app.Diagnostics), "the directory nowhere is not in the repository") {
			t.Fatalf("got %s", app.Diagnostics)
		}
		if !strings.Contains(revision.Outcome, "there is no version yet") {
			t.Errorf("the outcome is %q", revision.Outcome)
		}
		b = newBench(t, filepath.Dir(repo.Dir))
		b.addApp(repo.URL(), "../../etc", "")
		b.sync()
		if app, version := b.row(); version != nil ||
			!strings.Contains(string(app.Diagnostics), "the directory ../../etc is not one inside the repository") {
			t.Fatalf("got %s", app.Diagnostics)
		}
	})
}

// TestLinksInTheRepository reads a config whose files are links to others of the repository, as if these were there.
func TestLinksInTheRepository(t *testing.T) {
	repo := newRepo(t, "apps/one/sandbox.toml", sandbox,
		"shared/metadata.toml", "version = \"v2\"\nreadme = \"./doc/READ.md\"\n",
		"shared/docs/READ.md", "# Linked")
	repo.Symlink("../../shared/metadata.toml", "apps/one/metadata.toml").Symlink("../../shared/docs", "apps/one/doc")
	repo.Commit("link")
	b := newBench(t, filepath.Dir(repo.Dir))
	b.addApp(repo.URL(), "apps/one", "")
	b.sync()
	app, version := b.row()
	if version == nil || !strings.Contains(string(version.Config), "# Linked") {
		t.Fatalf("got the diagnostics %s", app.Diagnostics)
	}
}

// A component of another repository is read with the app's credential only on the server that the
// credential is for.
func TestCredentialsStayWithTheirServer(t *testing.T) {
	component := func(name, url string) string {
		return "name = \"" + name +
			"\"\ntype = \"terraform_module\"\nterraform_version = \"1.11.4\"\n[connected_repo]\nrepo = \"" + url +
			"\"\nbranch = \"main\"\ndirectory = \"x\"\n"
	}
	repo := newRepo(t)
	server := repo.Serve("token", nil)
	repo.Write(
		"components/same.toml", component("same", server.Origin+"/other.git"),
		"components/else.toml", component("else", "https://evil.example.com/other"),
		"components/open.toml",
		strings.Replace(component("open", server.Origin+"/open.git"), "connected_repo", "public_repo", 1),
	).Commit("start")
	s, org := storetest.New(t)
	identity, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, store: s, org: org.ID, asked: &asked{}}
	b.observer = observe.New(s, identity, observe.Options{
		MirrorDir: filepath.Join(t.TempDir(), "mirrors"), AllowPrivate: true, Roots: server.Roots,
	})
	b.catalog = catalog.New(s, b.observer, b.asked)
	sealed, err := identity.Recipient().Seal(seal.Context{
		Org: org.ID, Kind: seal.KindCredential, Component: "crd_app",
	}, []byte("token"))
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(sealed)
	if err != nil {
		t.Fatal(err)
	}
	b.in(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.AddCredential(ctx, store.AddCredentialParams{
			OrgID: b.org, ID: "crd_app", Name: "app", Sealed: encoded, Repositories: []string{server.URL},
		})
		return err
	})
	b.addApp(server.URL, ".", "crd_app")
	app, _ := b.row()
	if err := b.observer.Poll(t.Context(), b.org, *app.WatchID); err != nil {
		t.Fatal(err)
	}
	if err := b.catalog.Reconcile(t.Context(), b.org, b.app); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	b.in(func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ComponentsOfApp(ctx, b.org, b.app)
		if err != nil {
			return err
		}
		for _, row := range rows {
			watch, err := tx.WatchByID(ctx, b.org, *row.WatchID)
			if err != nil {
				return err
			}
			seen[row.Name] = watch.CredentialID
		}
		return nil
	})
	if diff := cmp.Diff(
		map[string]string{"same": "crd_app", "else": "", "open": "", "sandbox": "crd_app"}, seen,
	); diff != "" {
		t.Fatal(diff)
	}
}

func archive(t testing.TB, pathsAndContents ...string) []byte {
	t.Helper()
	var files []artifact.File
	for i := 0; i < len(pathsAndContents); i += 2 {
		files = append(files, artifact.File{Path: pathsAndContents[i], Content: []byte(pathsAndContents[i+1])})
	}
	packed, err := artifact.Tarball(files, artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

func TestUpload(t *testing.T) {
	elsewhere := gittest.New(t).Write("sandbox/main.tf", "")
	elsewhere.Commit("start")
	b := newBench(t, filepath.Dir(elsewhere.Dir))
	b.addApp("", ".", "")
	upload := func(packed []byte) (appconfig.Diagnostics, error) { return b.upload(packed) }
	own := []string{
		"metadata.toml", "version = \"v2\"\n", "runner.toml", "runner_type = \"aws\"\n", "sandbox.toml", sandbox,
	}
	found, err := upload(archive(t, own...))
	if err != nil || !found.HasErrors() || !strings.Contains(found.String(), "this app was uploaded") {
		t.Fatalf("got %v, %v", found, err)
	}
	if app, version := b.row(); version != nil || !strings.Contains(string(app.Diagnostics), "this app was uploaded") {
		t.Fatalf("got %+v and %s", version, app.Diagnostics)
	}
	own[5] = strings.Replace(sandbox, `repo = "."`, `repo = "`+elsewhere.URL()+`"`+"\nbranch = \"main\"", 1)
	good := archive(t, own...)
	if found, err = upload(good); err != nil || found.HasErrors() {
		t.Fatalf("got %v, %v", found, err)
	}
	app, version := b.row()
	if version == nil || version.Number != 1 || version.Reason != "uploaded by ada" || b.asked.times != 1 ||
		string(app.Diagnostics) != "[]" {
		t.Fatalf("got %+v, builds asked for %d times", version, b.asked.times)
	}
	b.in(func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ComponentsOfApp(ctx, b.org, b.app)
		if err != nil {
			return err
		}
		watch, err := tx.WatchByID(ctx, b.org, *rows[0].WatchID)
		if watch.RevisionID == nil {
			t.Error("the sandbox's repository was not looked at")
		}
		return err
	})
	if _, err = upload(good); err != nil {
		t.Fatal(err)
	}
	if _, version = b.row(); version.Number != 1 {
		t.Fatalf("the same upload made version %d", version.Number)
	}
	linked, err := artifact.Tarball([]artifact.File{{Path: own[0], Content: []byte(own[1])},
		{Path: own[2], Content: []byte(own[3])}, {Path: own[4], Link: "shared/" + own[4]},
		{Path: "shared/" + own[4], Content: []byte(own[5])}}, artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if found, err = upload(linked); err != nil || found.HasErrors() {
		t.Fatalf("a linked file: %v, %v", found, err)
	}
	if _, version = b.row(); version.Number != 1 {
		t.Fatalf("the same files by a link made version %d", version.Number)
	}
	for name, packed := range map[string][]byte{
		"no archive": []byte("hello"),
		"empty":      nil,
		"a link out": linkOut(t),
	} {
		if _, err := upload(packed); !errors.Is(err, catalog.ErrArchive) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := b.catalog.SyncNow(t.Context(), b.org, b.app); !errors.Is(err, catalog.ErrUploaded) {
		t.Errorf("an uploaded app was synced: %v", err)
	}
	other := newBench(t, filepath.Dir(elsewhere.Dir))
	other.addApp(elsewhere.URL(), ".", "")
	b = other
	if _, err := upload(good); !errors.Is(err, catalog.ErrConnected) {
		t.Errorf("an upload for a connected app: %v", err)
	}
}

// TestAnUploadIsRecordedWhereItIsStored checks that an upload has its audit event although its builds fail afterwards:
// its version is stored, and built later.
func TestAnUploadIsRecordedWhereItIsStored(t *testing.T) {
	elsewhere := gittest.New(t).Write("sandbox/main.tf", "")
	elsewhere.Commit("start")
	b := newBench(t, filepath.Dir(elsewhere.Dir))
	b.addApp("", ".", "")
	b.asked.err = errors.New("the registry is down")
	events := func() (n int) {
		b.in(func(ctx context.Context, tx *store.Tx) error {
			all, err := tx.ViewAudit(ctx, store.ViewAuditParams{OrgID: b.org, Before: math.MaxInt64, Action: "app.upload",
				Subject: b.app, Most: 10})
			n = len(all)
			return err
		})
		return n
	}
	if _, err := b.upload([]byte("hello")); !errors.Is(err, catalog.ErrArchive) || events() != 0 {
		t.Errorf("what is no archive: %v, %d events", err, events())
	}
	packed := archive(t, "metadata.toml", "version = \"v2\"\n", "runner.toml", "runner_type = \"aws\"\n", "sandbox.toml",
		strings.Replace(sandbox, `repo = "."`, `repo = "`+elsewhere.URL()+`"`+"\nbranch = \"main\"", 1))
	if _, err := b.upload(packed); !errors.Is(err, b.asked.err) {
		t.Fatalf("an upload whose builds fail: %v", err)
	}
	if _, version := b.row(); version == nil || events() != 1 {
		t.Errorf("the version is %v, with %d events", version, events())
	}
}
