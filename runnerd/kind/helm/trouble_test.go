package helm_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/kind/helm"
)

// A plan that cannot succeed returns an error with the reason before anything is changed.
func TestPlansThatAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	clustertest.Create(t, r.cluster, r.namespace,
		"apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: small}\nspec: {hard: {configmaps: '3', services: '0'}}\n")
	const two = "apiVersion: v1\nkind: Service\nmetadata: {name: Not_A_Name}\nspec: {ports: [{port: 80}]}\n---\n" +
		"apiVersion: v1\nkind: Service\nmetadata: {name: other}\nspec: {ports: [{port: 99999999}]}\n"
	for name, test := range map[string]struct {
		template string
		want     []string
	}{
		"template error": {"a: {{ .Values.missing.deep }}", []string{"templates/x.yaml", "missing"}},
		"fail":           {`{{ fail "say replicas" }}`, []string{"say replicas"}},
		"no object":      {"just: text", []string{"without apiVersion or kind"}},
		"nameless":       {"apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: x-}", []string{"metadata.name"}},
		"each refusal":   {two, []string{"Not_A_Name", "other", "spec.ports[0].port"}},
		"quota":          {service, []string{"Service " + r.namespace + "/web", "the quota small", "services=1"}},
		"no such kind": {"apiVersion: no.example/v1\nkind: Nothing\nmetadata: {name: x}",
			[]string{"no kind Nothing in no.example/v1", "CustomResourceDefinition"}},
		"large": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {x: \"{{ range until 11000 }}{{ randAlphaNum 100 " +
				"}}{{ end }}\"}", []string{"bytes", "split it"}},
		"other namespace": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: " + r.namespace + "-gone}",
			[]string{"namespaces " + r.namespace + "-gone is not there"}},
	} {
		spec := r.spec(r.chart("templates/x.yaml", test.template))
		_, err := r.plan(spec, false)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %q", name, err, want)
			}
		}
	}
	spec := r.spec(r.chart("templates/x.yaml", settingsMap))
	spec.Helm.Namespace = "{{.nuon.inputs.inputs.gone}}"
	if _, err := r.plan(spec, false); err == nil || !strings.Contains(err.Error(), "inputs.gone") {
		t.Error(err)
	}
}

// TestAHookHidesNoObject checks that a plan lists an object although a test of its name, which spells the
// namespace, comes after it.
func TestAHookHidesNoObject(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {role: admin}\n"
	const hook = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  namespace: '{{ .Release.Namespace }}'\n" +
		"  annotations: {helm.sh/hook: test}\ndata: {role: view}\n"
	report := reportOf(t, r.mustPlan(r.spec(r.chart("templates/a.yaml", object, "templates/b.yaml", hook)), false))
	if len(report.Changes) != 1 || !strings.Contains(fmt.Sprint(report.Changes[0].Fields), "admin") {
		t.Errorf("the object is not listed: %+v", report.Changes)
	}
	if len(report.Tests) != 1 || !strings.Contains(fmt.Sprint(report.Tests[0].Fields), "view") {
		t.Errorf("the test is not listed: %+v", report.Tests)
	}
}

func TestAFieldThatCannotBeChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.deploy(r.spec(r.chart("values.yaml", defaults, "templates/deployment.yaml", deployment)))
	changed := strings.ReplaceAll(deployment, "app: web", "app: other")
	_, err := r.plan(r.spec(r.chart("values.yaml", defaults, "templates/deployment.yaml", changed)), false)
	for _, want := range []string{"Deployment " + r.namespace + "/web", "spec.selector", "immutable",
		"has to be replaced"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// If the runner lacks a permission, the error names who may not do what, and where.
func TestForbidden(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	clustertest.Create(t, r.cluster, r.namespace, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: runner}\n---\n"+
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: some}\nrules: [{apiGroups: [''], "+
		"resources: [configmaps], verbs: ['*']}, {apiGroups: [''], resources: [services], verbs: [get]}]\n---\n"+
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: some}\nroleRef: {apiGroup: "+
		"rbac.authorization.k8s.io, kind: Role, name: some}\nsubjects: [{kind: ServiceAccount, name: runner}]\n")
	user := "system:serviceaccount:" + r.namespace + ":runner"
	clustertest.AwaitPermission(t, r.cluster, user, "list", "configmaps", r.namespace)
	r.kubeconfig = r.as(user)
	_, err := r.plan(r.spec(r.chart("templates/service.yaml", service)), false)
	for _, want := range []string{"Service " + r.namespace + "/web",
		user + " may not create services in the namespace " + r.namespace} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	// What it may do succeeds, even if it may not read the namespace itself.
	r.deploy(r.spec(r.chart("values.yaml", defaults, "templates/settings.yaml", settingsMap)))
}

// as returns a kubeconfig that impersonates another user.
func (r *rig) as(user string) string {
	r.t.Helper()
	content, err := os.ReadFile(clustertest.Kubeconfig(r.t))
	if err != nil {
		r.t.Fatal(err)
	}
	path := filepath.Join(r.t.TempDir(), "kubeconfig")
	text := strings.Replace(string(content), "    token:", "    as: "+user+"\n    token:", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// webhook serves an admission webhook that rejects a label in this rig's namespace.
func (r *rig) webhook(message string) {
	r.t.Helper()
	served := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var review struct {
			Request struct {
				UID    string `json:"uid"`
				Object struct {
					Metadata struct {
						Labels map[string]string `json:"labels"`
					} `json:"metadata"`
				} `json:"object"`
			} `json:"request"`
		}
		body, _ := io.ReadAll(io.LimitReader(request.Body, 1<<20))
		_ = json.Unmarshal(body, &review)
		answer := map[string]any{"uid": review.Request.UID, "allowed": review.Request.Object.Metadata.Labels["bad"] == ""}
		if answer["allowed"] == false {
			answer["status"] = map[string]any{"message": message}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
			"response": answer})
	}))
	served.TLS.MinVersion = tls.VersionTLS12
	r.t.Cleanup(served.Close)
	authority, err := json.Marshal(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: served.Certificate().Raw}))
	if err != nil {
		r.t.Fatal(err)
	}
	name := "guard-" + r.namespace
	clustertest.Create(r.t, r.cluster, "",
		"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: "+name+"}\n"+
			"webhooks:\n- name: guard.example.com\n  clientConfig: {url: '"+served.URL+"', caBundle: "+string(authority)+"}\n"+
			"  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "+r.namespace+
			"}}\n  sideEffects: None\n  admissionReviewVersions: [v1]\n"+
			"  rules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]\n")
	r.t.Cleanup(func() {
		clustertest.Delete(r.t, r.cluster, api.ObjectRef{Group: "admissionregistration.k8s.io", Version: "v1",
			Kind: "ValidatingWebhookConfiguration", Name: name})
	})
}

