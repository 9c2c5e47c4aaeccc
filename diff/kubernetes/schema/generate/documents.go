package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// document is the part of one OpenAPI v3 document that is read. There is one for each group and
// version, with all the definitions that it uses. The single document of version 2 has the same
// definitions with the same extensions (in v1.36.3, all 771), without defaults; it is not read.
type document struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Schemas map[string]*definition `json:"schemas"`
	} `json:"components"`
}

// definition is a schema as Kubernetes publishes it: a named one, the schema
// of a field, or that of the elements of a list or map.
type definition struct {
	Ref        string                 `json:"$ref"`
	AllOf      []*definition          `json:"allOf"`
	OneOf      []*definition          `json:"oneOf"`
	Type       string                 `json:"type"`
	Format     string                 `json:"format"`
	Properties map[string]*definition `json:"properties"`
	Items      *definition            `json:"items"`
	Values     *definition            `json:"additionalProperties"`
	Default    json.RawMessage        `json:"default"`

	ListType   string   `json:"x-kubernetes-list-type"`
	ListKeys   []string `json:"x-kubernetes-list-map-keys"`
	MergeKey   string   `json:"x-kubernetes-patch-merge-key"`
	GroupKinds []gvk    `json:"x-kubernetes-group-version-kind"`
}

type gvk struct{ Group, Version, Kind string }

func readDocuments(dir string) ([]document, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s holds no OpenAPI documents: does the release still publish them there?", dir)
	}
	slices.Sort(names)
	docs := make([]document, len(names))
	for i, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, &docs[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return docs, nil
}

func dirOf(out []byte, module string) (string, error) {
	var found struct{ Dir, Error string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("where %s lies: %w", module, err)
	}
	if found.Error != "" {
		return "", errors.New(found.Error)
	}
	return found.Dir, nil
}
