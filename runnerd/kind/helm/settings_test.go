package helm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/values"
	"github.com/nuon-toolkit/nuon/runnerd/values/valuestest"
)

func opened(t *testing.T, plain string, sealed ...string) *values.Values {
	t.Helper()
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	given := api.Values{Plain: json.RawMessage(plain)}
	for i := 0; i < len(sealed); i += 2 {
		given.Sealed = append(given.Sealed, valuestest.SealValue(t, key, "ins_1", sealed[i], sealed[i+1]))
	}
	made, err := values.Open("ins_1", given, key, &redact.Set{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

const plainValues = `{"inputs":{"inputs":{"count":"3","ratio":"0.5","on":"True","name":"007","bad":"x"}},"components":{"db-1":{"outputs":{"port":5432,"big":12345678901234567890,"tls":true,"none":null,"hosts":["a","b"],"id":"1e5"}}},"install":{"id":"ins_1"}}`

// A template that is only one value keeps that value's type; everything else is a string.
func TestValuesKeepTheirTypes(t *testing.T) {
	types := map[string]string{"count": "number", "ratio": "number", "on": "bool", "bad": "number"}
	tests := map[string]struct {
		written string
		want    any
	}{
		"number":             {`7`, int64(7)},
		"million":            {`1000000`, int64(1000000)},
		"fraction":           {`1.5`, 1.5},
		"bool":               {`false`, false},
		"null":               {`null`, nil},
		"text":               {`"8080"`, "8080"},
		"commas":             {`"a,b=c,{d}"`, "a,b=c,{d}"},
		"declared number":    {`"{{ .nuon.inputs.inputs.count }}"`, int64(3)},
		"of the install":     {`"{{- .nuon.install.inputs.ratio -}}"`, 0.5},
		"declared bool":      {`"{{.nuon.inputs.inputs.on}}"`, true},
		"undeclared input":   {`"{{.nuon.inputs.inputs.name}}"`, "007"},
		"input in a text":    {`"{{.nuon.inputs.inputs.count}} replicas"`, "3 replicas"},
		"input in functions": {`"{{.nuon.inputs.inputs.count | trim}}"`, "3"},
		"output":             {`"{{ index .nuon.components \"db-1\" \"outputs\" \"port\" }}"`, int64(5432)},
		"large output":       {`"{{ index .nuon.components \"db-1\" \"outputs\" \"big\" }}"`, 1.2345678901234567e19},
		"bool output":        {`"{{ index .nuon.components \"db-1\" \"outputs\" \"tls\" }}"`, true},
		"null output":        {`"{{ index .nuon.components \"db-1\" \"outputs\" \"none\" }}"`, nil},
		"text output":        {`"{{ index .nuon.components \"db-1\" \"outputs\" \"id\" }}"`, "1e5"},
		"list output":        {`"{{ index .nuon.components \"db-1\" \"outputs\" \"hosts\" }}"`, `["a","b"]`},
		"sealed number":      {`"{{ .nuon.components.x.outputs.pin }}"`, int64(4711)},
		"sealed input":       {`"{{ .nuon.inputs.inputs.secret }}"`, "12345"},
		"another language":   {`"{{ .Values.x }}"`, "{{ .Values.x }}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := scalar("k", json.RawMessage(test.written), types,
				opened(t, plainValues, "components.x.outputs.pin", "4711", "inputs.inputs.secret", "12345"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for written, want := range map[string]string{
		`"{{.nuon.inputs.inputs.bad}}"`: "values.k: the input is declared as a number",
		`["a"]`:                         "write it into a values file",
		`"{{.nuon.inputs.inputs.no}}"`:  "inputs.no",
		`{`:                             "bug in the control plane",
	} {
		if _, err := scalar("k", json.RawMessage(written), types, opened(t, plainValues)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", written, err)
		}
	}
}

func TestSettle(t *testing.T) {
	spec := api.HelmSpec{
		Release: "shop", Namespace: "{{.nuon.install.id | replace \"_\" \"-\"}}", StorageDriver: "",
		ValuesFiles: []string{"a: 1\nb: {c: file, d: 2}\n", "a: {{.nuon.inputs.inputs.count}}\n"},
		Values: map[string]json.RawMessage{"b.c": json.RawMessage(`"set"`),
			`annotations."example.com/x"`: json.RawMessage(`true`)},
	}
	got, err := renderSettings(spec, opened(t, plainValues))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": int64(3), "b": map[string]any{"c": "set", "d": int64(2)},
		"annotations": map[string]any{"example.com/x": true}}
	if got.Namespace != "ins-1" || got.Driver != "configmap" || got.Release != "shop" {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(want, got.values); diff != "" {
		t.Error(diff)
	}
	spec.Override = "b: {c: '{{.nuon.install.id}}', e: [1]}\nannotations: {example.com/x: null}\n"
	want["b"], want["annotations"] = map[string]any{"c": "ins_1", "d": int64(2), "e": []any{int64(1)}},
		map[string]any{"example.com/x": nil}
	if got, err = renderSettings(spec, opened(t, plainValues)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.values); diff != "" {
		t.Errorf("with an override: %s", diff)
	}
	for name, change := range map[string]func(*api.HelmSpec){
		"helm_values of the install": func(s *api.HelmSpec) { s.Override = "a: {{.nuon.inputs.inputs.gone}}" },
		"mapping":                    func(s *api.HelmSpec) { s.Override = "- a" },
		"no name of a namespace":     func(s *api.HelmSpec) { s.Namespace = "Not/One" },
		"configmap or secret":        func(s *api.HelmSpec) { s.StorageDriver = "nuon" },
		"values_file[0]":             func(s *api.HelmSpec) { s.ValuesFiles = []string{"{{.nuon.inputs.inputs.gone}}"} },
	} {
		broken := spec
		change(&broken)
		if _, err := renderSettings(broken, opened(t, plainValues)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