func TestAWebhookThatRejects(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.webhook("no \x1b[31mbad\nlabels")
	const labelled = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {bad: 'yes'}}\n"
	// The server calls a webhook only some time after it was created.
	for late := testtime.After(); ; {
		_, err := r.plan(r.spec(r.chart("templates/x.yaml", labelled)), false)
		if err != nil {
			if !strings.Contains(err.Error(), "ConfigMap "+r.namespace+"/x") ||
				!strings.Contains(err.Error(), `the admission webhook guard.example.com rejects it: no \x1b[31mbad labels`) {
				t.Error(err)
			}
			return
		}
		select {
		case <-late:
			t.Fatal("the webhook is not asked")
		default:
		}
	}
}

// Objects that do not become ready fail the apply, with their health and the reason; the next apply
// continues from there.
func TestNotReady(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec := r.spec(r.chart("values.yaml", defaults, "templates/deployment.yaml", deployment, "templates/settings.yaml",
		settingsMap))
	r.deploy(spec)
	spec.Helm.Values["image"] = value("registry.example/crash")
	var result api.JobResult
	var err error
	// A busy cluster may not have the reason yet, or has just started the container once more.
	for within := 35 * time.Second; within < testtime.Limit; within *= 2 {
		result, err = r.apply(applySpec(spec, r.mustPlan(spec, false), false), within)
		if err == nil && strings.Contains(result.Error, "CrashLoopBackOff") &&
			result.Apply.Health.Status == api.HealthStatusDegraded {
			break
		}
	}
	if err != nil || result.Status != api.JobResultStatusFailed ||
		!strings.Contains(result.Error, "Deployment "+r.namespace+"/web") ||
		!strings.Contains(result.Error, "CrashLoopBackOff") {
		t.Fatalf("%+v %v", result, err)
	}
	if health := result.Apply.Health; health.Status != api.HealthStatusDegraded || len(health.Objects) != 1 {
		t.Errorf("%+v", health)
	}
	if !strings.Contains(r.logged(), "fatal: connection refused") {
		t.Error("the last lines of the pod are not in the log")
	}
	// The same again: the objects are in their desired state, but the release is
	// failed, so there is something to do.
	again := r.mustPlan(spec, false)
	if !again.Applyable || !strings.Contains(string(again.Report), "not as a deployment that succeeded left it") {
		t.Errorf("%s", again.Report)
	}
	spec.Helm.Values["image"] = value("registry.example/web")
	r.deploy(spec)
	if nothing := r.mustPlan(spec, false); nothing.Applyable {
		t.Errorf("%s", nothing.Report)
	}
}

