package kubernetes

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

const (
	settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: \"1\"}\n"
	extra    = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\ndata: {b: \"1\"}\n"
	web      = `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "shop/web:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {token: hunter2hunter2}
`
)

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// TestLifeOfAComponent creates, leaves unchanged, changes, shrinks and destroys a component.
func TestLifeOfAComponent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p, result := r.must(settings + extra + web)
	equal(t, "created", p.told(), []string{
		"create " + r.name + "/ConfigMap/extra", "create " + r.name + "/ConfigMap/settings",
		"create " + r.name + "/Deployment.apps/web",
		"create " + r.name + "/Secret/web", "create " + r.name + "/Service/web",
	})
	if result.Apply.Health.Status != api.HealthStatusReady {
		t.Errorf("health is %+v", result.Apply.Health)
	}
	names := []string{}
	for _, o := range result.Apply.Outputs {
		names = append(names, o.Name)
		if o.Name == "manifest" && (len(o.Value) > 0 || len(o.Sealed.Ciphertext) == 0) {
			t.Error("the manifest is not sealed")
		}
	}
	equal(t, "outputs", names, []string{"resources", "services", "ingresses", "deployments", "manifest"})
	live := r.get("apps/v1", "Deployment", "web")
	if live.GetLabels()[labelInstall] != "inl1" || live.GetLabels()[labelComponent] != r.component {
		t.Errorf("it is labelled %v", live.GetLabels())
	}
	if managers := live.GetManagedFields(); managers[0].Manager != cluster.FieldManager ||
		managers[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Errorf("it is managed by %+v", managers[0])
	}

	again, err := r.plan(settings + extra + web)
	if err != nil || again.Applyable || len(again.Outputs) != 5 || again.Health.Status != api.HealthStatusReady ||
		len(again.Inventory) != 5 {
		t.Errorf("nothing changed: %v, %v, %d outputs, %+v", err, again.told(), len(again.Outputs), again.Health)
	}

	seen, err := Health(t.Context(), r.env(api.JobSpecKindHealth),
		api.HealthPart{Deploy: again.deploy, Inventory: again.Inventory})
	if err != nil || seen.Status != api.HealthStatusReady {
		t.Errorf("it is seen as %+v, %v", seen, err)
	}

	p, _ = r.must(strings.Replace(settings, `a: "1"`, `a: "2"`, 1) + strings.Replace(web, "web:1", "web:2", 1))
	equal(t, "changed", p.told(), []string{
		"destroy " + r.name + "/ConfigMap/extra", "update " + r.name + "/ConfigMap/settings",
		"update " + r.name + "/Deployment.apps/web",
	})
	for _, c := range p.report.Changes {
		if c.Name == "settings" && (len(c.Fields) != 1 || c.Fields[0].Path != "data.a") {
			t.Errorf("of settings changes %+v", c.Fields)
		}
	}
	if n := strings.Count(r.log.String(), "applied Service"); n != 1 {
		t.Errorf("what does not change was applied %d times", n)
	}
	if !p.Destructive || r.get("v1", "ConfigMap", "extra") != nil {
		t.Error("what left the manifest is there")
	}
	if value := r.get("v1", "ConfigMap", "settings").Object["data"].(map[string]any)["a"]; value != "2" {
		t.Errorf("the setting is %v", value)
	}

	p, _ = r.must("")
	if len(p.report.Changes) != 4 || p.report.Totals.Destroy != 4 {
		t.Errorf("to destroy: %q", p.told())
	}
	for _, kind := range [][2]string{{"v1", "ConfigMap"}, {"v1", "Secret"}, {"v1", "Service"}, {"apps/v1", "Deployment"}} {
		if name := map[bool]string{true: "settings", false: "web"}[kind[1] == "ConfigMap"]; r.get(kind[0], kind[1],
			name) != nil {
			t.Errorf("%s %s is there", kind[1], name)
		}
	}
	last, err := r.plan("")
	if err != nil || last.Applyable {
		t.Errorf("nothing is left to destroy: %v %q", err, last.told())
	}
	if strings.Contains(r.log.String(), "hunter2") {
		t.Error("a secret is in the log")
	}
}

