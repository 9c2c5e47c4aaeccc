package kubernetes

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/sample"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

// objectsOf returns the objects of a set of manifests by kind, namespace and
// name, read independently of the engine.
func objectsOf(t interface{ Fatal(...any) }, data []byte) map[string]any {
	out := map[string]any{}
	for document := range bytes.SplitSeq(data, []byte("\n---")) {
		text, err := yaml.YAMLToJSON(append(bytes.Clone(document), '\n'))
		if err != nil {
			t.Fatal(err)
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var o map[string]any
		if err := dec.Decode(&o); err != nil {
			t.Fatal(err)
		}
		if o == nil {
			continue
		}
		metadata := o["metadata"].(map[string]any)
		version, _ := o["apiVersion"].(string)
		group, _, named := strings.Cut(version, "/")
		kind := o["kind"].(string)
		if named {
			kind += "." + group
		}
		namespace, _ := metadata["namespace"].(string)
		out[strings.Join([]string{kind, namespace, metadata["name"].(string)}, " ")] = o
	}
	return out
}

// leads checks every pointer of a report, and returns their number.
func leads(t interface {
	Errorf(string, ...any)
	Fatal(...any)
}, before, after []byte, o Options) int {
	r, err := Report([]manifest.Source{{Name: "before", Data: before}}, []manifest.Source{{Name: "after", Data: after}}, o)
	if err != nil {
		t.Fatal(err)
	}
	was, is := objectsOf(t, before), objectsOf(t, after)
	count := 0
	for _, list := range [][]diff.Change{r.Changes, r.Hooks, r.Tests, r.Kept} {
		for _, c := range list {
			id := strings.Join([]string{c.ResourceKind, c.Namespace, c.Name}, " ")
			from := id
			if c.Renamed {
				from = renamedFrom(&c)
			}
			for i := range c.Fields {
				count++
				if err := sample.Leads(was[from], is[id], &c.Fields[i]); err != nil {
					t.Errorf("%s: %s: %v", c.Address, c.Fields[i].Path, err)
				}
			}
		}
	}
	return count
}

// renamedFrom returns the key of the object that another one replaces.
func renamedFrom(c *diff.Change) string {
	namespace, name := "", c.From[strings.LastIndexByte(c.From, '/')+1:]
	if parts := strings.Split(c.From, "/"); c.Namespace != "" && len(parts) > 2 {
		namespace = parts[0]
	}
	return strings.Join([]string{c.ResourceKind, namespace, name}, " ")
}

// TestPointersLead checks that each pointer leads to the value that the
// report states, on the side that the pointer is for.
func TestPointersLead(t *testing.T) {
	side := func(t *rapid.T, v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	rapid.Check(t, func(t *rapid.T) {
		before := aDeployment(t).(map[string]any)
		after := mutatedSpec(t, before)
		if rapid.Bool().Draw(t, "custom") {
			for _, o := range []map[string]any{before, after} {
				o["apiVersion"], o["kind"] = "example.com/v1", "Thing"
			}
		}
		leads(t, side(t, before), side(t, after), Options{Limit: 1 << 20})
	})
}

// mutatedSpec returns an object with the same name and a different spec and different labels.
func mutatedSpec(t *rapid.T, before map[string]any) map[string]any {
	metadata := before["metadata"].(map[string]any)
	return map[string]any{
		"apiVersion": before["apiVersion"], "kind": before["kind"], "spec": mutated(t, before["spec"], 0),
		"metadata": map[string]any{"name": metadata["name"], "labels": mutated(t, metadata["labels"], 0),
			"finalizers": mutated(t, metadata["finalizers"], 0)},
	}
}

// TestPointersOfHostileNames checks that a name that looks like a selection
// by two keys, or like an escape, leads only to its own element.
func TestPointersOfHostileNames(t *testing.T) {
	side := func(version string) []byte {
		return []byte(`{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": {"list": [` +
			`{"name": "a,v=1", "v": 1, "w": ` + version + `1}, {"name": "a", "v": 1, "w": ` + version + `2}, ` +
			`{"name": "a~2v=1", "v": 1, "w": ` + version + `3}, {"name": "b/c=d", "w": ` + version + `4}]}}`)
	}
	if n := leads(t, side("1"), side("2"), Options{}); n != 4 {
		t.Errorf("%d pointers instead of 4", n)
	}
}

// TestPointersLeadInRealUpgrades runs the same check on the real manifests in NUON_DIFF_CORPUS.
func TestPointersLeadInRealUpgrades(t *testing.T) {
	sample.Upgrades(t, "TestPointersLead has the same on drawn objects", func(t *testing.T, before, after []byte) {
		for _, o := range []Options{{}, {Limit: 1 << 20}} {
			t.Logf("%d pointers", leads(t, before, after, o))
		}
	})
}
