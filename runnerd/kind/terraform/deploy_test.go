package terraform

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testprogram"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules"
)

// hello has a resource, a plain output, a sensitive output, and one that contains a secret
// without being marked as sensitive.
const hello = `
variable "greeting" {
  type = string
}
variable "replicas" {
  type    = number
  default = 1
}
variable "token" {
  type      = string
  default   = ""
  sensitive = true
}
variable "careless" {
  type    = string
  default = ""
}
resource "terraform_data" "page" {
  input = {
    text     = var.greeting
    replicas = var.replicas
    token    = var.token
    careless = var.careless
  }
}
output "text" {
  value = terraform_data.page.output.text
}
output "token" {
  value     = { join = terraform_data.page.output.token }
  sensitive = true
}
output "careless" {
  value = "<${terraform_data.page.output.careless}>"
}
`

func report(t testing.TB, planned api.PlanResult) *diff.Report {
	t.Helper()
	var read diff.Report
	if err := json.Unmarshal(planned.Report, &read); err != nil {
		t.Fatal(err)
	}
	if err := read.Validate(); err != nil {
		t.Fatal(err)
	}
	if read.Digest() != planned.ReportDigest {
		t.Fatalf("the report's digest is %s, the result says %s", read.Digest(), planned.ReportDigest)
	}
	return &read
}

func find(outputs []api.Output, name string) api.Output {
	at := slices.IndexFunc(outputs, func(output api.Output) bool { return output.Name == name })
	if at < 0 {
		return api.Output{}
	}
	return outputs[at]
}

// TestLifeOfAComponent creates, leaves unchanged, changes and destroys a component,
// with secrets that must never be visible.
func TestLifeOfAComponent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const secret, nested = "planted-s3cret/token+1", "nested\"planted\nsecret-value"
	spec := r.spec(r.mustBuild("m", "m/main.tf", hello))
	encoded, err := json.Marshal(map[string]any{"deep": []string{nested}})
	if err != nil {
		t.Fatal(err)
	}
	spec.Values = api.Values{
		Plain: json.RawMessage(`{"inputs":{"inputs":{"greeting":"hello"}},"install":{"name":"acme"}}`),
		Sealed: []api.SealedValue{r.sealed("inputs.inputs.api_token", secret),
			r.sealed("components.network.outputs.all", string(encoded))},
	}
	spec.Terraform.Vars = map[string]string{
		"greeting": "{{.nuon.install.inputs.greeting}} from {{.nuon.install.name}}",
		"token":    "{{index .nuon.components.network.outputs.all.deep 0}}",
		"careless": "postgres://u:{{.nuon.inputs.inputs.api_token | b64enc}}@h/db",
	}
	spec.Terraform.VarFiles = []string{"replicas = 2\n",
		`{"replicas": 3, "unheard_of": "{{.nuon.inputs.inputs.api_token}}"}`}
	spec.Terraform.EnvVars = map[string]string{"REGION": "{{.nuon.install.name}}"}

	first := r.mustPlan(spec, false)
	shown := report(t, first)
	if !first.Applyable || first.Destructive || shown.Totals.Create != 1 || first.Bundle.Digest == "" ||
		first.Bundle.Repository != "install/plans" || first.Outputs != nil {
		t.Fatalf("%+v", first)
	}
	if first.Basis != (api.Basis{DesiredDigest: "sha256:desired", Artifact: spec.Artifact.Digest}) {
		t.Fatalf("basis %+v", first.Basis)
	}
	if len(r.states) != 0 {
		t.Fatal("a plan wrote a state")
	}
	r.mustBeFree()

	applied := r.mustApply(applySpec(spec, first, false))
	if got := find(applied.Outputs, "text"); string(got.Value) != `"hello from acme"` ||
		!strings.HasPrefix(got.Hash, "hmac:") {
		t.Fatalf("text is %+v", got)
	}
	for name, want := range map[string]string{"token": "nested", "careless": "postgres"} {
		got := find(applied.Outputs, name)
		opened, err := r.key.Open(got.Sealed,
			seal.Context{Install: "ins_1", Kind: seal.KindOutput, Component: "ic_web",
				Path: "components.web.outputs." + name})
		if err != nil || got.Value != nil || !strings.HasPrefix(got.Hash, "hmac:") ||
			!strings.Contains(string(opened.Reveal()), want) {
			t.Fatalf("%s is %+v, %v", name, got, err)
		}
	}
	r.mustBeFree()
	wrote := r.states[len(r.states)-1]

	second := r.mustPlan(spec, false)
	if second.Applyable || second.Bundle.Digest != "" || second.Basis.StateSerial != wrote.Serial ||
		second.Basis.StateLineage != wrote.Lineage {
		t.Fatalf("%+v", second)
	}
	if got := find(second.Outputs, "careless"); got.Hash != find(applied.Outputs, "careless").Hash || got.Value != nil {
		t.Fatalf("the outputs as they stand differ from those of the apply: %+v", got)
	}

	spec.Terraform.Vars["greeting"] = "howdy"
	third := r.mustPlan(spec, false)
	if shown := report(t, third); !third.Applyable || shown.Totals.Update != 1 || third.Destructive {
		t.Fatalf("%+v", shown.Totals)
	}
	if changed := r.mustApply(applySpec(spec, third, false)); string(find(changed.Outputs, "text").Value) != `"howdy"` {
		t.Fatalf("%+v", changed)
	}

	last := r.mustPlan(spec, true)
	if shown := report(t, last); !last.Applyable || !last.Destructive || shown.Totals.Destroy != 1 {
		t.Fatalf("%+v", shown.Totals)
	}
	if gone := r.mustApply(applySpec(spec, last, true)); len(gone.Outputs) != 0 {
		t.Fatalf("%+v", gone)
	}
	if again := r.mustPlan(spec, true); again.Applyable {
		t.Fatal("there is still something to destroy")
	}
	r.mustBeFree()
	r.mustNotLeak(secret, nested, "cGxhbnRlZC1zM2NyZXQ")
	if !strings.Contains(r.log.String(), "terraform_data.page: Creation complete") {
		t.Error("Terraform's own output is not in the log")
	}
}

