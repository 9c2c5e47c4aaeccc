package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// widget returns a CRD with the schema for its version v1.
func widget(schema string) string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},"spec":{
		"group":"example.com","scope":"Namespaced","names":{"kind":"Widget","plural":"widgets"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":` + schema + `}}]}}`
}

func extended(t *testing.T, crds ...string) *Set {
	t.Helper()
	values := make([]raw.Value, len(crds))
	for i, c := range crds {
		values[i] = parse(t, c)
	}
	s, notes := Builtin().With(values)
	if len(notes) > 0 {
		t.Fatalf("notes: %q", notes)
	}
	return s
}

func TestCustomResource(t *testing.T) {
	s := extended(t, widget(`{"type":"object","properties":{
		"apiVersion":{"type":"string"},"kind":{"type":"string"},"metadata":{"type":"object"},
		"spec":{"type":"object","default":{},"properties":{
			"listeners":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name","port"],
				"items":{"type":"object","default":{},"properties":{"name":{"type":"string"},"port":{"x-kubernetes-int-or-string":true,"default":80}}}},
			"tags":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string","default":""}},
			"steps":{"type":"array","x-kubernetes-list-type":"atomic","items":{"type":"string"}},
			"rules":{"type":"array","items":{"type":"object"}},
			"keyless":{"type":"array","x-kubernetes-list-type":"map","items":{"type":"object"}},
			"memory":{"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true,
				"pattern":"^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$"},
			"interval":{"type":"string","pattern":"^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"},
			"timeout":{"type":"string","pattern":"^([0-9]{1,5}(h|m|s|ms)){1,4}$"},
			"grace":{"type":"string","format":"duration"},
			"hash":{"type":"string","pattern":"^[a-fhms0-9]+$"},
			"at":{"type":"string","format":"date-time"},
			"ca":{"type":"string","format":"byte"},
			"mode":{"type":"string","default":"fast"},
			"values":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
			"labels":{"type":"object","additionalProperties":{"type":"string","default":"x"}},
			"free":{"type":"object","additionalProperties":true},
			"closed":{"type":"object"},
			"unsaid":{},
			"ratio":{"type":"number"},
			"child":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}
		}}}}`))
	for _, c := range []struct{ path, want string }{
		{"metadata.ownerReferences", "list by uid"},
		{"kind", "string"},
		{"spec", "object = {}"},
		{"spec.listeners", "list by name port"},
		{"spec.listeners[]", "object"},
		{"spec.listeners[].port", "any int-or-string = 80"},
		{"spec.tags", "list set"},
		{"spec.tags[]", "string"},
		{"spec.steps", "list atomic"},
		{"spec.rules", "list"},
		{"spec.keyless", "list"},
		{"spec.memory", "any quantity"},
		{"spec.interval", "string duration"},
		{"spec.timeout", "string duration"},
		{"spec.grace", "string duration"},
		{"spec.hash", "string"},
		{"spec.at", "string time"},
		{"spec.ca", "string bytes"},
		{"spec.mode", `string = "fast"`},
		{"spec.values", "object open"},
		{"spec.values.anything", "any"},
		{"spec.labels", "map"},
		{"spec.labels{}", "string"},
		{"spec.free", "map"},
		{"spec.closed", "object"},
		{"spec.unsaid", "any"},
		{"spec.unsaid.x", "any"},
		{"spec.ratio", "number"},
		{"spec.child.metadata.finalizers", "list set"},
		{"spec.child.spec", "any"},
	} {
		if got := said(find(t, s, "example.com/v1/Widget", c.path)); got != c.want {
			t.Errorf("%s: %s, want %s", c.path, got, c.want)
		}
	}
	spec := find(t, s, "example.com/v1/Widget", "spec")
	if spec.Known("other") || spec.Field("closed").Known("x") {
		t.Error("a field that the server would prune is known")
	}
	if n, known := s.Namespaced("example.com", "Widget"); !n || !known {
		t.Error("the scope")
	}
	if !spec.IsDefault(parse(t, `{"mode":"fast"}`), parse(t, `{}`)) ||
		spec.IsDefault(parse(t, `{"tags":[]}`), parse(t, `{}`)) {
		t.Error("defaults of a custom resource")
	}
	if Builtin().Find("example.com", "v1", "Widget") != nil {
		t.Error("the built-in set was changed")
	}
	if s.Find("apps", "v1", "Deployment") != Builtin().Find("apps", "v1", "Deployment") {
		t.Error("a built-in kind was lost")
	}
}

func TestOldDefinitions(t *testing.T) {
	s := extended(t, `{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"CustomResourceDefinition","spec":{
		"group":"old.example.com","version":"v1alpha1","names":{"kind":"Gadget"},
		"validation":{"openAPIV3Schema":{"properties":{"spec":{"properties":{"n":{"type":"integer"}}}}}}}}`)
	spec := find(t, s, "old.example.com/v1alpha1/Gadget", "spec")
	if said(spec) != "object open" || said(spec.Field("n")) != "integer open" || !spec.Known("x") {
		t.Errorf("spec: %s, n: %s", said(spec), said(spec.Field("n")))
	}
	if n, _ := s.Namespaced("old.example.com", "Gadget"); !n {
		t.Error("the scope of v1beta1 is namespaced where nothing is said")
	}
}

func TestDefinitionWithoutSchema(t *testing.T) {
	s := extended(t, strings.Replace(widget("null"), `"scope":"Namespaced"`, `"scope":"Cluster"`, 1))
	root := s.Find("example.com", "v1", "Widget")
	if said(root) != "object open" || !root.Field("metadata").Known("name") || !root.Known("spec") {
		t.Errorf("%s", said(root))
	}
	if n, known := s.Namespaced("example.com", "Widget"); n || !known {
		t.Error("the scope")
	}
}

// TestDefinitionsOfBothSides covers two sides that define a kind differently:
// a version that only one has stays known.
func TestDefinitionsOfBothSides(t *testing.T) {
	one := widget(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	two := widget(`{"type":"object","properties":{"b":{"type":"string"}}}`)
	s := extended(t, strings.ReplaceAll(one, `"v1"`, `"v1alpha1"`), one, two)
	if !s.Find("example.com", "v1alpha1", "Widget").Known("a") {
		t.Error("the version of the first is lost")
	}
	if typ := s.Find("example.com", "v1", "Widget"); typ.Known("a") || !typ.Known("b") {
		t.Error("the later definition does not count")
	}
	again, _ := s.With([]raw.Value{parse(t, one)})
	if !again.Find("example.com", "v1", "Widget").Known("a") || s.Find("example.com", "v1", "Widget").Known("a") {
		t.Error("a set of a set changed the first")
	}
}

func TestDefinitionsThatCannotBeUsed(t *testing.T) {
	for _, c := range []struct{ crd, want string }{
		{`null`, "a CustomResourceDefinition is not used: it is none of apiextensions.k8s.io/v1 or v1beta1"},
		{`{"apiVersion":"v1","kind":"Secret"}`, "it is none of"},
		{strings.Replace(widget("{}"), "extensions.k8s.io/v1", "extensions.k8s.io/v3", 1), "it is none of"},
		{strings.Replace(widget("{}"), `"group":"example.com"`, `"group":"exa\u001bmple.com"`, 1),
			"CustomResourceDefinition widgets.example.com is not used: spec.group is no DNS name"},
		{strings.Replace(widget("{}"), `widgets.example.com`, `\u001b[31m`, 1) + "", ""},
		{strings.Replace(widget("{}"), `"kind":"Widget"`, `"kind":7`, 1), "spec.names.kind is no name"},
		{strings.Replace(widget("{}"), `"name":"v1"`, `"name":"v1\n"`, 1), "a name in spec.versions is no DNS label"},
		{`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"group":"a.b","names":{"kind":"C"}}}`, "spec.versions is empty"},
		{strings.Replace(strings.Replace(widget("{}"), "example.com\",\"scope", "apps\",\"scope", 1), "Widget",
			"Deployment", 1),
			"the API server has this kind itself"},
	} {
		s, notes := Builtin().With([]raw.Value{parse(t, c.crd)})
		if c.want == "" {
			if len(notes) != 0 {
				t.Errorf("%s: %q", c.crd, notes)
			}
			continue
		}
		if len(notes) != 1 || !strings.Contains(notes[0], c.want) || strings.ContainsAny(notes[0], "\x1b\n") {
			t.Errorf("%s: %q, want %q", c.crd, notes, c.want)
		}
		if s.Find("apps", "v1", "Deployment").Field("spec").Field("replicas").Shape() != Integer {
			t.Errorf("%s took the place of a built-in kind", c.crd)
		}
	}
	if s, notes := Builtin().With(nil); s != Builtin() || notes != nil {
		t.Error("no definitions give another set")
	}
}

func TestHostileSchemasAreBounded(t *testing.T) {
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 2000) + "{}" + strings.Repeat("}}", 2000)
	typ := extended(t, widget(deep)).Find("example.com", "v1", "Widget")
	depth := 0
	for ; typ != nil; depth++ {
		typ = typ.Field("a")
	}
	if depth != maxDepth+1 {
		t.Errorf("%d levels were read", depth)
	}

	// A schema as an alias bomb would produce it: every level contains the next level ten times.
	bomb := raw.Of(map[string]any{"type": "string"})
	for range 20 {
		properties := map[string]any{}
		for i := range 10 {
			properties[fmt.Sprint("f", i)] = bomb
		}
		bomb = raw.Of(map[string]any{"type": "object", "properties": properties})
	}
	r := crdReader{left: maxTypes}
	root := r.root(bomb)
	if r.left != 0 || root == nil {
		t.Errorf("%d types were left to make", r.left)
	}
	if !root.Known("f9") {
		t.Error("what was not read is said not to exist")
	}

	keys := make([]string, 100)
	for i := range keys {
		keys[i] = `"k` + fmt.Sprint(i) + `"`
	}
	list := `{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":[` + strings.Join(keys, ",") + `]}}}`
	if got := said(find(t, extended(t, widget(list)), "example.com/v1/Widget", "l")); got != "list" {
		t.Errorf("a hundred keys: %s", got)
	}
}

func FuzzWith(f *testing.F) {
	f.Add([]byte(widget(
		`{"type":"object","properties":{"spec":{"type":"array","items":{"x-kubernetes-int-or-string":true}}}}`)))
	f.Add([]byte(widget(`{"additionalProperties":true,"default":{"a":1},"x-kubernetes-embedded-resource":true}`)))
	f.Add([]byte(`{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"CustomResourceDefinition","spec":{"group":"a.b","names":{"kind":"C"},"version":"v1"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		v := parse(t, string(data))
		s, notes := Builtin().With([]raw.Value{v})
		for _, n := range notes {
			if strings.ContainsFunc(n, func(c rune) bool { return c < ' ' || c > '~' }) {
				t.Errorf("note %q", n)
			}
		}
		for key := range s.kinds {
			if k := s.kinds[key]; k.custom {
				typ := s.Find(key.group, "v1", key.kind)
				_ = said(typ)
				spec, _ := v.Get("spec")
				_ = typ.IsDefault(spec, v)
				if !Equal(typ, v, v) {
					t.Error("a thing is not equal to itself")
				}
			}
		}
	})
}
