package helmsdk

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
)

// rig is a client in a namespace that only it uses.
type rig struct {
	*Client
	t   *testing.T
	log *clustertest.Log
	// attempt counts the applies.
	attempt int
	take    bool
	wait    bool
	timeout time.Duration
}

func newRig(t *testing.T) *rig { return rigWith(t, nil, "configmap") }

// rigWith uses a given cluster, or opens one if it is nil.
func rigWith(t *testing.T, c *cluster.Cluster, driver string) *rig {
	t.Helper()
	log := clustertest.NewLog(t)
	if c == nil {
		var err error
		if c, err = cluster.FromFile(clustertest.Kubeconfig(t), "", log); err != nil {
			t.Fatal(err)
		}
	}
	made, err := New(c, Options{Namespace: clustertest.Namespace(t, c), Driver: driver, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return &rig{Client: made, t: t, log: log, timeout: testtime.Limit}
}

// plan is what the handlers would store with a plan.
type plan struct {
	chart    *Chart
	values   map[string]any
	rendered *Rendered
	decision Decision
}

func (r *rig) decide(destroy bool) Decision {
	r.t.Helper()
	history, err := r.History(r.t.Context(), "web")
	if err != nil {
		r.t.Fatal(err)
	}
	return Decide(Observation{Release: "web", Namespace: r.namespace, Component: "comp", TakeOwnership: r.take,
		Destroy: destroy, History: history})
}

func (r *rig) plan(files tree, values map[string]any) plan {
	r.t.Helper()
	made := plan{chart: files.load(r.t), values: values, decision: r.decide(false)}
	var err error
	made.rendered, err = r.Render(r.t.Context(), made.chart, RenderRequest{
		Release: "web", Namespace: r.namespace, Values: values, Upgrade: made.decision.Action == ActionUpgrade,
		Revision: made.decision.Revision,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

func (r *rig) ask(p plan) []DryRunResult {
	r.t.Helper()
	answers, err := r.DryRun(r.t.Context(), DryRunRequest{Release: "web", Rendered: p.rendered, Decision: p.decision,
		TakeOwnership: r.take})
	if err != nil {
		r.t.Fatal(err)
	}
	return answers
}

func (r *rig) request(p plan) ApplyRequest {
	r.attempt++
	return ApplyRequest{
		Release: "web", Chart: p.chart, Values: p.values, Rendered: p.rendered, Digest: p.rendered.Digest(),
		Decision: p.decision, TakeOwnership: r.take,
		Owner:   Owner{Install: "inst", Component: "comp", Attempt: fmt.Sprintf("job.%d", r.attempt)},
		Timeout: r.timeout, Wait: r.wait, WaitTimeout: r.timeout,
	}
}

func (r *rig) try(ctx context.Context, p plan) (*Release, error) {
	request := r.request(p)
	if err := r.MarkFailed(ctx, "web", p.decision, request.Owner); err != nil {
		return nil, err
	}
	return r.Apply(ctx, request)
}

func (r *rig) apply(files tree, values map[string]any) *Release {
	r.t.Helper()
	made, err := r.try(r.t.Context(), r.plan(files, values))
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

func (r *rig) get(kind, name string) *unstructured.Unstructured {
	r.t.Helper()
	ref := api.ObjectRef{Version: "v1", Kind: kind, Namespace: r.namespace, Name: name}
	if kind == "Job" {
		ref.Group = "batch"
	}
	return clustertest.Get(r.t, r.cluster, ref)
}

// data returns one value of a ConfigMap or Secret, or "" if either does not exist.
func (r *rig) data(kind, name, key string) string {
	r.t.Helper()
	o := r.get(kind, name)
	if o == nil {
		return ""
	}
	value, _, _ := unstructured.NestedString(o.Object, "data", key)
	if kind == "Secret" {
		plain, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			r.t.Fatal(err)
		}
		return string(plain)
	}
	return value
}

// sdk returns the configuration of a person's helm.
func (r *rig) sdk() *action.Configuration {
	r.t.Helper()
	made := &action.Configuration{}
	if err := made.Init(r.cluster.RESTClientGetter(r.namespace), r.namespace, r.driver,
		func(string, ...any) {}); err != nil {
		r.t.Fatal(err)
	}
	return made
}

func answerOf(t *testing.T, answers []DryRunResult, kind, name string) DryRunResult {
	t.Helper()
	for _, a := range answers {
		if a.Ref.Kind == kind && a.Ref.Name == name {
			return a
		}
	}
	t.Fatalf("no answer for %s %s", kind, name)
	return DryRunResult{}
}

func configMap(name string, lines ...string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata:\n  " +
		strings.Join(append(lines, "z: z"), "\n  ") + "\n"
}

// The guarantee: the cluster has what was rendered for the plan, including generated
// values, and a person's helm still works.
func TestPlannedBytes(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"configmap", "secret"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			r := rigWith(t, nil, driver)
			odd := tree{
				"templates/odd.yaml": "apiVersion: v1\r\nkind: ConfigMap\r\nmetadata: {name: odd}\r\ndata:\r\n  text: \"{{ " +
					"`{{ a }} {{- b -}} {{{` }} é \u2603   \"\r\n",
				"templates/lookup.yaml": configMap("seen",
					`uid: {{ (lookup "v1" "Namespace" "" .Release.Namespace).metadata.uid }}`,
					`none: "{{ lookup "v1" "ConfigMap" .Release.Namespace "nothing" }}"`),
			}
			p := r.plan(web().with(odd), map[string]any{"greeting": "one"})
			answers := r.ask(p)
			for _, a := range answers {
				if a.Err != nil || a.Unchecked != "" || a.Desired == nil || a.Change != ChangeCreate {
					t.Errorf("%+v", a)
				}
			}
			if len(answers) != 6 {
				t.Errorf("%d answers", len(answers))
			}
			if r.get("ConfigMap", "odd") != nil || r.get("ConfigMap", "web-web-hook") != nil {
				t.Fatal("asking created something")
			}
			made, err := r.try(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if made.Status != StatusDeployed || made.Revision != 1 || made.Chart.Version != "1.2.3" ||
				made.Component() != "comp" {
				t.Errorf("made %+v", made)
			}
			if password := r.data("Secret", "web-web", "password"); len(password) != 24 ||
				!strings.Contains(p.rendered.Manifest, password) {
				t.Errorf("the password %q was not planned", password)
			}
			if token := r.data("ConfigMap", "web-web-hook", "token"); len(token) != 24 ||
				!strings.Contains(p.rendered.Hooks[0].Manifest, token) {
				t.Errorf("the token %q was not planned", token)
			}
			if got := r.data("ConfigMap", "odd", "text"); got != "{{ a }} {{- b -}} {{{ é ☃   " {
				t.Errorf("got %q", got)
			}
			if len(r.data("ConfigMap", "seen", "uid")) < 30 {
				t.Error("lookup found nothing")
			}
			r.people()
		})
	}
}

// people runs the helm commands of a customer's operator after an installation and an
// upgrade of ours.
func (r *rig) people() {
	t := r.t
	t.Helper()
	second := r.apply(web(), map[string]any{"greeting": "two"})
	if second.Revision != 2 || r.data("ConfigMap", "web-web", "greeting") != "two" || r.get("ConfigMap", "odd") != nil {
		t.Errorf("the upgrade is not there: %+v", second)
	}
	history, err := r.History(t.Context(), "web")
	if err != nil || len(history) != 2 || history[0].Status != StatusSuperseded || history[1].Status != StatusDeployed ||
		history[1].Component() != "comp" || history[1].Labels[LabelAttempt] != "job.2" {
		t.Fatalf("history %+v, %v", history, err)
	}
	config := r.sdk()
	listed, err := action.NewList(config).Run()
	if err != nil || len(listed) != 1 || listed[0].Chart.Metadata.Version != "1.2.3" {
		t.Fatalf("helm list: %v, %v", listed, err)
	}
	got, err := action.NewGet(config).Run("web")
	if err != nil {
		t.Fatal(err)
	}
	// The record has the original chart, with its actions, its values and its notes.
	if text := fmt.Sprint(func() (all string) {
		for _, f := range got.Chart.Templates {
			all += string(f.Data)
		}
		return all
	}()); !strings.Contains(text, "randAlphaNum 24") || got.Chart.Values["greeting"] != "hello" ||
		got.Config["greeting"] != "two" || got.Info.Notes != "Thank you for web 1.2.3: two\n" {
		t.Errorf("helm get: %v %v %q\n%s", got.Chart.Values, got.Config, got.Info.Notes, text)
	}
	password := r.data("Secret", "web-web", "password")
	if err := action.NewRollback(config).Run("web"); err != nil {
		t.Fatal(err)
	}
	if r.data("ConfigMap", "web-web", "greeting") != "one" || r.data("Secret", "web-web", "password") == password ||
		r.get("ConfigMap", "odd") == nil {
		t.Error("helm rollback did not bring revision 1 back")
	}
	history, err = r.History(t.Context(), "web")
	if err != nil || len(history) != 3 || history[2].Component() != "" {
		t.Fatalf("the rollback of somebody else counts as ours: %+v, %v", history, err)
	}
	if third := r.apply(web(), map[string]any{"greeting": "three"}); third.Revision != 4 ||
		r.data("ConfigMap", "web-web", "greeting") != "three" {
		t.Errorf("after a rollback: %+v", third)
	}
	// No values mean none, not those of the previous revision.
	r.apply(web(), nil)
	if got, err := action.NewGet(config).Run("web"); err != nil || len(got.Config) != 0 ||
		r.data("ConfigMap", "web-web", "greeting") != "hello" {
		t.Errorf("values %v, %v", got.Config, err)
	}
}

// A rendering that was not approved is not applied, and nothing is created.
func TestTampered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, change := range map[string]func(*ApplyRequest){
		"a template": func(a *ApplyRequest) {
			a.Rendered.Templates[len(a.Rendered.Templates)-1].Content = []byte(
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: evil}\n")
		},
		"a template, digest too": func(a *ApplyRequest) {
			a.Rendered.Templates[len(a.Rendered.Templates)-1].Content = []byte(
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: evil}\n")
			a.Digest = a.Rendered.Digest()
		},
		"the objects": func(a *ApplyRequest) { a.Rendered.Manifest += "---\n" + configMap("evil") },
		"a hook":      func(a *ApplyRequest) { a.Rendered.Hooks[0].Manifest = configMap("evil") },
		"no hooks":    func(a *ApplyRequest) { a.Rendered.Hooks = nil },
		"revision":    func(a *ApplyRequest) { a.Decision.Revision = 7 },
	} {
		p := r.plan(web().with(tree{"crds/x.yaml": crd("tampers" + strings.ReplaceAll(name[:1], " ", ""))}), nil)
		request := r.request(p)
		change(&request)
		if _, err := r.Apply(t.Context(), request); !errors.Is(err, errTampered) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if history, err := r.History(t.Context(), "web"); err != nil || len(history) > 0 ||
		r.get("ConfigMap", "evil") != nil || r.get("ConfigMap", "web-web-hook") != nil || r.get("Secret", "web-web") != nil {
		t.Errorf("something was created: %v, %v", history, err)
	}
}

// The last checks, which run within the SDK, work without the earlier ones: the
// post-renderer checks objects, the record driver checks hooks.
func TestLastChecks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.plan(web(), nil)
	other := offline(t, web().load(t), nil)
	kept, end := withGrace(t.Context())
	defer end()
	for name, rendered := range map[string]*Rendered{
		"objects": {Templates: p.rendered.Templates, Manifest: other.Manifest, Hooks: p.rendered.Hooks,
			hooks: p.rendered.hooks},
		"hooks": {Templates: p.rendered.Templates, Manifest: p.rendered.Manifest, Hooks: other.Hooks, hooks: other.hooks},
	} {
		request := r.request(p)
		request.Rendered = rendered
		d, config, err := r.configure(t.Context(), kept, "web", p.decision,
			plannedRecord{owner: request.Owner, revision: 1, rendered: rendered})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.run(config, request); err == nil || !strings.Contains(err.Error(), errTampered.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if history, err := r.History(t.Context(), "web"); err != nil || len(history) > 0 || r.get("Secret", "web-web") != nil {
		t.Errorf("something was created: %v, %v", history, err)
	}
}

// The post-renderer alone stops objects that were not planned.
func TestChecking(t *testing.T) {
	r := offline(t, web().load(t), nil)
	if made, err := (renderingCheck{r}).Run(bytes.NewBufferString(r.Manifest)); err != nil || made.String() != r.Manifest {
		t.Error(err)
	}
	if _, err := (renderingCheck{r}).Run(bytes.NewBufferString(r.Manifest + " ")); !errors.Is(err, errTampered) {
		t.Error(err)
	}
}

// recorder records writing requests, without the parts that differ between runs.
type recorder struct {
	mutex sync.Mutex
	sent  []string
}

func (r *recorder) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet && !strings.Contains(request.URL.Path, "/sh.helm.release") {
			body := ""
			if request.GetBody != nil {
				if reader, err := request.GetBody(); err == nil {
					content, _ := io.ReadAll(reader)
					body = string(content)
				}
			}
			query := request.URL.Query()
			query.Del("dryRun")
			if !strings.Contains(body, "sh.helm.release") {
				body = strings.NewReplacer(`,"dryRun":["All"]`, "", `"dryRun":["All"],`, "", "\n", "").Replace(body)
				r.mutex.Lock()
				r.sent = append(r.sent, fmt.Sprintf("%s %s?%s %s", request.Method, request.URL.Path, query.Encode(), body))
				r.mutex.Unlock()
			}
		}
		return next.RoundTrip(request)
	})
}

func listOptions() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: "owner=helm,name=web"}
}

func updateOptions() metav1.UpdateOptions { return metav1.UpdateOptions{} }
