package helm_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/kind/helm"
	"github.com/nuon-toolkit/nuon/runnerd/values/valuestest"
)

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {helm.sh/chart: "{{ .Chart.Name }}-{{ .Chart.Version }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "{{ .Values.image }}"}]}
`

const service = `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}], selector: {app: web}}
`

const settingsMap = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {greeting: "{{ .Values.greeting }}", password: "{{ .Values.password }}"}
`

const generated = `apiVersion: v1
kind: Secret
metadata: {name: generated}
stringData: {password: "{{ randAlphaNum 32 }}"}
`

const hook = `apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {helm.sh/hook: "pre-install,pre-upgrade"}
spec:
  template:
    metadata: {annotations: {token: "{{ randAlphaNum 32 }}"}}
    spec: {restartPolicy: Never, containers: [{name: main, image: x, command: [sh, -c, "exit 0"]}]}
`

const defaults = "replicas: 1\nimage: registry.example/web\ngreeting: hello\npassword: ''\n"

func value(v any) json.RawMessage {
	encoded, err := json.Marshal(v)
	if err != nil {
		panic(err) // a test's own constant
	}
	return encoded
}

// The whole life of a component: installed, nothing to do, only another version of
// the chart, changed, uninstalled. A secret must not appear anywhere.
func TestLifeOfAChart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const secret = "planted-s3cret-value"
	templates := []string{"values.yaml", defaults, "templates/deployment.yaml", deployment, "templates/service.yaml",
		service, "templates/settings.yaml", settingsMap}
	spec := r.spec(r.chart(templates...))
	spec.Values.Sealed = []api.SealedValue{valuestest.SealValue(t, r.key, spec.InstallID, "inputs.inputs.password",
		secret)}
	spec.Helm.Values["password"] = value("{{.nuon.inputs.inputs.password}}")

	first := r.mustPlan(spec, false)
	shown := reportOf(t, first)
	if !first.Applyable || first.Destructive || shown.Totals.Create != 3 || first.Bundle.Digest == "" ||
		first.Outputs != nil || first.Basis.Cluster != r.cluster.Identity() {
		t.Fatalf("%+v\n%s", first, r.logged())
	}
	if r.object("v1", "Service", "web") != nil {
		t.Fatal("the plan did something")
	}
	applied := r.mustApply(applySpec(spec, first, false))
	if applied.Health.Status != api.HealthStatusReady || r.object("v1", "Service", "web") == nil {
		t.Fatalf("%+v", applied.Health)
	}
	manifest, err := r.key.Open(outputOf(applied.Outputs, "manifest").Sealed, seal.Context{
		Install: spec.InstallID, Kind: seal.KindOutput, Component: spec.InstallComponent,
		Path: "components.web.outputs.manifest",
	})
	if err != nil || !strings.Contains(string(manifest.Reveal()), "kind: Deployment") {
		t.Errorf("the output manifest: %v", err)
	}
	if got := string(outputOf(applied.Outputs,
		"release").Value); got != `{"chart":"shop","chart_version":"1.2.3","name":"shop","namespace":"`+r.namespace+`"}` {
		t.Error(got)
	}
	if got := string(outputOf(applied.Outputs, "services").Value); !strings.Contains(got, `"`+r.namespace+`":{"web":`) {
		t.Error(got)
	}

	second := r.mustPlan(spec, false)
	if second.Applyable || second.Bundle.Digest != "" || second.Health.Status != api.HealthStatusReady {
		t.Fatalf("nothing changed: %s", second.Report)
	}
	for _, output := range second.Outputs {
		if was := outputOf(applied.Outputs, output.Name); was.Hash != output.Hash {
			t.Errorf("the output %s differs from that of the apply", output.Name)
		}
	}
	// The version is in a label of an object; that alone is no reason for an apply.
	spec.Artifact = r.chart(append(templates, "Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.2.4\n")...)
	if other := r.mustPlan(spec, false); other.Applyable {
		t.Errorf("another version of the chart alone: %s", other.Report)
	}
	spec.Helm.Values["greeting"] = value("howdy")
	spec.Helm.Values["replicas"] = value(2)
	planned, changed := r.deploy(spec)
	if shown := reportOf(t, planned); shown.Totals.Update != 2 || shown.Totals.Create != 0 || len(planned.Outputs) != 0 {
		t.Errorf("%+v", shown.Totals)
	}
	if outputOf(changed.Outputs, "deployments").Hash == "" {
		t.Error("no deployments")
	}
	health, err := helm.Health(t.Context(), r.env(api.JobSpecKindHealth), api.HealthPart{Deploy: spec})
	if err != nil || health.Status != api.HealthStatusReady {
		t.Errorf("%+v %v", health, err)
	}

	gone := r.mustPlan(spec, true)
	if shown := reportOf(t, gone); !gone.Applyable || !gone.Destructive || shown.Totals.Destroy != 3 {
		t.Fatalf("%s", gone.Report)
	}
	if last := r.mustApply(applySpec(spec, gone, true)); len(last.Outputs) != 0 {
		t.Error(last.Outputs)
	}
	if r.object("v1", "ConfigMap", "settings") != nil {
		t.Error("an object is left")
	}
	if nothing := r.mustPlan(spec, true); nothing.Applyable {
		t.Error("there is nothing left to destroy")
	}
	if health, err := helm.Health(t.Context(), r.env(api.JobSpecKindHealth), api.HealthPart{Deploy: spec}); err != nil ||
		health.Status != api.HealthStatusUnknown {
		t.Errorf("%+v %v", health, err)
	}
	r.mustNotLeak(secret, base64.StdEncoding.EncodeToString([]byte(secret)))
}

