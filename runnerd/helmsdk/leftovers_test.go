package helmsdk

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
)

func (r *rig) removal(component string) UninstallRequest {
	r.attempt++
	return UninstallRequest{
		Release: "web", Decision: r.decide(true), Timeout: testtime.Limit,
		Owner: Owner{Install: "inst", Component: component, Attempt: fmt.Sprintf("job.%d", r.attempt)},
	}
}

// annotate sets annotations on an object, as another release does that takes it over.
func (r *rig) annotate(name string, annotations map[string]string) {
	r.t.Helper()
	o := r.get("ConfigMap", name)
	o.SetAnnotations(annotations)
	resource, err := r.cluster.Resource(cluster.RefOf(o))
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := resource.Update(r.t.Context(), o, updateOptions()); err != nil {
		r.t.Fatal(err)
	}
}

// other returns the annotations of another release.
func (r *rig) other() map[string]string {
	return map[string]string{releaseName: "other", releaseNamespace: r.namespace}
}

// If a hook fails after the deletion, the record stays, so that the next attempt runs
// the hook again.
func TestUninstallHookFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.apply(app(tree{"a": configMap("a"), "hook": jobHook("post-delete", "exit 3")}), nil)
	request := r.removal("comp")
	if _, err := r.Uninstall(t.Context(), request); err == nil ||
		!strings.Contains(err.Error(), "the hook Job "+r.namespace+"/migrate failed") {
		t.Errorf("got %v", err)
	}
	if d := r.decide(true); d.Action != ActionUninstall || len(d.Heal) != 1 {
		t.Errorf("%+v", d)
	}
}

// What an older revision left is deleted and waited for, even if the newest has nothing to delete.
func TestUninstallOfNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.apply(app(tree{"a": configMap("a")}), nil)
	bad := jobHook("pre-upgrade", "exit 3")
	if _, err := r.try(t.Context(), r.plan(app(tree{"hook": bad}), nil)); err == nil {
		t.Fatal("the hook did not fail")
	}
	request := r.removal("comp")
	done, err := r.Uninstall(t.Context(), request)
	if err != nil || len(done.Deleted) != 1 || r.get("ConfigMap", "a") != nil {
		t.Errorf("%+v, %v", done, err)
	}
}

// A release whose records are stored with the other driver exists.
func TestOtherDriver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.apply(app(tree{"a": configMap("a")}), nil)
	moved := *r.Client
	moved.driver = "secret"
	_, err := moved.History(t.Context(), "web")
	if err == nil ||
		!strings.Contains(err.Error(),
			`has its records in configmaps, and storage_driver of the component is secret: set storage_driver = "configmap"`) {
		t.Errorf("got %v", err)
	}
	if history, err := moved.History(t.Context(), "another"); err != nil || len(history) > 0 {
		t.Errorf("got %v, %v", history, err)
	}
	if _, err := r.Uninstall(t.Context(), r.removal("comp")); err != nil {
		t.Fatal(err)
	}
	if history, err := moved.History(t.Context(), "web"); err != nil || len(history) > 0 {
		t.Errorf("got %v, %v", history, err)
	}
}

// Releases of a component under earlier settings are found, and those of others are not.
func TestStrays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	component := "stray-" + r.namespace
	request := r.request(r.plan(app(tree{"a": configMap("a")}), nil))
	request.Owner.Component = component
	if _, err := r.Apply(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if found, err := r.StaleReleases(t.Context(), component, "web"); err != nil || len(found) != 0 {
		t.Errorf("got %v, %v", found, err)
	}
	found, err := rigWith(t, r.cluster, "configmap").StaleReleases(t.Context(), component, "web")
	if want := (StaleRelease{Release: "web", Namespace: r.namespace, Driver: "configmap"}); err != nil ||
		len(found) != 1 ||
		found[0] != want {
		t.Errorf("got %v, %v", found, err)
	}
	if found, err := r.StaleReleases(t.Context(), "other-"+component, "web"); err != nil || len(found) != 0 {
		t.Errorf("got %v, %v", found, err)
	}
}

