package control_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"
)

// operation is one operation of the control API in the OpenAPI document.
type operation struct {
	ID     string
	Method string
	Path   string // with its parameters in braces
	Params []parameter
	Body   string // media type of its body; empty for none

	Streams bool // a response may be a stream of server-sent events
}

type parameter struct {
	Name string
	In   string
	Enum []string
}

// operations reads the document. It contains every route, because the routes are generated from it.
func operations(t *testing.T) []operation {
	t.Helper()
	document, err := openapi()
	must(t, err)
	var all []operation
	for path, item := range document.Paths {
		for method, described := range item {
			o, is := described.(map[string]any)
			if !is || !slices.Contains(list(o["tags"]), any("control")) {
				continue
			}
			op := operation{ID: o["operationId"].(string), Method: strings.ToUpper(method), Path: path}
			for _, p := range slices.Concat(list(item["parameters"]), list(o["parameters"])) {
				op.Params = append(op.Params, readParameter(p.(map[string]any), document.Components.Parameters))
			}
			if body, takes := o["requestBody"].(map[string]any); takes {
				for media := range body["content"].(map[string]any) {
					op.Body = media
				}
			}
			for _, response := range o["responses"].(map[string]any) {
				content, _ := response.(map[string]any)["content"].(map[string]any)
				op.Streams = op.Streams || content["text/event-stream"] != nil
			}
			all = append(all, op)
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.ID, b.ID) })
	if len(all) < 25 {
		t.Fatalf("the document has only %d operations: is it read as it is meant?", len(all))
	}
	return all
}

// document is the part of the OpenAPI document that the tests use.
type document struct {
	Paths      map[string]map[string]any
	Components struct{ Parameters map[string]any }
}

// openapi reads the document once, because that is slow under the race detector. It must not be
// modified.
var openapi = sync.OnceValues(func() (read document, err error) {
	raw, err := os.ReadFile("../../../pkg/api/openapi.yaml")
	if err == nil {
		err = yaml.Unmarshal(raw, &read)
	}
	return read, err
})

func readParameter(p map[string]any, shared map[string]any) parameter {
	if ref, is := p["$ref"].(string); is {
		p = shared[ref[strings.LastIndex(ref, "/")+1:]].(map[string]any)
	}
	out := parameter{Name: p["name"].(string), In: p["in"].(string)}
	if schema, has := p["schema"].(map[string]any); has {
		for _, e := range list(schema["enum"]) {
			out.Enum = append(out.Enum, e.(string))
		}
	}
	return out
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// inPath returns an operation's path parameters.
func (o operation) inPath() []parameter {
	return slices.DeleteFunc(slices.Clone(o.Params), func(p parameter) bool { return p.In != "path" })
}

// has reports whether an operation has a query parameter.
func (o operation) has(name string) bool {
	return slices.ContainsFunc(o.Params, func(p parameter) bool { return p.In == "query" && p.Name == name })
}
