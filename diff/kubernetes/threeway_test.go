package kubernetes

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

func plainText(p tree.Path) string { return p.Text(tree.Step.Plain) }

// TestThreeWaysOfWhatNobodyTouched checks that a comparison with a cluster
// that has what was applied last equals one of two sides.
func TestThreeWaysOfWhatNobodyTouched(t *testing.T) {
	typ := schema.Builtin().Find("apps", "v1", "Deployment")
	rapid.Check(t, func(t *rapid.T) {
		last := aDeployment(t)
		wanted, ok := mutated(t, last, 0).(map[string]any)
		if !ok {
			return
		}
		w := &walker{names: &names{}}
		n := both(typ, raw.Of(last), raw.Of(wanted))
		n.builtin = true
		w.walk(n)
		three := &threeWay{typ: typ, last: raw.Of(last), wanted: raw.Of(wanted), counted: map[string]int{}}
		found := three.changes(slices.Clone(w.out))
		// The server's default exists, regardless of who sets it.
		said := func(list []difference) (out []string) {
			for _, d := range list {
				if d.fold == foldOthers {
					t.Fatalf("%s belongs to others", plainText(d.path))
				}
				if fold := foldOf(&d); fold != foldDefault && fold != foldServer {
					out = append(out, plainText(d.path))
				}
			}
			return out
		}
		if two, three := said(w.out), said(found); !slices.Equal(two, three) {
			t.Fatalf("two sides differ in %q, three in %q", two, three)
		}
	})
}

// TestOthersKeepTheirFields checks that a field that only the cluster has
// stays, and one that was applied last and is no longer desired is removed.
func TestOthersKeepTheirFields(t *testing.T) {
	pod := func(containers ...any) any {
		return map[string]any{
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}}}
	}
	container := func(name string, env ...any) any { return map[string]any{"name": name, "env": env} }
	variable := func(name string) any { return map[string]any{"name": name, "value": "x"} }
	labels := func(l map[string]any) any { return map[string]any{"metadata": map[string]any{"labels": l}} }
	for name, c := range map[string]struct {
		last, live, wanted any
		goes, stays        []string
	}{
		"a label of others": {labels(nil), labels(map[string]any{"theirs": "1"}), labels(nil), nil,
			[]string{"metadata.labels.theirs"}},
		"a label of each": {
			labels(map[string]any{"ours": "1"}), labels(map[string]any{"ours": "1", "theirs": "1"}), labels(map[string]any{}),
			[]string{"metadata.labels.ours"}, []string{"metadata.labels.theirs"},
		},
		"labels are wanted no more": {
			labels(map[string]any{"ours": "1"}), labels(map[string]any{"ours": "1", "theirs": "1"}), map[string]any{},
			[]string{"metadata.labels.ours"}, []string{"metadata.labels.theirs"},
		},
		"taken away whoever set it": {
			labels(nil), labels(map[string]any{"theirs": "1"}), labels(map[string]any{"theirs": nil}),
			[]string{"metadata.labels.theirs"}, nil,
		},
		"an injected container": {
			pod(container("a")), pod(container("a"), container("proxy")), pod(container("a")), nil,
			[]string{"spec.template.spec.containers[proxy]"},
		},
		"a variable of each": {
			pod(container("a", variable("OURS"))), pod(container("a", variable("OURS"), variable("THEIRS"))),
			pod(container("a")),
			[]string{"spec.template.spec.containers[a].env[OURS]"}, []string{"spec.template.spec.containers[a].env[THEIRS]"},
		},
		"a field of others": {map[string]any{}, map[string]any{"spec": map[string]any{"replicas": "x"}}, map[string]any{},
			nil, []string{"spec"}},
	} {
		t.Run(name, func(t *testing.T) {
			typ := schema.Builtin().Find("apps", "v1", "Deployment")
			w := &walker{names: &names{}}
			n := both(typ, raw.Of(c.live), raw.Of(c.wanted))
			n.builtin = true
			w.walk(n)
			three := &threeWay{typ: typ, last: raw.Of(c.last), wanted: raw.Of(c.wanted), counted: map[string]int{}}
			var goes, stays []string
			for _, d := range three.changes(w.out) {
				if d.fold == "" {
					goes = append(goes, plainText(d.path))
				} else {
					stays = append(stays, plainText(d.path))
				}
			}
			if !slices.Equal(goes, c.goes) || !slices.Equal(stays, c.stays) {
				t.Errorf("goes %q, want %q; stays %q, want %q", goes, c.goes, stays, c.stays)
			}
		})
	}
}

// TestOwners reads managed fields in the API server's format.
func TestOwners(t *testing.T) {
	live, err := raw.Parse([]byte(`{"metadata":{"managedFields":[
		{"manager":"helm","operation":"Update","fieldsV1":{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{}}}}}},
			"f:metadata":{"f:labels":{"f:app":{}},"f:finalizers":{"v:\"a\"":{}}}}},
		{"manager":"scaler","operation":"Update","subresource":"scale","fieldsV1":{"f:spec":{"f:replicas":{}}}},
		{"manager":"kubelet","operation":"Update","subresource":"status","fieldsV1":{"f:spec":{"f:replicas":{}}}},
		{"manager":"edit","operation":"Update","fieldsV1":{"f:metadata":{"f:finalizers":{"v:\"b\"":{}}},
			"f:spec":{"f:ports":{"k:{\"containerPort\":53,\"protocol\":\"UDP\"}":{".":{},"f:name":{}}},"f:args":{}}}}
	]}}`))
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := raw.Parse(
		[]byte(`{"metadata":{"labels":{"app":"web"}},"spec":{"template":{"spec":{"containers":[]}},"args":["a"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	o := ownersOf(live, wanted)
	if o.ours != "helm" {
		t.Errorf("the applier is %q", o.ours)
	}
	root := tree.Path{}.Field("spec")
	for _, c := range []struct {
		path tree.Path
		want string
	}{
		{root.Field("replicas"), "scaler"},
		{root.Field("template").Field("spec").Field("containers").Selected("web", []string{"name"}).Field("image"), ""},
		{root.Field("ports").Selected("containerPort=53,protocol=UDP", []string{"containerPort", "protocol"}).Field("name"),
			"edit"},
		{root.Field("ports").Selected("containerPort=53,protocol=TCP", []string{"containerPort", "protocol"}).Field("name"),
			""},
		{root.Field("args").At(0), "edit"},
		{tree.Path{}.Field("metadata").Field("finalizers").Selected("b", nil), "edit"},
		{tree.Path{}.Field("metadata").Field("finalizers").Selected("a", nil), ""},
		{tree.Path{}.Field("other"), ""},
	} {
		if got := o.of(c.path); got != c.want {
			t.Errorf("%s belongs to %q, want %q", plainText(c.path), got, c.want)
		}
	}
}