// TestAppliedOnce checks that a plan is applied only once. Terraform would apply a plan again
// if the state has not changed; here it has.
func TestAppliedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec := r.spec(r.mustBuild("m", "m/main.tf", hello))
	spec.Terraform.Vars = map[string]string{"greeting": "hello"}
	planned := r.mustPlan(spec, false)
	r.mustApply(applySpec(spec, planned, false))
	result, err := r.apply(t.Context(), applySpec(spec, planned, false))
	if !isStale(err, "plan again") {
		t.Fatal(result, err)
	}
}

func TestStale(t *testing.T) {
	r := newRig(t)
	spec := r.spec(r.mustBuild("m", "m/main.tf", hello))
	spec.Terraform.Vars = map[string]string{"greeting": "hello"}
	r.mustApply(applySpec(spec, r.mustPlan(spec, false), false))
	before := len(r.states)
	spec.Terraform.Vars["greeting"] = "howdy"
	planned := r.mustPlan(spec, false)

	tests := map[string]struct {
		change func(*api.ApplySpec)
		want   string
	}{
		"report": {func(s *api.ApplySpec) { s.ReportDigest = "sha256:tampered" },
			"the plan bundle has the report"},
		"state serial": {func(s *api.ApplySpec) { s.Basis.StateSerial++ }, "has another basis"},
		"desired":      {func(s *api.ApplySpec) { s.Basis.DesiredDigest = "sha256:newer" }, "has another basis"},
		"other artifact": {func(s *api.ApplySpec) { s.Deploy.Artifact.Digest = "sha256:" + strings.Repeat("0", 64) },
			"the component's artifact is"},
		"destroy": {func(s *api.ApplySpec) { s.Destroy = true }, "differ in whether they destroy"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			asked := applySpec(spec, planned, false)
			test.change(&asked)
			result, err := r.apply(t.Context(), asked)
			if !isStale(err, test.want) {
				t.Fatalf("%+v, %v\nwant %s", result, err, test.want)
			}
		})
	}
	t.Run("another account", func(t *testing.T) {
		t.Setenv("AWS_PROFILE", "production")
		result, err := r.apply(t.Context(), applySpec(spec, planned, false))
		if !isStale(err, "another AWS_PROFILE in its environment") {
			t.Fatal(result, err)
		}
	})
	t.Run("state moved", func(t *testing.T) {
		other := spec
		other.Terraform.Vars = map[string]string{"greeting": "in between"}
		r.mustApply(applySpec(other, r.mustPlan(other, false), false))
		before = len(r.states)
		result, err := r.apply(t.Context(), applySpec(spec, planned, false))
		if !isStale(err, "the state moved from serial") {
			t.Fatal(result, err)
		}
	})
	t.Run("another state", func(t *testing.T) {
		kept := r.states
		r.states = nil
		defer func() { r.states = kept }()
		result, err := r.apply(t.Context(), applySpec(spec, planned, false))
		if !isStale(err, "another state") {
			t.Fatal(result, err)
		}
	})
	if len(r.states) != before {
		t.Fatal("a stale plan changed something")
	}
	r.mustBeFree()
}

