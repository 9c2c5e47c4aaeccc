package appconfig

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// kinds is an app with a component of each kind, which depend on each other in every way.
func kinds() files {
	return small().and(files{
		"runner.toml":              "runner_type='aws'\n",
		"kubernetes_contexts.toml": "[[kubernetes_context]]\nname='edge'\ncomponent='cluster'\n",
		"components/cluster.toml":  moduleFile("cluster", ""),
		"components/image.toml": "type='container_image'\nname='image'\nvar_name='picture'\n[public]\n" +
			"image_url='ghcr.io/acme/x'\ntag='1'\n",
		"components/chart.toml": "type='helm_chart'\nname='chart'\nchart_name='hello'\nkubernetes_context='edge'\n" +
			repoBlock +
			"[values]\n\"image.tag\"='{{.nuon.components.picture.outputs.image.tag}}'\nreplicas=3\nratio=2.0\non=true\n",
		"components/quota.toml": "type='kubernetes_manifest'\nname='quota'\nnamespace='x'\ndependencies=['chart']\n" +
			"manifest=\"apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: x}\\n\"\n",
		"components/web.toml": moduleFile("web", "dependencies=['quota']") +
			"[vars]\nx='{{.nuon.components.cluster.outputs.id}}'\ny='{{.nuon.components.chart.status}}'\n",
		"components/docker.toml": "type='docker_build'\nname='docker'\ndockerfile='Dockerfile'\n" + repoBlock +
			"[env_vars]\nA='1'\n",
		"components/pulumi.toml": "type='pulumi'\nname='pulumi'\nruntime='go'\n" + repoBlock +
			"[config]\n\"aws:region\"='{{.nuon.install_stack.outputs.region}}'\n",
	})
}

func TestEdgesAndOrderOfAllKinds(t *testing.T) {
	app := mustLoad(t, kinds())
	want := []Edge{
		{"chart", "cluster", "kubernetes_context edge"},
		{"chart", "image", `reads .nuon.components.picture.outputs.image.tag in values."image.tag"`},
		{"quota", "chart", "listed"},
		{"web", "cluster", "reads .nuon.components.cluster.outputs.id in vars.x"},
		{"web", "quota", "listed"},
	}
	if diff := cmp.Diff(want, app.Edges()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"cluster", "docker", "image", "pulumi"}, {"chart"}, {"quota"}, {"web"}},
		app.Order()); diff != "" {
		t.Error(diff)
	}
	deployed := app.Deployed()
	order := [][]string{{"cluster", "docker", "image"}, {"chart"}, {"quota"}, {"web"}}
	if diff := cmp.Diff(order, deployed.Order()); diff != "" ||
		deployed.Sandbox == nil || len(app.Components) != 7 {
		t.Errorf("%d components\n%s", len(app.Components), diff)
	}
	if diff := cmp.Diff([]string{"cluster", "quota"}, deployed.DependsOn("web")); diff != "" {
		t.Error(diff)
	}
	roundTrip(t, app)
}

// A cycle that includes a Kubernetes context is reported like any other.
func TestCircleOverAContext(t *testing.T) {
	_, found := Load(kinds().and(files{"components/cluster.toml": moduleFile("cluster",
		"dependencies=['chart']")}).fs(), Options{})
	if !strings.Contains(found.String(), "in a circle: chart -> cluster -> chart") {
		t.Error(found)
	}
}

func TestTemplatesOfKinds(t *testing.T) {
	app := mustLoad(t, kinds())
	for name, want := range map[string][]string{
		"chart": {"namespace", "storage_driver", `values."image.tag"`}, "quota": {"manifest", "namespace"}, "docker": {},
		"image": {}, "pulumi": {`config."aws:region"`},
		"web": {"vars.x", "vars.y"},
	} {
		c, _ := app.Component(name)
		if got := slices.Sorted(maps.Keys(c.Templates())); !slices.Equal(got, want) {
			t.Errorf("%s has the templates %v, want %v", name, got, want)
		}
	}
}