// TestCreatedReportIsTheSame checks that the report of new objects is always the same,
// even with values that the server generates.
func TestCreatedReportIsTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const all = web + `---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: m, image: "a:1"}]}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec: {schedule: "0 3 * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: m, image: "a:1"}]}}}}}
---
apiVersion: v1
kind: Pod
metadata: {name: once}
spec: {containers: [{name: m, image: "a:1"}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: worker}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: "db:1"}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
---
apiVersion: v1
kind: Service
metadata: {name: node}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80}]}
`
	one, err := r.plan(all)
	if err != nil {
		t.Fatal(err)
	}
	two, err := r.plan(all)
	if err != nil {
		t.Fatal(err)
	}
	if one.ReportDigest != two.ReportDigest {
		t.Errorf("two plans of the same differ:\n%s\n%s", one.Report, two.Report)
	}
	for _, c := range one.report.Changes {
		for _, f := range c.Fields {
			if f.Path == "spec.replicas" && c.Name == "db" {
				t.Errorf("%s has replicas, which the server fills in", c.Address)
			}
			for _, made := range []string{"terminationMessagePath", "dnsPolicy", "clusterIP", "uid",
				"kube-api-access", "revisionHistoryLimit", "nodePort", "job-name", labelComponent} {
				if strings.Contains(f.Path+f.After.Text, made) {
					t.Errorf("%s shows what the server fills in: %s %s", c.Address, f.Path, f.After.Text)
				}
			}
		}
	}
}

// TestConflicts checks that conflicts are reported by field and manager, and that fields are
// taken over only if the object allows it.
func TestConflicts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.must(settings)
	r.patch("v1", "ConfigMap", "settings", "kubectl-edit", `{"data":{"a":"edited"}}`)
	_, err := r.plan(strings.Replace(settings, `"1"`, `"2"`, 1))
	if err == nil {
		t.Fatal("a conflict is no error")
	}
	for _, want := range []string{"document 1 (line 1)", "ConfigMap " + r.name + "/settings",
		"data.a is set by kubectl-edit", annotationForce} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	forced := strings.Replace(strings.Replace(settings, `"1"`, `"2"`, 1), "name: settings",
		"name: settings, annotations: {"+annotationForce+`: "true"}`, 1)
	p, _ := r.must(forced)
	c := p.report.Changes[0]
	if !slices.ContainsFunc(c.Findings, func(f diff.Finding) bool {
		return f.Rule == kubernetes.RuleTakesOver && f.Message == "data.a is managed by kubectl-edit, and this apply "+
			"takes it over"
	}) {
		t.Errorf("got %+v", c.Findings)
	}
	if value := r.get("v1", "ConfigMap", "settings").Object["data"].(map[string]any)["a"]; value != "2" {
		t.Errorf("the setting is %v", value)
	}
}

// TestOwners checks that an object belongs to one component, and that an object that others
// have taken over is not deleted.
func TestOwners(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.must(settings + extra)
	mine, had := r.component, r.inventory
	r.component, r.inventory = "ic-other", nil
	if _, err := r.plan(settings); err == nil || !strings.Contains(err.Error(), "it belongs to install component "+mine) {
		t.Errorf("got %v", err)
	}
	r.component, r.inventory = mine, had
	r.patch("v1", "ConfigMap", "extra", "kubectl-label", `{"metadata":{"labels":{"`+labelComponent+`":"ic-other"}}}`)
	p, err := r.plan(settings)
	if err != nil || p.Applyable || len(p.report.Notes) != 1 ||
		!strings.Contains(p.report.Notes[0], "extra stays as it is: it belongs to install component ic-other now") {
		t.Errorf("got %v, %q, %q", err, p.told(), p.report.Notes)
	}
	r.inventory = had
	if p, _ := r.must(""); !slices.Equal(p.told(), []string{"destroy " + r.name + "/ConfigMap/settings"}) {
		t.Errorf("got %q", p.told())
	}
	if r.get("v1", "ConfigMap", "extra") == nil {
		t.Error("what belongs to another component was deleted")
	}
}

