package oracle

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

var pairs = flag.Int("pairs", 1500, "how many pairs of objects are compared")

// TestPairs compares mutated pairs of objects: each semantic difference must be reported, and
// nothing else.
func TestPairs(t *testing.T) {
	differing := 0
	for seed := range *pairs {
		r := rand.New(rand.NewPCG(uint64(seed), 20261122))
		k := kinds[r.IntN(len(kinds))]
		before := k.draw(r)
		after := k.mutate(r, before)
		want := k.differences(before, after)
		if len(want) > 0 {
			differing++
		}
		report := compare(t, before, after)
		if missed, invented := missing(report, want), extra(report, want); len(missed)+len(invented) > 0 {
			t.Errorf("seed %d: missed %q, invented %q\nbefore %s\nafter  %s", seed, missed, invented, text(before), text(after))
		}
		if t.Failed() && seed > 50 {
			return
		}
	}
	if differing < *pairs/4 {
		t.Errorf("only %d of %d pairs differ, so this tests little", differing, *pairs)
	}
}

func compare(t *testing.T, before, after any) *diff.Report {
	t.Helper()
	source := func(v any) []manifest.Source { return []manifest.Source{{Name: "in", Data: []byte(text(v))}} }
	report, err := kubernetes.Report(source(before), source(after), kubernetes.Options{})
	if err != nil {
		t.Fatalf("%v\nbefore %s\nafter  %s", err, text(before), text(after))
	}
	return report
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// missing returns the differences without a field in the report. A field counts if it is shown, or
// folded by a rule for real differences.
func missing(r *diff.Report, want []string) []string {
	return slices.DeleteFunc(slices.Clone(want),
		func(w string) bool { return slices.ContainsFunc(reported(r, true), overlaps(w)) })
}

// extra returns the shown fields that are at none of the differences.
func extra(r *diff.Report, want []string) []string {
	return slices.DeleteFunc(reported(r, false), func(p string) bool { return slices.ContainsFunc(want, overlaps(p)) })
}

// reported returns the paths of the report's fields, as keys only. Fields folded as a default or as
// order are no differences.
func reported(r *diff.Report, folded bool) []string {
	var out []string
	for _, c := range r.Changes {
		for _, f := range c.Fields {
			if f.Fold == "" || folded && f.Fold != "default" && f.Fold != "order" {
				var keys []string
				for _, step := range strings.Split(strings.TrimPrefix(f.Pointer, "/"), "/") {
					if !strings.Contains(step, "=") && strings.Trim(step, "0123456789") != "" {
						keys = append(keys, step)
					}
				}
				out = append(out, strings.Join(keys, "/"))
			}
		}
	}
	return out
}

func overlaps(a string) func(string) bool {
	return func(b string) bool { return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/") }
}

// field describes a value by the API reference.
type field struct {
	// One of these is set: object fields, the values of a map, the elements of a list, or a scalar.
	fields map[string]field
	values *field
	elem   *field
	// keys identify the elements of a list; ordered marks a list whose order matters.
	keys    []string
	ordered bool
	// scalars lists possible values; quantity marks values that are compared as numbers with units.
	scalars  []any
	quantity bool
	// fallback is the server's default, in JSON form.
	fallback any
	// inline marks an object that is equal to an empty one when it is omitted.
	inline bool
	// always marks a field that is always written, a list with an element: to omit replicas leaves
	// them to an autoscaler.
	always bool
}

func object(fields map[string]field) field { return field{fields: fields} }

// inline describes an object that is equal to an empty one when it is omitted.
func inline(fields map[string]field) field { return field{fields: fields, inline: true} }

func list(elem field, keys ...string) field       { return field{elem: &elem, keys: keys} }
func inOrder(elem field, keys ...string) field    { return field{elem: &elem, keys: keys, ordered: true} }
func mapping(values field) field                  { return field{values: &values} }
func scalar(values ...any) field                  { return field{scalars: values} }
func defaulted(fallback any, values ...any) field { return field{scalars: values, fallback: fallback} }
func quantity() field                             { return field{scalars: quantities, quantity: true} }

var (
	quantities = []any{"1", 1, "1000m", "0.5", "500m", "1Gi", "1024Mi", "2Gi", 2}
	words      = scalar("a", "b", "", "x y")
	names      = scalar("one", "two", "three")
	settings   = mapping(words)

	verb = scalar("get", "*")

	container = object(map[string]field{
		"name": names, "image": scalar("a:1", "a:2"), "args": inOrder(scalar("-v", "-x")),
		"env": inOrder(object(map[string]field{"name": names, "value": scalar("1", "$(one)")}), "name"),
		"ports": inOrder(object(map[string]field{"containerPort": scalar(80, 81),
			"protocol": defaulted("TCP", "TCP", "UDP")}), "containerPort", "protocol"),
		"resources":       inline(map[string]field{"limits": mapping(quantity())}),
		"securityContext": object(map[string]field{"privileged": scalar(true, false), "runAsUser": scalar(0, 1000)}),
		"livenessProbe": object(map[string]field{
			"periodSeconds": defaulted(10, 5, 10), "tcpSocket": object(map[string]field{"port": scalar(80, "80", "http")}),
		}),
		"terminationMessagePolicy": defaulted("File", "File", "FallbackToLogsOnError"),
	})
	podSpec = inline(map[string]field{
		"containers": inOrder(container, "name"), "initContainers": inOrder(container, "name"), "hostNetwork": scalar(true),
		"restartPolicy": defaulted("Always", "Always", "OnFailure"), "nodeSelector": settings,
		"serviceAccountName": scalar("x", "y"),
	})
	template = inline(map[string]field{"metadata": inline(map[string]field{"labels": settings}), "spec": podSpec})
	rule     = object(map[string]field{
		"apiGroups": list(scalar("", "apps")), "resources": list(scalar("pods", "secrets")),
		"verbs": {elem: &verb, always: true},
	})

	kinds = []kind{
		{"apps/v1", "Deployment", map[string]field{"spec": inline(map[string]field{
			"replicas": {scalars: []any{1, 2}, always: true}, "template": template, "paused": scalar(true),
			"strategy": inline(map[string]field{"rollingUpdate": inline(map[string]field{
				"maxUnavailable": defaulted("25%", 1, "1", "25%"), "maxSurge": defaulted("25%", "25%", 1),
			})}),
		})}},
		{"v1", "Pod", map[string]field{"spec": podSpec}},
		{"batch/v1", "CronJob", map[string]field{"spec": inline(map[string]field{
			"schedule": scalar("* * * * *", "0 * * * *"), "suspend": defaulted(false, true, false),
			"jobTemplate": inline(map[string]field{"spec": inline(map[string]field{"template": template})}),
		})}},
		{"v1", "ConfigMap", map[string]field{"data": settings}},
		{"v1", "Service", map[string]field{"spec": inline(map[string]field{
			"type": defaulted("ClusterIP", "ClusterIP", "NodePort"), "selector": settings,
			"externalIPs": list(scalar("10.0.0.1", "10.0.0.2")),
			"ports": inOrder(object(map[string]field{
				"port": scalar(80, 81), "protocol": defaulted("TCP", "TCP", "UDP"), "targetPort": scalar(8080, "8080", "http"),
			}), "port", "protocol"),
		})}},
		{"rbac.authorization.k8s.io/v1", "ClusterRole", map[string]field{"rules": list(rule)}},
		{"policy/v1", "PodDisruptionBudget", map[string]field{"spec": inline(map[string]field{"maxUnavailable": scalar(1, "1",
			"25%")})}},
	}
)

type kind struct {
	apiVersion, kind string
	fields           map[string]field
}

func (k kind) root() field { return object(k.fields) }

func (k kind) draw(r *rand.Rand) map[string]any {
	v, _ := k.root().draw(r, 0).(map[string]any)
	v["apiVersion"], v["kind"] = k.apiVersion, k.kind
	v["metadata"] = map[string]any{"name": "x", "namespace": "y"}
	return v
}

func (k kind) mutate(r *rand.Rand, before map[string]any) map[string]any {
	after, _ := k.root().mutate(r, before).(map[string]any)
	return after
}

func (k kind) differences(before, after map[string]any) []string {
	var out []string
	k.root().differences(nil, k.root().canonical(before), k.root().canonical(after), &out)
	return out
}

// draw generates a value. It sometimes writes defaults and null.
func (f field) draw(r *rand.Rand, depth int) any {
	switch {
	case f.fields != nil:
		out := map[string]any{}
		for _, k := range sorted(f.fields) {
			if depth == 0 || f.fields[k].always || r.IntN(2) == 0 {
				out[k] = f.fields[k].draw(r, depth+1)
			}
		}
		return out
	case f.values != nil:
		out := map[string]any{}
		for range r.IntN(3) {
			if k := []string{"cpu", "memory", "k"}[r.IntN(3)]; r.IntN(6) > 0 {
				out[k] = f.values.draw(r, depth+1)
			} else {
				out[k] = nil
			}
		}
		return out
	case f.elem != nil:
		out := []any{}
		least := 0
		if f.always {
			least = 1
		}
		for range least + r.IntN(4) {
			if e := f.elem.draw(r, depth+1); f.fresh(out, e) {
				out = append(out, e)
			}
		}
		return out
	}
	return f.scalars[r.IntN(len(f.scalars))]
}

// fresh completes the keys of a list element and reports whether they are unique.
func (f field) fresh(others []any, e any) bool {
	if m, ok := e.(map[string]any); ok && len(f.keys) > 0 {
		for _, k := range f.keys {
			if m[k] == nil && f.elem.fields[k].fallback == nil {
				m[k] = f.elem.fields[k].scalars[0]
			}
		}
	}
	return !slices.ContainsFunc(others, func(o any) bool { return f.identity(o) == f.identity(e) })
}

// identity returns the text that identifies a list element.
func (f field) identity(e any) string {
	m, ok := e.(map[string]any)
	if !ok || len(f.keys) == 0 {
		return text(f.elem.canonical(e))
	}
	var parts []string
	for _, k := range f.keys {
		v := m[k]
		if v == nil {
			v = f.elem.fields[k].fallback
		}
		parts = append(parts, fmt.Sprint(v))
	}
	return strings.Join(parts, ",")
}

// mutate returns a copy of a value with changes in some places.
func (f field) mutate(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, k := range sorted(v) {
			child, known := f.fields[k]
			if f.values != nil {
				child, known = *f.values, true
			}
			switch {
			case !known:
				out[k] = v[k]
			case !child.always && k != "spec" && r.IntN(12) == 0: // remove it
			case r.IntN(4) == 0:
				out[k] = v[k]
			case v[k] == nil:
				out[k] = child.draw(r, 1)
			default:
				out[k] = child.mutate(r, v[k])
			}
		}
		for _, k := range sorted(f.fields) {
			if _, has := out[k]; !has && r.IntN(12) == 0 {
				out[k] = f.fields[k].draw(r, 1)
			}
		}
		return out
	case []any:
		var out []any
		for _, e := range v {
			if r.IntN(8) == 0 {
				continue
			}
			if r.IntN(2) == 0 {
				e = f.elem.mutate(r, e)
			}
			if f.fresh(out, e) {
				out = append(out, e)
			}
		}
		if f.always && len(out) == 0 {
			out = v
		}
		if r.IntN(4) == 0 {
			out = slices.Clone(out)
			r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
		return append([]any{}, out...)
	}
	return f.draw(r, 1)
}

// canonical returns the value as the server would store it: without null and empty values, with
// defaults, with quantities as fractions, and with unordered lists sorted.
func (f field) canonical(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			switch {
			case f.values != nil && e == nil && f.values.quantity:
				e = "0"
			case f.values != nil && e == nil:
				e = ""
			case e == nil:
				continue
			}
			child := f.fields[k]
			if f.values != nil {
				child = *f.values
			}
			if e := child.canonical(e); e != nil {
				out[k] = e
			}
		}
		if f.values != nil && len(out) == 0 {
			return nil
		}
		for k, child := range f.fields {
			switch {
			case out[k] != nil:
			case child.fallback != nil:
				out[k] = child.fallback
			case child.inline:
				out[k] = child.canonical(map[string]any{})
			}
		}
		return out
	case []any:
		var out []any
		for _, e := range v {
			out = append(out, f.elem.canonical(e))
		}
		if len(out) == 0 {
			return nil
		}
		if !f.ordered {
			sort.Slice(out, func(i, j int) bool { return text(out[i]) < text(out[j]) })
		}
		return out
	}
	if f.quantity {
		return amount(fmt.Sprint(v))
	}
	return v
}