// The config digest changes exactly with what a deploy uses.
func TestConfigDigestOfKinds(t *testing.T) {
	base := mustLoad(t, kinds())
	for name, c := range map[string]struct {
		component string
		change    func(*Component)
		changes   bool
	}{
		"values":           {"chart", func(c *Component) { c.Helm.Values["n"] = "1" }, true},
		"a number as text": {"chart", func(c *Component) { c.Helm.Values["replicas"] = "3" }, true},
		"a point":          {"chart", func(c *Component) { c.Helm.Values["ratio"] = int64(2) }, true},
		"a flag as text":   {"chart", func(c *Component) { c.Helm.Values["on"] = "true" }, true},
		"take ownership":   {"chart", func(c *Component) { c.Helm.TakeOwnership = true }, true},
		"storage driver":   {"chart", func(c *Component) { c.Helm.StorageDriver = "secret" }, true},
		"values file":      {"chart", func(c *Component) { c.Helm.ValuesFiles = []string{"a: 1"} }, true},
		"namespace":        {"chart", func(c *Component) { c.Helm.Namespace = "other" }, true},
		"context":          {"chart", func(c *Component) { c.KubernetesContext = "" }, true},
		"chart repository": {"chart", func(c *Component) { c.Helm.Repository = &format.HelmRepository{RepoURL: "https://x"} },
			false},
		"manifest":        {"quota", func(c *Component) { c.Manifest.Text += "#" }, true},
		"pulumi config":   {"pulumi", func(c *Component) { c.Pulumi.Config = nil }, true},
		"build arguments": {"docker", func(c *Component) { c.Docker.Args = nil }, false},
		"Dockerfile":      {"docker", func(c *Component) { c.Docker.Dockerfile = "x" }, false},
		"tag":             {"image", func(c *Component) { c.Image.Public.Tag = "2" }, false},
		"terraform":       {"web", func(c *Component) { c.Terraform.Version = "1.12.0" }, true},
		"environment":     {"web", func(c *Component) { c.EnvVars = map[string]string{"A": "1"} }, true},
		"source":          {"web", func(c *Component) { c.Source.Branch = "next" }, false},
		"what waits, retries, approves and shows": {"web", func(c *Component) {
			c.MaxAutoRetries, c.SkipNoops, c.AutoApproveOnPoliciesPassing, c.BuildTimeout, c.DeployTimeout, c.DriftSchedule = 9,
				true, true, "1m", "1m", "0 0 * * *"
			c.OperationRoles, c.Toggleable, c.DefaultEnabled, c.Labels,
				c.VarName = []format.OperationRole{{Operation: "deploy"}}, true, true, map[string]string{"a": "b"}, "other"
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			app := mustLoad(t, kinds())
			is, _ := app.Component(c.component)
			c.change(is)
			was, _ := base.Component(c.component)
			if was.ConfigDigest() == is.ConfigDigest() == c.changes {
				t.Errorf("the digest changes: %t", !c.changes)
			}
			if base.Digest() == app.Digest() {
				t.Error("the digest of the app does not change")
			}
		})
	}
}

