package preview_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/catalog"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/preview"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
)

// shelf pushes packed sources to no registry: a preview needs none.
type shelf struct{}

func (shelf) Push(_ context.Context, _ string, source artifact.Artifact) (string, error) {
	return source.Digest(), nil
}

// world is a control plane with a connected app that is synced, built and installed twice: east
// follows the newest release, west is pinned.
type world struct {
	*testing.T
	store   *store.Store
	db      *pgx.Conn // as the owner
	repo    *gittest.Repo
	catalog *catalog.Catalog
	preview *preview.Preview
}

const (
	org = "org_1"
	app = "app_1"
)

func previewComponent(name, more string) string {
	return "name = \"" + name + "\"\ntype = \"terraform_module\"\nterraform_version = \"1.11.4\"\n" + more +
		"\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/" + name + "\"\n"
}

func newWorld(t *testing.T) *world {
	t.Helper()
	repo := gittest.New(t)
	repo.Write(
		"README.md", "# shop",
		"app/metadata.toml", "version = \"v2\"\n",
		"app/sandbox.toml", "terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/sandbox\"\n",
		"app/inputs.toml", "[[group]]\nname = \"g\"\ndescription = \"G\"\n[[input]]\nname = \"size\"\ndisplay_name = "+
			"\"S\"\ndescription = \"S\"\ngroup = \"g\"\ndefault = \"s\"\n",
		"app/components/web.toml", previewComponent("web", "[vars]\nsize = \"{{.nuon.inputs.inputs.size}}\"\n"),
		"app/components/metrics.toml", previewComponent("metrics", ""),
		"modules/sandbox/main.tf", "output \"region\" { value = \"here\" }\n",
		"modules/web/main.tf", "module \"shared\" {\n  source = \"../shared\"\n}\n",
		"modules/web/variables.tf", "variable \"size\" {}\n", "modules/metrics/variables.tf",
		"variable \"zone\" { default = \"\" }\n",
		"modules/shared/main.tf", "output \"name\" { value = \"shared\" }\n",
		"modules/metrics/main.tf", "output \"port\" { value = 1 }\n",
	)
	repo.Commit("start")
	dsn := storetest.DSN(t)
	s, err := store.Open(t.Context(), dsn)
	must(t, err)
	t.Cleanup(s.Close)
	w := &world{T: t, store: s, repo: repo}
	w.db, err = pgx.Connect(t.Context(), dsn)
	must(t, err)
	t.Cleanup(func() { _ = w.db.Close(context.WithoutCancel(t.Context())) })
	_, err = s.AddOrg(t.Context(), org, "shop-org")
	must(t, err)
	identity, err := seal.NewIdentity()
	must(t, err)
	observer := observe.New(s, identity,
		observe.Options{MirrorDir: filepath.Join(t.TempDir(), "mirrors"),
			AllowFileRemotes: []string{filepath.Dir(repo.Dir)}})
	w.catalog = catalog.New(s, observer, build.New(s, observer, shelf{}))
	w.preview = preview.New(s, w.catalog)
	must(t, s.InTx(t.Context(), org, func(ctx context.Context, tx *store.Tx) error {
		watch, err := observer.EnsureWatch(ctx, tx, repo.URL(), "main", "")
		if err != nil {
			return err
		}
		_, err = tx.AddApp(ctx, store.AddAppParams{OrgID: org, ID: app, Name: "shop", WatchID: &watch.ID,
			Directory: "app"})
		return err
	}))
	w.sync()
	w.exec("insert into runners (org_id, id, name, kind) values ($1, 'run', 'run', 'install')", org)
	for _, name := range []string{"east", "west"} {
		w.exec("insert into installs (org_id, id, app_id, name, runner_id) values ($1, $2, $3, $4, 'run')", org,
			"ins_"+name, app, name)
		w.land("ins_" + name)
	}
	w.exec("update installs set pin_release_id = (select id from releases) where name = 'west'")
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	_, err := w.db.Exec(w.Context(), sql, args...)
	must(w, err)
}