func TestFailures(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	place := "vars/000.tfvars.json:2" // of a value that a condition refuses
	if testedTool == modules.OpenTofu {
		place = "m/main.tf:1"
	}
	local := func(command string) string {
		return "resource \"terraform_data\" \"x\" {\n  provisioner \"local-exec\" {\n    command = \"" + command +
			"\"\n  }\n}\n"
	}
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	defer elsewhere.Close()
	tests := map[string]struct {
		module string
		change func(*api.DeploySpec)
		want   []string
		apply  bool
	}{
		"variable missing": {module: "variable \"a\" {}\n",
			want: []string{"terraform plan: m/main.tf:1: No value for required variable"}},
		"condition": {module: "variable \"a\" {\n  validation {\n    condition     = var.a == \"x\"\n    error_message = " +
			"\"It must be x.\"\n  }\n}\n",
			change: func(s *api.DeploySpec) { s.Terraform.Vars = map[string]string{"a": "y"} },
			want:   []string{"terraform plan: " + place + ": Invalid value", "It must be x."}},
		"template names nothing": {module: "",
			change: func(s *api.DeploySpec) { s.Terraform.Vars = map[string]string{"a": "{{.nuon.inputs.inputs.b}}"} },
			want:   []string{"vars.a", "inputs.b"}},
		"sealed to another": {module: "", change: func(s *api.DeploySpec) {
			s.Values.Sealed = []api.SealedValue{newRig(
				t).sealed("inputs.inputs.x", "y")}
		}, want: []string{".nuon.inputs.inputs.x", "key-"}},
		"variable as variable": {module: "",
			change: func(s *api.DeploySpec) { s.Terraform.EnvVars = map[string]string{"TF_VAR_x": "1"} },
			want:   []string{"env_vars: ", "TF_VAR_x is reserved", "in vars"}},
		"linker's variable": {module: "",
			change: func(s *api.DeploySpec) { s.Terraform.EnvVars = map[string]string{"LD_PRELOAD": "x"} },
			want:   []string{"LD_PRELOAD is reserved"}},
		"endpoint of a cloud": {module: "",
			change: func(s *api.DeploySpec) { s.Terraform.EnvVars = map[string]string{"AWS_ENDPOINT_URL": "x"} },
			want:   []string{"AWS_ENDPOINT_URL is reserved"}},
		"address in a region": {module: "",
			change: func(s *api.DeploySpec) { s.Terraform.EnvVars = map[string]string{"AWS_REGION": "{{\"x.evil/\"}}"} },
			want:   []string{"AWS_REGION becomes part of an address"}},
		"runner's own variable": {module: "",
			change: func(s *api.DeploySpec) { s.Terraform.EnvVars = map[string]string{"TF_HTTP_ADDRESS": "x"} },
			want:   []string{"TF_HTTP_ADDRESS is reserved", "changes how Terraform runs"}},
		"broken variable file": {module: "",
			change: func(s *api.DeploySpec) { s.Terraform.VarFiles = []string{"a = ["} },
			want:   []string{"terraform plan: vars/001.tfvars:"}},
		"path as component": {module: "", change: func(s *api.DeploySpec) { s.InstallComponent = "../x" },
			want: []string{"is not an id"}},
		"path as repository": {module: "variable \"a\" {\n  default = 1\n}\noutput \"a\" {\n  value = var.a\n}\n",
			change: func(s *api.DeploySpec) { s.Repository = "../x" },
			want:   []string{"is not the name of a repository"}},
		"local-exec": {module: local("echo planned-to-fail; exit 3"),
			want: []string{"terraform apply: m/main.tf:2: terraform_data.x: ", "exit status 3"}, apply: true},
		"other backend": {module: "", change: func(s *api.DeploySpec) {
			s.Artifact = r.mustBuild("m", "m/main.tf", "", "m/zzzzz_override.tf", "terraform {\n  backend \"local\" {}\n}\n")
		}, want: []string{`keeps its state in a "local" backend`}},
		"same backend elsewhere": {module: "", change: func(s *api.DeploySpec) {
			s.Artifact = r.mustBuild("m", "m/main.tf", "", "m/zzzzz_override.tf",
				"terraform {\n  backend \"http\" {\n    address = \""+elsewhere.URL+"\"\n  }\n}\n")
		}, want: []string{"the module sets address of the backend"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r.states = nil
			spec := r.spec(r.mustBuild("m", "m/main.tf", test.module))
			if test.change != nil {
				test.change(&spec)
			}
			planned, err := r.plan(spec, false)
			if test.apply {
				if err != nil {
					t.Fatal(err)
				}
				_, err = r.apply(t.Context(), applySpec(spec, planned, false))
			}
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant %s", err, want)
				}
			}
			r.mustBeFree()
			if test.apply && len(r.states) == 0 {
				t.Error("the state of a failed apply was not shipped")
			}
		})
	}
}

