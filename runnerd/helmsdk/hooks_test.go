package helmsdk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
)

// jobHook is a hook that runs a command.
func jobHook(event, command string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {helm.sh/hook: %q}}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: any, command: [sh, -c, %q]}]
`, event, command)
}

// A hook that fails fails the release: the error names it, its last lines are in the
// log, and the next attempt runs it again.
func TestHookFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made, err := r.try(t.Context(),
		r.plan(app(tree{"hook": jobHook("pre-install", "echo the table is locked; exit 3"), "a": configMap("a")}), nil))
	if err == nil || !strings.Contains(err.Error(), "the hook Job "+r.namespace+"/migrate failed") {
		t.Errorf("got %v", err)
	}
	if made == nil || made.Status != StatusFailed || r.get("ConfigMap", "a") != nil {
		t.Errorf("made %+v", made)
	}
	if !strings.Contains(r.log.Text(), "the table is locked") {
		t.Error("the last lines of the hook are not in the log")
	}
	if again := r.apply(app(tree{"hook": jobHook("pre-install", "true"), "a": configMap("a")}),
		nil); again.Revision != 2 || again.Status != StatusDeployed || r.get("ConfigMap", "a") == nil {
		t.Errorf("again %+v", again)
	}
}

// A hook that never ends is stopped by its timeout, and by the end of the job.
func TestHookNeverEnds(t *testing.T) {
	t.Parallel()
	files := app(tree{"hook": jobHook("post-install", "sleep 100000"), "a": configMap("a")})
	for name, limit := range map[string]func(*rig) (context.Context, context.CancelFunc){
		"timeout": func(*rig) (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) },
		"the job's end": func(r *rig) (context.Context, context.CancelFunc) {
			r.timeout = testtime.Limit
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for !strings.Contains(r.log.Text(), "waiting for the hook") && ctx.Err() == nil {
					time.Sleep(10 * time.Millisecond)
				}
				cancel()
			}()
			return ctx, cancel
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r *rig
			var made *Release
			var err error
			// a busy machine may need longer until the hook runs
			for timeout := 2 * time.Second; ; timeout *= 2 {
				r = newRig(t)
				r.timeout = timeout
				p := r.plan(files, nil)
				ctx, cancel := limit(r)
				defer cancel()
				made, err = r.try(ctx, p)
				if strings.Contains(r.log.Text(), "waiting for the hook") || timeout > testtime.Limit {
					break
				}
			}
			if err == nil || !strings.Contains(err.Error(), "the hook Job "+r.namespace+"/migrate did not end within") {
				t.Errorf("got %v", err)
			}
			if made == nil || made.Status != StatusFailed {
				t.Errorf("made %+v", made)
			}
			history, err := r.History(t.Context(), "web")
			if err != nil || len(history) != 1 || history[0].Status != StatusFailed {
				t.Errorf("the record says %+v, %v", history, err)
			}
		})
	}
}

// An object that does not become ready fails the release, with an error that callers can inspect.
func TestNotReady(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wait, r.timeout = true, 3*time.Second
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: example.test/missing}]}\n"
	made, err := r.try(t.Context(), r.plan(app(tree{"p": pod}), nil))
	var unready *cluster.NotReadyError
	for !errors.As(err, &unready) && r.timeout < testtime.Limit { // a busy cluster sent no response within that time
		r.timeout *= 4
		made, err = r.try(t.Context(), r.plan(app(tree{"p": pod}), nil))
	}
	if !errors.As(err, &unready) || unready.Object.Name != "p" || made == nil || made.Status != StatusFailed {
		t.Errorf("got %v, %+v", err, made)
	}
}

// Uninstall runs hooks, keeps what is to be kept, waits, and is dry-run first.
func TestUninstall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	kept := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}\n"
	r.apply(app(tree{"a": configMap("a"), "b": configMap("b"), "kept": kept,
		"hook": jobHook("pre-delete", "echo goodbye")}), nil)
	clustertest.Delete(t, r.cluster, api.ObjectRef{Version: "v1", Kind: "ConfigMap", Namespace: r.namespace, Name: "b"})
	request := UninstallRequest{Release: "web", Decision: r.decide(true),
		Owner: Owner{Install: "i", Component: "comp", Attempt: "j.1"}, Timeout: testtime.Limit}
	answers, err := r.DryRunUninstall(t.Context(), request)
	if err != nil || len(answers) != 4 {
		t.Fatalf("%+v, %v", answers, err)
	}
	for name, want := range map[string]Change{"a": ChangeDelete, "b": ChangeNone, "kept": ChangeKeep} {
		if a := answerOf(t, answers, "ConfigMap", name); a.Change != want || a.Err != nil {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := answerOf(t, answers, "Job", "migrate"); !a.Hook || a.Change != ChangeCreate || a.Err != nil {
		t.Errorf("%+v", a)
	}
	if r.get("ConfigMap", "a") == nil || r.get("Job", "migrate") != nil {
		t.Fatal("asking changed something")
	}
	done, err := r.Uninstall(t.Context(), request)
	if err != nil || len(done.Deleted) != 2 || len(done.Kept) != 1 || done.Kept[0].Name != "kept" {
		t.Fatalf("%+v, %v", done, err)
	}
	if history, err := r.History(t.Context(), "web"); err != nil || len(history) > 0 || r.get("ConfigMap", "a") != nil ||
		r.get("ConfigMap", "kept") == nil || r.get("Job", "migrate") == nil {
		t.Errorf("left %v, %v", history, err)
	}
	if d := r.decide(true); d.Action != ActionNone {
		t.Errorf("%+v", d)
	}
}

// An object that cannot be deleted is named, and the next attempt continues.
func TestUninstallHangs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	hanging := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hanging, finalizers: [nuon.test/never]}\n"
	r.apply(app(tree{"a": hanging}), nil)
	request := UninstallRequest{Release: "web", Owner: Owner{Install: "i", Component: "comp", Attempt: "j.1"}}
	// a busy machine may need longer until it waits for the object
	for request.Timeout = 4 * time.Second; ; request.Timeout *= 2 {
		request.Decision = r.decide(true)
		_, err := r.Uninstall(t.Context(), request)
		if err != nil && strings.Contains(err.Error(), "hanging is not gone: its finalizers are left: nuon.test/never") {
			break
		}
		if err == nil || request.Timeout > testtime.Limit {
			t.Fatalf("got %v", err)
		}
	}
	patchFinalizers(t, r, "hanging")
	d := r.decide(true)
	if d.Action != ActionUninstall {
		t.Fatalf("the record is gone, and the object was not: %+v", d)
	}
	request.Decision, request.Timeout = d, testtime.Limit
	if _, err := r.Uninstall(t.Context(), request); err != nil {
		t.Error(err)
	}
	if d := r.decide(true); d.Action != ActionNone || r.get("ConfigMap", "hanging") != nil {
		t.Errorf("%+v", d)
	}
}

func patchFinalizers(t *testing.T, r *rig, name string) {
	t.Helper()
	o := r.get("ConfigMap", name)
	o.SetFinalizers(nil)
	resource, err := r.cluster.Resource(cluster.RefOf(o))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resource.Update(t.Context(), o, updateOptions()); err != nil {
		t.Fatal(err)
	}
}

// An operation of another client is not touched, and only the planned revision is created.
func TestSomebodyElse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.apply(app(tree{"a": configMap("a")}), nil)
	p := r.plan(app(tree{"a": configMap("a", "x: '2'")}), nil)
	if made := r.apply(app(tree{"a": configMap("a", "x: '1'")}), nil); made.Revision != 2 {
		t.Fatalf("%+v", made)
	}
	if _, err := r.try(t.Context(), p); !errors.Is(err, errTampered) || r.data("ConfigMap", "a", "x") != "1" {
		t.Errorf("an upgrade that was planned before another: %v", err)
	}
	store, err := r.storage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	last, err := store.Last("web")
	if err != nil {
		t.Fatal(err)
	}
	last.Version, last.Info.Status = 3, release.StatusPendingUpgrade
	if err := store.Create(last); err != nil {
		t.Fatal(err)
	}
	if d := r.decide(false); d.Action != ActionStall || !strings.Contains(d.Hint, "helm rollback web -n "+r.namespace) {
		t.Errorf("%+v", d)
	}
}