// sync syncs what is committed, and marks it as built.
func (w *world) sync() {
	w.Helper()
	_, err := w.catalog.SyncNow(w.Context(), org, app)
	must(w, err)
	w.exec("update builds set status = 'succeeded', artifact_digest = 'sha256:' || id where status = 'queued'")
	w.exec("update releases set status = 'complete', reason = '' where status = 'building'")
}

// land makes the desired state of an install its applied state, component by component, as if all
// had been deployed.
func (w *world) land(install string) {
	w.Helper()
	var config appconfig.App
	must(w, w.db.QueryRow(w.Context(),
		"select v.config from app_versions v join apps a on a.version_id = v.id").Scan(&config))
	rolls := rollout.New(w.store, seal.Identity{})
	for _, name := range []string{"sandbox", "metrics", "web"} {
		must(w, rolls.Reconcile(w.Context(), org, install))
		c, _ := config.Component(name)
		facts := map[string]any{"config": c.ConfigDigest()}
		if name == "web" {
			facts["values"] = []map[string]string{{"path": "inputs.inputs.size",
				"digest": sha256digest.Of([]byte(`"s"`))}}
		}
		var digest string
		must(w, w.db.QueryRow(w.Context(),
			"select b.artifact_digest from builds b join components c on c.input_id = b.input_id where c.name = $1",
			name).Scan(&digest))
		facts["artifact"] = digest
		w.exec("update install_components set applied_digest = desired_digest, applied_artifact = 'sha256:x', "+
			"applied_config = $3 where install_id = $1 and name = $2",
			install, name, map[string]any{"after": []string{}, "facts": facts})
	}
}

// look previews the working directory, committed or not.
func (w *world) look(directory string) (api.AppPreview, error) {
	w.Helper()
	files, err := artifact.ReadDir(w.repo.Dir,
		artifact.ReadOptions{Skip: func(name string, _ fs.DirEntry) bool { return name == ".git" }})
	must(w, err)
	packed, err := artifact.Tarball(files, artifact.Limits{})
	must(w, err)
	before := w.everything()
	got, err := w.preview.App(w.Context(), org, app, directory, bytes.NewReader(packed))
	if diff := cmp.Diff(before, w.everything()); diff != "" {
		w.Errorf("the preview changed rows:\n%s", diff)
	}
	return got, err
}

func (w *world) everything() []string {
	w.Helper()
	var all []string
	list := func(sql string) []string {
		rows, err := w.db.Query(w.Context(), sql)
		must(w, err)
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(w, err)
		return found
	}
	for _, table := range list("select format('%I.%I', table_schema, table_name) from information_schema.tables where " +
		"table_schema in ('public', 'river') and table_type = 'BASE TABLE' order by 1") {
		all = append(all, list("select t::text from "+table+" t order by 1")...)
	}
	return all
}

// said returns a preview in lines.
func said(p api.AppPreview) (lines []string) {
	lines = append(lines, fmt.Sprintf("version %d, release %d, changed %t", p.Version, p.Release, p.Changed))
	if p.Held != "" {
		lines = append(lines, "held: "+p.Held)
	}
	for _, c := range p.Components {
		if c.Change != "none" || c.Rebuild || !strings.HasPrefix(c.Reason, "nothing that it is built from") {
			lines = append(lines, fmt.Sprintf("%s: %s, rebuild %t: %s", c.Name, c.Change, c.Rebuild, c.Reason))
		}
	}
	for _, in := range p.Inputs {
		lines = append(lines, fmt.Sprintf("input %s: %s, required %t", in.Name, in.Change, in.Required))
	}
	for _, i := range p.Installs {
		lines = append(lines, fmt.Sprintf("%s %v: %s", i.Name, i.Components, i.Reason))
	}
	return lines
}

const (
	eastIdle = "east []: nothing would change on it"
	westIdle = "west []: it is pinned at release 1, so nothing would change on it"
)

