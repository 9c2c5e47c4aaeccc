package helmsdk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
)

const service = `apiVersion: v1
kind: Service
metadata: {name: front}
spec:
  selector: {app: front}
  ports: [{name: http, port: 80, targetPort: %s}]
`

// app returns a chart with the given templates.
func app(templates tree) tree {
	made := tree{"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n"}
	for name, text := range templates {
		made["templates/"+name+".yaml"] = text
	}
	return made
}

// The dry run sends the same requests as the apply, and its answers match the result.
func TestAskedIsApplied(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := app(tree{
		"a": configMap("a", "x: '1'", "gone: '1'"), "b": configMap("b", "x: '1'"), "same": configMap("same"),
		"svc":  fmt.Sprintf(service, "8080"),
		"kept": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}\n",
		"hook": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {helm.sh/hook: " +
			"'post-install,post-upgrade'}}\n",
	})
	second := app(tree{
		"a": configMap("a", "x: '2'"), "c": configMap("c"), "same": configMap("same"), "svc": fmt.Sprintf(service, "9090"),
		"hook": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {helm.sh/hook: " +
			"'post-install,post-upgrade'}}\ndata: {x: '1'}\n",
	})
	for _, files := range []tree{first, second} {
		p := r.plan(files, nil)
		var asked, applied recorder
		plain := r.cluster
		r.cluster = plain.WithTransport(asked.wrap)
		answers := r.ask(p)
		r.cluster = plain.WithTransport(applied.wrap)
		if _, err := r.try(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		r.cluster = plain
		compareSent(t, asked.sent, applied.sent)
		for _, a := range answers {
			compareAnswer(t, r, a)
		}
		if files["templates/kept.yaml"] == "" {
			for name, change := range map[string]Change{"a": ChangeUpdate, "b": ChangeDelete, "c": ChangeCreate,
				"same": ChangeNone, "kept": ChangeKeep} {
				if a := answerOf(t, answers, "ConfigMap", name); a.Change != change || (a.Live == nil) != (change == ChangeCreate) {
					t.Errorf("%s: %+v", name, a)
				}
			}
		}
	}
}

// compareSent compares two lists of requests in any order. The deletion of hooks is
// not dry-run, and the copy of a hook has another name.
func compareSent(t *testing.T, asked, applied []string) {
	t.Helper()
	applied = slices.DeleteFunc(applied, func(s string) bool {
		return strings.HasPrefix(s, "DELETE") && strings.Contains(s, "/hook?")
	})
	for i := range asked {
		asked[i] = strings.ReplaceAll(asked[i], "-nuon-check", "")
	}
	slices.Sort(asked)
	slices.Sort(applied)
	if !slices.Equal(asked, applied) || len(asked) == 0 {
		t.Errorf("asked\n%s\napplied\n%s", strings.Join(asked, "\n"), strings.Join(applied, "\n"))
	}
}

// compareAnswer compares the result of a dry run with the live object.
func compareAnswer(t *testing.T, r *rig, a DryRunResult) {
	t.Helper()
	live := clustertest.Get(t, r.cluster, a.Ref)
	switch {
	case a.Err != nil || a.Unchecked != "":
		t.Errorf("%+v", a)
	case a.Change == ChangeDelete:
		if live != nil {
			t.Errorf("%s is there", a.Ref.Name)
		}
	case live == nil:
		t.Errorf("%s is not there", a.Ref.Name)
	case a.Desired != nil:
		wanted := &unstructured.Unstructured{}
		if err := wanted.UnmarshalJSON(a.Desired); err != nil {
			t.Fatal(err)
		}
		for _, o := range []*unstructured.Unstructured{live, wanted} {
			unstructured.RemoveNestedField(o.Object, "metadata", "uid")
			unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
			unstructured.RemoveNestedField(o.Object, "spec", "clusterIP")
			unstructured.RemoveNestedField(o.Object, "spec", "clusterIPs")
		}
		if !unchanged(live, wanted) {
			t.Errorf("wanted %s\nis %s", encode(wanted), encode(live))
		}
	}
}

// All refusals are reported, each with its object, and a dry run changes nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.apply(app(tree{
		"secret": "apiVersion: v1\nkind: Secret\nmetadata: {name: fixed}\nimmutable: true\nstringData: {a: b}\n",
		"b":      configMap("b")}), nil)
	clustertest.Create(t, r.cluster, r.namespace, configMap("taken"))
	p := r.plan(app(tree{
		"secret":  "apiVersion: v1\nkind: Secret\nmetadata: {name: fixed}\nimmutable: true\nstringData: {a: c}\n",
		"bad":     "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 99999}]}\n",
		"unknown": "apiVersion: no.such/v1\nkind: Thing\nmetadata: {name: thing}\n",
		"taken":   configMap("taken"),
		"crd":     crd("tmpls"), "cr": "apiVersion: helm.nuon.test/v1\nkind: Tmpls\nmetadata: {name: cr}\n",
		"badhook": "apiVersion: v1\nkind: Service\nmetadata: {name: badhook, annotations: {helm.sh/hook: pre-upgrade}}\n" +
			"spec: {ports: [{port: 99999}]}\n",
		"ok":   configMap("ok"),
		"inns": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: inns, namespace: no-such-namespace}\n",
	}), nil)
	answers := r.ask(p)
	for name, want := range map[string]string{"fixed": "immutable", "bad": "between 1 and 65535", "thing": "no.such",
		"taken": "take_ownership", "cr": "folder crds/", "badhook": "between 1 and 65535", "inns": "no-such-namespace"} {
		i := slices.IndexFunc(answers, func(a DryRunResult) bool { return a.Ref.Name == name })
		if i < 0 || answers[i].Err == nil || !strings.Contains(answers[i].Err.Error(), want) ||
			!strings.Contains(answers[i].Err.Error(), name) {
			t.Errorf("%s: %+v", name, answers[max(i, 0)])
		}
	}
	if a := answerOf(t, answers, "ConfigMap", "ok"); a.Err != nil {
		t.Error(a.Err)
	}
	if r.get("ConfigMap", "ok") != nil || r.get("ConfigMap", "b") == nil {
		t.Error("asking changed something")
	}
	r.take = true
	p.rendered = r.plan(app(tree{"taken": configMap("taken", "x: '1'")}), nil).rendered
	if a := answerOf(t, r.ask(p), "ConfigMap", "taken"); a.Err != nil || !a.Adopted || a.Change != ChangeUpdate {
		t.Errorf("%+v", a)
	}
	if _, err := r.try(t.Context(), p); err != nil || r.data("ConfigMap", "taken", "x") != "1" {
		t.Errorf("taking over: %v", err)
	}
}