func TestLockHeldByAnother(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec := r.spec(r.mustBuild("m", "m/main.tf", "output \"a\" {\n  value = 1\n}\n"))
	r.lock = &api.StateLock{ID: "theirs", Holder: "job_77 attempt 2",
		Info: json.RawMessage(`{"ID":"theirs","Operation":"OperationTypeApply"}`)}
	env := r.env(api.JobSpecKindPlan)
	env.Timing.UnlockTimeout = time.Second
	env.Spec.Plan = api.PlanSpec{Deploy: spec}
	_, err := r.run(t.Context(), deploy.PlanHandler(Kind{}), env)
	if err == nil || !strings.Contains(err.Error(), "the state is locked by job_77 attempt 2") {
		t.Fatal(err)
	}
	if r.lock == nil {
		t.Fatal("somebody else's lock was freed")
	}
}

// TestCancelInMidApply checks that a job that is canceled in the middle of an apply ends soon,
// has its changes in the state, and leaves no lock.
func TestCancelInMidApply(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mark := filepath.Join(t.TempDir(), "running")
	module := "resource \"terraform_data\" \"first\" {}\n\nresource \"terraform_data\" \"slow\" {\n  depends_on = " +
		"[terraform_data.first]\n  provisioner \"local-exec\" {\n    command = \"touch '" + mark +
		"'; sleep 100000\"\n  }\n}\n"
	spec := r.spec(r.mustBuild("m", "m/main.tf", module))
	planned := r.mustPlan(spec, false)

	ctx, cancel := context.WithCancel(t.Context())
	go func() { // waits until the resource is being created
		look := time.NewTicker(10 * time.Millisecond)
		defer look.Stop()
		for range look.C {
			if _, err := os.Stat(mark); err == nil || ctx.Err() != nil {
				cancel()
				return
			}
		}
	}()
	_, err := r.apply(ctx, applySpec(spec, planned, false))
	cancel()
	if err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Fatal(err)
	}
	r.mustBeFree()
	if len(r.states) == 0 {
		t.Fatalf("the state was not shipped\n%s", r.log.String())
	}
	opened, err := r.key.Open(r.states[len(r.states)-1].Sealed, stateContext)
	if err != nil || !strings.Contains(string(opened.Reveal()), `"first"`) {
		t.Fatalf("the state does not have what was done: %v", err)
	}
	healed := r.mustPlan(spec, false)
	if shown := report(t, healed); shown.Totals.Create+shown.Totals.Replace != 1 {
		t.Fatalf("%+v", shown.Totals)
	}
}