// TestTakenByARelease checks that an object that a Helm release took over from the component
// is not deleted with it, and that one that the component took over from a release is.
func TestTakenByARelease(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const release = `{"metadata":{"annotations":{"` + annotationRelease + `":"shop","` +
		annotationReleaseSpace + `":"x"}}}`
	r.make("v1", "ConfigMap", r.name, `{"metadata":{"name":"extra","annotations":{"`+annotationRelease+
		`":"sh\u001b[31mop","`+annotationReleaseSpace+`":"x"}}}`)
	r.backdate("extra")
	p, _ := r.must(settings + strings.Replace(extra, "name: extra", `name: extra, annotations: {`+annotationForce+
		`: "true"}`, 1))
	var words []string
	for _, f := range p.report.Changes[0].Findings {
		words = append(words, f.Message)
	}
	if got := strings.Join(words, "; "); !strings.Contains(got, `belongs to Helm release x/sh\x1b[31mop`) {
		t.Errorf("got %q", got)
	}
	r.backdate("settings")
	r.patch("v1", "ConfigMap", "settings", "helm", release)
	p, _ = r.must("")
	if len(p.report.Notes) != 1 ||
		!strings.Contains(p.report.Notes[0], "settings stays as it is: it belongs to the Helm release x/shop now") {
		t.Errorf("got %q, %q", p.told(), p.report.Notes)
	}
	if r.get("v1", "ConfigMap", "settings") == nil || r.get("v1", "ConfigMap", "extra") != nil {
		t.Error("what the release has is gone, or what it had is there")
	}
}

// backdate makes all writes to a ConfigMap appear to be an hour old.
func (r *rig) backdate(name string) {
	r.t.Helper()
	o := r.get("v1", "ConfigMap", name)
	entries := o.GetManagedFields()
	for i := range entries {
		earlier := metav1.NewTime(entries[i].Time.Add(-time.Hour))
		entries[i].Time = &earlier
	}
	o.SetManagedFields(entries)
	// A change of times alone is no change to the server.
	o.SetLabels(map[string]string{labelComponent: o.GetLabels()[labelComponent], "touched": "yes"})
	if _, err := r.resource("v1", "ConfigMap", r.name).Update(r.t.Context(), o, metav1.UpdateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

// TestVersionOfTheInventory checks that an object is still found and deleted when the API
// version in which it was applied is no longer served.
func TestVersionOfTheInventory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.must("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: budget}\nspec: {maxUnavailable: 1, " +
		"selector: {matchLabels: {a: b}}}\n")
	for i := range r.inventory {
		r.inventory[i].Version = "v1beta1"
	}
	p, _ := r.must("")
	if !slices.Equal(p.told(), []string{"destroy " + r.name + "/PodDisruptionBudget.policy/budget"}) ||
		r.get("policy/v1", "PodDisruptionBudget", "budget") != nil {
		t.Errorf("got %q", p.told())
	}
}

// TestTakenOverAsItRuns checks that an object that somebody created by hand becomes
// the component's, and that the plan states it.
func TestTakenOverAsItRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.make("v1", "ConfigMap", r.name, `{"metadata":{"name":"settings"},"data":{"a":"1"}}`)
	p, _ := r.must(settings)
	if c := p.report.Changes[0]; !strings.Contains(c.Why, "adopts it as it is") {
		t.Errorf("got %+v", c)
	}
	r.make("v1", "ConfigMap", r.name,
		`{"metadata":{"name":"extra","annotations":{"meta.helm.sh/release-name":"shop","meta.helm.sh/release-namespace":"x"}}}`)
	if _, err := r.plan(settings + extra); err == nil ||
		!strings.Contains(err.Error(), "it belongs to the Helm release x/shop") {
		t.Errorf("got %v", err)
	}
}