// A takeover works for a first installation, and for a release that a person created.
func TestTakeOwnership(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.take = true
	clustertest.Create(t, r.cluster, r.namespace, configMap("taken", "old: old"))
	p := r.plan(app(tree{"taken": configMap("taken", "x: '1'"), "new": configMap("new")}), nil)
	if a := answerOf(t, r.ask(p), "ConfigMap", "taken"); a.Err != nil || !a.Adopted {
		t.Errorf("%+v", a)
	}
	if _, err := r.try(t.Context(), p); err != nil || r.data("ConfigMap", "taken", "x") != "1" ||
		r.data("ConfigMap", "taken", "old") != "old" || r.get("ConfigMap", "new") == nil {
		t.Fatal(err)
	}
	other := newRig(t)
	install := action.NewInstall(other.sdk())
	install.ReleaseName, install.Namespace = "web", other.namespace
	loaded, err := app(tree{"byhand": configMap("byhand")}).load(t).load()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := install.Run(loaded, nil); err != nil {
		t.Fatal(err)
	}
	if d := other.decide(false); d.Action != ActionStall {
		t.Errorf("%+v", d)
	}
	other.take = true
	if made := other.apply(app(tree{"ours": configMap("ours")}), nil); made.Revision != 2 ||
		other.get("ConfigMap", "byhand") != nil || other.get("ConfigMap", "ours") == nil {
		t.Errorf("%+v", made)
	}
}

