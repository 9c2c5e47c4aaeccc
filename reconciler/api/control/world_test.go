package control_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/reconciler/api/control"
	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
	"github.com/nuon-toolkit/nuon/reconciler/api/ratelimit"
	"github.com/nuon-toolkit/nuon/reconciler/api/webhook"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/catalog"
	"github.com/nuon-toolkit/nuon/reconciler/cloudclaim"
	"github.com/nuon-toolkit/nuon/reconciler/cloudidentity"
	"github.com/nuon-toolkit/nuon/reconciler/garbage"
	"github.com/nuon-toolkit/nuon/reconciler/inputs"
	"github.com/nuon-toolkit/nuon/reconciler/inspection"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/joblog"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/observe"
	"github.com/nuon-toolkit/nuon/reconciler/phonehome"
	"github.com/nuon-toolkit/nuon/reconciler/preview"
	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/stackpublish"
	"github.com/nuon-toolkit/nuon/reconciler/stackversion"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
	"github.com/nuon-toolkit/nuon/reconciler/token"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// world is the control API on a real database, behind a real listener, with two orgs. The services
// are real except what reads git, builds or advances workflows, which are fakes that return at once.
type world struct {
	*testing.T
	dsn      string
	store    *store.Store
	seed     *pgx.Conn // as the database's owner, who sees every org
	key      seal.Identity
	jobs     *jobs.Service
	runners  *runners.Service
	url      string
	one, two *tenant
	advance  func() error                // the result of advancing a workflow at once
	look     func(context.Context) error // the result of polling a repository
	sync     func(context.Context) error // the result of a sync
	moved    atomic.Int64                // how often builds were given to other runners
	more     int                         // how many rows of everything manyRows has created
}

// tenant is one org, with a token of each role and its seeded objects.
type tenant struct {
	w     *world
	org   store.Org
	mark  string            // is in every text of the org
	token map[string]string // by role
	ids   map[string]string // ids of seeded objects, by kind
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, dsn: storetest.DSN(t), advance: func() error { return nil },
		look: func(context.Context) error { return nil }, sync: func(context.Context) error { return nil }}
	var err error
	w.store, err = store.Open(t.Context(), w.dsn)
	must(t, err)
	t.Cleanup(w.store.Close)
	w.seed, err = pgx.Connect(t.Context(), w.dsn)
	must(t, err)
	t.Cleanup(func() { _ = w.seed.Close(context.WithoutCancel(t.Context())) })
	w.key, err = seal.NewIdentity()
	must(t, err)
	w.serve(ratelimit.Options{Rate: 10_000})
	w.one, w.two = w.tenant("mark7q1"), w.tenant("other3z9")
	return w
}

// serve opens a listener of the control API, which later calls use.
func (w *world) serve(limits ratelimit.Options) {
	w.Helper()
	server := httptest.NewServer(w.handler(limits))
	w.Cleanup(server.Close)
	w.url = server.URL
}

// deployedWeb is the component MARK-web on every install MARK-inst.
type deployedWeb struct{}

func (deployedWeb) HealthSpec(_ context.Context, _ *store.Tx, install store.Install) (spec api.JobSpec, why string,
	err error) {
	mark := strings.TrimSuffix(install.Name, "-inst")
	spec.Health.Parts = []api.HealthPart{{Deploy: api.DeploySpec{Component: mark + "-web"}}}
	return spec, "", nil
}

func (deployedWeb) DebugSpec(context.Context, *store.Tx, store.Install) (spec api.JobSpec, why string, err error) {
	return spec, "", nil
}

// allowLogs makes all runners online, with owners who allow requests for logs.
func (w *world) allowLogs() {
	w.exec(`update runners set last_seen = now(), key_hash = 'x', registered_at = now(), policy = '{"debug":{"logs":true,"commands":["x"],"shells":["*"]}}'`)
}

