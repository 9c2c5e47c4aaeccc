package helm_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/kind/helm"
)

// whole returns a chart that uses everything an apply does: hooks before and after,
// objects of several kinds, one that must become ready first, one only with the first
// greeting, and one only with the second.
func (r *rig) whole() []string {
	later := strings.NewReplacer("name: migrate", "name: notify", "pre-install,pre-upgrade",
		"post-install,post-upgrade").Replace(hook)
	return []string{
		"values.yaml", defaults, "templates/deployment.yaml", deployment, "templates/settings.yaml", settingsMap,
		"templates/generated.yaml", generated,
		"templates/hook.yaml", hook, "templates/later.yaml", later,
		"templates/old.yaml",
		"{{ if eq .Values.greeting \"one\" }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: old}\n{{ end }}",
		"templates/new.yaml",
		"{{ if eq .Values.greeting \"two\" }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n{{ end }}",
	}
}

// withDefinition adds a definition and an object of its kind. Each definition costs
// the server more than the rest of the chart.
func (r *rig) withDefinition(chart []string) []string {
	definition := strings.ReplaceAll(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, "GROUP", r.group())
	r.t.Cleanup(func() {
		clustertest.Delete(r.t, r.cluster, api.ObjectRef{Group: "apiextensions.k8s.io", Version: "v1",
			Kind: "CustomResourceDefinition", Name: "widgets." + r.group()})
	})
	return append(chart, "crds/widget.yaml", definition,
		"templates/widget.yaml", "apiVersion: "+r.group()+
			"/v1\nkind: Widget\nmetadata: {name: one}\nspec: {of: \"{{ .Values.greeting }}\"}\n")
}

// group returns an API group that only this rig uses.
func (r *rig) group() string { return r.namespace + ".example.com" }

// mustBeWhole verifies that the release is completely deployed, and nothing else is left.
func (r *rig) mustBeWhole(spec api.DeploySpec, greeting string) {
	r.t.Helper()
	if nothing := r.mustPlan(spec, false); nothing.Applyable {
		r.t.Errorf("there is something left to do: %s", nothing.Report)
	}
	data, _ := r.object("v1", "ConfigMap", "settings")["data"].(map[string]any)
	if data["greeting"] != greeting || r.object("v1", "Secret", "generated") == nil {
		r.t.Errorf("the release is not whole: %v", data)
	}
	if old, added := r.object("v1", "ConfigMap", "old") != nil,
		r.object("v1", "ConfigMap", "new") != nil; old != (greeting == "one") || added != (greeting == "two") {
		r.t.Errorf("with greeting %s: old %v, new %v", greeting, old, added)
	}
}

// killedAt plans, applies until the server has done its n-th write, after which no
// request of the apply reaches the server, and returns that write; empty if the apply
// ended before. At the first write a process is killed. At the others the apply runs
// in this process, which is much cheaper and leaves the same state on the server.
func (r *rig) killedAt(p *proxy, n int, spec api.DeploySpec, destroy bool) string {
	r.t.Helper()
	planned := r.mustPlan(spec, destroy)
	if !planned.Applyable {
		r.t.Fatalf("nothing to apply: %s", planned.Report)
	}
	apply := r.interrupted
	if n == 1 {
		apply = r.killed
	}
	reached, err := apply(p, n, applySpec(spec, planned, destroy))
	defer func() { p.most = len(p.seen()) }()
	if !reached && err != nil {
		r.t.Errorf("the apply that was not killed: %v\n%s", err, r.logged())
	}
	p.stop()
	if !reached {
		return ""
	}
	return p.seen()[n-1]
}

// killed applies in a process that is killed at the n-th write, and reports whether
// that was reached.
func (r *rig) killed(p *proxy, n int, spec api.ApplySpec) (bool, error) {
	r.t.Helper()
	reached, died := make(chan struct{}), make(chan struct{})
	p.count(n, func() { close(reached); <-died })
	started := r.start(spec)
	ended := make(chan error, 1)
	go func() { ended <- started.Wait() }() // waits for the process
	select {
	case <-reached:
		if err := started.Process.Kill(); err != nil {
			r.t.Error(err)
		}
		err := <-ended
		close(died)
		return true, err
	case err := <-ended:
		return false, err
	}
}