// TestStaleOnlyWhereItMatters checks that changes by others between plan and apply make
// the plan stale only if they change what the apply would do.
func TestStaleOnlyWhereItMatters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	noReplicas := strings.Replace(web, "  replicas: 2\n", "", 1)
	r.must(settings + noReplicas)
	next := strings.Replace(settings+noReplicas, "web:1", "web:2", 1)
	p, err := r.plan(next)
	if err != nil {
		t.Fatal(err)
	}
	r.patch("apps/v1", "Deployment", "web", "kube-controller-manager", `{"spec":{"replicas":3}}`, "scale")
	r.patch("apps/v1", "Deployment", "web", "deployment-controller",
		`{"metadata":{"annotations":{"deployment.kubernetes.io/revision":"7"}}}`)
	r.patch("apps/v1", "Deployment", "web", "kubelet", `{"status":{"observedGeneration":99}}`, "status")
	if result, err := r.apply(p); err != nil || result.Status != job.Succeeded {
		t.Fatalf("got %v %s", err, result.Error)
	}
	p, err = r.plan(strings.Replace(next, `a: "1"`, `a: "2"`, 1))
	if err != nil {
		t.Fatal(err)
	}
	r.patch("v1", "ConfigMap", "settings", cluster.FieldManager, `{"data":{"a":"5"}}`)
	var stale *job.StaleError
	if _, err = r.apply(p); !errors.As(err, &stale) ||
		!strings.Contains(err.Error(), "/settings: others manage fields of it: data.a") {
		t.Errorf("got %v", err)
	}
	if value := r.get("v1", "ConfigMap", "settings").Object["data"].(map[string]any)["a"]; value != "5" {
		t.Error("a stale apply did something")
	}
	p, err = r.plan(strings.Replace(noReplicas, "web:1", "web:3", 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.resource("v1", "Secret", r.name).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err = r.apply(p); !errors.As(err, &stale) ||
		!strings.Contains(err.Error(), "Secret/web changed since the plan was made") {
		t.Errorf("got %v", err)
	}
}

// TestDefinitionAndItsObjects checks that a definition and its objects can be in one manifest:
// the kind exists before its objects are applied.
func TestDefinitionAndItsObjects(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	group := r.name + ".example.com"
	text := `
apiVersion: ` + group + `/v1
kind: Widget
metadata: {name: one}
spec: {size: 3}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.` + group + `}
spec:
  group: ` + group + `
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: ` + r.name + `-inner}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: inside, namespace: ` + r.name + `-inner}
`
	p, _ := r.must(text)
	unchecked := 0
	for _, c := range p.report.Changes {
		for _, f := range c.Findings {
			if f.Rule == kubernetes.RuleUnchecked {
				unchecked++
			}
		}
	}
	if unchecked != 2 {
		t.Errorf("%d objects are marked as not checked", unchecked)
	}
	again, err := r.plan(text)
	if err != nil || again.Applyable {
		t.Errorf("got %v, %q\n%s", err, again.told(), again.Report)
	}
	r.refusedWith(strings.Replace(text, "size: 3", "size: many", 1), "document 1 (line 2)", "size")
	inside := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: inside, namespace: " + r.name + "-inner}\n"
	r.refusedWith(inside, "Namespace "+r.name+"-inner leaves the manifest, and ConfigMap "+r.name+"-inner/inside")
	r.refusedWith(text[:strings.Index(text, "---")],
		"CustomResourceDefinition widgets."+group+" leaves the manifest, and Widget "+r.name+"/one")
	p, _ = r.must("")
	if len(p.told()) != 4 {
		t.Errorf("got %q", p.told())
	}
	if _, err := r.plan(text[:strings.Index(text, "---")]); err == nil ||
		!strings.Contains(err.Error(), "CustomResourceDefinition") {
		t.Errorf("got %v", err)
	}
}

// TestALargeManifestIsNoOutput deploys a manifest that is larger than an output may be.
func TestALargeManifestIsNoOutput(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, result := r.must(strings.Replace(settings, `"1"`, strings.Repeat("x", values.MaxOutputBytes), 1))
	var names []string
	for _, o := range result.Apply.Outputs {
		names = append(names, o.Name)
	}
	equal(t, "outputs", names, []string{"resources", "services", "ingresses", "deployments"})
}
