package build_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/catalog"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/registry"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// bench is a control plane from git to artifact with real Postgres, git and registry. Only the
// runner is simulated.
type bench struct {
	t        testing.TB
	dsn      string
	store    *store.Store
	org, app string
	repo     *gittest.Repo
	observer *observe.Observer
	catalog  *catalog.Catalog
	builder  *build.Builder
	vendor   build.Registry
	refuse   atomic.Bool // the registry answers 403
	// onPush, if it is set, is called with the digest of each manifest of a source before the registry gets it.
	onPush atomic.Pointer[func(repository, digest string)]
}

func newBench(t testing.TB, repo *gittest.Repo) *bench {
	t.Helper()
	b := &bench{t: t, dsn: storetest.DSN(t), repo: repo}
	var err error
	if b.store, err = store.Open(t.Context(), b.dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.store.Close)
	org, err := b.store.AddOrg(t.Context(), id.New("org"), "acme")
	if err != nil {
		t.Fatal(err)
	}
	b.org = org.ID
	b.vendor = b.serveRegistry()
	b.observer, b.catalog, b.builder = b.replica()
	return b
}

// replica adds another control plane on the same database.
func (b *bench) replica() (*observe.Observer, *catalog.Catalog, *build.Builder) {
	b.t.Helper()
	identity, err := seal.NewIdentity()
	if err != nil {
		b.t.Fatal(err)
	}
	observer := observe.New(b.store, identity, observe.Options{
		MirrorDir:        filepath.Join(b.t.TempDir(), "mirrors"),
		AllowFileRemotes: []string{filepath.Dir(filepath.Dir(filepath.Dir(b.repo.Dir)))},
	})
	builder := build.New(b.store, observer, b.vendor)
	return observer, catalog.New(b.store, observer, builder), builder
}

func (b *bench) serveRegistry() build.Registry {
	b.t.Helper()
	signer, err := registry.NewSigner([]byte("a server key of the test"))
	if err != nil {
		b.t.Fatal(err)
	}
	opened, err := registry.New(registry.Options{Dir: b.t.TempDir(), Signer: signer})
	if err != nil {
		b.t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.refuse.Load() {
			http.Error(w, `{"errors":[{"code":"DENIED","message":"no"}]}`, http.StatusForbidden)
			return
		}
		repository, digest, manifest := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/vendor/"), "/manifests/")
		if f := b.onPush.Load(); f != nil && manifest && r.Method == http.MethodPut {
			(*f)(repository, digest)
		}
		opened.ServeHTTP(w, r)
	}))
	b.t.Cleanup(func() {
		server.Close()
		if err := opened.Close(); err != nil {
			b.t.Error(err)
		}
	})
	token := signer.Issue("vendor", []string{registry.ActionPull, registry.ActionPush}, time.Now().Add(time.Hour))
	return build.Registry{
		Base: artifact.Reference{
			Host: strings.TrimPrefix(server.URL, "http://"), Repository: "vendor", PlainHTTP: true,
		},
		Credential: oci.Basic("test", token), Client: &http.Client{},
	}
}

func (b *bench) in(work func(context.Context, *store.Tx) error) {
	b.t.Helper()
	if err := b.store.InTx(b.t.Context(), b.org, work); err != nil {
		b.t.Fatal(err)
	}
}

// connect creates the app "hello" from the repository, and optionally a build runner.
func (b *bench) connect(runner bool) {
	b.t.Helper()
	b.app = id.New("app")
	b.in(func(ctx context.Context, tx *store.Tx) error {
		watch, err := b.observer.EnsureWatch(ctx, tx, b.repo.URL(), "main", "")
		if err != nil {
			return err
		}
		_, err = tx.AddApp(ctx, store.AddAppParams{
			OrgID: b.org, ID: b.app, Name: "hello", WatchID: &watch.ID, Directory: "app",
		})
		return err
	})
	if runner {
		b.addRunner()
	}
}

func (b *bench) addRunner() {
	b.t.Helper()
	b.in(func(ctx context.Context, tx *store.Tx) error {
		if _, _, err := runners.Create(ctx, tx, runners.NewRunner{
			Name: "build", Kind: runners.KindBuild,
		}); err != nil {
			return err
		}
		return b.builder.BuildRunnerAdded(ctx, tx)
	})
}