func TestAPreviewSaysWhatASyncWouldDo(t *testing.T) {
	for _, c := range []struct {
		name  string
		write []string
		gone  []string
		want  []string
	}{
		{"nothing", nil, nil, []string{"version 1, release 0, changed false", eastIdle, westIdle}},
		{"a file that nothing is built from", []string{"README.md", "# shop!", "app/components/web.toml", "# a comment\n" +
			previewComponent("web", "[vars]\nsize = \"{{.nuon.inputs.inputs.size}}\"\n")}, nil,
			[]string{"version 1, release 0, changed false", eastIdle, westIdle}},
		{"code", []string{"modules/metrics/main.tf", "output \"port\" { value = 2 }\n"}, nil,
			[]string{"version 1, release 2, changed true",
				"metrics: none, rebuild true: the code in modules/metrics would change",
				"east [metrics]: metrics: it would be rebuilt: the code in modules/metrics would change", westIdle}},
		{"code that another module calls", []string{"modules/shared/main.tf", "output \"name\" { value = \"other\" }\n"}, nil,
			[]string{"version 1, release 2, changed true",
				"web: none, rebuild true: the code in modules/shared would change",
				"east [web]: web: it would be rebuilt: the code in modules/shared would change", westIdle}},
		{"config", []string{"app/components/web.toml", previewComponent("web",
			"max_auto_retries = 1\n[vars]\nsize = \"xl\"\n")}, nil, []string{"version 0, release 2, changed true",
			"web: changed, rebuild false: its config changes: max_auto_retries and vars.size; nothing that it is built from " +
				"would change",
			"east [web]: web: config changed in release 2", westIdle}},
		{"what changes nothing that is deployed", []string{"app/components/web.toml",
			previewComponent("web", "max_auto_retries = 1\n[vars]\nsize = \"{{.nuon.inputs.inputs.size}}\"\n")}, nil,
			[]string{"version 0, release 2, changed true",
				"web: changed, rebuild false: its config changes: max_auto_retries; nothing that it is built from would change",
				eastIdle, westIdle}},
		{"Terraform", []string{"app/components/metrics.toml", strings.Replace(previewComponent("metrics", ""), "1.11.4",
			"1.11.5", 1)}, nil, []string{"version 0, release 2, changed true",
			"metrics: changed, rebuild true: its config changes: terraform_version; this config builds component metrics with " +
				"Terraform 1.11.5 instead of 1.11.4",
			"east [metrics]: metrics: it would be rebuilt: this config builds component metrics with Terraform 1.11.5 " +
				"instead of 1.11.4; config changed in release 2", westIdle}},
		{"a component that comes and one that goes", []string{"app/components/cache.toml", previewComponent("cache", ""),
			"modules/cache/main.tf", "output \"x\" { value = 1 }\n"}, []string{"app/components/metrics.toml"},
			[]string{"version 0, release 2, changed true", "cache: added, rebuild true: it is new; it would be built for the " +
				"first time",
				"metrics: removed, rebuild false: it is removed from the app; where it is deployed, its destroy is planned and " +
					"needs approval",
				"east [cache metrics]: cache: cache is not deployed on this install yet; metrics: metrics was removed from " +
					"the app in release 2", westIdle}},
		{"code that cannot be built", []string{"modules/web/main.tf", "module \"far\" {\n  source = \"../../../far\"\n" +
			"}\n"}, nil, []string{"version 1, release 2, changed true",
			"held: web cannot be built: modules/web/main.tf:1: module \"far\" calls \"../../../far\", which " +
				"leads out of the repository; move that module into it",
			"web: none, rebuild false: it could not be built: modules/web/main.tf:1: module \"far\" calls " +
				"\"../../../far\", which leads out of the repository; move that module into it",
			"east []: nothing would change on it, since the release would be incomplete: web cannot be built: " +
				"modules/web/main.tf:1: module \"far\" calls \"../../../far\", which leads out of " +
				"the repository; move that module into it", westIdle}},
		{"inputs", []string{"app/inputs.toml", "[[group]]\nname = \"g\"\ndescription = \"G\"\n[[input]]\nname = \"size\"\n" +
			"display_name = \"S\"\ndescription = \"S\"\ngroup = \"g\"\ndefault = \"m\"\n[[input]]\nname = \"zone\"\n" +
			"display_name = \"Z\"\ndescription = \"Z\"\ngroup = \"g\"\nrequired = true\n",
			"app/components/metrics.toml", previewComponent("metrics", "[vars]\nzone = \"{{.nuon.inputs.inputs.zone}}\"\n")},
			nil, []string{"version 0, release 2, changed true",
				"metrics: changed, rebuild false: its config changes: vars.zone; nothing that it is built from would change",
				"input size: changed, required false", "input zone: added, required true",
				"east [metrics web]: metrics: it waits: input zone has no value; set it: nuon installs update shop/east --input " +
					"zone=VALUE; web: input size changed", westIdle}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.repo.Write(c.write...)
			w.repo.Remove(c.gone...)
			got, err := w.look("app")
			must(t, err)
			if diff := cmp.Diff(c.want, said(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAPreviewComesTrue: a sync builds exactly what the preview lists.
func TestAPreviewComesTrue(t *testing.T) {
	w := newWorld(t)
	w.repo.Write("modules/shared/main.tf", "output \"name\" { value = \"other\" }\n", "app/components/metrics.toml",
		previewComponent("metrics", "max_auto_retries = 2"))
	before, err := w.look("app")
	must(t, err)
	w.repo.Commit("as it was previewed")
	w.sync()
	var version int
	var digest string
	must(t, w.db.QueryRow(t.Context(),
		"select v.number, v.digest from app_versions v join apps a on a.version_id = v.id").Scan(&version, &digest))
	if version != 2 || digest != before.Digest {
		t.Errorf("version %d has the digest %s, the preview said %s", version, digest, before.Digest)
	}
	for _, c := range before.Components {
		var builds int
		must(t, w.db.QueryRow(t.Context(),
			"select count(*) from builds b join components c on c.id = b.component_id where c.name = $1",
			c.Name).Scan(&builds))
		if rebuilt := builds == 2; rebuilt != c.Rebuild {
			t.Errorf("%s has %d builds, the preview said %t", c.Name, builds, c.Rebuild)
		}
	}
	after, err := w.look("app")
	must(t, err)
	if after.Changed || after.Version != 2 {
		t.Errorf("after the sync there is still something to do: %v", said(after))
	}
	// Back to the config and the code of version 1: both exist already.
	w.repo.Git("revert", "--no-edit", "HEAD")
	back, err := w.look("app")
	must(t, err)
	if back.Version != 1 || !back.Changed {
		t.Errorf("going back: %v", said(back))
	}
	for _, c := range back.Components {
		if c.Rebuild {
			t.Errorf("%s would be built again: %s", c.Name, c.Reason)
		}
	}
}

// TestAPreviewOfWhatIsWrong: invalid input is rejected with a refusal.
func TestAPreviewOfWhatIsWrong(t *testing.T) {
	w := newWorld(t)
	refusedAs := func(err error, code, words string) {
		t.Helper()
		var p *refusal.Error
		if !errors.As(err, &p) || p.Kind != refusal.Invalid || p.Code != code {
			t.Fatalf("got %v", err)
		}
		for _, d := range p.Diagnostics {
			p.Title += " " + d.File + ": " + d.Message
		}
		if !strings.Contains(p.Title, words) {
			t.Errorf("%q says nothing of %q", p.Title, words)
		}
	}
	_, err := w.look("elsewhere")
	refusedAs(err, "bad_config", "the directory elsewhere is not in the repository")
	_, err = w.look("../app")
	refusedAs(err, "bad_config", "is not one inside the repository")
	w.repo.Write("app/components/web.toml", "name = 7\n")
	_, err = w.look("app")
	refusedAs(err, "bad_config", "app/components/web.toml"[4:])
	for _, archive := range []string{"", "not a tar"} {
		_, err = w.preview.App(t.Context(), org, app, ".", strings.NewReader(archive))
		refusedAs(err, "bad_archive", "not a tar+gzip")
	}
	if _, err := w.preview.App(t.Context(), org, "app_none", ".", strings.NewReader("")); !errors.Is(err,
		store.ErrNotFound) {
		t.Errorf("an app that is not there: %v", err)
	}
}

// TestASlowUploadHoldsNobodyUp checks that archives that do not arrive hold up no preview, and that no more than two
// are unpacked at once.
func TestASlowUploadHoldsNobodyUp(t *testing.T) {
	w := newWorld(t)
	var slow sync.WaitGroup
	defer slow.Wait()
	for range 5 {
		read, write := io.Pipe()
		slow.Go(func() { _, _ = w.preview.App(t.Context(), org, app, "app", read) })
		if _, err := write.Write([]byte{0x1f}); err != nil { // returns when it was read
			t.Fatal(err)
		}
		defer write.Close() //nolint:errcheck // never fails
	}
	if _, err := w.look("app"); err != nil {
		t.Errorf("a preview beside five that do not arrive: %v", err)
	}
	for range 2 {
		release, err := w.catalog.Unpack(t.Context())
		must(t, err)
		defer release()
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := w.catalog.Unpack(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a third is unpacked: %v", err)
	}
}

// TestAPreviewReadsTheAppsRepositoryByItsURL: a component that names the app's own repository and
// branch by URL is built from the draft; one that names another branch is not.
func TestAPreviewReadsTheAppsRepositoryByItsURL(t *testing.T) {
	w := newWorld(t)
	named := func(branch string) string {
		return strings.Replace(previewComponent("metrics", ""), `repo = "."`,
			fmt.Sprintf("repo = %q\nbranch = %q", w.repo.URL(), branch), 1)
	}
	w.repo.Git("branch", "stable")
	w.repo.Write("app/components/metrics.toml", named("main"))
	w.repo.Commit("by its URL")
	w.sync()
	w.repo.Write("modules/metrics/main.tf", "output \"port\" { value = 2 }\n")
	got, err := w.look("app")
	must(t, err)
	metrics := func() api.PreviewedComponent {
		return got.Components[slices.IndexFunc(got.Components,
			func(c api.PreviewedComponent) bool { return c.Name == "metrics" })]
	}
	if m := metrics(); !m.Rebuild || m.Reason != "the code in modules/metrics would change" || !got.Changed {
		t.Errorf("main: %+v", m)
	}
	w.repo.Commit("a push")
	builds := w.builds("metrics")
	w.sync()
	if now := w.builds("metrics"); now != builds+1 {
		t.Errorf("the push made %d builds", now-builds)
	}
	w.repo.Write("app/components/metrics.toml", named("stable"), "modules/metrics/main.tf",
		"output \"port\" { value = 3 }\n")
	if got, err = w.look("app"); err != nil || strings.Contains(metrics().Reason, "the code in") {
		t.Errorf("stable: %+v, %v", metrics(), err)
	}
}

// TestAPreviewPassesWhatItsSandboxDeclares checks that a preview passes to the sandbox the variables that its previewed
// module declares, not those of the module of the current release.
func TestAPreviewPassesWhatItsSandboxDeclares(t *testing.T) {
	w := newWorld(t)
	sandbox := func(module string) string {
		w.Helper()
		w.repo.Write("modules/sandbox/main.tf", module+"output \"region\" { value = \"here\" }\n")
		got, err := w.look("app")
		must(t, err)
		return said(got)[len(said(got))-2]
	}
	const domain, waits = "variable \"public_root_domain\" {}\n", "sandbox: it waits: app variable root_domain is not set"
	if got := sandbox(domain); !strings.Contains(got, waits) {
		t.Errorf("with the variable: %s", got)
	}
	w.repo.Commit("declare it")
	w.sync()
	if got := sandbox(domain); strings.Contains(got, "rebuilt") {
		t.Errorf("without a change: %s", got)
	}
	if got := sandbox(""); got != eastIdle { // as it is deployed
		t.Errorf("without the variable: %s", got)
	}
}

// builds counts the builds of a component.
func (w *world) builds(name string) (n int) {
	w.Helper()
	must(w, w.db.QueryRow(w.Context(),
		"select count(*) from builds b join components c on c.id = b.component_id where c.name = $1", name).Scan(&n))
	return n
}