// handler returns the control API, wired as in the program.
func (w *world) handler(limits ratelimit.Options) http.Handler {
	bell := store.NewNotifier()
	ctx, stop := context.WithCancel(context.WithoutCancel(w.Context()))
	rung := make(chan struct{})
	go func() { defer close(rung); _ = bell.Run(ctx, w.store) }()
	w.Cleanup(func() { stop(); <-rung })
	watcher := observe.New(w.store, w.key, observe.Options{MirrorDir: w.TempDir()})
	rolls := rollout.New(w.store, w.key)
	rolls.UseStacks(stackversion.New(installstack.Runner{URL: "https://runners.example.com", SHA256: "00",
		DownloadURL: "https://runners.example.com/runnerd/00"}, ""))
	engine := workflow.New(w.store, rolls)
	w.runners = runners.New(w.store)
	claims := cloudclaim.New(w.store, cloudidentity.New(cloudidentity.Options{}))
	logs := joblog.New(w.store, bell)
	inspections := inspection.New(deployedWeb{})
	w.jobs = jobs.New(w.store, bell, w.runners, map[string]jobs.Owner{"step": engine, inspection.OwnerKind: inspections})
	w.runners.OnRegistered(func(ctx context.Context, tx *store.Tx, r store.Runner) error {
		return inputs.ResealToRunner(ctx, tx, w.key, r)
	})
	return control.New(control.Options{
		Store: w.store, Bell: bell, Key: w.key, Version: "test", Hooks: webhook.New(w.store, w.key), Quota: limits,
		Services: control.Services{
			Repositories: fakeRepositories{watcher, w}, Catalog: fakeCatalog{w}, Builds: fakeBuilds{w},
			Preview: preview.New(w.store, catalog.New(w.store, watcher, nil)), Rollout: rolls,
			Workflows: fakeWorkflows{engine, w}, Jobs: w.jobs, Logs: logs, Claims: claims,
			PhoneHome: phonehome.New(w.store, claims, rollout.StackConfigs), Publisher: &stackpublish.Publisher{},
			Inspections: inspections, Garbage: garbage.New(w.store, garbage.Registry{Base: ocitest.Registry(w),
				Client: &http.Client{}}),
			Health: func(context.Context) (api.System, error) {
				return api.System{Version: "test", Replicas: []api.Replica{}}, nil
			},
		},
	})
}

// fakeRepositories polls no repository.
type fakeRepositories struct {
	*observe.Observer
	w *world
}

func (f fakeRepositories) Poll(ctx context.Context, _, _ string) error { return f.w.look(ctx) }

// fakeCatalog reads no configs.
type fakeCatalog struct{ w *world }

func (f fakeCatalog) SyncNow(ctx context.Context, _, _ string) (*store.Revision, error) {
	return nil, f.w.sync(ctx)
}

func (f fakeCatalog) Upload(ctx context.Context, org, _, _ string, archive io.Reader,
	record func(context.Context, *store.Tx) error) (appconfig.Diagnostics, error) {
	if _, err := io.Copy(io.Discard, archive); err != nil {
		return nil, err
	}
	return nil, f.w.store.InTx(ctx, org, record)
}

// fakeBuilds builds nothing, and counts how often builds were moved to other runners.
type fakeBuilds struct{ w *world }

func (fakeBuilds) ReleasePartial(
	ctx context.Context, tx *store.Tx, app store.App, actor string,
) (*store.Release, error) {
	return release.CreatePartial(ctx, tx, app, actor)
}

func (fakeBuilds) Refresh(
	ctx context.Context, tx *store.Tx, app store.App, r build.RefreshRequest,
) (string, error) {
	made, err := tx.AddModuleRefresh(ctx, store.AddModuleRefreshParams{
		OrgID: tx.Org, ID: id.New("mrf"), AppID: app.ID, DryRun: r.DryRun, RequestedBy: r.Actor,
	})
	return made.ID, err
}

func (fakeBuilds) CancelRefresh(
	ctx context.Context, tx *store.Tx, refresh store.ModuleRefresh, reason string,
) error {
	return (&build.Builder{}).CancelRefresh(ctx, tx, refresh, reason)
}

