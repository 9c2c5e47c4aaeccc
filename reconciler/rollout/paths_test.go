package rollout_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// pathNames are what the keys in capitals of the table of template paths stand for in this test.
var pathNames = strings.NewReplacer("COMPONENT", "web", "ACTION", "smoke", "STEP", "probe", "INPUT", "greeting",
	"NAMESPACE", "ns", "NAME", "n", "OUTPUT", "url", "KEY", "ok", "SECRET", "license")

// TestEveryPathIsResolved walks the table of template paths in a real install: each path that the table does not
// mark as unfilled has a value of its type, once the install is deployed.
func TestEveryPathIsResolved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provision()
	for owner, outputs := range map[string]string{
		"sandbox": `{"url": "u", "nuon_dns": {"public_domain": {"name": "acme.example"}, "internal_domain": {"name": "i"}}}`,
		"web": `{"manifest": "kind: Service", "resources": {}, "ingresses": {"ns": {"n": {}}}, "services": {"ns": {"n": {}}},
			"deployments": {"ns": {"n": {}}}}`,
	} {
		w.exec(`insert into outputs (org_id, install_id, scope, owner, name, value, hash)
			select $1, $2, 'component', $3, key, value, 'hmac:9' from jsonb_each($4) on conflict do nothing`, w.org, w.install,
			owner, outputs)
	}
	w.exec(`insert into outputs (org_id, install_id, scope, owner, name, value, hash)
		values ($1, $2, 'action', 'smoke', 'ok', '1', 'hmac:9'), ($1, $2, 'action', 'smoke', 'steps.probe.ok', '1', 'hmac:8')
		on conflict do nothing`, w.org, w.install)
	w.setStackOutputs()
	w.exec(`insert into stack_versions (org_id, install_id, version, digest, cloud, name, region, files, findings, release)
		values ($1, $2, 2, 'sha256:1', 'aws', 'n', '', '[]', '[]', 1)`, w.org, w.install)
	w.putVariable("VARIABLE", "x", false)
	w.exec(`update app_versions set config = jsonb_set(config, '{secrets}', '[{"name": "license"}]')`)
	w.exec(`insert into install_secrets (org_id, install_id, digest, secrets) values ($1, $2, 'd', '[{"name": "license",
		"state": "present", "version": "v1", "since": "2026-11-23T22:00:00Z",
		"copies": [{"namespace": "ns", "name": "n", "key": "value"}]}]')`, w.org, w.install)
	for _, path := range appconfig.TemplatePaths() {
		unfilled := path.NotYet || path.Never != ""
		if len(path.Kinds) > 0 && !slices.ContainsFunc(path.Kinds, deployable) {
			continue // no install has such a component yet
		}
		account := map[string]string{"": `{}`, "aws": `{"aws_account": {"region": "r"}}`,
			"azure": `{"azure_account": {"location": "r"}}`,
			"gcp":   `{"gcp_account": {"region": "r", "project_id": "p"}}`}[path.Cloud]
		w.exec("update installs set account = $1", account)
		shown := w.display("{{toJson .nuon." + pathNames.Replace(path.Path) + "}}")
		if path.Path == "install.secrets.SECRET" { // the runner alone has the value
			if !shown.Sensitive || shown.Problem != "" || len(shown.WaitsFor) > 0 {
				t.Errorf("%s has no value in an install: %+v", path.Path, shown)
			}
			continue
		}
		var value any
		if unfilled {
			if shown.Problem == "" && len(shown.WaitsFor) == 0 {
				t.Errorf("%s has the value %s, and the table says that nothing fills it", path.Path, shown.Text)
			}
			continue
		}
		if shown.Problem != "" || len(shown.WaitsFor) > 0 || json.Unmarshal([]byte(shown.Text), &value) != nil {
			t.Errorf("%s has no value in an install: %+v", path.Path, shown)
			continue
		}
		if !hasType(value, path.Type) {
			t.Errorf("%s is %s, and the table says that it is of type %s", path.Path, shown.Text, path.Type)
		}
	}
	w.want(w.display("{{.nuon.sandbox.version}} {{.nuon.sandbox.type}} {{.nuon.domain.public_domain}} "+
		"{{.nuon.actions.workflows.smoke.status}} {{.nuon.runner.status}}").Text,
		"c terraform acme.example succeeded active")
	w.want(w.display("{{.nuon.components.web.build_id}}").Text,
		w.one("select id from builds where component_id = 'cmp_web'"))
	w.want(w.display("{{.nuon.actions.workflows.smoke.id}}").Text,
		w.one("select workflow_id from steps where action = 'smoke' order by ended_at desc limit 1"))
}

