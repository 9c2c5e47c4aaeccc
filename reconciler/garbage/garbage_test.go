package garbage_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/garbage"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// world is an org with the app "shop", whose component "api" has builds, and a registry.
type world struct {
	*testing.T
	store     *store.Store
	db        *pgx.Conn // as its owner
	base      artifact.Reference
	collector *garbage.Collector
	builds    int
}

const org = "org_1"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, base: ocitest.Registry(t)}
	dsn := storetest.DSN(t)
	var err error
	if w.store, err = store.Open(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.store.Close)
	if w.db, err = pgx.Connect(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.db.Close(context.WithoutCancel(t.Context())) })
	if _, err := w.store.AddOrg(t.Context(), org, "one"); err != nil {
		t.Fatal(err)
	}
	w.exec("insert into apps (org_id, id, name) values ('org_1', 'app', 'shop')")
	w.exec("insert into components (org_id, id, app_id, name, kind) values ('org_1', 'cmp', 'app', 'api', 'helm_chart')")
	w.use(w.base)
	return w
}

// use makes the collector delete from a registry.
func (w *world) use(base artifact.Reference) {
	w.collector = garbage.New(w.store, garbage.Registry{Base: base, Client: &http.Client{}})
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.db.Exec(context.WithoutCancel(w.Context()), sql, args...); err != nil {
		w.Fatalf("%s: %v", sql, err)
	}
}

// repository opens a repository of the component.
func (w *world) repository(name string) *oci.Repository {
	w.Helper()
	opened, err := oci.Open(w.base.Child(name), oci.Credential{})
	if err != nil {
		w.Fatal(err)
	}
	return opened
}

// push stores an artifact with a text, and returns its digest.
func (w *world) push(repository, text string) string {
	w.Helper()
	packed, err := artifact.Pack(artifact.MediaTerraform, []artifact.File{{Path: "main.tf", Content: []byte(text)}},
		map[string]string{artifact.AnnotationKind: "terraform_module"}, artifact.Limits{})
	if err != nil {
		w.Fatal(err)
	}
	digest, err := w.repository(repository).Push(w.Context(), packed)
	if err != nil {
		w.Fatal(err)
	}
	return digest
}

// build adds a build that ended two days ago, of an input of the same name, and returns the digests of its
// artifact and its source, which it pushes.
func (w *world) build(name, artifactText, sourceText string) (artifactDigest, sourceDigest string) {
	w.Helper()
	artifactDigest = w.push(build.ArtifactRepository(org, "cmp"), artifactText)
	sourceDigest = w.push(build.SourceRepository(org, "cmp"), sourceText)
	w.builds++
	w.exec("insert into component_inputs (org_id, id, component_id, digest, recipe, reason) values ('org_1', $1, 'cmp', "+
		"$1, '{}', 'r')", name)
	w.exec("insert into builds (org_id, id, component_id, input_id, number, status, repository, commit, source_digest, "+
		"source_bytes, artifact_digest, artifact_bytes, reason, created_at, ended_at) values ('org_1', $1, 'cmp', $1, $2, "+
		"'succeeded', '', '', $3, 10, $4, 1000, 'r', now() - interval '2 days', now() - interval '2 days')",
		name, w.builds, sourceDigest, artifactDigest)
	return artifactDigest, sourceDigest
}

// release puts an input into a release.
func (w *world) release(input string) {
	w.exec("insert into app_versions (org_id, id, app_id, number, digest, config, reason) values ('org_1', 'ver', " +
		"'app', 1, 'd', '{}', 'r')")
	w.exec("insert into releases (org_id, id, app_id, number, digest, version_id, status, cause) values ('org_1', " +
		"'rel', 'app', 1, 'd', 'ver', 'complete', 'c')")
	w.exec("insert into release_components (org_id, release_id, component_id, input_id) values ('org_1', 'rel', 'cmp', "+
		"$1)", input)
}

