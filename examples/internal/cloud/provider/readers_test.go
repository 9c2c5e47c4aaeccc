package main

import (
	"archive/zip"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// TestExternal runs a program, which gets the query and returns the result.
func TestExternal(t *testing.T) {
	s := newServer(t, "external", "2.3.5")
	dir := t.TempDir()
	got, err := s.data(t, "external", object{"working_dir": dir, "query": object{"a": "b"},
		"program": asAnys("sh", "-c", `printf '{"query": "%s", "in": "%s"}' "$(cat | tr -d '{}"')" "$(pwd -P)"`)})
	if err != nil {
		t.Fatal(err)
	}
	resolved := must(filepath.EvalSymlinks(dir))
	if result := asObject(got["result"]); result["query"] != "a:b" || result["in"] != resolved {
		t.Errorf("the result is %v", result)
	}
	for _, program := range [][]any{asAnys("sh", "-c", "exit 3"), asAnys("echo", "no JSON"), {}} {
		if _, err := s.data(t, "external", object{"program": program}); err == nil {
			t.Errorf("%v succeeds", program)
		}
	}
}

// TestHTTP sends a real request.
func TestHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Test", r.Header.Get("X-Sent"))
		w.WriteHeader(http.StatusTeapot)
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Method+" "+string(body))
	}))
	defer server.Close()
	s := newServer(t, "http", "3.5.0")
	got, err := s.data(t, "http", object{"url": server.URL, "method": "POST", "request_body": "text",
		"request_headers": object{"X-Sent": "sent"}})
	if err != nil {
		t.Fatal(err)
	}
	if got["status_code"] != json.Number("418") || got["response_body"] != "POST text" ||
		asObject(got["response_headers"])["X-Test"] != "sent" {
		t.Errorf("the answer is %v", got)
	}
}

// TestArchive writes a zip archive of a directory, whose digest does not depend on the time.
func TestArchive(t *testing.T) {
	s := newServer(t, "archive", "2.7.1")
	source, output := t.TempDir(), filepath.Join(t.TempDir(), "out", "a.zip")
	for name, content := range map[string]string{"a.txt": "one", "sub/b.txt": "two", "left.out": "three"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(source, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(source, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	given := object{"type": "zip", "source_dir": source, "output_path": output, "excludes": asAnys("*.out")}
	first := must(s.data(t, "archive_file", given))
	archive, err := zip.OpenReader(output)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range archive.File {
		names = append(names, file.Name)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names, " "); got != "a.txt sub/b.txt" {
		t.Errorf("the archive has %s", got)
	}
	if again := must(s.data(t, "archive_file", given)); again["output_base64sha256"] != first["output_base64sha256"] {
		t.Errorf("the digest changes from %v to %v", first, again)
	}
}

// TestCloudinit renders parts, which the base64 and gzip of the default hide.
func TestCloudinit(t *testing.T) {
	s := newServer(t, "cloudinit", "2.3.7")
	part := []any{object{"content": "#!/bin/sh", "content_type": "text/x-shellscript", "filename": "run.sh"}}
	plain := asText(must(s.data(t, "cloudinit_config",
		object{"gzip": false, "base64_encode": false, "part": part}))["rendered"])
	if !strings.HasPrefix(plain, "Content-Type: multipart/mixed; boundary=\"MIMEBOUNDARY\"\nMIME-Version: 1.0\r\n") ||
		!strings.Contains(plain, "#!/bin/sh") || !strings.Contains(plain, `filename="run.sh"`) {
		t.Errorf("it renders %s", plain)
	}
	packed := asText(must(s.data(t, "cloudinit_config", object{"part": part}))["rendered"])
	compressed, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
	if err != nil {
		t.Fatal(err)
	}
	if text := must(io.ReadAll(compressed)); string(text) != plain {
		t.Errorf("packed it is %s", text)
	}
}

func TestMergeYAML(t *testing.T) {
	s := newServer(t, "utils", "1.31.0")
	got := must(s.data(t, "utils_deep_merge_yaml", object{"append_list": true,
		"input": asAnys("a: {b: 1, c: [1]}", "a: {b: 2, c: [2]}")}))
	if want := "a:\n    b: 2\n    c:\n        - 1\n        - 2\n"; got["output"] != want {
		t.Errorf("merged it is %q, want %q", got["output"], want)
	}
}

// TestImport finds an object by its id, and keeps it apart from others afterwards.
func TestImport(t *testing.T) {
	s := newServer(t, "aws", "6.25.0")
	_, vpc := s.create(t, "aws_vpc", object{"cidr_block": "10.0.0.0/16"})
	imported := func(id string) *tfprotov6.ImportResourceStateResponse {
		t.Helper()
		return must(s.ImportResourceState(context.Background(),
			&tfprotov6.ImportResourceStateRequest{TypeName: "aws_vpc", ID: id}))
	}
	got := imported(asText(vpc["id"]))
	if len(got.ImportedResources) != 1 {
		t.Fatalf("the import has %v", got.Diagnostics)
	}
	r := &resource{typ: "aws_vpc", state: got.ImportedResources[0].State, private: got.ImportedResources[0].Private}
	if found := r.refresh(t, s); !same(found, vpc) {
		t.Errorf("imported it is %v, want %v", found, vpc)
	}
	if got := imported("vpc-1"); len(got.Diagnostics) != 1 || len(got.ImportedResources) > 0 {
		t.Errorf("an object that nobody created is imported: %v", got)
	}
}

// TestSameIDs keeps objects with the same id apart: installs in separate accounts use the same names.
func TestSameIDs(t *testing.T) {
	s := newServer(t, "aws", "6.25.0")
	given := func(description string) object {
		return object{"name": "one", "assume_role_policy": "{}", "description": description}
	}
	a, _ := s.create(t, "aws_iam_role", given("a"))
	b, _ := s.create(t, "aws_iam_role", given("b"))
	if _, err := a.apply(t, s, nil); err != nil {
		t.Fatal(err)
	}
	if found := b.refresh(t, s); found == nil || found["description"] != "b" {
		t.Errorf("after the first role was deleted, the second is %v", found)
	}
	// Terraform drops the private data of an object that it replaces.
	b.private = nil
	if _, err := b.apply(t, s, nil); err != nil || len(s.store.keys(t)) > 0 {
		t.Errorf("the second role remains: %v", err)
	}
}