// amount converts a quantity to a fraction.
func amount(s string) string {
	for unit, factor := range map[string]string{"m": "1/1000", "Mi": "1048576", "Gi": "1073741824"} {
		if n, ok := strings.CutSuffix(s, unit); ok {
			f, _ := new(big.Rat).SetString(factor)
			v, _ := new(big.Rat).SetString(n)
			return v.Mul(v, f).RatString()
		}
	}
	v, _ := new(big.Rat).SetString(s)
	return v.RatString()
}

// differences appends the paths, as keys only, at which two canonical values differ.
func (f field) differences(at []string, a, b any, out *[]string) {
	ma, isA := a.(map[string]any)
	mb, isB := b.(map[string]any)
	if !isA || !isB || f.fields == nil && f.values == nil {
		if !isEmpty(f, a) || !isEmpty(f, b) {
			if text(a) != text(b) {
				*out = append(*out, strings.Join(at, "/"))
			}
		}
		return
	}
	keys := map[string]bool{}
	for _, m := range []map[string]any{ma, mb} {
		for k := range m {
			keys[k] = true
		}
	}
	for _, k := range sorted(keys) {
		child := f.fields[k]
		if f.values != nil {
			child = *f.values
		}
		child.differences(append(slices.Clone(at), k), ma[k], mb[k], out)
	}
}

// isEmpty reports whether a value is missing, or equals the server's default for a missing field
// with all its children.
func isEmpty(f field, v any) bool {
	if v == nil {
		return true
	}
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	return len(m) == 0 && f.values != nil
}

func sorted[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
