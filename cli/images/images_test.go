package images

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/image"
)

// TestAddresses: images are found in pods, in lists, in volumes and in custom resources, and not in the data of a
// ConfigMap.
func TestAddresses(t *testing.T) {
	objects, err := decode(`
apiVersion: v1
kind: List
items:
- kind: Pod
  metadata: {name: a}
  spec:
    initContainers: [{image: init:1}]
    containers: [{image: main:1}, {name: none}]
    volumes: [{image: {reference: volume:1}}]
- kind: ConfigMap
  metadata: {name: b}
  data: {image: data:1}
---
---
kind: Prometheus
metadata: {name: c}
spec: {image: quay.io/prometheus:3, other: {image: ""}}
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range objects {
		got = append(got, nameOf(object)+" "+strings.Join(image.InObject(object), " "))
	}
	want := []string{"Pod/a main:1 init:1 volume:1", "ConfigMap/b ", "Prometheus/c quay.io/prometheus:3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := decode("a: [\n"); err == nil {
		t.Error("what is not YAML has objects")
	}
}

func TestSplitAddress(t *testing.T) {
	for text, want := range map[string]string{
		"redis": "redis latest", "redis:7": "redis 7", "localhost:5000/a/b:1.2": "localhost:5000/a/b 1.2",
		"localhost:5000/a": "localhost:5000/a latest", "a/b@sha256:1": "a/b sha256:1", "a/b:1@sha256:1": "a/b 1@sha256:1",
	} {
		got, err := splitAddress(text)
		if said := got.repository + " " + got.version(); said != want || err != nil {
			t.Errorf("%s is %s, %v, want %s", text, said, err, want)
		}
	}
	if _, err := splitAddress("{{ .Values.image }}"); err == nil {
		t.Error("a template is an address")
	}
	if a, _ := splitAddress("docker.io/library/redis:7"); !a.is("redis", "7") || a.is("redis", "8") || a.is("other", "7") {
		t.Error("an address of Docker Hub is not recognized")
	}
}

// TestMarks: templates are rendered without an install, and an address tells what it was made of.
func TestMarks(t *testing.T) {
	two := "2"
	m := &marks{config: &appconfig.App{Inputs: []appconfig.Input{{Name: "n", Default: &two},
		{Name: "count", Type: "number"}}}}
	got, err := m.render("x", "{{.nuon.inputs.inputs.n}} {{.nuon.inputs.inputs.count}} "+
		"{{.nuon.components.a.outputs.image.ref}} "+
		"{{.nuon.components.a.outputs.image.ref}} {{.nuon.inputs.inputs.other}}")
	if want := "2 1 nuonref0x nuonref0x nuonref1x"; got != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	want := "{{.nuon.components.a.outputs.image.ref}}@{{.nuon.inputs.inputs.other}}"
	if got := m.restore("nuonref0x@nuonref1x"); got != want {
		t.Error(got)
	}
	if found := m.in("a/nuonref1x:nuonref9x"); len(found) != 1 || found[0].String() != "inputs.inputs.other" {
		t.Error(found)
	}
	if _, err := m.render("x", "{{range .nuon.inputs.inputs.other}}{{.a}}{{end}}"); err == nil {
		t.Error("a list that only an install knows is rendered")
	}
}

// TestMirroredAddresses: an image is mirrored if its repository is that of a component, not if something else of the
// address is.
func TestMirroredAddresses(t *testing.T) {
	config := &appconfig.App{Components: []appconfig.Component{{Name: "a", Image: &appconfig.Image{}}, {Name: "b"}}}
	const output = "{{.nuon.components.a.outputs.image."
	for address, want := range map[string]string{
		output + "ref}}": "a", output + "repository}}:" + output + "tag}}": "a", output + "repository}}": "a",
		output + "repository}}@" + output + "digest}}":    "a",
		"redis:" + output + "display_tag}}":               "",
		"ghcr.io/acme/api@" + output + "digest}}":         "",
		"docker.io/" + output + "repository}}:1":          "",
		output + "repository}}-debug:1":                   "",
		output + "tag}}/redis:7":                          "",
		"{{.nuon.components.b.outputs.image.repository}}": "",
	} {
		m := &marks{config: config}
		rendered, err := m.render("x", address)
		if err != nil {
			t.Fatal(err)
		}
		got := (&app{config: config}).classify(rendered, m)
		if got.MirroredBy != want || got.Unknown != (want == "") {
			t.Errorf("%s: %+v", address, got)
		}
	}
}

// TestCandidates: values that set an image are found in the forms that charts use.
func TestCandidates(t *testing.T) {
	values := map[string]any{
		"one":   "ghcr.io/acme/api:1",
		"image": map[string]any{"repository": "ghcr.io/acme/api", "tag": 1, "digest": ""},
		"deep":  map[string]any{"a.b": map[string]any{"registry": "ghcr.io", "repository": "acme/api"}},
		"other": map[string]any{"repository": "ghcr.io/acme/other", "list": []any{"ghcr.io/acme/api:1"}},
	}
	want := []map[string]string{
		{`deep.a\.b.repository`: "R", `deep.a\.b.tag`: "T", `deep.a\.b.registry`: ""},
		{"image.repository": "R", "image.tag": "T", "image.digest": ""},
		{"one": "REF"},
	}
	if diff := cmp.Diff(want, candidates(values, "ghcr.io/acme/api:1", "REF", "R", "T")); diff != "" {
		t.Error(diff)
	}
}

func TestReplaceAddress(t *testing.T) {
	for before, want := range map[string]string{
		"image: a/b:1\n":           "image: \"REF\"\n",
		"image: a/b:1 # one\nx: y": "image: \"REF\" # one\nx: y",
		`image: "a/b:1"`:           `image: "REF"`,
		"image: 'a/b:1'":           "image: 'REF'",
		"image: a/b:10\n":          "image: a/b:10\n",
		"image: x/a/b:1\n":         "image: x/a/b:1\n",
		"{image: a/b:1}":           "{image: a/b:1}",
	} {
		if got := replaceAddress(before, "a/b:1", "REF"); got != want {
			t.Errorf("%q became %q, want %q", before, got, want)
		}
	}
}

// TestSetValues: values are added to the table of the component, or to a new one.
func TestSetValues(t *testing.T) {
	for before, want := range map[string]string{
		"name = \"api\"\n":                    "name = \"api\"\n\n[values]\n\"a.b\" = \"1\"\nc = \"2\"\n",
		"name = \"api\"\n\n[values]\nd = 1\n": "name = \"api\"\n\n[values]\n\"a.b\" = \"1\"\nc = \"2\"\nd = 1\n",
		"name = \"api\"\n[[values_file]]\npath=\"x\"": "name = \"api\"\n" +
			"[[values_file]]\npath=\"x\"\n\n[values]\n\"a.b\" = \"1\"\nc = \"2\"\n",
		"name = \"api\"\nvalues = {d = 1}\n": "",
	} {
		d := &adoption{files: map[string]string{"components/a.toml": before, "components/b.toml": "name = \"b\"\n"}}
		c := appconfig.Component{Name: "api", Helm: &appconfig.Helm{Values: format.Scalars{"d": 1}}}
		done := d.setValues(&c, map[string]string{"a.b": "1", "c": "2"})
		if got := d.files["components/a.toml"]; done != (want != "") || done && got != want {
			t.Errorf("%q became %q, want %q", before, got, want)
		}
		if done && fmt.Sprint(c.Helm.Values) != "map[a.b:1 c:2 d:1]" {
			t.Errorf("%v", c.Helm.Values)
		}
	}
}