// The approved bytes are applied exactly, including values that each rendering regenerates.
func TestThePlannedBytesAreApplied(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec := r.spec(r.chart("values.yaml", defaults, "templates/generated.yaml", generated, "templates/hook.yaml", hook,
		"templates/settings.yaml", settingsMap))
	for _, greeting := range []string{"one", "two"} {
		spec.Helm.Values["greeting"] = value(greeting)
		first, other := r.mustPlan(spec, false), r.mustPlan(spec, false)
		if first.ReportDigest != other.ReportDigest {
			t.Errorf("two plans of the same say different things:\n%s\n%s", first.Report, other.Report)
		}
		planned := r.rendered(t, first)
		made := r.rendered(t, other)
		password, _, _ := strings.Cut(made[strings.Index(made, `password: "`)+len(`password: "`):], `"`)
		if len(password) != 32 || !r.secrets.Contains([]byte(password)) {
			t.Errorf("what a Secret holds is not known as a secret: %q", password)
		}
		if made == planned {
			t.Fatal("the chart makes nothing up")
		}
		r.mustApply(applySpec(spec, first, false))
		stored, _ := r.object("v1", "Secret", "generated")["data"].(map[string]any)["password"].(string)
		plain, err := base64.StdEncoding.DecodeString(stored)
		if err != nil || !strings.Contains(planned, string(plain)) {
			t.Errorf("the password in the cluster is not the planned one: %v", err)
		}
		job := fmt.Sprint(r.object("batch/v1", "Job", "migrate"))
		token := planned[strings.Index(planned, `token: "`)+len(`token: "`):][:32]
		if !strings.Contains(job, token) {
			t.Error("the hook in the cluster is not the planned one")
		}
		r.mustNotLeak(string(plain))
	}
	// Values that each rendering regenerates are alone no reason to deploy.
	if again := r.mustPlan(spec, false); again.Applyable {
		t.Errorf("generated values alone: %s", again.Report)
	}
}

// rendered returns the templates in a plan's bundle.
func (r *rig) rendered(t *testing.T, planned api.PlanResult) string {
	t.Helper()
	packed, err := r.install().Pull(t.Context(), planned.Bundle)
	if err != nil {
		t.Fatal(err)
	}
	files, err := deploy.StoredFiles(r.spec(api.ArtifactRef{}), packed, r.key)
	if err != nil {
		t.Fatal(err)
	}
	return helm.RenderedIn(t, files)
}

