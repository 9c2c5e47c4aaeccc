package rollout_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/store/storetest"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// world is a control plane on a real database with one app, one install, and a runner
// in this process that uses the calls of the runner API. Its Terraform is simulated:
// state is a map, and a plan compares.
type world struct {
	testing.TB
	dsn      string
	store    *store.Store
	org      string
	seed     *pgx.Conn
	rollout  *rollout.Rollout
	engine   *workflow.Engine
	jobs     *jobs.Service
	key      seal.Identity
	ours     seal.Identity // the control plane's
	caller   runners.Caller
	app      appconfig.App
	appID    string
	install  string
	state    map[string]string // by component: the vars of the last apply
	plans    map[string]string // by bundle digest: the state after its apply
	break_   map[string]api.JobResultStatus
	replaces map[string]bool           // components whose next plans replace something
	findings map[string][]diff.Finding // of each plan, by component
	drifts   map[string][]string       // objects that others changed, by component
	done     []string                  // jobs in the order in which they succeeded: "apply web"
	versions int
	strict   bool // unapproved scripts wait for the test's own answer

	moreOutputs int // of each other component
}

// newWorld has the app hello: a sandbox; network; web, which reads two outputs of network,
// one of them sensitive, and two inputs; metrics, which is independent; an action after web.
func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOf(t, hello(), "sandbox", "network", "web", "metrics")
}

// newWorldOf is newWorld for another app.
func newWorldOf(t testing.TB, app appconfig.App, components ...string) *world {
	t.Helper()
	w := &world{
		TB: t, dsn: storetest.DSN(t), appID: id.New("app"), install: id.New("ins"), app: app,
		state: map[string]string{}, plans: map[string]string{}, break_: map[string]api.JobResultStatus{},
	}
	var err error
	w.key, err = seal.NewIdentity()
	must(t, err)
	w.open()
	org, err := w.store.AddOrg(t.Context(), id.New("org"), "acme-org")
	must(t, err)
	w.org = org.ID
	w.exec("select set_config('nuon.org', $1, false)", w.org)
	w.exec("insert into apps (org_id, id, name) values ($1, $2, 'hello')", w.org, w.appID)
	for _, c := range components {
		w.addComponent(c)
	}
	w.version()
	w.addInstall()
	return w
}

// open connects to the world's database and creates the services on it.
func (w *world) open() {
	w.Helper()
	var err error
	w.store, err = store.Open(w.Context(), w.dsn)
	must(w, err)
	w.Cleanup(w.store.Close)
	w.seed, err = pgx.Connect(w.Context(), w.dsn)
	must(w, err)
	seed, ctx := w.seed, context.WithoutCancel(w.Context())
	w.Cleanup(func() { _ = seed.Close(ctx) })
	if w.ours.IsZero() {
		w.ours, err = seal.NewIdentity()
		must(w, err)
	}
	w.rollout = rollout.New(w.store, w.ours)
	w.engine = workflow.New(w.store, w.rollout)
	w.jobs = jobs.New(w.store, store.NewNotifier(), runners.New(w.store),
		map[string]jobs.Owner{"step": w.engine})
}

