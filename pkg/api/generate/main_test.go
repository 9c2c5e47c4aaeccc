package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOperations(t *testing.T) {
	code, err := Operations([]byte(`
paths:
  /v1/things/{thing}:
    parameters: [{name: thing, in: path}]
    get:
      operationId: getThing
      responses: {'200': {content: {application/json: {}}}}
    post:
      operationId: waitForThing
      x-hold-seconds: 30
  /v1/things:
    get:
      operationId: followThings
      responses: {'200': {content: {application/json: {}, text/event-stream: {}}}, default: {$ref: '#/x'}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{ID: "followThings", Method: "GET", Path: "/v1/things", Streams: true},`,
		`{ID: "getThing", Method: "GET", Path: "/v1/things/{thing}"},`,
		`{ID: "waitForThing", Method: "POST", Path: "/v1/things/{thing}", Hold: 30 * time.Second},`,
	} {
		if !strings.Contains(string(code), want) {
			t.Errorf("no %s in\n%s", want, code)
		}
	}
	for name, document := range map[string]string{"no id": "paths: {/v1: {get: {}}}", "no YAML": "\t"} {
		if code, err := Operations([]byte(document)); err == nil {
			t.Errorf("%s: made %s", name, code)
		}
	}
}

func TestValues(t *testing.T) {
	code, err := Values([]byte(`
components:
  schemas:
    Thing: {properties: {status: {type: string, x-go-values: ThingStatuses, enum: [queued, done]}, kind: {enum: [a]}}}
    List: {properties: {items: {type: array, items: {type: string, x-go-values: Colors, enum: [red]}}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`Colors        = []string{"red"}`, `ThingStatuses = []string{"queued", "done"}`,
	} {
		if !strings.Contains(string(code), want) {
			t.Errorf("no %s in\n%s", want, code)
		}
	}
	if strings.Contains(string(code), `"a"`) {
		t.Errorf("an enum without x-go-values in\n%s", code)
	}
	for name, document := range map[string]string{
		"no YAML": "\t", "no enum": "{x-go-values: Things}", "no name": "{x-go-values: '', enum: [a]}",
		"not exported": "{x-go-values: things, enum: [a]}", "not an identifier": "{x-go-values: Things-2, enum: [a]}",
		"one name twice": "[{x-go-values: Things, enum: [a]}, {x-go-values: Things, enum: [a]}]",
	} {
		if code, err := Values([]byte(document)); err == nil {
			t.Errorf("%s: made %s", name, code)
		}
	}
}

func TestGeneratedFilesAreUpToDate(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", ".."))
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for file, generate := range generated {
		want, err := generate(raw)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what %s declares: run make generate", file, document)
		}
	}
}
