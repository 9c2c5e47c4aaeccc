// Command generate writes two files of package api from openapi.yaml: operations.gen.go, what it declares
// about the time that the response of each operation takes, and values.gen.go, the values of the enums that
// have an x-go-values. make generate calls it.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const document = "pkg/api/openapi.yaml"

// generated are the files to write, and the function that makes the code of each.
var generated = map[string]func([]byte) ([]byte, error){
	"pkg/api/operations.gen.go": Operations,
	"pkg/api/values.gen.go":     Values,
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	raw, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	for file, generate := range generated {
		code, err := generate(raw)
		if err != nil {
			return fmt.Errorf("%s: %w", document, err)
		}
		if err := os.WriteFile(file, code, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// operation is the part of an operation that the generated file contains.
type operation struct {
	ID        string `json:"operationId"`
	Hold      int    `json:"x-hold-seconds"` // how long the server may wait for something to answer
	Responses map[string]struct {
		Content map[string]any `json:"content"` // by media type
	} `json:"responses"`

	method, path string
}

// streams reports whether a successful response may be a stream of server-sent events.
func (o operation) streams() bool {
	for status, r := range o.Responses {
		if _, is := r.Content["text/event-stream"]; is && strings.HasPrefix(status, "2") {
			return true
		}
	}
	return false
}

// Operations returns the Go code of an OpenAPI document's operations, ordered by id.
func Operations(raw []byte) ([]byte, error) {
	var read struct {
		Paths map[string]struct {
			Get, Post, Put, Patch, Delete *operation
		} `json:"paths"`
	}
	if err := yaml.Unmarshal(raw, &read); err != nil {
		return nil, err
	}
	var all []*operation
	for path, item := range read.Paths {
		for method, o := range map[string]*operation{
			"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete,
		} {
			if o == nil {
				continue
			}
			if o.ID == "" {
				return nil, fmt.Errorf("%s %s has no operationId", method, path)
			}
			o.method, o.path = method, path
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *operation) int { return cmp.Compare(a.ID, b.ID) })

	var code bytes.Buffer
	code.WriteString("// Code generated from openapi.yaml by pkg/api/generate. DO NOT EDIT.\n\npackage api\n\n" +
		"import \"time\"\n\n// operations are the operations of openapi.yaml, ordered by id.\n" +
		"var operations = []Operation{\n")
	for _, o := range all {
		fmt.Fprintf(&code, "{ID: %q, Method: %q, Path: %q", o.ID, o.method, o.path)
		if o.streams() {
			code.WriteString(", Streams: true")
		}
		if o.Hold > 0 {
			fmt.Fprintf(&code, ", Hold: %d * time.Second", o.Hold)
		}
		code.WriteString("},\n")
	}
	code.WriteString("}\n")
	return format.Source(code.Bytes())
}