// setStackOutputs sets each output of a stack that the table of template paths has.
func (w *world) setStackOutputs() {
	w.Helper()
	all := map[string]any{}
	for _, path := range appconfig.TemplatePaths() {
		keys := path.Keys()
		if path.From != appconfig.FromStackOutput || len(keys) < 3 {
			continue
		}
		value := map[appconfig.PathType]any{
			appconfig.PathText: "x", appconfig.PathAny: "x", appconfig.PathList: []string{"x"},
			appconfig.PathObject: map[string]any{},
		}[path.Type]
		for i := len(keys) - 1; i > 2; i-- {
			value = map[string]any{pathNames.Replace(keys[i]): value}
		}
		all[pathNames.Replace(keys[2])] = map[string]any{"value": value, "source": "manual"}
	}
	raw, err := json.Marshal(all)
	must(w, err)
	w.exec(`insert into stack_outputs (org_id, install_id, version, source, outputs, changed, actor)
		values ($1, $2, 1, 'manual', $3, '{}', 'vera')`, w.org, w.install, raw)
}

// TestPathsBeforeTheDeploy checks what templates see of an install that has nothing yet.
func TestPathsBeforeTheDeploy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(w.display("{{.nuon.sandbox.status}} {{.nuon.sandbox.populated}} {{.nuon.actions.workflows.smoke.status}} "+
		"{{.nuon.actions.workflows.smoke.populated}} {{.nuon.domain.populated}} {{.nuon.components.web.status}}").Text,
		"pending false pending false false pending")
	for text, want := range map[string]string{
		"{{.nuon.cloud_account.aws.region}}":   "the cloud account of the install is set",
		"{{.nuon.domain.public_domain}}":       "the sandbox is deployed",
		"{{.nuon.sandbox.version}}":            "the sandbox is deployed",
		"{{.nuon.components.web.build_id}}":    "web is deployed",
		"{{.nuon.install_stack.checksum}}":     "the install's stack is rendered",
		"{{.nuon.install_stack.outputs.zone}}": "stack output zone is set",
		"{{.nuon.install_stack.outputs}}":      "the outputs of the stack are set",
	} {
		w.want(w.display(text).WaitsFor, []string{want})
	}
}

// TestAccountMakesBehind deploys what reads the region of the cloud account once it is set, and nothing else.
func TestAccountMakesBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.app.Components[0].Terraform.Vars = map[string]string{"region": "{{.nuon.cloud_account.aws.region}}"}
	w.version()
	w.look()
	w.approveAll()
	status, reason := w.component("metrics")
	w.want([]string{status, reason}, []string{"waiting", "waits: .nuon.cloud_account.aws.region has no value; set it: " +
		"nuon installs update hello/acme --account aws.region=VALUE"})
	w.exec(`update installs set account = '{"aws_account": {"region": "eu-west-1"}}'`)
	w.done = nil
	w.look()
	w.approveAll()
	w.want(w.done, []string{"plan metrics", "apply metrics"})
	if !strings.Contains(w.state["metrics"], "region=eu-west-1") {
		t.Errorf("metrics was applied with %q", w.state["metrics"])
	}
}

func deployable(kind string) bool {
	return slices.Contains([]string{format.KindTerraformModule, format.KindHelmChart, format.KindKubernetesManifest}, kind)
}

func hasType(value any, want appconfig.PathType) bool {
	is := false
	switch want {
	case appconfig.PathText:
		_, is = value.(string)
	case appconfig.PathBool:
		_, is = value.(bool)
	case appconfig.PathList:
		_, is = value.([]any)
	case appconfig.PathObject:
		_, is = value.(map[string]any)
	case appconfig.PathAny:
		is = true
	}
	return is
}

// display renders one text as `nuon render` shows it.
func (w *world) display(text string) (shown rollout.RenderedText) {
	w.Helper()
	must(w, w.store.ReadTx(w.Context(), w.org, func(ctx context.Context, tx *store.Tx) error {
		install, err := tx.InstallForStatus(ctx, w.org, w.install)
		if err != nil {
			return err
		}
		d, err := rollout.LoadDisplay(ctx, tx, install)
		if err != nil {
			return err
		}
		all, err := d.Render(ctx, map[string]string{"k": text})
		if err == nil {
			shown = all[0]
		}
		return err
	}))
	return shown
}

// TestAccountOfTheStack reads the parts of the cloud account that nobody set from the outputs of the stack.
func TestAccountOfTheStack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.reportStack(`{"region": {"value": "eu-1"}, "project_id": {"value": "p"}, "resource_group_location": {"value": "west"}}`)
	w.want(w.display("{{.nuon.cloud_account.aws.region}} {{.nuon.cloud_account.gcp.project_id}} "+
		"{{.nuon.cloud_account.gcp.region}} {{.nuon.cloud_account.azure.location}}").Text, "eu-1 p eu-1 west")
	w.exec(`update installs set account = '{"aws_account": {"region": "eu-2"}}'`)
	w.want(w.display("{{.nuon.cloud_account.aws.region}}").Text, "eu-2")
}

// reportStack adds a version of the outputs of the install's stack.
func (w *world) reportStack(outputs string) {
	w.Helper()
	w.exec(`insert into stack_outputs (org_id, install_id, version, source, outputs, changed, actor)
		values ($1, $2, 1, 'manual', $3, '{}', 'test')`, w.org, w.install, outputs)
}

