package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema/internal/table"
)

// published is a document in the published form, with one kind that has an example of everything.
const published = `{
	"paths": {
		"/apis/example.k8s.io/v1/namespaces/{namespace}/things/{name}": {
			"parameters": [{"name": "name"}],
			"get": {"x-kubernetes-group-version-kind": {"group": "example.k8s.io", "version": "v1", "kind": "Thing"}}},
		"/apis/example.k8s.io/v1/namespaces/{namespace}/things/{name}/scale": {
			"get": {"x-kubernetes-group-version-kind": {"group": "autoscaling", "version": "v1", "kind": "Scale"}}},
		"/apis/example.k8s.io/v1/things": {
			"get": {"x-kubernetes-group-version-kind": {"group": "example.k8s.io", "version": "v1", "kind": "Thing"}}},
		"/apis/example.k8s.io/v1/": {"get": {}}
	},
	"components": {"schemas": {
		"io.k8s.api.example.v1.Thing": {
			"type": "object",
			"properties": {
				"ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
					"items": {"default": {}, "allOf": [{"$ref": "#/components/schemas/io.k8s.api.example.v1.Port"}]}},
				"old": {"type": "array", "x-kubernetes-patch-merge-key": "name", "items": {"type": "string", "default": ""}},
				"limits": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}},
				"self": {"$ref": "#/components/schemas/io.k8s.api.example.v1.Thing"},
				"first": {"default": {}, "allOf": [{"$ref": "#/components/schemas/io.k8s.api.example.v1.Port"}]},
				"free": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.runtime.RawExtension"}
			},
			"x-kubernetes-group-version-kind": [{"group": "example.k8s.io", "version": "v1", "kind": "Thing"}]},
		"io.k8s.api.example.v1.Port": {
			"type": "object",
			"properties": {
				"port": {"type": "integer", "format": "int32", "default": 0},
				"name": {"type": "string"},
				"mode": {"type": "string"},
				"cert": {"type": "string", "format": "byte"}}},
		"io.k8s.api.example.v1.Unused": {"type": "object"},
		"io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
		"io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object"}
	}}
}`

func documents(t *testing.T, texts ...string) []document {
	t.Helper()
	docs := make([]document, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal([]byte(text), &docs[i]); err != nil {
			t.Fatal(err)
		}
	}
	return docs
}

func omitsNames(string) (map[string]bool, error) {
	return map[string]bool{"name": true, "port": true}, nil
}

func TestBuild(t *testing.T) {
	got, err := build(documents(t, published, published), omitsNames)
	if err != nil {
		t.Fatal(err)
	}
	want := &table.Table{
		Types: []table.Type{
			{Shape: 'o', Name: "example.v1.Thing", Fields: []table.Field{
				{Name: "first", Type: 6}, {Name: "free", Type: 7}, {Name: "limits", Type: 9}, {Name: "old", Type: 10},
				{Name: "ports", Type: 11},
				{Name: "self", Type: 0},
			}},
			{Shape: 'o', Name: "example.v1.Port", Fields: []table.Field{
				{Name: "cert", Type: 2}, {Name: "mode", Type: 3}, {Name: "name", Type: 5}, {Name: "port", Type: 4},
			}},
			{Shape: 's', Format: "bytes"},
			{Shape: 's'},
			{Shape: 'i', Default: "0"},
			{Shape: 's', Format: "omitempty"},
			{Shape: 'r', Elem: 1, Default: "{}"},
			{Shape: 'p', Name: "pkg.runtime.RawExtension"},
			{Shape: 's', Format: "quantity", Name: "api.resource.Quantity"},
			{Shape: 'm', Elem: 8},
			{Shape: 'l', List: 'm', Elem: 3, Keys: []string{"name"}},
			{Shape: 'l', List: 'm', Elem: 1, Keys: []string{"port", "protocol"}},
		},
		Kinds: []table.Kind{{Group: "example.k8s.io", Version: "v1", Kind: "Thing", Namespaced: true, Type: 0}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBuildRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`"x-kubernetes-list-type": "map"`, `"x-kubernetes-list-type": "bag"`, `list type "bag" is not known`},
		{`"type": "integer"`, `"type": "complex"`, "a schema of a form that is not known"},
		{`"io.k8s.api.example.v1.Port": {`, `"io.k8s.api.example.v1.Other": {`, `no definition "example.v1.Port"`},
		{`"io.k8s.api.example.v1.Unused"`, `"io.k8s.other.example.v1.Port"`, "have the same short name"},
		{`"x-kubernetes-group-version-kind": [{"group"`, `"x-kubernetes-group-version-kind": [{"grp"`, `no definition ""`},
		{`"items": {"type": "string", "default": ""}`, `"uniqueItems": true`, "a list without items"},
	} {
		text := strings.Replace(published, c.from, c.to, 1)
		if text == published {
			t.Fatalf("%s is not in the document", c.from)
		}
		if _, err := build(documents(t, text), omitsNames); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.to, err, c.want)
		}
	}
	broken := errors.New("no Go type")
	if _, err := build(documents(t, published), func(string) (map[string]bool, error) {
		return nil, broken
	}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestOmittedFields(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "example/v1"), 0o755); err != nil {
		t.Fatal(err)
	}
	source := "package v1\n" +
		"type Thing struct {\n" +
		"\tTypeMeta `json:\",inline\"`\n" +
		"\tInner `json:\",inline\"`\n" +
		"\tA string `json:\"a,omitempty\"`\n" +
		"\tB *string `json:\"b,omitempty\"`\n" +
		"\tC string `json:\"c\"`\n" +
		"\tD int `json:\"d,omitzero\"`\n" +
		"\tE int\n" +
		"}\n" +
		"type Inner struct {\n\tF bool `json:\"f,omitempty\"`\n}\n" +
		"type Far other.Thing\n"
	if err := os.WriteFile(filepath.Join(dir, "example/v1/types.go"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	s := newStructs(func(name string) (string, error) {
		if name != "api" {
			return "", errors.New("no module " + name)
		}
		return dir, nil
	})
	got, err := s.omitted("io.k8s.api.example.v1.Thing")
	if diff := cmp.Diff(map[string]bool{"a": true, "d": true, "f": true}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if got, err := s.omitted("io.k8s.api.example.v1.Far"); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
	for _, name := range []string{"io.k8s.api.example.v1.None", "io.k8s.api.example.v2.Thing",
		"io.k8s.other.example.v1.Thing", "com.example.Thing"} {
		if _, err := s.omitted(name); err == nil {
			t.Errorf("%s was found", name)
		}
	}
}