func (fakeBuilds) Retry(_ context.Context, _ *store.Tx, build string) (string, error) {
	return build, nil
}

func (f fakeBuilds) BuildRunnerAdded(context.Context, *store.Tx) error { f.w.moved.Add(1); return nil }

// fakeWorkflows advances no workflow.
type fakeWorkflows struct {
	*workflow.Engine
	w *world
}

func (f fakeWorkflows) Reconcile(context.Context, string, string) error { return f.w.advance() }

// roles, in ascending order.
var roles = []string{"viewer", "ci", "operator", "approver", "admin"}

// tenant creates an org with a token of each role.
func (w *world) tenant(mark string) *tenant {
	w.Helper()
	org, err := w.store.AddOrg(w.Context(), id.New("org"), mark+"-org")
	must(w, err)
	o := &tenant{w: w, org: org, mark: mark, token: map[string]string{}, ids: map[string]string{}}
	for _, role := range roles {
		o.token[role] = o.mint(role, nil, nil)
	}
	return o
}

// sibling seeds another app of the same org, with everything that belongs to it and its mark in
// every text.
func (o *tenant) sibling(mark string) *tenant {
	o.w.Helper()
	s := &tenant{w: o.w, org: o.org, mark: mark, token: o.token, ids: map[string]string{}}
	s.fill()
	s.fillStates()
	s.ids["token"] = o.ids["token"]
	return s
}

// mintFor creates a control token for the tenant's app alone.
func (o *tenant) mintFor(role string) string {
	o.w.Helper()
	plain := o.mint(role, ptr(time.Now().Add(time.Hour)), nil)
	o.w.exec("update tokens set app_id = $1 where org_id = $2 and id = $3", o.ids["app"], o.org.ID, o.ids["token"])
	return plain
}

// mint creates a control token, which may expire.
func (o *tenant) mint(role string, expires, revoked *time.Time) string {
	keys, err := o.w.store.Tokens(o.w.Context())
	must(o.w, err)
	plain, hash := keys.Mint(token.Control, o.org.ID)
	tokenID, name := id.New("tok"), o.mark+"-"+role
	if expires != nil || revoked != nil {
		name += "-" + strings.TrimPrefix(tokenID, "tok_")
	}
	o.ids["token"] = tokenID
	o.w.exec("insert into tokens (org_id, id, name, role, hash, expires_at, revoked_at) values ($1, $2, $3, $4, "+
		"$5, $6, $7)",
		o.org.ID, tokenID, name, role, hash, expires, revoked)
	return plain
}

// as returns the generated client with the org's token of a role.
func (o *tenant) as(role string) *api.ClientWithResponses {
	o.w.Helper()
	c, err := api.NewClientWithResponses(o.w.url,
		api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+o.token[role])
			return nil
		}))
	must(o.w, err)
	return c
}

func (o *tenant) in(work func(context.Context, *store.Tx) error) error {
	return o.w.store.InTx(o.w.Context(), o.org.ID, work)
}

// answer is an HTTP response.
type answer struct {
	Status int
	Header http.Header
	Body   string
}

func (a answer) problem(t testing.TB) api.Problem {
	t.Helper()
	var p api.Problem
	if kind := a.Header.Get("Content-Type"); kind != problem.ContentType {
		t.Errorf("the answer %d is %q, not a problem: %s", a.Status, kind, a.Body)
		return p
	}
	must(t, json.Unmarshal([]byte(a.Body), &p))
	if p.Status != a.Status || p.Code == "" || p.Title == "" {
		t.Errorf("the problem of a %d is %+v", a.Status, p)
	}
	return p
}

// call sends a request, including ones that the generated client cannot send. It sends a string
// body unchanged.
func (w *world) call(bearer, method, path string, body any, headers ...string) answer {
	w.Helper()
	var sent io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		sent = strings.NewReader(b)
	case io.Reader:
		sent = b
	default:
		raw, err := json.Marshal(b)
		must(w, err)
		sent = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(w.Context(), method, w.url+path, sent)
	must(w, err)
	r.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Do(r)
	must(w, err)
	defer got.Body.Close() //nolint:errcheck // it is read to its end
	raw, err := io.ReadAll(got.Body)
	must(w, err)
	return answer{
		Status: got.StatusCode, Header: got.Header, Body: w.withoutRequest(got.Header.Get("X-Request-Id"), string(raw)),
	}
}