// TestWhereHelmKeepsItsRecords: the component's driver wins over the runner's; records are never
// stored in the control plane.
func TestWhereHelmKeepsItsRecords(t *testing.T) {
	for _, c := range []struct{ chart, runner, want string }{
		{"", "", "configmap"}, {"", "secret", "secret"}, {"", "nuon", "configmap"}, {"secret", "configmap", "secret"},
		{"configmap", "secret", "configmap"},
		{"nuon", "secret", "configmap"}, {"{{.nuon.inputs.inputs.size}}", "secret", "{{.nuon.inputs.inputs.size}}"},
	} {
		chart := "type='helm_chart'\nname='chart'\nchart_name='hello'\nstorage_driver='" + c.chart + "'\n" + repoBlock
		runner := "runner_type='aws'\nhelm_driver='" + c.runner + "'\n"
		app := mustLoad(t, small().and(files{"components/chart.toml": chart, "runner.toml": runner,
			"inputs.toml": inputsFile}))
		if got := app.Components[0].Helm.StorageDriver; got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

// A Pulumi sandbox is part of the App, but not of Deployed.
func TestPulumiSandbox(t *testing.T) {
	app := mustLoad(t, small().and(files{"sandbox.toml": "type='pulumi'\nruntime='go'\n[pulumi_config]\n" +
		"\"nuon:name\"='x'\n" + repoBlock}))
	if app.Sandbox.Pulumi == nil || app.Sandbox.Terraform != nil || app.Sandbox.Deployable() ||
		app.Deployed().Sandbox != nil {
		t.Errorf("%+v", app.Sandbox)
	}
	if got := app.Sandbox.Templates(); len(got) != 1 || got[`pulumi_config."nuon:name"`] != "x" {
		t.Errorf("templates %v", got)
	}
	roundTrip(t, app)
}

// Versions that an earlier release stored are still readable.
func TestStoredByAnEarlierRelease(t *testing.T) {
	var app App
	err := json.Unmarshal([]byte(`{"metadata":{"version":"v2"},"sandbox":{"name":"sandbox","kind":"sandbox","terraform_version":"1.11.4","source":{"repo":".","directory":"x"}},
		"components":[{"name":"web","kind":"terraform_module","terraform_version":"1.11.4","source":{"repo":"a/b","directory":".","branch":"main"},"vars":{"a":"1"},"env_vars":{"B":"2"},
		"var_files":["x"],"dependencies":["net"],"toggleable":true}]}`), &app)
	if err != nil {
		t.Fatal(err)
	}
	want := []Component{{
		Name: "web", Kind: "terraform_module", Dependencies: []string{"net"}, Toggleable: true,
		EnvVars: map[string]string{"B": "2"},
		Source:  &Source{Repo: "a/b", Directory: ".", Branch: "main"}, Terraform: &Terraform{Version: "1.11.4",
			Vars: map[string]string{"a": "1"}, VarFiles: []string{"x"}},
	}}
	if diff := cmp.Diff(want, app.Components); diff != "" || !app.Sandbox.Deployable() {
		t.Errorf("sandbox %+v\n%s", app.Sandbox, diff)
	}
	if json.Unmarshal([]byte(`{"components":[{"name":1}]}`), &app) == nil {
		t.Error("nonsense was read")
	}
}

// The digest of Terraform components equals that of earlier releases: installs store it with their
// deploys.
func TestTerraformDigestStays(t *testing.T) {
	app := mustLoad(t, small().and(files{"components/web.toml": moduleFile("web",
		"dependencies=['net']\nmax_auto_retries=1\nlabels={a='b'}") + "[vars]\nx='<1>'\n[[var_file]]\ncontents='y'\n",
		"components/net.toml": moduleFile("net", "")}))
	for name, want := range map[string]string{
		"web": `{"format":"nuon.app.v1","component":{"name":"web","kind":"terraform_module","dependencies":["net"],"terraform_version":"1.11.4","source":{"repo":"","directory":""},"vars":{"x":"<1>"},"var_files":["y"]}}`,
		"net": `{"format":"nuon.app.v1","component":{"name":"net","kind":"terraform_module","terraform_version":"1.11.4","source":{"repo":"","directory":""}}}`,
	} {
		c, _ := app.Component(name)
		if got := c.ConfigDigest(); got != sha256digest.Of([]byte(want)) {
			t.Errorf("%s: %s is not of %s", name, got, want)
		}
	}
}

// An App contains nothing that could be a secret.
func TestSecretsAreNotKept(t *testing.T) {
	app := mustLoad(t, small().and(files{
		"metadata.toml": "version='v2'\nslack_webhook_url='https://hooks.example.com/hunter2'\n",
		"secrets.toml":  "[[secret]]\nname='s'\ndescription='d'\ndefault='hunter2'\n",
		"inputs.toml": inputsFile + "[[input]]\nname='k'\ndisplay_name='K'\ndescription='d'\ngroup='g'\n" +
			"sensitive=true\ndefault='hunter2'\n[[input]]\nname='l'\ndisplay_name='L'\ndescription='d'\ngroup='g'\n" +
			"sensitive=true\ndefault=''\n",
		"installs/a.toml": "name='a'\n[inputs]\nsize='1'\nk='hunter2'\n",
	}))
	data, err := json.Marshal(app)
	if err != nil || strings.Contains(string(data), "hunter2") {
		t.Errorf("%s, %v", data, err)
	}
	if in, _ := app.Input("l"); in.Default == nil || *in.Default != "" {
		t.Errorf("an empty default is %v", in.Default)
	}
}