// interrupted applies in this process, which is cut off from the server and canceled
// at the n-th write, and reports whether that was reached.
func (r *rig) interrupted(p *proxy, n int, spec api.ApplySpec) (bool, error) {
	r.t.Helper()
	env := r.env(api.JobSpecKindApply)
	env.Spec.Apply = spec
	ctx, cancel := context.WithCancel(testtime.Context(r.t))
	defer cancel()
	var reached atomic.Bool
	p.count(n, func() { reached.Store(true); p.setCut(true); cancel() })
	_, err := deploy.ApplyHandler(helm.Kind{}).Run(ctx, env)
	p.setCut(false)
	return reached.Load(), err
}

// again plans once more, and applies what is left to do. If that plan is stale (a
// definition of the killed attempt is served only after the plan), it plans once
// more, as the control plane does.
func (r *rig) again(spec api.DeploySpec) {
	r.t.Helper()
	planned := r.mustPlan(spec, false)
	if !planned.Applyable {
		return
	}
	if _, err := r.apply(applySpec(spec, planned, false), testtime.Limit); isStale(err, "Widget") {
		r.deploy(spec)
	} else if err != nil {
		r.t.Errorf("%v\n%s", err, r.logged())
	}
}

// The next attempt repairs what a runner leaves that is killed at any point of an installation.
func TestKilledInAnInstallation(t *testing.T) {
	t.Parallel()
	killEach(t, func(r *rig, p *proxy, n int) string {
		spec := r.spec(r.chart(r.whole()...))
		spec.Helm.Values["greeting"] = value("one")
		at := r.killedAt(p, n, spec, false)
		r.again(spec)
		r.mustBeWhole(spec, "one")
		return at
	})
}

// The killed attempt may have created a definition that is not served yet when the
// next attempt starts.
func TestKilledAfterADefinition(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 2; n++ { // the first write creates the definition
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			spec := r.spec(r.chart(r.withDefinition(r.whole())...))
			spec.Helm.Values["greeting"] = value("one")
			r.killedAt(r.through(), n, spec, false)
			r.again(spec)
			r.mustBeWhole(spec, "one")
			if r.object(r.group()+"/v1", "Widget", "one") == nil {
				t.Errorf("the object of the defined kind is missing\n%s", r.logged())
			}
		})
	}
}

// The same for an upgrade that changes, creates and deletes.
func TestKilledInAnUpgrade(t *testing.T) {
	t.Parallel()
	killEach(t, func(r *rig, p *proxy, n int) string {
		spec := r.spec(r.chart(r.whole()...))
		spec.Helm.Values["greeting"] = value("one")
		r.deploy(spec)
		spec.Helm.Values["greeting"] = value("two")
		at := r.killedAt(p, n, spec, false)
		r.again(spec)
		r.mustBeWhole(spec, "two")
		return at
	})
}

// The same for an uninstallation, which the next attempt completes.
func TestKilledInAnUninstallation(t *testing.T) {
	t.Parallel()
	killEach(t, func(r *rig, p *proxy, n int) string {
		spec := r.spec(r.chart(r.whole()...))
		spec.Helm.Values["greeting"] = value("one")
		r.deploy(spec)
		at := r.killedAt(p, n, spec, true)
		if planned := r.mustPlan(spec, true); planned.Applyable {
			r.mustApply(applySpec(spec, planned, true))
		}
		for _, name := range []string{"settings", "old"} {
			if r.object("v1", "ConfigMap", name) != nil {
				r.t.Errorf("%s is left", name)
			}
		}
		r.deploy(spec)
		r.mustBeWhole(spec, "one")
		return at
	})
}

// atOnce is the number of concurrent killed applies: most of their time is waiting.
const atOnce = 6

// killEach runs once in a new rig without a kill to count the writes, and then with a
// kill at each write.
func killEach(t *testing.T, once func(r *rig, p *proxy, n int) string) {
	t.Helper()
	writes := 0
	t.Run("not", func(t *testing.T) {
		r := newRig(t)
		p := r.through()
		if at := once(r, p, 0); at != "" {
			t.Errorf("killed after %s", at)
		}
		writes = p.most
	})
	if writes == 0 {
		t.Fatal("the apply wrote nothing")
	}
	turns := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for n := 1; n <= writes; n++ {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				r := newRig(t)
				begun := time.Now()
				at := once(r, r.through(), n)
				if at == "" && n < writes {
					t.Errorf("it ended before %d writes", n)
				}
				t.Logf("killed after %s, %s", at, time.Since(begun).Round(time.Second))
				if t.Failed() {
					t.Log(r.logged())
				}
			})
		})
	}
	all.Wait()
}
