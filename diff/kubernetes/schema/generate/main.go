// Command generate builds kubernetes.bin of package schema from the OpenAPI
// documents of a Kubernetes release.
//
// It reads them from the release's Go modules, so that the modules' checksums verify
// them, and writes the file named by its argument (diff/kubernetes/schema/kubernetes.bin
// by default). The same release yields the same bytes. make generate calls it.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema/internal/table"
)

// release is the Kubernetes release whose API the table holds. After changing
// it, run make generate and check the tests of package schema.
const release = "v1.36.3"

// library is the same release of the modules that hold the API's Go types.
const library = "v0.36.3"

const output = "diff/kubernetes/schema/kubernetes.bin"

func main() {
	path := output
	if len(os.Args) > 1 {
		path = os.Args[1]
	}
	if err := run(path); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(path string) error {
	dir, err := moduleDir("k8s.io/kubernetes@" + release)
	if err != nil {
		return err
	}
	docs, err := readDocuments(filepath.Join(dir, "api", "openapi-spec", "v3"))
	if err != nil {
		return err
	}
	types := newStructs(func(name string) (string, error) { return moduleDir("k8s.io/" + name + "@" + library) })
	t, err := build(docs, types.omitted)
	if err != nil {
		return err
	}
	t.Kubernetes = release
	var b bytes.Buffer
	if err := table.Write(&b, t); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// moduleDir returns the folder of a module. It runs go outside of any module,
// so that go.mod never includes Kubernetes.
func moduleDir(module string) (string, error) {
	tmp, err := os.MkdirTemp("", "schema")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = tmp
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("download %s: %w: %s", module, err, strings.TrimSpace(string(out)))
	}
	return dirOf(out, module)
}