// withoutRequest checks that a problem contains the id of its request, and removes it: only that
// may differ between two errors of one kind.
func (w *world) withoutRequest(id, body string) string {
	w.Helper()
	if !strings.HasPrefix(id, "req_") ||
		strings.HasPrefix(body, `{"code"`) && !strings.Contains(body, `"request":"`+id+`"`) {
		w.Errorf("the request %q is not in %s", id, body)
	}
	return strings.ReplaceAll(body, `"request":"`+id+`",`, "")
}

// refusedAs requires that a request was refused with a status and a code.
func (w *world) refusedAs(a answer, status int, code string) api.Problem {
	w.Helper()
	p := a.problem(w)
	if a.Status != status || p.Code != code {
		w.Errorf("answered %d %s, want %d %s: %s", a.Status, p.Code, status, code, a.Body)
	}
	return p
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	_, err := w.seed.Exec(w.Context(), sql, args...)
	must(w, err)
}

// texts returns one column of text.
func (w *world) texts(sql string, args ...any) []string {
	w.Helper()
	rows, err := w.seed.Query(w.Context(), sql, args...)
	must(w, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(w, err)
	return all
}

func (w *world) text(sql string, args ...any) string {
	w.Helper()
	all := w.texts(sql, args...)
	if len(all) != 1 {
		w.Fatalf("%s: %d rows", sql, len(all))
	}
	return all[0]
}

// rows returns all rows of all tables as text, including those of the work queue; where limits
// them.
func (w *world) rows(where string, args ...any) string {
	w.Helper()
	var all strings.Builder
	for _, table := range w.texts("select format('%I.%I', table_schema, table_name) from information_schema.tables " +
		"where table_schema in ('public', 'river') and table_type = 'BASE TABLE' order by 1") {
		if where != "" && !strings.HasPrefix(table, "public.") {
			continue
		}
		if where != "" && w.text("select count(*)::text from information_schema.columns where table_schema = 'public' and "+
			"table_name = $1 and column_name = 'org_id'", strings.TrimPrefix(table, "public.")) == "0" {
			continue
		}
		for _, row := range w.texts("select t::text from "+table+" t "+where+" order by 1", args...) {
			fmt.Fprintln(&all, table, row)
		}
	}
	return all.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sealed returns a value sealed to a key, for one use.
func (w *world) sealed(use seal.Context, to seal.Recipient, plain string) seal.Sealed {
	w.Helper()
	sealed, err := to.Seal(use, []byte(plain))
	must(w, err)
	return sealed
}

// eventually waits until a condition holds.
func (w *world) eventually(so func() bool) {
	w.Helper()
	testtime.Until(w, "what is waited for", so)
}

func ptr[T any](v T) *T { return &v }

// hello returns an app with one component, and a required, a defaulted and a sensitive input.
func hello(component string) appconfig.App {
	return appconfig.App{
		Sandbox: &appconfig.Component{
			Name: "sandbox", Kind: "sandbox", Terraform: &appconfig.Terraform{Version: "1.11.4"},
		},
		Inputs: []appconfig.Input{
			{Name: "region", Type: "string", Required: true, Description: "where it runs"},
			{Name: "greeting", Type: "string", Default: ptr("hello")},
			{Name: "api_token", Type: "string", Sensitive: true, Required: true, Description: "of the mail service"},
		},
		Components: []appconfig.Component{{
			Name: component, Kind: "terraform_module", Terraform: &appconfig.Terraform{Version: "1.11.4"},
		}},
		Actions: []appconfig.Action{{Name: "smoke", Timeout: "1m", Triggers: []appconfig.Trigger{{Type: "manual"}}}},
	}
}