// TestPlatformVariables passes to the sandbox what its module declares: what the install has, and what it requires,
// for which the sandbox waits. The app's own values win, and a changed value makes the sandbox behind.
func TestPlatformVariables(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.app.Runner = &format.Runner{Type: "aws"}
	w.app.Sandbox.Terraform.Vars = map[string]string{"nuon_id": "own"}
	w.exec(`update component_inputs set variables = $1 where component_id = 'cmp_sandbox'`,
		`[{"name": "nuon_id"}, {"name": "region", "required": true}, {"name": "vpc_id"}, {"name": "tags"}]`)
	w.version()
	w.look()
	w.want(w.asked(), []string(nil))
	_, reason := w.component("sandbox")
	w.want(reason, "waits: .nuon.cloud_account.aws.region has no value; set it: "+
		"nuon installs update hello/acme --account aws.region=VALUE")
	w.exec(`update installs set account = '{"aws_account": {"region": "eu-west-1"}}'`)
	w.look()
	w.approveAll()
	files := w.one("select applied_config -> 'deploy' -> 'terraform' ->> 'var_files' " +
		"from install_components where name = 'sandbox'")
	w.want(files, `["{\n  \"region\": {{toJson .nuon.cloud_account.aws.region}},\n  \"tags\": `+
		`{\"install.nuon.co/id\": {{toJson .nuon.install.id}}, \"app.nuon.co/id\": {{toJson .nuon.app.id}}, `+
		`\"org.nuon.co/id\": {{toJson .nuon.org.id}}}\n}\n"]`)
	status, _ := w.component("sandbox")
	w.want(status, "current")
	w.exec(`update installs set account = '{"aws_account": {"region": "eu-west-2"}}'`)
	w.look()
	_, reason = w.component("sandbox")
	w.want(strings.Contains(reason, "cloud_account.aws.region changed"), true)
}

// TestClusterPoliciesReachTheSandbox passes the app's policies of clusters to a sandbox that declares
// kyverno_policy_dir. A changed one makes the sandbox behind.
func TestClusterPoliciesReachTheSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.app.Policies = []appconfig.Policy{{Name: "no-snippets", Type: "kubernetes_cluster", Engine: "kyverno",
		Contents: "# {{.nuon.install.name}}"}}
	w.exec(`update component_inputs set variables = '[{"name": "kyverno_policy_dir"}]' where component_id = 'cmp_sandbox'`)
	w.version()
	w.look()
	w.approveAll()
	spec := func(key string) string {
		return w.one("select applied_config -> 'deploy' -> 'terraform' ->> $1 from install_components where name = 'sandbox'",
			key)
	}
	w.want(spec("cluster_policies"), `{"no-snippets.yaml": "# {{.nuon.install.name}}"}`)
	w.want(spec("var_files"), `["{\n  \"kyverno_policy_dir\": \"./nuon-kyverno-policies\"\n}\n"]`)
	status, _ := w.component("sandbox")
	w.want(status, "current")
	w.app.Policies[0].Contents = "# changed"
	w.version()
	w.look()
	_, reason := w.component("sandbox")
	w.want(strings.Contains(reason, "config changed in release 3"), true)
}

// TestPoliciesReachPlans passes a policy to the plans of the components that it names. A changed policy
// makes them behind.
func TestPoliciesReachPlans(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.app.Policies = []appconfig.Policy{{Name: "greeting", Type: "sandbox", Engine: "opa", Contents: "package nuon"}}
	w.version()
	w.look()
	w.approveAll()
	w.want(w.one("select applied_config -> 'deploy' ->> 'policies' from install_components where name = 'sandbox'"),
		`[{"name": "greeting", "engine": "opa", "contents": "package nuon"}]`)
	status, _ := w.component("sandbox")
	w.want(status, "current")
	w.app.Policies[0].Contents = "package nuon # changed"
	w.version()
	w.look()
	_, reason := w.component("sandbox")
	w.want(strings.Contains(reason, "config changed in release 3"), true)
}

// TestAPinHasThePoliciesOfItsRelease checks that the plans of an install that is pinned to an earlier release pass the
// policies of that release, and not those that were added since: a policy is part of a release.
func TestAPinHasThePoliciesOfItsRelease(t *testing.T) {
	w := newProvisionedWorld(t)
	const policies = "select coalesce(applied_config -> 'deploy' ->> 'policies', 'none') from install_components " +
		"where name = 'sandbox'"
	earlier, err := strconv.Atoi(w.one("select max(number)::text from releases where status = 'complete'"))
	must(t, err)
	w.want(w.one(policies), "none")
	w.app.Policies = []appconfig.Policy{{Name: "no", Type: "sandbox", Engine: "opa", Contents: "package nuon"}}
	w.version()
	w.look()
	w.approveAll()
	w.want(w.one(policies), `[{"name": "no", "engine": "opa", "contents": "package nuon"}]`)
	must(t, w.pin(earlier))
	w.queue()
	w.approveAll()
	w.want(w.one(policies), "none")
	status, _ := w.status()
	w.want(status, "current")
}