func hello() appconfig.App {
	text := func(s string) *string { return &s }
	return appconfig.App{
		Sandbox: &appconfig.Component{Name: "sandbox", Kind: "sandbox", Terraform: &appconfig.Terraform{Version: "1.11.4"}},
		Inputs: []appconfig.Input{
			{Name: "greeting", Type: "string", Default: text("hello")},
			{Name: "api_token", Type: "string", Sensitive: true, Required: true},
		},
		Components: []appconfig.Component{
			{Name: "metrics", Kind: "terraform_module", Terraform: &appconfig.Terraform{Version: "1.11.4"}},
			{Name: "network", Kind: "terraform_module",
				Terraform: &appconfig.Terraform{Version: "1.11.4",
					Vars: map[string]string{"region": "{{.nuon.sandbox.outputs.region}}"}}},
			{Name: "web", Kind: "terraform_module", Terraform: &appconfig.Terraform{Version: "1.11.4", Vars: map[string]string{
				"cidr": "{{.nuon.components.network.outputs.cidr}}", "join": "{{.nuon.components.network.outputs.join_token}}",
				"greeting": "{{.nuon.inputs.inputs.greeting}}", "token": "{{.nuon.inputs.inputs.api_token}}",
			}}},
		},
		Actions: []appconfig.Action{{
			Name: "smoke", Timeout: "1m",
			Triggers: []appconfig.Trigger{{Type: "manual"}, {Type: "post-deploy-component", ComponentName: "web"}},
			Steps: []appconfig.ActionStep{{Name: "probe", InlineContents: "#!/bin/sh\ntrue",
				EnvVars: map[string]string{"URL": "{{.nuon.components.web.outputs.url}}"}}},
		}},
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	_, err := w.seed.Exec(w.Context(), sql, args...)
	must(w, err)
}

// list returns one column of text.
func (w *world) list(sql string, args ...any) []string {
	w.Helper()
	rows, err := w.seed.Query(w.Context(), sql, args...)
	must(w, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(w, err)
	return all
}

func (w *world) one(sql string, args ...any) string {
	w.Helper()
	all := w.list(sql, args...)
	if len(all) != 1 {
		w.Fatalf("%s: %d rows", sql, len(all))
	}
	return all[0]
}

func (w *world) in(work func(context.Context, *store.Tx) error) error {
	return w.store.InTx(w.Context(), w.org, work)
}

func (w *world) addComponent(name string) {
	kind := "terraform_module"
	switch {
	case name == "sandbox":
		kind = "sandbox"
	case strings.HasPrefix(name, "actions:"):
		kind = appconfig.KindActionSource
	}
	w.exec("insert into components (org_id, id, app_id, name, kind) values ($1, $2, $3, $4, $5)", w.org, "cmp_"+name,
		w.appID, name, kind)
	w.build(name, "succeeded")
}

// build adds a new input of a component with a build of it.
func (w *world) build(name, status string) {
	w.Helper()
	w.addBuild(name, status)
	w.release()
}

// addBuild adds a build for a new input of a component, which the next release has.
func (w *world) addBuild(name, status string) {
	w.Helper()
	input, build := id.New("inp"), id.New("bld")
	w.exec("insert into component_inputs (org_id, id, component_id, digest, recipe, reason) values ($1, $2, $3, $2, "+
		"'{}', 'r')", w.org, input, "cmp_"+name)
	w.exec(`insert into builds (org_id, id, component_id, input_id, number, status, repository, commit, artifact_digest, reason, error)
		values ($1, $2, $3, $4, (select count(*) + 1 from builds where component_id = $3), $5, 'r', 'c', $6, 'commit 1a2b3c4 changed it', 'no such file')`,
		w.org, build, "cmp_"+name, input, status, artifactOf(build))
	w.exec("update components set input_id = $1 where id = $2", input, "cmp_"+name)
}

// release creates a release from the app's current builds, as build does after a push.
func (w *world) release() {
	w.Helper()
	must(w, w.tryRelease())
}

func (w *world) tryRelease() error {
	return w.in(func(ctx context.Context, tx *store.Tx) error {
		app, err := tx.LockApp(ctx, w.org, w.appID)
		if err != nil {
			return err
		}
		_, err = release.Create(ctx, tx, app,
			[]release.Commit{{Repository: "https://git.example/hello", Ref: "main",
				Commit: fmt.Sprintf("%040d", time.Now().UnixNano())}})
		return err
	})
}

// endBuild ends the newest build of a component.
func (w *world) endBuild(name, status string) {
	w.Helper()
	input := w.one(`update builds set status = $1 where component_id = $2 and number = (select max(number) from builds where component_id = $2)
		returning input_id`, status, "cmp_"+name)
	must(w, w.in(func(ctx context.Context, tx *store.Tx) error {
		_, err := release.BuildEnded(ctx, tx, input)
		return err
	}))
}

func artifactOf(build string) string { return sha256digest.Of([]byte(build)) }

// version makes w.app the app's current version.
func (w *world) version() {
	w.Helper()
	w.addVersion()
	w.release()
}

// addVersion adds a version with the config w.app, which the next release has.
func (w *world) addVersion() {
	w.Helper()
	raw, err := json.Marshal(w.app)
	must(w, err)
	w.versions++
	ver := id.New("ver")
	w.exec("insert into app_versions (org_id, id, app_id, number, digest, config, reason) values ($1, $2, $3, $4, "+
		"$2, $5, 'r')", w.org, ver, w.appID, w.versions, raw)
	w.exec("update apps set version_id = $1 where id = $2", ver, w.appID)
	for _, name := range w.list("select name from components") {
		present := slices.ContainsFunc(w.app.Built(), func(c appconfig.Component) bool { return c.Name == name })
		w.exec("update components set present = $1 where name = $2", present, name)
	}
}

// addInstall adds a registered runner and an install with its sensitive input.
func (w *world) addInstall() {
	var runner store.Runner
	var registration string
	must(w, w.in(func(ctx context.Context, tx *store.Tx) (err error) {
		runner, registration, err = runners.Create(ctx, tx, runners.NewRunner{Name: "acme", Kind: "install"})
		return err
	}))
	_, err := jobstest.Register(w.Context(), runners.New(w.store), registration, w.key,
		api.Registration{Version: "1", Capacity: 8})
	must(w, err)
	w.caller = runners.Caller{Org: w.org, Runner: runner.ID}
	w.exec("insert into installs (org_id, id, app_id, name, runner_id) values ($1, $2, $3, 'acme', $4)", w.org, w.install,
		w.appID, runner.ID)
	w.secret("api_token", plantedInput)
}

// The secrets that must never be found in a row.
const (
	plantedInput  = "planted-input-2f6b"
	plantedOutput = "planted-output-91cc"
)

func (w *world) secret(name, plain string) {
	w.Helper()
	sealed, err := w.key.Recipient().Seal(seal.InputContext(w.install, name), []byte(plain))
	must(w, err)
	raw, err := json.Marshal(sealed)
	must(w, err)
	w.exec(`insert into install_inputs (org_id, install_id, name, sealed, hash) values ($1, $2, $3, $4, $5)
		on conflict (org_id, install_id, name) do update set sealed = excluded.sealed, hash = excluded.hash`,
		w.org, w.install, name, raw, w.key.Hash("input/"+name, []byte(plain)))
}

func (w *world) input(name, plain string) {
	w.exec(`insert into install_inputs (org_id, install_id, name, value, hash) values ($1, $2, $3, $4, 'h')
		on conflict (org_id, install_id, name) do update set value = excluded.value`, w.org, w.install, name, plain)
}

// look reconciles the install, and runs the queue until it is empty.
func (w *world) look() {
	w.Helper()
	must(w, w.rollout.Reconcile(w.Context(), w.org, w.install))
	w.queue()
}

// queue runs the tasks in the work queue, in order: nothing else advances the control plane.
func (w *world) queue() {
	w.Helper()
	for round := 0; ; round++ {
		if round > 500 {
			w.Fatal("the work queue is never empty")
		}
		rows, err := w.seed.Query(w.Context(),
			"delete from river.river_job where id = (select min(id) from river.river_job) returning kind, args")
		must(w, err)
		type asked struct {
			Kind string
			Args struct{ Org, Install, Workflow, ID, App, First, Last string }
		}
		work, err := pgx.CollectOneRow(rows, func(row pgx.CollectableRow) (a asked, err error) {
			var raw []byte
			if err = row.Scan(&a.Kind, &raw); err == nil {
				err = json.Unmarshal(raw, &a.Args)
			}
			return a, err
		})
		if errors.Is(err, pgx.ErrNoRows) {
			if w.strict || !w.sayScripts(workflow.Approve, "") {
				return
			}
			continue
		}
		must(w, err)
		switch work.Kind {
		case "rollout", "resync":
			must(w, w.rollout.Reconcile(w.Context(), work.Args.Org, work.Args.Install))
		case "fan_out":
			must(w, w.rollout.FanOut(w.Context(), work.Args.Org, work.Args.App))
		case "rollout_range":
			must(w, w.rollout.ReconcileRange(w.Context(), queue.RolloutRange{Org: work.Args.Org, App: work.Args.App,
				First: work.Args.First, Last: work.Args.Last}))
		case "advance":
			must(w, w.engine.Reconcile(w.Context(), work.Args.Org, work.Args.Workflow))
		case "expire":
			must(w, w.jobs.Expire(w.Context(), work.Args.Org, work.Args.ID))
		}
	}
}

// sayScripts answers the pending approval requests for scripts, and reports whether there were any.
func (w *world) sayScripts(answer workflow.Answer, reason string) bool {
	w.Helper()
	ids := w.list("select id from approvals where kind = 'scripts' and status = 'waiting'")
	for _, approval := range ids {
		must(w, w.respond(approval, answer, "vera", reason))
	}
	return len(ids) > 0
}

// leased returns the runner's current offers, by "kind component".
func (w *world) leased() map[string]api.Offer {
	w.Helper()
	got, err := w.jobs.Lease(w.Context(), w.caller, api.LeaseRequest{Free: 20, Version: "1", WaitSeconds: -1}, nil)
	must(w, err)
	all := map[string]api.Offer{}
	for _, o := range got.Offers {
		var spec api.JobSpec
		must(w, json.Unmarshal([]byte(w.one("select spec::text from jobs where id = $1", o.Job)), &spec))
		all[o.Kind+" "+spec.Sync.Component+spec.Plan.Deploy.Component+spec.Apply.Deploy.Component+spec.Action.Action] = o
	}
	return all
}

// runJobs has the runner take and end all offered jobs, round after round, until
// there are none. It returns the rounds.
func (w *world) runJobs() (rounds []string) {
	w.Helper()
	for {
		w.queue()
		offers := w.offers()
		if len(offers) == 0 {
			return rounds
		}
		names := slices.Sorted(maps.Keys(offers))
		rounds = append(rounds, strings.Join(names, ", "))
		for _, name := range names {
			w.runJob(name, offers[name])
		}
	}
}

func (w *world) runJob(name string, o api.Offer) {
	w.Helper()
	spec, ok := w.accept(o)
	if !ok {
		return
	}
	status, broken := w.break_[name]
	result := api.JobResult{Status: status, Error: "it was made to fail"}
	if !broken {
		result = w.work(spec)
		if o.Kind != "sync" {
			w.done = append(w.done, name)
		}
	}
	must(w, w.jobs.Result(w.Context(), w.caller, api.AttemptRef{Job: o.Job, Attempt: o.Attempt}, result))
}

func (w *world) accept(o api.Offer) (spec api.JobSpec, ok bool) {
	w.Helper()
	ref := api.AttemptRef{Job: o.Job, Attempt: o.Attempt}
	if _, err := w.jobs.Accept(w.Context(), w.caller, ref); errors.Is(err, jobs.ErrOfferGone) {
		return spec, false
	} else if err != nil {
		w.Fatal(err)
	}
	must(w, json.Unmarshal([]byte(w.one("select spec::text from jobs where id = $1", o.Job)), &spec))
	return spec, true
}

// clusterOfTest returns the cluster that the runner reports for a component.
func clusterOfTest(component string) api.ClusterIdentity {
	return api.ClusterIdentity{Identity: "sha256:" + component, Hash: "hmac:" + component}
}

// work does what Terraform would do: a plan compares the vars, rendered with opened
// secrets, with the state.
func (w *world) work(spec api.JobSpec) api.JobResult {
	switch spec.Kind {
	case "sync":
		return w.copy(spec.Sync)
	case "plan":
		if spec.Plan.Restore.Version > 0 {
			return w.planRestore(spec.Plan)
		}
		w.checkCopied(spec.Plan.Deploy)
		return w.plan(spec.Plan)
	case "apply":
		component := spec.Apply.Deploy.Component
		if spec.Apply.Restore.Version == 0 {
			w.checkCopied(spec.Apply.Deploy)
		}
		if restore := spec.Apply.Restore; restore.Version > 0 {
			w.state[component] = restore.Digest
			w.exec("update states set status = 'dismissed' where version = $1 and status = 'contested'", restore.Version)
			w.putState(component, restore.Digest, "kept")
			return api.JobResult{Status: "succeeded", Apply: api.ApplyResult{Outputs: w.outputs(component),
				Cluster: clusterOfTest(component)}}
		}
		w.state[component] = w.plans[spec.Apply.Bundle.Digest]
		if spec.Apply.Destroy {
			delete(w.state, component)
		}
		return api.JobResult{Status: "succeeded", Apply: api.ApplyResult{Outputs: w.outputs(component),
			Cluster: clusterOfTest(component)}}
	}
	return api.JobResult{Status: "succeeded",
		Action: api.ActionResult{Outputs: []api.Output{{Name: "answer", Value: json.RawMessage(`42`)}}}}
}

func (w *world) plan(spec api.PlanSpec) api.JobResult {
	rendered := w.rendered(spec.Deploy)
	action := diff.Update
	was, had := w.state[spec.Deploy.Component]
	switch {
	case spec.Destroy:
		action, rendered = diff.Destroy, ""
	case !had:
		action = diff.Create
	case w.replaces[spec.Deploy.Component]:
		action = diff.Replace
	}
	report := &diff.Report{Kind: diff.KindTerraform, Applyable: had && spec.Destroy || !spec.Destroy && was != rendered}
	if report.Applyable {
		report.Changes = []diff.Change{{Address: "terraform_data.it", ResourceKind: "terraform_data", Name: "it",
			Action: action, Risk: action.Risk()}}
		report.Changes[0].AddFindings(w.findings[spec.Deploy.Component]...)
	}
	for _, at := range w.drifts[spec.Deploy.Component] {
		report.Drift = append(report.Drift, diff.Change{Address: at, ResourceKind: "terraform_data", Name: "it",
			Action: diff.Update})
	}
	report.Totals = report.Count()
	raw, err := json.Marshal(report)
	must(w, err)
	bundle := sha256digest.Of([]byte(id.New("bundle")))
	w.plans[bundle] = rendered
	result := api.PlanResult{
		Applyable: report.Applyable, Report: raw, ReportDigest: report.Digest(), Destructive: report.Destructive(),
		Bundle: api.ArtifactRef{Repository: spec.Deploy.Repository, Digest: bundle},
		Basis:  api.Basis{DesiredDigest: spec.DesiredDigest, Artifact: spec.Deploy.Artifact.Digest},
	}
	for _, state := range w.list(
		"select serial || ' ' || lineage from states where install_component_id = $1 and status = 'kept' order by version "+
			"desc limit 1", spec.Deploy.InstallComponent) {
		_, err := fmt.Sscan(state, &result.Basis.StateSerial, &result.Basis.StateLineage)
		must(w, err)
	}
	if !report.Applyable {
		result.Outputs = w.outputs(spec.Deploy.Component)
	}
	return api.JobResult{Status: "succeeded", Plan: result}
}

// rendered returns the input of the module: artifact and vars, including secrets. It
// never leaves the runner.
func (w *world) rendered(m api.DeploySpec) string {
	tree := render.Tree{}
	must(w, json.Unmarshal(m.Values.Plain, &tree))
	for _, v := range m.Values.Sealed {
		use := seal.Context{Install: w.install, Kind: seal.KindOutput, Component: v.Component,
			Path: strings.Join(v.Path, ".")}
		switch v.Path[0] {
		case "inputs":
			use = seal.InputContext(w.install, v.Path[2])
		case "app":
			use = seal.InstallVariableContext(w.install, v.Path[2])
		}
		secret, err := w.key.Open(v.Sealed, use)
		must(w, err)
		tree.Set(v.Path, string(secret.Reveal()))
	}
	out := "artifact " + m.Artifact.Digest
	vars := maps.Clone(m.Terraform.Vars)
	if m.Terraform.Override != "" {
		vars["override"] = m.Terraform.Override
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		tmpl, err := render.Parse(name, vars[name])
		must(w, err)
		text, err := tmpl.Execute(tree)
		if err != nil {
			w.Fatalf("render %s of %s: %v", name, m.Component, err)
		}
		out += "\n" + name + "=" + text
	}
	return out
}

// outputs returns the outputs of each module: network's join_token is sensitive.
func (w *world) outputs(component string) []api.Output {
	switch component {
	case "sandbox":
		return []api.Output{{Name: "region", Value: json.RawMessage(`"eu"`), Hash: "hmac:01"}}
	case "network":
		use := seal.Context{Install: w.install, Kind: seal.KindOutput,
			Component: w.one("select id from install_components where name = $1", component),
			Path:      "components.network.outputs.join_token"}
		sealed, err := w.key.Recipient().Seal(use, []byte(plantedOutput))
		must(w, err)
		return []api.Output{
			{Name: "cidr", Value: json.RawMessage(`"10.0.0.0/16"`), Hash: "hmac:02"},
			{Name: "join_token", Sealed: sealed, Hash: w.key.Hash("output", []byte(plantedOutput))},
		}
	case "web":
		return []api.Output{{Name: "url", Value: json.RawMessage(`"http://web"`), Hash: "hmac:03"}}
	}
	all := []api.Output{}
	for i := range w.moreOutputs {
		all = append(all, api.Output{Name: fmt.Sprint("out", i), Value: json.RawMessage(`"value of ` + component + `"`),
			Hash: "hmac:" + component})
	}
	return all
}

// answer is alice's answer to the pending plan of a component.
func (w *world) answer(component string, answer workflow.Answer, reason string) error {
	w.Helper()
	approval := w.one(
		`select a.id from approvals a join plans p on p.id = a.plan_id where a.status = 'waiting' and p.component = $1`,
		component)
	err := w.respond(approval, answer, "alice", reason)
	w.queue()
	return err
}

// respond answers an approval request as it is displayed.
func (w *world) respond(approval string, answer workflow.Answer, actor, reason string) error {
	w.Helper()
	return w.give(w.displayed(approval, answer, actor, reason))
}

// give records an answer.
func (w *world) give(answer workflow.Response) error {
	return w.in(func(ctx context.Context, tx *store.Tx) error {
		_, err := workflow.Respond(ctx, tx, answer)
		return err
	})
}

// displayed returns the answer of a person to whom an approval request is displayed now.
func (w *world) displayed(approval string, answer workflow.Answer, actor, reason string) workflow.Response {
	w.Helper()
	return workflow.Response{
		Approval: approval, Answer: answer, Actor: actor, Reason: reason,
		Plan:          w.one("select coalesce(plan_id, '') from approvals where id = $1", approval),
		ContentDigest: w.one("select content_digest from approvals where id = $1", approval),
	}
}

// approveAll approves everything until nothing is left to do.
func (w *world) approveAll() {
	w.Helper()
	for {
		w.runJobs()
		asked := w.asked()
		if len(asked) == 0 {
			return
		}
		for _, component := range asked {
			must(w, w.answer(component, workflow.Approve, "fine"))
		}
	}
}

// asked returns the components whose plans wait for an approval.
func (w *world) asked() []string {
	w.Helper()
	return w.list(
		`select p.component from approvals a join plans p on p.id = a.plan_id where a.status = 'waiting' order by 1`)
}

// provision deploys a new install until it is up to date.
func (w *world) provision() {
	w.Helper()
	w.look()
	w.approveAll()
	w.done = nil
	if status, reason := w.status(); status != "current" {
		w.dump()
		w.Fatalf("after provisioning the install is %s: %s", status, reason)
	}
}

func (w *world) status() (status, reason string) {
	w.Helper()
	must(w, w.store.ReadTx(w.Context(), w.org, func(ctx context.Context, tx *store.Tx) error {
		v, err := w.view(ctx, tx)
		status, reason = v.Status()
		return err
	}))
	return status, reason
}

// health returns the install's health while its runner is online.
func (w *world) health() (health string) {
	w.Helper()
	must(w, w.store.ReadTx(w.Context(), w.org, func(ctx context.Context, tx *store.Tx) error {
		v, err := w.view(ctx, tx)
		health = v.Health(true)
		return err
	}))
	return health
}

func (w *world) view(ctx context.Context, tx *store.Tx) (rollout.View, error) {
	install, err := tx.InstallForStatus(ctx, tx.Org, w.install)
	if err != nil {
		return rollout.View{}, err
	}
	views, err := rollout.LoadViews(ctx, tx, []store.Install{install})
	if err != nil {
		return rollout.View{}, err
	}
	return views[0], nil
}

func (w *world) component(name string) (status, reason string) {
	w.Helper()
	must(w, w.store.ReadTx(w.Context(), w.org, func(ctx context.Context, tx *store.Tx) error {
		v, err := w.view(ctx, tx)
		for _, c := range v.Components {
			if c.Name == name {
				status, reason = v.ComponentStatus(c)
			}
		}
		return err
	}))
	return status, reason
}

// workflows returns "kind status" of all workflows, oldest first.
func (w *world) workflows() []string {
	w.Helper()
	return w.list("select kind || ' ' || status from workflows order by number")
}

// ask is alice requesting a deploy, or a deprovision (absent).
func (w *world) ask(wanted string, components ...string) {
	w.Helper()
	kind := workflow.KindDeploy
	if wanted == "absent" {
		kind = workflow.KindDeprovision
	}
	_, err := w.wish(rollout.DeployRequest{Kind: kind, Components: components})
	must(w, err)
}

// wish is alice sending a request.
func (w *world) wish(wish rollout.DeployRequest) (granted rollout.RequestResult, err error) {
	w.Helper()
	wish.Actor = "alice"
	err = w.in(func(ctx context.Context, tx *store.Tx) error {
		granted, err = w.rollout.Request(ctx, tx, store.Install{ID: w.install, Name: "acme"}, wish)
		return err
	})
	w.queue()
	return granted, err
}

// dump logs the state for a failed test.
func (w *world) dump() {
	for _, sql := range []string{
		"select format('workflow %s %s %s: %s / %s', number, kind, status, reason, outcome) from workflows order by number",
		"select format('step %s %s%s %s (try %s): %s', s.kind, component, action, s.status, tries, s.reason) from steps s " +
			"join workflows w on w.id = s.workflow_id order by w.number, position",
		"select format('plan of %s %s: %s', component, status, reason) from plans order by created_at",
		"select format('%s wanted %s desired %s applied %s waits %s: %s', name, desired_presence, left(desired_digest, " +
			"14), left(applied_digest, 14), waits_for, desired_reason) from install_components order by name",
		"select format('job %s %s %s: %s', kind, status, reason, error) from jobs order by created_at",
	} {
		for _, line := range w.list(sql) {
			w.Log(line)
		}
	}
}

func (w *world) want(got, want any) {
	w.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.dump()
		w.Fatalf("got  %v\nwant %v", got, want)
	}
}

func newKey() (seal.Identity, error) { return seal.NewIdentity() }
