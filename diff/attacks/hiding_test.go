package attacks

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

var attempts = flag.Int("attempts", 200, "how many attempts to hide a risky change are generated")

// TestHiding hides a risky change among changes that every fold treats as noise. In each case there
// must be a security finding that the noise alone does not have.
func TestHiding(t *testing.T) {
	for seed := range uint64(*attempts) {
		r := rand.New(rand.NewPCG(seed, 20261122))
		quiet := release(r)
		risky := clone(quiet)
		risk := risks[r.IntN(len(risks))]
		risk.apply(risky)
		again, live, inPlan := r.IntN(3) == 0, r.IntN(3) == 0, r.IntN(3) == 0
		var found [2]map[string]bool
		var folded string
		for i, after := range []map[string]any{quiet, risky} {
			before, same := clone(quiet), rand.New(rand.NewPCG(seed, 1))
			if i == 0 {
				after = clone(quiet)
			}
			for _, noise := range drawn(same, noises) {
				noise(same, before, after)
			}
			o := kubernetes.Options{ThreeWay: live || inPlan}
			if again { // the change differs between two renderings
				o.Again, o.BeforeAgain = sources(before), sources(after)
			}
			if o.ThreeWay {
				o.Live = sources(before)
			}
			if inPlan { // the server stores the objects as they are written
				o.Answers, o.AnswersAgain = sources(after), sources(after)
			}
			report, err := kubernetes.Report(sources(before), sources(after), o)
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, risk.name, err)
			}
			found[i], folded = securityFindings(report), report.FoldedSummary()
		}
		maps.DeleteFunc(found[1], func(f string, _ bool) bool { return found[0][f] })
		if len(found[1]) == 0 {
			t.Errorf("seed %d: %s has no finding about security; folded: %s", seed, risk.name, folded)
		}
	}
}

// securityFindings returns the security findings of listed changes, with their objects.
func securityFindings(r *diff.Report) map[string]bool {
	out := map[string]bool{}
	for _, c := range r.Changes {
		for _, f := range c.Findings {
			if f.Security && !c.IsNoise() {
				out[c.Address+" "+f.Rule] = true
			}
		}
	}
	return out
}

// release returns a set of objects by name.
func release(r *rand.Rand) map[string]any {
	labels := map[string]any{"app": "web", "helm.sh/chart": "web-1.0.0", "app.kubernetes.io/version": "1.0.0"}
	meta := func(name string) map[string]any {
		return map[string]any{"name": name, "namespace": "shop", "labels": maps.Clone(labels),
			"annotations": map[string]any{"checksum/config": digits(r)}}
	}
	pods := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "web"},
			"annotations": map[string]any{"checksum/config": digits(r), "rollme": digits(r)}},
		"spec": map[string]any{
			"containers": []any{map[string]any{
				"name": "web", "image": "registry.example/web:1.0.0", "env": []any{map[string]any{"name": "A", "value": digits(r)}},
				"securityContext": map[string]any{"privileged": false, "allowPrivilegeEscalation": false},
			}},
			"volumes": []any{map[string]any{"name": "tmp", "emptyDir": map[string]any{}}},
		},
	}
	binding := func(name, role string) map[string]any {
		return map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": meta(name),
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "web", "namespace": "shop"}},
		}
	}
	return clone(map[string]any{
		"pods": map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta("web"),
			"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": pods},
		},
		"role": map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta("web"),
			"rules": []any{
				map[string]any{"apiGroups": []any{""}, "resources": []any{"pods", "services"}, "verbs": []any{"get", "list"}},
				map[string]any{"apiGroups": []any{"apps"}, "resources": []any{"deployments"}, "verbs": []any{"get"}},
			},
		},
		"binding": binding("web", "view"),
		"config": map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("web-" + digits(r)),
			"data": map[string]any{"a": "b", "c": digits(r)}},
		"policy": map[string]any{
			"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": meta("web"),
			"spec": map[string]any{
				"podSelector": map[string]any{"matchLabels": map[string]any{"job-name": "web"}},
				"ingress": []any{map[string]any{"from": []any{map[string]any{
					"podSelector": map[string]any{"matchLabels": map[string]any{"controller-uid": "web"}},
				}}}},
			},
		},
		"service": map[string]any{
			"apiVersion": "v1", "kind": "Service", "metadata": meta("web"),
			"spec": map[string]any{"selector": map[string]any{"app": "web"}, "ports": []any{map[string]any{"port": 80}}},
		},
	})
}