// An object that another release took over is not deleted, and not taken back without a request.
func TestTakenByAnother(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	both := app(tree{"a": configMap("a"), "b": configMap("b")})
	r.apply(both, nil)
	r.annotate("b", r.other())
	if a := answerOf(t, r.ask(r.plan(both, nil)), "ConfigMap", "b"); a.Err == nil ||
		!strings.Contains(a.Err.Error(), "belongs to the release other") {
		t.Errorf("%+v", a)
	}
	r.take = true
	if a := answerOf(t, r.ask(r.plan(both, nil)), "ConfigMap", "b"); a.Err != nil || !a.Adopted {
		t.Errorf("%+v", a)
	}
	r.take = false
	p := r.plan(app(tree{"a": configMap("a")}), nil)
	for _, a := range r.ask(p) {
		if a.Ref.Name == "b" {
			t.Errorf("%+v", a)
		}
	}
	if _, err := r.try(t.Context(), p); err != nil || r.get("ConfigMap", "b") == nil {
		t.Errorf("b is gone, or %v", err)
	}
	r.annotate("a", r.other())
	done, err := r.Uninstall(t.Context(), r.removal("comp"))
	if err != nil || len(done.Deleted) > 0 || r.get("ConfigMap", "a") == nil {
		t.Errorf("%+v, %v", done, err)
	}
	if d := r.decide(true); d.Action != ActionNone {
		t.Errorf("%+v", d)
	}
}

// A recorded object is deleted even if its API version is no longer served.
func TestVersionGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	budget := "apiVersion: policy/%s\nkind: PodDisruptionBudget\nmetadata: {name: budget}\nspec: {maxUnavailable: 1, " +
		"selector: {matchLabels: {a: b}}}\n"
	r.apply(app(tree{"a": configMap("a"), "budget": fmt.Sprintf(budget, "v1")}), nil)
	store, err := r.storage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	record, err := store.Last("web")
	if err != nil {
		t.Fatal(err)
	}
	record.Manifest = strings.ReplaceAll(record.Manifest, "policy/v1", "policy/v1beta1")
	if err := store.Update(record); err != nil {
		t.Fatal(err)
	}
	done, err := r.Uninstall(t.Context(), r.removal("comp"))
	ref := api.ObjectRef{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget", Namespace: r.namespace,
		Name: "budget"}
	if err != nil || len(done.Deleted) != 2 || clustertest.Get(t, r.cluster, ref) != nil {
		t.Errorf("%+v, %v", done, err)
	}
}

// A deletion that does not get through fails the upgrade, and the next attempt repeats it.
func TestPruneIsNoticed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.apply(app(tree{"a": configMap("a"), "b": configMap("b")}), nil)
	p, plain := r.plan(app(tree{"a": configMap("a")}), nil), r.cluster
	r.cluster = plain.WithTransport(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodDelete {
				closeBody(request)
				return nil, fmt.Errorf("the connection is lost")
			}
			return next.RoundTrip(request)
		})
	})
	_, err := r.try(t.Context(), p)
	if err == nil || !strings.Contains(err.Error(), "could not be deleted") {
		t.Errorf("got %v", err)
	}
	r.cluster = plain
	r.apply(app(tree{"a": configMap("a")}), nil)
	if r.get("ConfigMap", "b") != nil {
		t.Error("b is still there")
	}
}

// An installation whose final record could not be written is an error.
func TestRecordIsNoticed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p, plain := r.plan(app(tree{"a": configMap("a")}), nil), r.cluster
	r.cluster = plain.WithTransport(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodPut {
				closeBody(request)
				return nil, fmt.Errorf("the connection is lost")
			}
			return next.RoundTrip(request)
		})
	})
	if _, err := r.try(t.Context(), p); err == nil || !strings.Contains(err.Error(), "its record could not be written") {
		t.Errorf("got %v", err)
	}
	r.cluster = plain
	if made := r.apply(app(tree{"a": configMap("a")}), nil); made.Revision != 2 {
		t.Errorf("%+v", made)
	}
}

