package control_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// add inserts a row of the org; values are column, value, column, value.
func (o *tenant) add(table string, values ...any) {
	o.w.Helper()
	columns, places, args := "org_id", "$1", []any{o.org.ID}
	for i := 0; i < len(values); i += 2 {
		args = append(args, values[i+1])
		columns += ", " + values[i].(string)
		places += ", $" + itoa(len(args))
	}
	o.w.exec("insert into "+table+" ("+columns+") values ("+places+")", args...)
}

// packed compresses lines as the table stores them.
func packed(t testing.TB, lines string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(lines)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func itoa(n int) string {
	b, _ := json.Marshal(n) // a number always marshals
	return string(b)
}

// make creates and records the id of a seeded object.
func (o *tenant) make(kind, prefix string) string {
	o.ids[kind] = id.New(prefix)
	return o.ids[kind]
}

// app seeds an app with a version.
func (o *tenant) app(name string, config appconfig.App) (appID string) {
	o.w.Helper()
	raw, err := json.Marshal(config)
	must(o.w, err)
	appID = id.New("app")
	ver := id.New("ver")
	o.add("apps", "id", appID, "name", name)
	o.add("app_versions", "id", ver, "app_id", appID, "number", 1, "digest", "sha256:"+o.mark+ver, "config", raw,
		"reason", o.mark+" was made")
	o.w.exec("update apps set version_id = $1 where id = $2", ver, appID)
	o.ids["version"] = ver
	o.add("releases", "id", o.make("release", "rel"), "app_id", appID, "number", 1, "digest", "sha256:"+o.mark+ver,
		"version_id", ver, "status", "complete",
		"cause", o.mark+" was released", "commits",
		`[{"repository":"https://git.example/`+o.mark+`","ref":"main","commit":"`+o.mark+`-commit"}]`)
	return appID
}

// component seeds a component that is in the app's release, with an input that has no build.
func (o *tenant) component(app, component, name string) {
	o.w.Helper()
	input := "inp_" + component
	o.add("components", "id", component, "app_id", app, "name", name, "kind", "terraform_module", "input_id", input)
	o.add("component_inputs", "id", input, "component_id", component, "digest", input, "recipe", `{}`, "reason", "r")
	o.add("release_components", "release_id", o.ids["release"], "component_id", component, "input_id", input)
}

// runner seeds a runner that has not registered yet and returns its registration token.
func (o *tenant) runner(name, kind string, shared bool) (runner store.Runner, registration string) {
	o.w.Helper()
	must(o.w, o.in(func(ctx context.Context, tx *store.Tx) (err error) {
		runner, registration, err = runners.Create(ctx, tx, runners.NewRunner{
			Name: name, Kind: kind, Shared: shared,
		})
		return err
	}))
	return runner, registration
}

// fill seeds one of everything, with the org's mark in every text: the whole chain from a commit to
// a plan that waits.
func (o *tenant) fill() {
	o.w.Helper()
	m := o.mark
	o.add("credentials", "id", o.make("credential", "crd"), "name", m+"-cred", "username", m, "sealed", `{}`)
	o.add("webhooks", "id", o.make("webhook", "hok"), "sealed", `{}`)
	o.add("watches", "id", o.make("watch", "wat"), "url", "https://git.example/"+m, "ref", m+"-ref")
	o.add("revisions", "id", o.make("revision", "rev"), "watch_id", o.ids["watch"], "number", 1, "commit",
		m+"-commit", "tree", m+"-tree",
		"subject", m+" subject", "reason", m+" was pushed", "outcome", m+" was built")
	o.w.exec("update watches set revision_id = $1 where id = $2", o.ids["revision"], o.ids["watch"])
	app := o.app(m+"-app", hello(m+"-web"))
	o.ids["app"] = app
	o.w.exec("update apps set watch_id = $1 where id = $2", o.ids["watch"], app)
	o.w.exec("update app_versions set revision_id = $1 where id = $2", o.ids["revision"], o.ids["version"])
	o.add("components", "id", o.make("component", "cmp"), "app_id", app, "name", m+"-web", "kind", "terraform_module",
		"problem", m+" problem")
	o.add("component_inputs", "id", o.make("input", "inp"), "component_id", o.ids["component"], "digest",
		"sha256:"+m+"-in", "recipe", `{}`,
		"revision_id", o.ids["revision"], "reason", m+" changed its module")
	o.w.exec("update components set input_id = $1 where id = $2", o.ids["input"], o.ids["component"])
	o.add("release_components", "release_id", o.ids["release"], "component_id", o.ids["component"],
		"input_id", o.ids["input"])
	o.add("builds", "id", o.make("build", "bld"), "component_id", o.ids["component"], "input_id", o.ids["input"],
		"number", 1, "status", "succeeded",
		"repository", "https://git.example/"+m, "commit", m+"-commit", "artifact_digest", "sha256:"+m+"-art",
		"reason", m+" has no build")
	o.add("module_refreshes", "id", o.make("refresh", "mrf"), "app_id", app, "status", "succeeded", "dry_run", true,
		"requested_by", m, "ended_at", time.Now())
	r, _ := o.runner(m+"-runner", "install", false)
	o.ids["runner"] = r.ID
	o.add("audit_events", "actor", m, "action", "test.seed", "subject", o.ids["app"], "detail", `{"note":"`+m+`"}`)
	o.fillInstall()
}

// fillStates seeds a Terraform state of the install's component, a contested version of it, and a
// lock that its attempt left behind.
func (o *tenant) fillStates() {
	o.w.Helper()
	for version, status := range []string{"kept", "contested"} {
		o.add("states", "install_component_id", o.ids["install_component"], "version", version+1, "serial", version+1,
			"lineage", o.mark, "digest", o.mark+status,
			"sealed", `{"key_id":"`+o.mark+`","ciphertext":"eA=="}`, "job_id", o.ids["job"], "attempt", 1, "status",
			status, "reason", o.mark+" says so")
	}
	o.add("state_locks", "install_component_id", o.ids["install_component"], "lock_id", o.mark+"-lock", "info",
		`{"Who":"`+o.mark+`"}`, "job_id", o.ids["job"], "attempt", 1)
}

// fillInstall seeds an install with a workflow, a plan that waits and a job with a log.
func (o *tenant) fillInstall() {
	o.w.Helper()
	m := o.mark
	o.add("installs", "id", o.make("install", "ins"), "app_id", o.ids["app"], "name", m+"-inst",
		"runner_id", o.ids["runner"])
	o.add("install_inputs", "install_id", o.ids["install"], "name", "region", "value", m+"-region", "hash", "h")
	o.add("app_variables", "app_id", o.ids["app"], "name", m+"_sender", "value", m+"-value", "hash", "h",
		"updated_by", m)
	o.add("stack_outputs", "install_id", o.ids["install"], "version", 1, "source", "manual", "actor", m, "changed",
		[]string{"region"}, "outputs", `{"region":{"value":"`+m+`-region","source":"manual"}}`)
	o.add("stack_versions", "install_id", o.ids["install"], "version", 1, "digest", "sha256:"+m+"-stack", "cloud", "aws",
		"name", m+"-stack", "region", "", "files", `[{"name": "`+m+`.json", "content": "{}"}]`, "findings", `[]`,
		"release", 1)
	o.add("break_glass_requests", "id", o.make("break_glass", "bgl"), "install_id", o.ids["install"], "role",
		m+"-repair", "reason", m+" is locked out", "requested_by", m, "until", "2100-01-01T00:00:00Z")
	o.add("install_components", "id", o.make("install_component", "ico"), "install_id", o.ids["install"],
		"component_id", o.ids["component"],
		"name", m+"-web", "desired_digest", "sha256:"+m+"-want", "desired_reason", m+" build 1 is new")
	o.add("outputs", "install_id", o.ids["install"], "scope", "component", "owner", m+"-web", "name", m+"_url",
		"value", `"`+m+`"`, "hash", "h")
	o.add("workflows", "id", o.make("workflow", "wfl"), "install_id", o.ids["install"], "number", 1, "kind", "deploy",
		"status", "succeeded",
		"reason", m+" is behind", "requested_by", m, "revision", 1)
	o.add("steps", "id", o.make("step", "stp"), "workflow_id", o.ids["workflow"], "position", 0, "kind", "plan",
		"component", m+"-web",
		"install_component_id", o.ids["install_component"], "status", "succeeded", "reason", m+" was planned",
		"plan_id", o.make("plan", "pln"))
	o.add("plans", "id", o.ids["plan"], "step_id", o.ids["step"], "workflow_id", o.ids["workflow"],
		"install_id", o.ids["install"],
		"install_component_id", o.ids["install_component"], "component", m+"-web", "status", "ready", "reason",
		m+" changes one thing",
		"desired_digest", "sha256:"+m+"-want", "basis", `{}`, "basis_digest", m, "bundle_digest", m,
		"report", `{"note":"`+m+`"}`,
		"report_digest", m, "content_digest", "sha256:"+m+"-content", "destructive", false,
		"target", `{"deploy":{"artifact":{"digest":"sha256:`+m+`-art"}},"release":"`+o.ids["release"]+`"}`)
	o.add("approvals", "id", o.make("approval", "apr"), "plan_id", o.ids["plan"], "step_id", o.ids["step"],
		"workflow_id", o.ids["workflow"], "install_id", o.ids["install"], "content_digest", "sha256:"+m+"-content",
		"status", "waiting", "reason", m+" needs a person")
	o.add("jobs", "id", o.make("job", "job"), "runner_id", o.ids["runner"], "kind", "plan", "status",
		"succeeded", "owner_kind", "step",
		"owner_id", o.ids["step"], "install_id", o.ids["install"], "spec", `{}`, "attempt", 1,
		"reason", m+" is planned")
	o.add("attempts", "job_id", o.ids["job"], "number", 1, "runner_id", o.ids["runner"], "status", "succeeded",
		"lease_until", "2026-01-01")
	o.add("runner_logs", "runner_id", o.ids["runner"], "seq", 1, "many", 1, "size", 1, "lines",
		packed(o.w, `[{"t":"2026-01-01T00:00:00Z","l":"info","m":"`+m+` works"}]`))
	o.add("log_chunks", "job_id", o.ids["job"], "attempt", 1, "seq", 1, "lines",
		packed(o.w, `[{"t":"2026-01-01T00:00:00Z","l":"info","m":"`+m+` line"}]`))
	o.add("shells", "job_id", o.ids["job"], "token_id", o.ids["token"], "chunks", 1, "inputs", 1)
	o.add("shell_chunks", "job_id", o.ids["job"], "seq", 1, "input", true, "number", 1, "data", []byte(m+" typed"),
		"columns", 0, "rows", 0, "at", "2026-01-01T00:00:00Z")
}