// Missing definitions are created before their objects, also at an upgrade, and
// existing ones are never changed.
func TestCRDs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	name := strings.ReplaceAll(clustertest.Name("w"), "-", "")
	t.Cleanup(func() {
		clustertest.Delete(t, r.cluster, api.ObjectRef{Group: "apiextensions.k8s.io", Version: "v1",
			Kind: "CustomResourceDefinition", Name: name + ".helm.nuon.test"})
	})
	kind := strings.ToUpper(name[:1]) + name[1:]
	object := "apiVersion: helm.nuon.test/v1\nkind: " + kind + "\nmetadata: {name: one}\nspec: {x: %s, l: [1, 2]}\n"
	r.apply(app(tree{"a": configMap("a")}), nil)
	files := app(tree{"a": configMap("a"), "one": fmt.Sprintf(object, "1")}).with(tree{"crds/x.yaml": crd(name)})
	p := r.plan(files, nil)
	if len(p.rendered.CRDs) != 1 || p.rendered.CRDs[0].State != CRDMissing {
		t.Fatalf("%+v", p.rendered.CRDs)
	}
	if a := answerOf(t, r.ask(p), kind, "one"); a.Unchecked != "its definition (CRD) is created by this change" ||
		a.Err != nil {
		t.Errorf("%+v", a)
	}
	if _, err := r.try(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	p = r.plan(files.with(tree{"templates/one.yaml": fmt.Sprintf(object, "2")}), nil)
	if p.rendered.CRDs[0].State != CRDSame {
		t.Errorf("%+v", p.rendered.CRDs)
	}
	if a := answerOf(t, r.ask(p), kind, "one"); a.Err != nil || a.Change != ChangeUpdate ||
		!strings.Contains(string(a.Desired), `"x":2`) {
		t.Errorf("%+v", a)
	}
	changed := strings.Replace(crd(name), "type: object\n            x-kube",
		"type: object\n            description: new\n            x-kube", 1)
	p = r.plan(files.with(tree{"crds/x.yaml": changed}), nil)
	if p.rendered.CRDs[0].State != CRDDiffers {
		t.Errorf("%+v", p.rendered.CRDs)
	}
	if _, err := r.try(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if p = r.plan(files.with(tree{"crds/x.yaml": changed}), nil); p.rendered.CRDs[0].State != CRDDiffers {
		t.Error("a definition was changed")
	}
}

// A template cannot write with any lookup, and cannot read more than it may.
func TestLookupReads(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var all recorder
	plain := r.cluster
	r.cluster = plain.WithTransport(all.wrap)
	p := r.plan(app(tree{"a": configMap("a", `n: "{{ len (lookup "v1" "ConfigMap" .Release.Namespace "").items }}"`,
		`none: "{{ lookup "v1" "Pod" .Release.Namespace "x" }}"`)}), nil)
	if len(all.sent) > 0 || !strings.Contains(p.rendered.Manifest, `none: "map[]"`) {
		t.Errorf("%v\n%s", all.sent, p.rendered.Manifest)
	}
}

// cut simulates a process that dies: after a number of writes, no request gets through.
type cut struct {
	mutex sync.Mutex
	// left is the number of writes that get through; answered reports whether the
	// last one does, with its response lost.
	left     int
	answered bool
	dead     bool
}

var errDead = errors.New("the process is gone")

func (c *cut) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		c.mutex.Lock()
		writes := request.Method != http.MethodGet
		last := false
		switch {
		case c.dead:
		case writes && c.left == 0:
			c.dead, last = true, c.answered
		case writes:
			c.left--
		}
		dead := c.dead
		c.mutex.Unlock()
		if dead && !last {
			closeBody(request)
			return nil, errDead
		}
		answer, err := next.RoundTrip(request)
		if last && err == nil {
			_ = answer.Body.Close()
			return nil, errDead
		}
		return answer, err
	})
}