// risks lists changes with a security finding.
var risks = []struct {
	name  string
	apply func(set map[string]any)
}{
	{"a privileged container", func(s map[string]any) {
		at(s, "pods", "spec", "template", "spec", "containers", 0, "securityContext")["privileged"] = true
	}},
	{"a path of the node", func(s map[string]any) {
		spec := at(s, "pods", "spec", "template", "spec")
		spec["volumes"] = []any{map[string]any{"name": "tmp", "hostPath": map[string]any{"path": "/"}}}
	}},
	{"the network of the node", func(s map[string]any) {
		at(s, "pods", "spec", "template",
			"spec")["hostNetwork"] = true
	}},
	{"all verbs", func(s map[string]any) { at(s, "role", "rules", 0)["verbs"] = []any{"*"} }},
	{"secrets", func(s map[string]any) {
		at(s, "role", "rules", 1)["resources"] = []any{"deployments", "secrets"}
		at(s, "role", "rules", 1)["apiGroups"] = []any{"", "apps"}
	}},
	{"another role", func(s map[string]any) { at(s, "binding", "roleRef")["name"] = "cluster-admin" }},
	{"one more subject", func(s map[string]any) {
		b := at(s, "binding")
		b["subjects"] = append([]any{map[string]any{"kind": "Group", "name": "system:authenticated",
			"apiGroup": "rbac.authorization.k8s.io"}}, b["subjects"].([]any)...)
	}},
	{"a binding in kube-system", func(s map[string]any) {
		at(s, "binding", "roleRef")["name"] = "cluster-admin"
		at(s, "binding", "metadata")["namespace"] = "kube-system"
	}},
	{"privileged pods by another name", func(s map[string]any) {
		at(s, "pods", "spec", "template", "spec", "containers", 0, "securityContext")["privileged"] = true
		at(s, "pods", "metadata")["name"] = "web-2"
	}},
	{"a peer in a policy", func(s map[string]any) {
		at(s, "policy", "spec", "ingress", 0, "from", 0, "podSelector")["matchLabels"] = map[string]any{}
	}},
	{"pods that a policy selects no longer", func(s map[string]any) {
		at(s, "policy", "spec", "podSelector", "matchLabels")["job-name"] = "none"
	}},
	{"a service for everyone", func(s map[string]any) { at(s, "service", "spec")["type"] = "LoadBalancer" }},
}

// noises lists changes that folds treat as noise.
var noises = []func(r *rand.Rand, before, after map[string]any){
	func(_ *rand.Rand, _, after map[string]any) { // labels of the chart
		for _, k := range slices.Sorted(maps.Keys(after)) {
			labels := at(after, k, "metadata", "labels")
			labels["helm.sh/chart"], labels["app.kubernetes.io/version"] = "web-2.0.0", "2.0.0"
		}
	},
	func(r *rand.Rand, _, after map[string]any) { // checksums, restart marks
		annotations := at(after, "pods", "spec", "template", "metadata", "annotations")
		annotations["checksum/config"], annotations["rollme"] = digits(r), digits(r)
	},
	func(_ *rand.Rand, _, after map[string]any) { // order
		rules := at(after, "role")["rules"].([]any)
		slices.Reverse(rules)
		slices.Reverse(rules[0].(map[string]any)["resources"].([]any))
	},
	func(_ *rand.Rand, _, after map[string]any) { // defaults
		at(after, "pods", "spec", "template", "spec")["restartPolicy"] = "Always"
		at(after, "service", "spec")["sessionAffinity"] = "None"
	},
	func(r *rand.Rand, _, after map[string]any) { // regenerated values
		at(after, "config", "data")["c"] = digits(r)
		at(after, "pods", "spec", "template", "spec", "containers", 0)["env"] = []any{map[string]any{"name": "A",
			"value": digits(r)}}
	},
	func(r *rand.Rand, _, after map[string]any) {
		at(after, "config", "metadata")["name"] = "web-" + digits(r)
	}, // a rename
	func(_ *rand.Rand, _, after map[string]any) { // fields that the server owns
		for _, k := range slices.Sorted(maps.Keys(after)) {
			at(after, k)["status"] = map[string]any{"ready": true}
			at(after, k, "metadata")["generation"] = 7
		}
	},
	func(r *rand.Rand, before, after map[string]any) { // a secret that equals a risky value
		for _, s := range []map[string]any{before, after} {
			s["secret"] = map[string]any{
				"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": "shop",
					"labels": map[string]any{}},
				"stringData": map[string]any{"a": "cluster-admin", "b": "system:authenticated", "c": "kube-system", "d": digits(r)},
			}
		}
	},
}

// drawn returns random elements of a list in random order.
func drawn[T any](r *rand.Rand, of []T) []T {
	out := slices.Clone(of)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:r.IntN(len(out)+1)]
}

func digits(r *rand.Rand) string { return fmt.Sprintf("%016x", r.Uint64()) }

// at returns the object below keys and indexes.
func at(v any, steps ...any) map[string]any {
	for _, s := range steps {
		switch s := s.(type) {
		case string:
			v = v.(map[string]any)[s]
		case int:
			v = v.([]any)[s]
		}
	}
	return v.(map[string]any)
}

func clone(v map[string]any) map[string]any {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		panic(err)
	}
	return out
}

func sources(set map[string]any) []manifest.Source {
	var out []manifest.Source
	for _, k := range slices.Sorted(maps.Keys(set)) {
		data, err := json.Marshal(set[k])
		if err != nil {
			panic(err)
		}
		out = append(out, manifest.Source{Name: k, Data: data})
	}
	return out
}