// After a first installation fails, the next one continues from what it left.
func TestAHookThatFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	broken := strings.Replace(hook, "exit 0", "echo no migration; exit 3", 1)
	broken = strings.Replace(broken, "spec:\n  template", "spec:\n  backoffLimit: 0\n  template", 1)
	charted := func(hook string) api.ArtifactRef {
		return r.chart("values.yaml", defaults, "templates/hook.yaml", hook, "templates/settings.yaml", settingsMap)
	}
	spec := r.spec(charted(broken))
	planned := r.mustPlan(spec, false)
	_, err := r.apply(applySpec(spec, planned, false), testtime.Limit)
	if err == nil || !strings.Contains(err.Error(), "Job "+r.namespace+"/migrate") ||
		!strings.Contains(r.logged(), "no migration") {
		t.Fatalf("%v\n%s", err, r.logged())
	}
	spec.Artifact = charted(strings.Replace(hook, "exit 0", "sleep 100000", 1))
	for within := 25 * time.Second; within < testtime.Limit; within *= 2 { // until the hook runs
		_, err = r.apply(applySpec(spec, r.mustPlan(spec, false), false), within)
		if err == nil || strings.Contains(err.Error(), "migrate") {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "migrate") {
		t.Errorf("a hook without an end: %v", err)
	}
	spec.Artifact = charted(hook)
	if planned, _ := r.deploy(spec); planned.Destructive {
		t.Errorf("what the hook left counts as somebody else's: %s", planned.Report)
	}
	if r.object("v1", "ConfigMap", "settings") == nil {
		t.Error("the objects are not there")
	}
}

// If the API server becomes unavailable during an apply, the apply ends with an
// error, and the next one repairs what it left.
func TestTheServerGoesAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.through()
	spec := r.spec(r.chart("values.yaml", defaults, "templates/settings.yaml", settingsMap, "templates/generated.yaml",
		generated))
	planned := r.mustPlan(spec, false)
	p.count(2, func() { p.setCut(true) })
	_, err := r.apply(applySpec(spec, planned, false), testtime.Limit)
	if err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Fatal(err)
	}
	p.setCut(false)
	p.stop()
	r.again(spec)
	if nothing := r.mustPlan(spec, false); nothing.Applyable || r.object("v1", "Secret", "generated") == nil {
		t.Errorf("%s", nothing.Report)
	}
}

// A release that another client is changing, or left unfinished, is not touched, and
// the error states what to do.
func TestSomebodyElseIsAtWork(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.through()
	spec := r.spec(r.chart("values.yaml", defaults, "templates/settings.yaml", settingsMap))
	if at := r.killedAt(p, 2, spec, false); at == "" {
		t.Fatal("the apply ended")
	}
	const record = "sh.helm.release.v1.shop.v1"
	r.patch("v1", "ConfigMap", record, "", `{"metadata":{"labels":{"nuon.dev/install-component":null}}}`)
	before := r.object("v1", "ConfigMap", record)
	for _, destroy := range []bool{false, true} {
		if _, err := r.plan(spec, destroy); err == nil || !strings.Contains(err.Error(), "by somebody else is under way") ||
			!strings.Contains(err.Error(), "helm history shop -n "+r.namespace) {
			t.Errorf("%v", err)
		}
	}
	if after := r.object("v1", "ConfigMap", record); fmt.Sprint(after["metadata"]) != fmt.Sprint(before["metadata"]) {
		t.Error("the record was changed")
	}
	r.patch("v1", "ConfigMap", record, "", `{"metadata":{"labels":{"nuon.dev/install-component":"ic_`+r.namespace+`"}}}`)
	r.again(spec)
	if r.object("v1", "ConfigMap", "settings") == nil {
		t.Error("ours is not healed")
	}
}

// A cancelled apply ends soon, and the next one repairs what it left.
func TestCancelled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec := r.spec(r.chart("values.yaml", defaults, "templates/deployment.yaml", deployment))
	spec.Helm.Values["image"] = value("registry.example/never")
	planned := r.mustPlan(spec, false)
	env := r.env(api.JobSpecKindApply)
	env.Spec.Apply = applySpec(spec, planned, false)
	ctx, cancel := context.WithCancelCause(t.Context())
	p := r.object
	go func() { // cancels when the object is there
		for p("apps/v1", "Deployment", "web") == nil { //nolint:revive // each look asks the server
		}
		cancel(errors.New("somebody cancelled it"))
	}()
	_, err := deploy.ApplyHandler(helm.Kind{}).Run(ctx, env)
	var unready *cluster.NotReadyError
	if err == nil || errors.As(err, &unready) {
		t.Errorf("%v", err)
	}
	spec.Helm.Values["image"] = value("registry.example/web")
	r.deploy(spec)
}

// What remains after an uninstall is reported in the plan.
func TestWhatStays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  serviceName: db\n  selector: " +
		"{matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    spec: {containers: [{name: main, " +
		"image: x}]}\n" +
		"  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: " +
		"{storage: 1Gi}}}}]\n"
	const kept = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}\n"
	spec := r.spec(r.chart("templates/set.yaml", set, "templates/kept.yaml", kept))
	r.deploy(spec)
	gone := r.mustPlan(spec, true)
	shown := reportOf(t, gone)
	if !strings.Contains(strings.Join(shown.Notes, " "), "data-db-…") || len(shown.Kept) != 1 {
		t.Errorf("%s", gone.Report)
	}
	r.mustApply(applySpec(spec, gone, true))
	if r.object("v1", "ConfigMap", "kept") == nil || r.object("apps/v1", "StatefulSet", "db") != nil {
		t.Error("what stays is not what was told")
	}
}