// TestDeafToolIsKilled checks that a Terraform process that ignores the interrupt is killed
// with everything that it started.
func TestDeafToolIsKilled(t *testing.T) {
	r := newRig(t)
	grandchild := filepath.Join(t.TempDir(), "pid")
	spec := r.spec(r.mustBuild("m", "m/main.tf", "output \"a\" {\n  value = 1\n}\n"))
	fakeTerraform(t, "trap '' INT\nsh -c 'trap \"\" INT; echo $$ >"+grandchild+
		"; while :; do sleep 1; done' &\nwhile :; do sleep 1; done", "")
	env := r.env(api.JobSpecKindPlan)
	env.Timing.ToolGrace = 300 * time.Millisecond
	env.Spec.Plan = api.PlanSpec{Deploy: spec}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		look := time.NewTicker(10 * time.Millisecond)
		defer look.Stop()
		for range look.C {
			if content, err := os.ReadFile(grandchild); err == nil && len(content) > 0 || ctx.Err() != nil {
				cancel()
				return
			}
		}
	}()
	if _, err := r.run(ctx, deploy.PlanHandler(Kind{}), env); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Fatal(err)
	}
	content, err := os.ReadFile(grandchild)
	if err != nil {
		t.Fatal(err)
	}
	testtime.Until(t, "the end of what the tool started", func() bool {
		stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(content)), "stat"))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
	r.mustBeFree()
}

func TestForeignBackendIsToldAndReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec := r.spec(r.mustBuild("m", "m/main.tf", "terraform {\n  backend \"s3\" {}\n}\noutput \"a\" {\n  value = 1\n}\n"))
	r.mustApply(applySpec(spec, r.mustPlan(spec, false), false))
	if !strings.Contains(r.log.String(), `m/main.tf:2: the module declares a \"s3\" backend; it is not used`) ||
		len(r.states) != 1 {
		t.Fatal(r.log.String())
	}
}