// Objects change between plan and apply. Changes by controllers do not make the plan
// stale; changes by people do, and are named.
func TestStaleOnlyWhereItMatters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const claim = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  serviceName: db\n  selector: " +
		"{matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    spec: {containers: [{name: main, " +
		"image: x}]}\n"
	spec := r.spec(r.chart("values.yaml", defaults, "templates/deployment.yaml",
		strings.Replace(deployment, "  replicas: {{ .Values.replicas }}\n", "", 1),
		"templates/settings.yaml", settingsMap, "templates/service.yaml", service, "templates/db.yaml", claim))
	r.deploy(spec)
	spec.Helm.Values["greeting"] = value("changed")

	planned := r.mustPlan(spec, false)
	r.patch("apps/v1", "Deployment", "web", "scale",
		`{"spec":{"replicas":3}}`) // an autoscaler
	r.patch("apps/v1", "StatefulSet", "db", "status",
		`{"status":{"collisionCount":7}}`) // a controller
	r.patch("v1", "Service", "web", "",
		`{"metadata":{"annotations":{"example.com/seen":"yes"},"labels":{"extra":"1"}}}`) // a person's note
	r.mustApply(applySpec(spec, planned, false))
	if replicas := fmt.Sprint(r.object("apps/v1", "Deployment",
		"web")["spec"].(map[string]any)["replicas"]); replicas != "3" {
		t.Errorf("the autoscaler's %s replicas", replicas)
	}

	for name, test := range map[string]struct {
		move  func()
		words string
	}{
		"edited": {func() { r.patch("v1", "ConfigMap", "settings", "", `{"data":{"password":"by hand"}}`) },
			"ConfigMap/settings changed since the plan was made"},
		"deleted": {func() {
			clustertest.Delete(t, r.cluster, api.ObjectRef{Version: "v1", Kind: "Service", Namespace: r.namespace, Name: "web"})
		}, "Service/web changed since the plan was made"},
	} {
		spec.Helm.Values["greeting"] = value(name)
		planned := r.mustPlan(spec, false)
		test.move()
		before := r.object("v1", "ConfigMap", "settings")["metadata"]
		if _, err := r.apply(applySpec(spec, planned, false), testtime.Limit); !isStale(err, test.words) {
			t.Errorf("%s: %v", name, err)
		}
		if fmt.Sprint(r.object("v1", "ConfigMap", "settings")["metadata"]) != fmt.Sprint(before) {
			t.Errorf("%s: a stale apply did something", name)
		}
		r.deploy(spec) // a new plan repairs it
	}

	spec.Helm.Values["greeting"] = value("last")
	planned = r.mustPlan(spec, false)
	r.deploy(spec)
	if _, err := r.apply(applySpec(spec, planned, false), testtime.Limit); !isStale(err,
		"someone changed the release shop since the plan was made") {
		t.Errorf("another revision: %v", err)
	}
	other := applySpec(spec, planned, false)
	other.ReportDigest = "sha256:other"
	if _, err := r.apply(other, testtime.Limit); !isStale(err, "was approved") {
		t.Errorf("another report: %v", err)
	}
	other = applySpec(spec, planned, true)
	if _, err := r.apply(other, testtime.Limit); !isStale(err, "destroy everything") {
		t.Errorf("another purpose: %v", err)
	}
	r.through()
	planned = r.mustPlan(spec, false)
	if planned.Applyable {
		t.Fatal("nothing changed")
	}
	spec.Helm.Values["greeting"] = value("elsewhere")
	planned = r.mustPlan(spec, false)
	r.kubeconfig = clustertest.Kubeconfig(t)
	if _, err := r.apply(applySpec(spec, planned, false), testtime.Limit); !isStale(err, "another cluster") {
		t.Errorf("another cluster: %v", err)
	}
}

func TestSomebodyElsesReleaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec := r.spec(r.chart("values.yaml", defaults, "templates/settings.yaml", settingsMap))
	_, applied := r.deploy(spec)
	if manifest := outputOf(applied.Outputs, "manifest"); manifest.Value != nil || manifest.Sealed.Ciphertext == nil {
		t.Errorf("the manifest leaves in the open: %s", manifest.Value)
	}
	// The same release, requested by another component.
	spec.InstallComponent = "ic_other"
	if _, err := r.plan(spec, false); err == nil || !strings.Contains(err.Error(), "take_ownership") {
		t.Errorf("a release of somebody else: %v", err)
	}
	spec.Helm.TakeOwnership = true
	planned, _ := r.deploy(spec)
	if shown := reportOf(t, planned); len(shown.Notes) == 0 ||
		!strings.Contains(strings.Join(shown.Notes, " "), "taken over") {
		t.Errorf("taking over is not told: %s", planned.Report)
	}
	if nothing := r.mustPlan(spec, false); nothing.Applyable {
		t.Errorf("taken over, there is nothing to do: %s", nothing.Report)
	}
}

// Two components with the same object.
func TestOneObjectOfTwoReleases(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec := r.spec(r.chart("values.yaml", defaults, "templates/settings.yaml", settingsMap))
	r.deploy(spec)
	spec.InstallComponent, spec.Helm.Release = "ic_other", "other"
	if _, err := r.plan(spec, false); err == nil ||
		!strings.Contains(err.Error(), "ConfigMap "+r.namespace+
			"/settings is there already and belongs to the release shop") {
		t.Errorf("%v", err)
	}
	spec.Helm.TakeOwnership = true
	planned := r.mustPlan(spec, false)
	if shown := reportOf(t, planned); !slices.ContainsFunc(shown.Changes, func(c diff.Change) bool {
		return strings.Contains(fmt.Sprint(c.Findings), "the release "+r.namespace+"/shop")
	}) {
		t.Errorf("the owner is not named: %s", planned.Report)
	}
	r.mustApply(applySpec(spec, planned, false))
}
