package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
	"github.com/nuon-toolkit/nuon/runnerd/deploy"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// TestKilledAnywhere kills the process of an apply before each of its steps: of a first deploy,
// of a change that also prunes, and of a destroy. The next plan and apply repair it each time,
// and no orphaned object is left.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	inner := func(r *rig) string {
		return "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: " + r.name +
			"-in}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: " + r.name + "-in}\n"
	}
	for _, c := range []struct {
		name          string
		before, after func(r *rig) string
		steps         []string
	}{
		{
			"first deploy", func(*rig) string { return "" }, func(r *rig) string { return settings + extra + inner(r) },
			[]string{"apply Namespace", "apply ConfigMap", "wait"},
		},
		{
			"change and prune", func(r *rig) string { return settings + extra + inner(r) },
			func(*rig) string { return strings.Replace(settings, `"1"`, `"2"`, 1) },
			[]string{"apply ConfigMap", "delete ConfigMap", "wait until they are gone", "delete Namespace", "wait"},
		},
		{
			"destroy", func(*rig) string { return settings + extra }, func(*rig) string { return "" },
			[]string{"delete ConfigMap", "wait until they are gone"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var mutex sync.Mutex
			seen := map[string]bool{}
			// die ends the apply at a step, and reports whether it has that step.
			die := func(t *testing.T, step int) bool {
				r := newRig(t)
				t.Cleanup(func() {
					clustertest.Delete(t, r.cluster, api.ObjectRef{Version: "v1", Kind: "Namespace", Name: r.name + "-in"})
				})
				if before := c.before(r); before != "" {
					r.must(before)
				}
				p, err := r.plan(c.after(r))
				if err != nil {
					t.Fatal(err)
				}
				where := r.killed(p, step)
				if where == "" {
					return false
				}
				words := strings.Fields(where)
				mutex.Lock()
				seen[strings.Join(words[:min(len(words), 2)], " ")] = true
				seen[where] = true
				mutex.Unlock()
				r.heal(c.after(r), fmt.Sprintf("step %d, %s", step, where))
				return true
			}
			// Most of the time is spent waiting for namespaces to be deleted, so the steps run
			// in parallel; their number is unknown.
			const atOnce = 4
			for first, more := 1, true; more; first += atOnce {
				var each sync.WaitGroup
				for step := first; step < first+atOnce; step++ {
					each.Go(func() {
						t.Run(fmt.Sprint(step), func(t *testing.T) {
							if !die(t, step) {
								mutex.Lock()
								more = false
								mutex.Unlock()
							}
						})
					})
				}
				each.Wait()
			}
			for _, want := range c.steps {
				if !seen[want] {
					t.Errorf("it was never killed before %q, only before %v", want, seen)
				}
			}
		})
	}
}

// heal plans and applies again, and checks that nothing is left to do and
// no object is left over.
func (r *rig) heal(text, where string) {
	r.t.Helper()
	had := slices.Clone(r.inventory)
	p, err := r.plan(text)
	if err != nil {
		r.t.Fatalf("%s: plan: %v", where, err)
	}
	if p.Applyable {
		if result, err := r.apply(p); err != nil || result.Status != job.Succeeded {
			r.t.Fatalf("%s: apply: %v %s", where, err, result.Error)
		}
	}
	r.inventory = had
	if p, err = r.plan(text); err != nil || p.Applyable {
		r.t.Errorf("%s: something is left to do: %v %q", where, err, p.told())
	}
}

// TestAFinalizerThatHangs checks that a finalizer that never completes is reported with its
// object, within the job's time.
func TestAFinalizerThatHangs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	held := strings.Replace(settings, "name: settings", "name: settings, finalizers: [example.com/never]", 1)
	r.must(held)
	t.Cleanup(func() { r.release("settings") })
	p, err := r.plan("")
	if err != nil {
		t.Fatal(err)
	}
	whole := r.seconds
	waits := "ConfigMap " + r.name + "/settings is being deleted, and still there: " +
		"it waits for its finalizers example.com/never"
	for more := 8; ; more *= 2 { // on a busy machine, the time may end before the deletion begins
		r.seconds = int(deploy.WaitMargin/time.Second) + more
		if _, err = r.apply(p); err != nil && strings.Contains(err.Error(), waits) {
			break
		}
		if !errors.Is(err, context.DeadlineExceeded) || more > 1000 {
			t.Fatalf("got %v", err)
		}
	}
	r.seconds = whole
	r.refusedWith(held, "/settings: it is being deleted: it waits for its finalizers example.com/never")
	r.release("settings")
	r.heal("", "after the finalizer")
}

// release removes the finalizers, as their controller would.
func (r *rig) release(name string) {
	_, _ = r.resource("v1", "ConfigMap", r.name).Patch(context.Background(), name, "application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
}
