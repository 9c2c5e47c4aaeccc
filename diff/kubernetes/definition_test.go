package kubernetes

import (
	"testing"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

func TestSchemaPaths(t *testing.T) {
	schema := tree.Path{}.Field("spec").Field("versions").Selected("v1", []string{"name"}).Field("schema").Field(schemaKey)
	routes := schema.Field("properties").Field("spec").Field("properties").Field("routes")
	old := tree.Path{}.Field("spec").Field("validation").Field(schemaKey)
	for want, p := range map[string]tree.Path{
		"spec.versions[v1] (schema)":             schema,
		"spec.versions[v1] (schema): properties": schema.Field("properties"),
		"spec.versions[v1] (schema) spec":        schema.Field("properties").Field("spec"),
		"spec.versions[v1] (schema) spec: required[0]": schema.Field("properties").Field("spec").Field(
			"required").At(0),
		"spec.versions[v1] (schema) spec.routes[].weight: default": routes.Field("items").Field("properties").Field(
			"weight").Field("default"),
		"spec.versions[v1] (schema) spec.routes[*]: type":   routes.Field("additionalProperties").Field("type"),
		`spec.versions[v1] (schema) spec.routes["[]"]`:      routes.Field("properties").Field("[]"),
		"spec.versions[v1] (schema) spec.routes.properties": routes.Field("properties").Field("properties"),
		"spec.versions[v1] (schema) spec.routes: default.properties.a": routes.Field("default").Field(
			"properties").Field("a"),
		"spec (schema) items":      old.Field("properties").Field("items"),
		"spec.versions[v1].schema": schema[:4],
		"data.openAPIV3Schema":     tree.Path{}.Field("data").Field(schemaKey),
	} {
		if got := pathText(p, tree.Step.Plain); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestOutlines(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"string","pattern":"^a+$"}`:                                                                 `string`,
		`{"x-kubernetes-int-or-string":true}`:                                                                `int-or-string`,
		`{"description":"x"}`:                                                                                `any`,
		`{"type":"array","items":{"properties":{"a":{"type":"string"}}}}`:                                    `[{"a":"string"}]`,
		`{"type":"object","additionalProperties":{"type":"integer"}}`:                                        `{"*":"integer"}`,
		`{"type":"object","additionalProperties":true}`:                                                      `object`,
		`{"properties":{"type":{"type":"object","properties":{"deep":{}}},"b":{"type":"array","items":{}}}}`: `{"b":"array","type":"object"}`,
		`{"properties":{"a123456789012345678901234567890":{},"b123456789012345678901234567890":{},"c123456789012345678901234567890":{}}}`: `{"a123456789012345678901234567890":"any","b123456789012345678901234567890":"any"}`,
	} {
		v, err := raw.Parse([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := raw.Text(outline(v)); got != want {
			t.Errorf("%s: got %s, want %s", schema, got, want)
		}
	}
}
