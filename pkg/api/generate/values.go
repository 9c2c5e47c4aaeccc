package main

import (
	"bytes"
	"fmt"
	"go/format"
	"go/token"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"
)

// Values returns the Go code of the enums of an OpenAPI document that have an x-go-values: a variable of
// that name with the values in their order in the document, ordered by name.
func Values(raw []byte) ([]byte, error) {
	var read any
	if err := yaml.Unmarshal(raw, &read); err != nil {
		return nil, err
	}
	enums := map[string][]string{}
	if err := collectValues(read, enums); err != nil {
		return nil, err
	}

	var code bytes.Buffer
	code.WriteString("// Code generated from openapi.yaml by pkg/api/generate. DO NOT EDIT.\n\npackage api\n\n" +
		"// The values of enums, in the order of openapi.yaml.\nvar (\n")
	for _, name := range slices.Sorted(maps.Keys(enums)) {
		fmt.Fprintf(&code, "%s = %#v\n", name, enums[name])
	}
	code.WriteString(")\n")
	return format.Source(code.Bytes())
}

// collectValues adds the enums with an x-go-values below a node of the document.
func collectValues(node any, enums map[string][]string) error {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			if err := collectValues(child, enums); err != nil {
				return err
			}
		}
	case map[string]any:
		if v, has := n["x-go-values"]; has {
			name, _ := v.(string)
			values, _ := n["enum"].([]any)
			switch {
			case !token.IsExported(name) || !token.IsIdentifier(name):
				return fmt.Errorf("x-go-values: %v is not the name of an exported variable", v)
			case len(values) == 0:
				return fmt.Errorf("x-go-values: %s has no enum", name)
			case enums[name] != nil:
				return fmt.Errorf("x-go-values: two enums are named %s", name)
			}
			for _, value := range values {
				enums[name] = append(enums[name], fmt.Sprint(value))
			}
		}
		for _, child := range n {
			if err := collectValues(child, enums); err != nil {
				return err
			}
		}
	}
	return nil
}