// collect runs the collector for what is older than a day.
func (w *world) collect(dryRun bool) api.RegistryCollection {
	w.Helper()
	made, err := w.collector.Collect(w.Context(), org, "vera", garbage.DefaultAge, dryRun)
	if err != nil {
		w.Fatal(err)
	}
	return made
}

// has reports whether the registry has content.
func (w *world) has(repository, digest string) bool {
	w.Helper()
	there, err := w.repository(repository).Has(w.Context(), digest)
	if err != nil {
		w.Fatal(err)
	}
	return there
}

// shown returns what a collection says about each content, by build.
func shown(made api.RegistryCollection) map[string]string {
	all := map[string]string{}
	for _, g := range made.Garbage {
		all[fmt.Sprintf("%s %d", g.Kind, g.Build)] = string(g.Status)
	}
	return all
}

var artifacts, sources = build.ArtifactRepository(org, "cmp"), build.SourceRepository(org, "cmp")

// TestWhatIsDeleted has a build for each reason to keep it, and one that nothing needs.
func TestWhatIsDeleted(t *testing.T) {
	w := newWorld(t)
	unneeded, unneededSource := w.build("unneeded", "a1", "s1")
	kept := map[string]string{}
	keep := func(name string) { kept[name], _ = w.build(name, "a of "+name, "s of "+name) }
	for _, name := range []string{"released", "current", "installed", "used", "recent"} {
		keep(name)
	}
	shared, sharedSource := w.build("same content as released", "a of released", "s of recent")
	w.release("released")
	w.exec("update components set input_id = 'current'")
	w.exec("insert into runners (org_id, id, name, kind) values ('org_1', 'run', 'run', 'install')")
	w.exec("insert into installs (org_id, id, app_id, name, runner_id) values ('org_1', 'ins', 'app', 'ins', 'run')")
	w.exec("insert into install_components (org_id, id, install_id, component_id, name, applied_artifact) values "+
		"('org_1', 'ico', 'ins', 'cmp', 'api', $1)", kept["installed"])
	w.exec("insert into jobs (org_id, id, runner_id, kind, status, owner_kind, owner_id, spec, reason) values ('org_1', "+
		"'job', 'run', 'sync', 'queued', 'step', 'stp', jsonb_build_object('digest', $1::text), 'r')", kept["used"])
	w.exec("update builds set ended_at = now() where id = 'recent'")

	want := map[string]string{"artifact 1": "unneeded", "source 1": "unneeded", "source 2": "unneeded",
		"source 4": "unneeded", "source 5": "unneeded"}
	dry := w.collect(true)
	if diff := cmp.Diff(want, shown(dry)); diff != "" {
		t.Errorf("a dry run (-want +got):\n%s", diff)
	}
	reasons := map[string]int{}
	for _, k := range dry.Kept {
		reasons[k.Reason] += k.Artifacts
	}
	if diff := cmp.Diff(map[string]int{"a release has it": 1, "it is the newest of the component": 1,
		"an install has it": 1, "work in progress uses it": 1, "it is too new": 1}, reasons); diff != "" {
		t.Errorf("what is kept (-want +got):\n%s", diff)
	}
	if !w.has(artifacts, unneeded) || !w.has(sources, unneededSource) {
		t.Error("the dry run deleted something")
	}
	for of := range want {
		want[of] = "deleted"
	}
	if diff := cmp.Diff(want, shown(w.collect(false))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w.has(artifacts, unneeded) || w.has(sources, unneededSource) {
		t.Error("what nothing needs is still there")
	}
	for name, digest := range kept {
		if !w.has(artifacts, digest) {
			t.Errorf("the artifact of %s was deleted", name)
		}
	}
	if !w.has(artifacts, shared) || !w.has(sources, sharedSource) {
		t.Error("content that another build needs was deleted")
	}
	if again := shown(w.collect(false)); len(again) > 0 {
		t.Errorf("a second run deletes %v", again)
	}
}

func TestARunningBuildKeepsItsComponent(t *testing.T) {
	w := newWorld(t)
	digest, _ := w.build("unneeded", "a1", "s1")
	w.build("running", "a2", "s2")
	w.exec("update builds set status = 'running', ended_at = null, artifact_digest = '' where id = 'running'")
	if got := shown(w.collect(false)); got["artifact 1"] != "needed" || !w.has(artifacts, digest) {
		t.Errorf("it may push the same artifact: %v", got)
	}
}

// TestNeededAgain makes content needed after it was found unneeded.
func TestNeededAgain(t *testing.T) {
	w := newWorld(t)
	digest, _ := w.build("unneeded", "a1", "s1")
	closed := httptest.NewServer(nil)
	closed.Close()
	w.use(artifact.Reference{Host: strings.TrimPrefix(closed.URL, "http://"), PlainHTTP: true})
	if got := shown(w.collect(false)); got["artifact 1"] != "failed" {
		t.Fatalf("without a registry: %v", got)
	}
	w.build("same content", "a1", "s2")
	w.release("same content")
	w.use(w.base)
	if got := shown(w.collect(false)); got["artifact 1"] != "needed" || got["source 1"] != "deleted" ||
		!w.has(artifacts, digest) {
		t.Errorf("%v", got)
	}
}

func TestARegistryThatDoesNotDelete(t *testing.T) {
	w := newWorld(t)
	digest, _ := w.build("unneeded", "a1", "s1")
	there, _ := artifact.ParseReference(w.base.Host+"/x", true)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			rw.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		http.Redirect(rw, r, "http://"+there.Host+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	w.use(artifact.Reference{Host: strings.TrimPrefix(server.URL, "http://"), PlainHTTP: true})
	made := w.collect(false)
	if !strings.Contains(made.Unsupported, "lets no client delete") || shown(made)["artifact 1"] != "unneeded" ||
		made.More {
		t.Errorf("%+v", made)
	}
	w.use(w.base)
	if got := shown(w.collect(false)); got["artifact 1"] != "deleted" || w.has(artifacts, digest) {
		t.Errorf("with a registry that deletes: %v", got)
	}
}

func TestDeletedApps(t *testing.T) {
	w := newWorld(t)
	digest, source := w.build("released", "a1", "s1")
	w.release("released")
	if err := w.store.InTx(t.Context(), org, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.DropApp(ctx, org, "app")
		return errors.Join(garbage.Forget(ctx, tx, "app"), err)
	}); err != nil {
		t.Fatal(err)
	}
	if got := shown(w.collect(true)); len(got) != 0 {
		t.Errorf("what was deleted before it was recorded is known: %v", got)
	}
	w.exec("insert into apps (org_id, id, name) values ('org_1', 'app', 'shop')")
	w.exec("insert into components (org_id, id, app_id, name, kind) values ('org_1', 'cmp', 'app', 'api', 'helm_chart')")
	w.build("released", "a1", "s1")
	w.release("released")
	if err := w.store.InTx(t.Context(), org, func(ctx context.Context, tx *store.Tx) error {
		if err := garbage.Forget(ctx, tx, "app"); err != nil {
			return err
		}
		_, err := tx.DropApp(ctx, org, "app")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := shown(w.collect(false)); len(got) != 2 || w.has(artifacts, digest) || w.has(sources, source) {
		t.Errorf("of a deleted app: %v", got)
	}
}

// TestImagesThatShareContent deletes one of two images that share the image of one platform.
func TestImagesThatShareContent(t *testing.T) {
	w := newWorld(t)
	repository := w.repository(artifacts)
	platform := func(name string) artifact.RawManifest {
		return w.manifest(repository, artifact.MediaImageManifest, map[string]any{
			"config": ocitest.PutBlob(t, repository, "application/vnd.oci.image.config.v1+json", []byte("{}")),
			"layers": []any{ocitest.PutBlob(t, repository, "application/vnd.oci.image.layer.v1.tar", []byte(name))},
		})
	}
	one, two, both := platform("one"), platform("two"), platform("both")
	first, firstIndex := w.image(repository, "first", one, both)
	second, secondIndex := w.image(repository, "second", two, both)
	for name, digest := range map[string]string{"first": first, "second": second} {
		w.build(name, "unused "+name, "s of "+name)
		w.exec("update builds set artifact_digest = $2 where id = $1", name, digest)
	}
	w.release("second")
	w.collect(false)
	for name, test := range map[string]struct {
		digest string
		left   bool
	}{
		"the artifact": {first, false}, "its index": {firstIndex, false}, "its platform": {one.Digest, false},
		"the other artifact": {second, true}, "the other index": {secondIndex, true},
		"the other platform":  {two.Digest, true},
		"the shared platform": {both.Digest, true},
	} {
		if _, err := repository.Manifest(t.Context(), test.digest); (err == nil) != test.left {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (w *world) manifest(to *oci.Repository, media string, keys map[string]any) artifact.RawManifest {
	w.Helper()
	made := ocitest.Manifest(media, keys)
	if err := to.PutRawManifest(w.Context(), made); err != nil {
		w.Fatal(err)
	}
	return made
}

// image pushes an index of platforms and the artifact that lists it, and returns the digests of both.
func (w *world) image(to *oci.Repository, name string, platforms ...artifact.RawManifest) (
	packed, index string) {
	w.Helper()
	listed := image.Image{Repository: "example.com/" + name}
	var descriptors []any
	for _, p := range platforms {
		descriptors = append(descriptors, ocitest.Descriptor(p))
		listed.Manifests = append(listed.Manifests, image.Manifest{Digest: p.Digest, MediaType: p.MediaType,
			Size: int64(len(p.Content))})
	}
	made := w.manifest(to, artifact.MediaIndex, map[string]any{"manifests": descriptors})
	listed.Digest = made.Digest
	listed.Manifests = append(listed.Manifests, image.Manifest{Digest: made.Digest, MediaType: made.MediaType,
		Size: int64(len(made.Content))})
	artifactOf, err := listed.Pack(nil)
	if err != nil {
		w.Fatal(err)
	}
	packed, err = to.Push(w.Context(), artifactOf)
	if err != nil {
		w.Fatal(err)
	}
	return packed, made.Digest
}

// TestBuildsBesideACollection builds while a collector deletes everything at once. What a build pushed, or found, is
// there after its end.
func TestBuildsBesideACollection(t *testing.T) {
	w := newWorld(t)
	stop, ended := make(chan struct{}), sync.WaitGroup{}
	ended.Go(func() { // collects until the builds have ended
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := w.collector.Collect(t.Context(), org, "vera", 0, false); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for n := range 60 {
		name, text := fmt.Sprintf("inp%d", n), fmt.Sprintf("content %d", n%3)
		if err := w.store.InTx(t.Context(), org, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.LockApp(ctx, org, "app")
			if err != nil {
				return err
			}
			if _, err := tx.AddComponentInput(ctx, store.AddComponentInputParams{OrgID: org, ID: name, ComponentID: "cmp",
				Digest: name, Recipe: []byte("{}"), Variables: []byte("[]"), Reason: "r"}); err != nil {
				return err
			}
			if err := tx.SetComponentInput(ctx, &name, org, "cmp"); err != nil {
				return err
			}
			_, err = tx.AddBuild(ctx, store.AddBuildParams{OrgID: org, ID: name, ComponentID: "cmp", InputID: name, Reason: "r"})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		digest := w.push(artifacts, text)
		w.exec("update builds set status = 'succeeded', artifact_digest = $2, ended_at = now() - interval '1 hour' "+
			"where id = $1", name, digest)
		if !w.has(artifacts, digest) {
			t.Fatalf("the artifact of build %d was deleted", n)
		}
	}
	close(stop)
	ended.Wait()
}
