package helm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
)

// mapOf returns a ConfigMap with annotations and a value.
func mapOf(name, annotations, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, annotations: {%s}}\ndata: {of: %q}\n", name,
		annotations, value)
}

// hooked are the annotations of a hook that runs with each deploy.
const hooked = `helm.sh/hook: "pre-install,pre-upgrade"`

// replaces reports whether a plan is destructive, because of one hook that replaces an object.
func replaces(t *testing.T, planned api.PlanResult) bool {
	t.Helper()
	report := reportOf(t, planned)
	replaced := 0
	for _, h := range report.Hooks {
		if h.Action == diff.Replace && h.Order == diff.DestroyFirst && strings.Contains(h.Why, "Helm deletes the object") {
			replaced++
		}
	}
	if want := map[bool]int{true: 1}[planned.Destructive]; replaced != want || report.Totals.Replace != want {
		t.Errorf("%d hooks replace an object, totals %+v, destructive %t", replaced, report.Totals, planned.Destructive)
	}
	return planned.Destructive
}

// TestHookReplacesSomebodysObject checks that a plan is destructive if a hook deletes an object that no earlier run of
// it left, that what a run left is not such an object, and that an object which appears after the plan stays.
func TestHookReplacesSomebodysObject(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	clustertest.Create(t, r.cluster, r.namespace, mapOf("web", "", "by hand"))
	spec := r.spec(r.chart("templates/web.yaml", mapOf("web", hooked, "hook")))
	first := r.mustPlan(spec, false)
	if !replaces(t, first) || !first.Applyable {
		t.Fatalf("the hook deletes the object, and the plan has %s", first.Report)
	}
	r.mustApply(applySpec(spec, first, false))
	if again := r.mustPlan(spec, false); replaces(t, again) || again.Applyable {
		t.Errorf("the hook left the object, and the plan has %s", again.Report)
	}
	spec.Artifact = r.chart("templates/web.yaml", mapOf("web", hooked, "hook, changed"))
	if planned, _ := r.deploy(spec); replaces(t, planned) || !planned.Applyable {
		t.Errorf("the hook left the object, and the plan of its change has %s", planned.Report)
	}

	spec.Artifact = r.chart("templates/late.yaml", mapOf("late", hooked, "hook"))
	planned := r.mustPlan(spec, false)
	if replaces(t, planned) {
		t.Errorf("nothing is there yet: %s", planned.Report)
	}
	clustertest.Create(t, r.cluster, r.namespace, mapOf("late", "", "by hand"))
	if _, err := r.apply(applySpec(spec, planned, false), testtime.Limit); !isStale(err,
		"ConfigMap/late changed since the plan was made") {
		t.Errorf("an object that appeared after the plan: %v", err)
	}
	if data := fmt.Sprint(r.object("v1", "ConfigMap", "late")["data"]); data != "map[of:by hand]" {
		t.Errorf("the object that appeared after the plan has %s", data)
	}
}

// TestHookReplacesItsTwin checks that a plan is destructive if a hook deletes the object of the release that has its
// name, and only if the hook runs. Such a hook is no reason for a deploy.
func TestHookReplacesItsTwin(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	chart := func(greeting string) api.ArtifactRef {
		return r.chart("templates/web.yaml", mapOf("web", "", "release"), "templates/other.yaml",
			mapOf("other", "", greeting), "templates/test.yaml", mapOf("other", "helm.sh/hook: test", "test"),
			"templates/hook.yaml", mapOf("web", "helm.sh/hook: post-upgrade", "hook"))
	}
	spec := r.spec(chart("one"))
	if planned, _ := r.deploy(spec); replaces(t, planned) {
		t.Errorf("an installation does not run the hook: %s", planned.Report)
	}
	if nothing := r.mustPlan(spec, false); nothing.Applyable {
		t.Errorf("nothing changed: %s", nothing.Report)
	}
	for _, greeting := range []string{"two", "three"} { // the second time, the object is the hook's own
		spec.Artifact = chart(greeting)
		if planned, _ := r.deploy(spec); !replaces(t, planned) {
			t.Errorf("the hook deletes the object of the release, and the plan has %s", planned.Report)
		}
	}
}

// TestTestBecomesAHook checks that a test of the name of an object, which never ran, does not make the object a
// leftover of the hook that it becomes.
func TestTestBecomesAHook(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	clustertest.Create(t, r.cluster, r.namespace, mapOf("web", "helm.sh/hook: pretended", "by hand"))
	spec := r.spec(r.chart("templates/web.yaml", mapOf("web", "helm.sh/hook: test", "hook")))
	if planned, _ := r.deploy(spec); replaces(t, planned) {
		t.Errorf("a test does not run: %s", planned.Report)
	}
	spec.Artifact = r.chart("templates/web.yaml", mapOf("web", hooked, "hook"))
	if planned := r.mustPlan(spec, false); !replaces(t, planned) {
		t.Errorf("the hook deletes the object, and the plan has %s", planned.Report)
	}
}

// TestHookOfATeardown checks that the plan of a teardown lists a hook that deletes an object of somebody else.
func TestHookOfATeardown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	clustertest.Create(t, r.cluster, r.namespace, mapOf("web", "", "by hand"))
	spec := r.spec(r.chart("templates/web.yaml", mapOf("web", "helm.sh/hook: pre-delete", "hook")))
	if planned, _ := r.deploy(spec); replaces(t, planned) {
		t.Errorf("a deploy does not run the hook: %s", planned.Report)
	}
	gone := r.mustPlan(spec, true)
	if !replaces(t, gone) {
		t.Errorf("the hook deletes the object, and the plan has %s", gone.Report)
	}
	r.mustApply(applySpec(spec, gone, true))
}

// TestListOfHooks checks that the items of a list that is a hook replace objects, too.
func TestListOfHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	clustertest.Create(t, r.cluster, r.namespace, mapOf("web", "", "by hand"))
	list := "apiVersion: v1\nkind: List\nmetadata: {annotations: {" + hooked + "}}\nitems:\n" +
		"- {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {of: hook}}\n"
	planned := r.mustPlan(r.spec(r.chart("templates/list.yaml", list)), false)
	report := reportOf(t, planned)
	if !planned.Destructive || len(report.Changes) != 1 || report.Changes[0].Action != diff.Replace {
		t.Errorf("the hook deletes the object, and the plan has %s", planned.Report)
	}
}