// sync polls the repository and returns the newest revision.
func (b *bench) sync() store.Revision {
	b.t.Helper()
	revision, err := b.catalog.SyncNow(b.t.Context(), b.org, b.app)
	if err != nil {
		b.t.Fatal(err)
	}
	if revision == nil {
		b.t.Fatal("there is no revision")
	}
	return *revision
}

// push commits, polls, and returns the new revision.
func (b *bench) push(message string) store.Revision {
	b.t.Helper()
	b.repo.Commit(message)
	return b.sync()
}

func (b *bench) component(name string) (component store.Component) {
	b.t.Helper()
	b.in(func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.ComponentsOfApp(ctx, b.org, b.app)
		for _, row := range rows {
			if row.Name == name {
				component = row
			}
		}
		return err
	})
	if component.ID == "" {
		b.t.Fatalf("there is no component %s", name)
	}
	return component
}

// builds returns a component's builds, the oldest first.
func (b *bench) builds(name string) (builds []store.Build) {
	b.t.Helper()
	component := b.component(name)
	b.in(func(ctx context.Context, tx *store.Tx) (err error) {
		builds, err = tx.BuildsOfComponent(ctx, b.org, component.ID)
		return err
	})
	return builds
}

func (b *bench) wantBuilds(want map[string]int) {
	b.t.Helper()
	for name, count := range want {
		if got := len(b.builds(name)); got != count {
			b.t.Errorf("component %s has %d builds, want %d", name, got, count)
		}
	}
}

func (b *bench) appRow() (app store.App) {
	b.t.Helper()
	b.in(func(ctx context.Context, tx *store.Tx) (err error) {
		app, err = tx.AppByID(ctx, b.org, b.app)
		return err
	})
	return app
}

// end simulates a runner that accepts a build and reports a result.
func (b *bench) end(built store.Build, result api.JobResult) {
	b.t.Helper()
	if built.JobID == nil {
		b.t.Fatalf("build %d has no job", built.Number)
	}
	spec, err := json.Marshal(b.job(built))
	if err != nil {
		b.t.Fatal(err)
	}
	job := store.Job{OrgID: b.org, ID: *built.JobID, OwnerKind: build.OwnerKind, OwnerID: built.ID, Spec: spec}
	b.in(func(ctx context.Context, tx *store.Tx) error { return b.builder.JobAccepted(ctx, tx, job) })
	b.in(func(ctx context.Context, tx *store.Tx) error { return b.builder.JobEnded(ctx, tx, job, result) })
}

// succeed simulates a runner that builds everything that is queued.
func (b *bench) succeed(names ...string) {
	b.t.Helper()
	for _, name := range names {
		for _, built := range b.builds(name) {
			if built.Status == "queued" {
				b.end(built, succeeded(b.org, built))
			}
		}
	}
}

func succeeded(org string, built store.Build) api.JobResult {
	return api.JobResult{Status: api.JobResultStatusSucceeded, Build: api.BuildResult{Artifact: api.ArtifactRef{
		Repository: org + "/builds/" + built.ComponentID, Digest: sha256digest.Of([]byte(built.ID)),
	}}}
}

// hello returns an app with a sandbox and two components, one of which calls a module beside it.
func hello(t testing.TB) *gittest.Repo {
	t.Helper()
	repo := gittest.New(t)
	repo.Write(
		"README.md", "# hello",
		"app/metadata.toml", "version = \"v2\"\ndisplay_name = \"Hello\"\n",
		"app/sandbox.toml",
		"terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/sandbox\"\n",
		"app/runner.toml", "runner_type = \"aws\"\n",
		"app/components/web.toml", component("web", "modules/web"),
		"app/components/metrics.toml", component("metrics", "modules/metrics"),
		"modules/sandbox/main.tf", "output \"region\" { value = \"here\" }\n",
		"modules/web/main.tf", "module \"shared\" {\n  source = \"../shared\"\n}\n",
		"modules/shared/main.tf", "output \"name\" { value = \"shared\" }\n",
		"modules/metrics/main.tf", "output \"port\" { value = 1 }\n",
	)
	repo.Commit("start")
	return repo
}

func component(name, directory string) string {
	return "name = \"" + name +
		"\"\ntype = \"terraform_module\"\nterraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\ndirectory = \"" +
		directory + "\"\n"
}