// Many documents, each within the bound of one, exceed the common bound.
func TestGrowthOfAll(t *testing.T) {
	t.Parallel()
	line := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: n%d}\nx: &x " + strings.Repeat("y", 10_000) + "\nz: [" +
		strings.Repeat("*x,", 2_500) + "]\n"
	var all strings.Builder
	for i := range 4 {
		fmt.Fprintf(&all, "---\n"+line, i)
	}
	_, err := tryOffline(app(tree{"a": all.String()}).load(t), nil)
	if err == nil || !strings.Contains(err.Error(), "document 3: with its aliases written out") {
		t.Errorf("got %.300v", err)
	}
}

// Any value in the place of metadata is either refused with a reason, or sent as Helm
// would send it. Nothing panics.
func TestOddObjects(t *testing.T) {
	t.Parallel()
	const nameless, none, unreadable = "no metadata.name", "does not come to a Kubernetes object", "YAML parse error"
	for text, want := range map[string]string{
		"metadata: null": nameless, "metadata: {name: null}": nameless,
		"metadata: text": none, "metadata: [1]": none, "metadata: {name: a, annotations: text}": none,
		"metadata: {name: 7}": "KIND x/", "metadata: {name: a, labels: 7}": "KIND x/a",
		"metadata: {name: a, namespace: 7}":                     "KIND x/a",
		"metadata: {name: a, annotations: {helm.sh/hook: [a]}}": unreadable,
		"metadata: {name: a, annotations: {helm.sh/hook: 7}}":   "", // Helm ignores hooks of unknown events
		"metadata: {name: a, annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: 'x', " +
			"helm.sh/hook-delete-policy: 'nothing'}}": "hook KIND a",
	} {
		for _, kind := range []string{"ConfigMap", "List", "Job"} {
			got, want := oddObject(t, kind, text), strings.ReplaceAll(want, "KIND", kind)
			if got != want && (want == "" || !strings.Contains(got, "error: ") || !strings.Contains(got, want)) {
				t.Errorf("%s with %s:\ngot  %s\nwant %s", kind, text, got, want)
			}
		}
	}
}

// TestItems: every object with items is a list to Helm, so one that is not a list of
// objects would be shown but never created.
func TestItems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ConfigMap, metadata: {name: a}, items: [null]": "a ConfigMap with " +
			"items is a list to Helm",
		"ConfigMap, metadata: {name: a}, items: null": "a ConfigMap with " +
			"items is a list to Helm",
		"ConfigMap, metadata: {name: a}, items: [{apiVersion: v1, kind: Secret, metadata: {name: b}}]": "which makes the " +
			"items and not the ConfigMap",
		"List, items: [null]":                           "item 1 of a List is no object",
		"List, items: [{apiVersion: v1, kind: Pod}, 7]": "item 2 of a List is no object",
		"List, items: 7":                                "the items of a List are no list",
		"List, items: []":                               "",
		"List, items: null":                             "",
		"ConfigMapList, items: [{metadata: {name: a}}]": "ConfigMap x/a",
		"List, metadata: {name: a}, items: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]": "Pod x/a",
	} {
		kind, rest, _ := strings.Cut(text, ", ")
		got := oddObject(t, kind, strings.ReplaceAll(rest, "}, items", "}\nitems"))
		if got != want && (want == "" || !strings.Contains(got, "error: ") || !strings.Contains(got, want)) {
			t.Errorf("%s:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// oddObject returns the result of a chart with one object: the error, or its objects and hooks.
func oddObject(t *testing.T, kind, text string) string {
	t.Helper()
	made, err := tryOffline(app(tree{"a": "apiVersion: v1\nkind: " + kind + "\n" + text + "\n"}).load(t), nil)
	if err != nil {
		return "error: " + err.Error()
	}
	var all []string
	for _, document := range documents(made.Manifest) {
		for _, o := range flatten(document) {
			o.SetNamespace("x")
			if len(encode(o)) == 0 {
				t.Errorf("%s with %s cannot be sent", kind, text)
			}
			all = append(all, cluster.RefOf(o).String())
		}
	}
	for _, h := range made.Hooks {
		for _, o := range flatten(h.Manifest) {
			all = append(all, "hook "+cluster.RefOf(o).String())
		}
	}
	return strings.Join(all, ", ")
}