// TestKilled kills the process at each write of an installation, an upgrade and an
// uninstallation, before and after the server has processed it. The next attempt
// heals the release: its own objects exist, and no others of any attempt.
func TestKilled(t *testing.T) {
	t.Parallel()
	shared := clustertest.Open(t)
	hook := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {helm.sh/hook: " +
		"'pre-install,pre-upgrade,pre-delete'}}\n"
	first := app(tree{"a": configMap("a", "x: '1'", "one: '1'"), "b": configMap("b"), "svc": fmt.Sprintf(service, "8080"),
		"hook": hook})
	second := app(tree{"a": configMap("a", "x: '2'", "two: '2'"), "c": configMap("c"), "svc": fmt.Sprintf(service, "9090"),
		"hook": hook})
	third := app(tree{"a": configMap("a", "x: '3'"), "d": configMap("d"), "hook": hook})
	type work func(r *rig, files tree) error
	apply := func(r *rig, files tree) error {
		_, err := r.try(t.Context(), r.plan(files, nil))
		return err
	}
	remove := func(r *rig, _ tree) error {
		d := r.decide(true)
		r.attempt++
		owner := Owner{Install: "inst", Component: "comp", Attempt: fmt.Sprintf("job.%d", r.attempt)}
		if err := r.MarkFailed(t.Context(), "web", d, owner); err != nil {
			return err
		}
		_, err := r.Uninstall(t.Context(), UninstallRequest{Release: "web", Decision: d, Owner: owner, Timeout: r.timeout})
		return err
	}
	for name, test := range map[string]struct {
		before []tree
		dies   work
		files  tree
		then   work
		want   string
	}{
		"install, then install":     {nil, apply, second, apply, "a d hook x=3"},
		"install, then uninstall":   {nil, apply, second, remove, "hook"},
		"upgrade, then upgrade":     {[]tree{first}, apply, second, apply, "a d hook x=3"},
		"upgrade, then uninstall":   {[]tree{first}, apply, second, remove, "hook"},
		"uninstall, then uninstall": {[]tree{first, second}, remove, nil, remove, "hook"},
		"uninstall, then install":   {[]tree{first, second}, remove, nil, apply, "a d hook x=3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at, died := 0, true; died; at++ {
				// Each write is the last one in both ways: before the server has processed
				// it in one of the two tests of an operation, after it in the other.
				answered := (at%2 == 0) == strings.HasSuffix(name, "then uninstall")
				r := rigWith(t, shared, "configmap")
				for _, files := range test.before {
					r.apply(files, nil)
				}
				plain, c := r.cluster, &cut{left: at, answered: answered}
				r.cluster = plain.WithTransport(c.wrap)
				_ = test.dies(r, test.files)
				died = c.dead
				r.cluster = plain
				if err := test.then(r, third); err != nil {
					t.Fatalf("write %d, answered %v: %v", at, answered, err)
				}
				if got := r.there(); got != test.want && (got != "" || test.before != nil) {
					t.Errorf("write %d, answered %v: there is %q, want %q", at, answered, got, test.want)
				}
			}
		})
	}
}

// there lists the ConfigMaps that the tests create, with the data of the one named a.
func (r *rig) there() string {
	r.t.Helper()
	clients, err := kubernetes.NewForConfig(r.cluster.RESTConfig())
	if err != nil {
		r.t.Fatal(err)
	}
	var found []string
	for _, name := range []string{"a", "b", "c", "d", "hook"} {
		if r.get("ConfigMap", name) != nil {
			found = append(found, name)
		}
	}
	if r.get("Service", "front") != nil {
		found = append(found, "front")
	}
	if a := r.get("ConfigMap", "a"); a != nil {
		data, _, _ := unstructured.NestedStringMap(a.Object, "data")
		delete(data, "z")
		for _, key := range slices.Sorted(maps.Keys(data)) {
			found = append(found, key+"="+data[key])
		}
	}
	list, err := clients.CoreV1().ConfigMaps(r.namespace).List(context.Background(), listOptions())
	if err != nil {
		r.t.Fatal(err)
	}
	deployed := 0
	for _, record := range list.Items {
		if record.Labels["status"] == "deployed" {
			deployed++
		}
	}
	if want := min(1, max(0, len(found)-1)); deployed != want || want == 0 && len(list.Items) > 0 {
		found = append(found, fmt.Sprintf("%d records, %d deployed", len(list.Items), deployed))
	}
	return strings.Join(found, " ")
}