// TestAModuleCannotContainAState checks that an artifact cannot contain what Terraform leaves behind when it cannot
// deliver a state: the runner would seal it as the newest state, and no plan would show it.
func TestAModuleCannotContainAState(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	built := r.mustBuild("m", "m/main.tf", hello)
	honest := r.pulled(built)
	files, err := honest.Files(artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, artifact.File{Path: "m/errored.tfstate",
		Content: []byte(`{"version":4,"serial":900,"lineage":"l","outputs":{},"resources":[]}`)})
	planted, err := artifact.Pack(honest.Type, files, honest.Annotations, artifact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := r.env(api.JobSpecKindPlan).Install.Push(t.Context(), built.Repository, planted)
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.plan(r.spec(ref), false)
	if err == nil || !strings.Contains(err.Error(), "m/errored.tfstate, which would be stored as the state") {
		t.Errorf("got %+v, %v", result, err)
	}
	if len(r.states) > 0 {
		t.Errorf("the states are %+v", r.states)
	}
	r.mustBeFree()
}

// TestStrayStateIsKept checks that a state that the endpoint did not accept is stored before
// the workspace is removed.
func TestStrayStateIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	env := r.env(api.JobSpecKindApply)
	session := &session{Operation: &deploy.Operation{Env: env, Deploy: r.spec(api.ArtifactRef{})}}
	if err := session.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	session.workspace.module = "m"
	if err := os.MkdirAll(session.workspace.moduleDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := session.storeUndelivered(t.Context()); err != nil {
		t.Fatal("there is none, but:", err)
	}
	stray := filepath.Join(session.workspace.moduleDir(), "errored.tfstate")
	for content, wrong := range map[string]string{`{"version":4,"serial":3,"lineage":"l"}`: "",
		"torn": "could not be stored"} {
		if err := os.WriteFile(stray, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := session.storeUndelivered(t.Context()); (wrong == "") != (err == nil) ||
			err != nil && !strings.Contains(err.Error(), wrong) {
			t.Fatalf("%s: %v", content, err)
		}
	}
	// If the disk has no room for the file, Terraform prints the state.
	if err := os.Remove(stray); err != nil {
		t.Fatal(err)
	}
	session.terraform = &terraform{dumped: []byte(`{"version":4,"serial":4,"lineage":"l"}`)}
	if err := session.storeUndelivered(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := env.API.UnlockState(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(r.states) != 2 || r.states[0].Serial != 3 || r.states[1].Serial != 4 {
		t.Fatalf("%+v", r.states)
	}
	if err := session.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.mustBeFree()
}

// fakeTerraform puts a script in place of Terraform, for behavior that its built-in resources
// do not have. It implements version, init and show; the parameters are the rest.
func fakeTerraform(t *testing.T, plan, apply string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "terraform")
	script := "#!/bin/sh\ncase \"$1\" in\n" +
		"version) echo '{\"terraform_version\": \"" + terraformVersion + "\"}' ;;\n" +
		"init) mkdir -p .terraform; echo '{\"backend\":{\"type\":\"http\"}}' >.terraform/terraform.tfstate ;;\n" +
		"show) echo '{\"format_version\":\"1.2\",\"terraform_version\":\"" + terraformVersion +
		"\",\"applyable\":true,\"complete\":true}' ;;\n" +
		"plan)\n" + plan + "\n;;\napply)\n" + apply + "\n;;\nesac\n"
	testprogram.Write(t, path, script)
	t.Setenv("NUON_TERRAFORM", path)
}

// TestBundleBringsBackWhatThePlanWrote checks that an apply has the files that the plan wrote
// in the working directory, at the same path, and the component's environment.
func TestBundleBringsBackWhatThePlanWrote(t *testing.T) {
	r := newRig(t)
	spec := r.spec(r.mustBuild("m", "m/main.tf", "output \"a\" {\n  value = 1\n}\n", "m/run.sh", "old"))
	spec.Terraform.EnvVars = map[string]string{"REGION": "{{.nuon.inputs.inputs.region}}"}
	spec.Terraform.VarFiles = []string{"a = 1\n"}
	spec.Values.Plain = json.RawMessage(`{"inputs":{"inputs":{"region":"north"}}}`)
	seen := filepath.Join(t.TempDir(), "seen")
	fakeTerraform(t, `
for a in "$@"; do case "$a" in -out=*) echo the-plan >"${a#-out=}" ;; esac; done
mkdir -p gen .terraform/x; pwd >gen/where; echo secret-archive >gen/code.zip; chmod 755 gen/code.zip; echo new >run.sh; echo no >.terraform/x/y`, `
for last in "$@"; do :; done
{ pwd; cat gen/where "$last" run.sh ../../vars/001.tfvars; echo "$REGION"; test -x gen/code.zip && cat gen/code.zip; test -e .terraform/x || echo gone; } >'`+seen+`'`)
	planned := r.mustPlan(spec, false)
	spec.Values.Plain = json.RawMessage(`{"inputs":{"inputs":{"region":"south"}}}`)
	r.mustApply(applySpec(spec, planned, false))
	got, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	where := filepath.Join(r.root, "work", "ic_web", "tree", "m")
	want := where + "\n" + where + "\nthe-plan\nnew\na = 1\nnorth\nsecret-archive\ngone\n"
	if string(got) != want {
		t.Fatalf("got %s\nwant %s", got, want)
	}
	r.mustBeFree()
}

// TestPlanOfAnotherPlaceIsStale checks that another runner of the same install with another
// directory does not apply the plan, which may contain paths.
func TestPlanOfAnotherPlaceIsStale(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec := r.spec(r.mustBuild("m", "m/main.tf", "output \"a\" {\n  value = 1\n}\n"))
	planned := r.mustPlan(spec, false)
	r.root = t.TempDir()
	result, err := r.apply(t.Context(), applySpec(spec, planned, false))
	if !isStale(err, "this runner works in") {
		t.Fatal(result, err)
	}
}
