// Package nuon_test holds what is true of the whole house: which room may import which.
package nuon_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/nuon-toolkit/nuon/"

// allowed are the rooms that a room's packages may import, beside their own.
var allowed = map[string][]string{
	"pkg":        {},
	"diff":       {"pkg"},
	"cli":        {"pkg", "diff"},
	"reconciler": {"pkg", "diff"},
	"runnerd":    {"pkg", "diff"},
	"examples":   {"pkg", "diff", "cli", "reconciler", "runnerd"},
}

// diffMayImport are the packages of pkg that diff may use: leaves, and for app configs their reader.
var diffMayImport = map[string][]string{"diff/app": {"pkg/appcode", "pkg/appconfig"}}

// heavy must not be linked into nuon: what needs a cluster, Helm, Terraform or a database runs in the other programs.
var heavy = []string{
	"helm.sh/helm", "k8s.io/client-go", "k8s.io/api", "sigs.k8s.io/controller-runtime", "github.com/kyverno",
	"github.com/fluxcd",
	"github.com/hashicorp/terraform-exec", "github.com/jackc/pgx", "github.com/open-policy-agent/opa/v1/rego",
	"github.com/open-policy-agent/opa/v1/topdown",
	"go.opentelemetry.io/otel", "github.com/prometheus/client_golang",
}

// listed is what `go list -json` says of a package.
type listed struct {
	ImportPath    string
	Imports, Deps []string
}

func TestRoomsImportOnlyWhatTheyMay(t *testing.T) {
	for _, p := range list(t, "./...") {
		from := strings.TrimPrefix(p.ImportPath, module)
		room, _, _ := strings.Cut(from, "/")
		may, known := allowed[room]
		if !known {
			if from != strings.TrimSuffix(module, "/") {
				t.Errorf("%s is in no room", from)
			}
			continue
		}
		for _, i := range p.Imports {
			to, ours := strings.CutPrefix(i, module)
			if target, _, _ := strings.Cut(to, "/"); ours && target != room && !contains(may, target) {
				t.Errorf("%s imports %s: %s may import only %v", from, to, room, may)
			}
		}
	}
}

func TestDiffImportsOnlyLeavesOfPkg(t *testing.T) {
	leaf := map[string]bool{}
	for _, p := range list(t, "./pkg/...") {
		leaf[strings.TrimPrefix(p.ImportPath, module)] = !anyPrefix(p.Imports, module)
	}
	for _, p := range list(t, "./diff/...") {
		from := strings.TrimPrefix(p.ImportPath, module)
		for _, i := range p.Imports {
			if to, ours := strings.CutPrefix(i, module+"pkg/"); ours && !leaf["pkg/"+to] &&
				!contains(diffMayImport[from], "pkg/"+to) {
				t.Errorf("%s imports pkg/%s, which is not a leaf", from, to)
			}
		}
	}
}

// TestHelmIsBehindOnePackage: Helm 3 comes to its end, and what takes its place is to be written in one
// folder. Whatever talks to a cluster is the runner's alone.
func TestHelmIsBehindOnePackage(t *testing.T) {
	const home = "runnerd/helmsdk"
	for _, p := range list(t, "./...") {
		from := strings.TrimPrefix(p.ImportPath, module)
		for _, i := range p.Imports {
			if strings.HasPrefix(i, "helm.sh/") && from != home && !strings.HasPrefix(from, home+"/") {
				t.Errorf("%s imports %s: only %s may", from, i, home)
			}
		}
		if from != "reconciler" {
			continue
		}
		for _, d := range p.Deps {
			for _, h := range []string{"helm.sh/", "k8s.io/client-go/", "sigs.k8s.io/controller-runtime/",
				"github.com/fluxcd/"} {
				if strings.HasPrefix(d, h) {
					t.Errorf("the reconciler links %s", d)
				}
			}
		}
	}
}

// given are the packages on which the project is built, and the program that links each for its work.
var given = map[string]string{
	"github.com/go-git/go-git/v5": "reconciler", "github.com/jackc/pgx/v5": "reconciler",
	"github.com/spf13/cobra": "cli", "github.com/charmbracelet/bubbletea": "cli", "github.com/pelletier/go-toml/v2": "cli",
	"helm.sh/helm/v3": "runnerd", "github.com/hashicorp/terraform-exec": "runnerd", "oras.land/oras-go/v2": "runnerd",
}

// TestGivenPackagesAreUsed: none of them is left for code of our own.
func TestGivenPackagesAreUsed(t *testing.T) {
	for _, program := range []string{"cli", "reconciler", "runnerd"} {
		deps := list(t, "./"+program)[0].Deps
		for name, by := range given {
			if by == program && !anyPrefix(deps, name) {
				t.Errorf("%s does not use %s", program, name)
			}
		}
	}
}

func TestNuonLinksNothingHeavy(t *testing.T) {
	nuon := list(t, "./cli")[0]
	for _, d := range nuon.Deps {
		for _, h := range heavy {
			if d == h || strings.HasPrefix(d, h+"/") || strings.HasPrefix(d, h+"/v") {
				t.Errorf("nuon links %s", d)
			}
		}
	}
	// The binary itself is the witness: what is linked is in its build information.
	bin := filepath.Join(os.Getenv("NUON_BIN"), "nuon") // where `make test` has just built it
	if os.Getenv("NUON_BIN") == "" {
		bin = filepath.Join(t.TempDir(), "nuon")
		t.Setenv("CGO_ENABLED", "0") // built as make build does, so that the build cache has it
		run(t, "go", "build", "-trimpath", "-o", bin, "./cli")
	}
	modules := 0
	lines := bufio.NewScanner(bytes.NewReader(run(t, "go", "version", "-m", bin)))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != "dep" {
			continue
		}
		modules++
		for _, h := range heavy {
			if fields[1] == h || strings.HasPrefix(fields[1], h+"/") {
				t.Errorf("bin/nuon links the module %s", fields[1])
			}
		}
	}
	if modules == 0 {
		t.Errorf("%s names no module that it links", bin)
	}
}

// list returns the packages of a pattern: all below a directory (./pkg/...), or that of one (./cli).
func list(t *testing.T, pattern string) []listed {
	t.Helper()
	all, err := listAll()
	if err != nil {
		t.Fatal(err)
	}
	var found []listed
	directory, below := strings.CutSuffix(strings.TrimPrefix(pattern, "./"), "...")
	for _, p := range all {
		path := strings.TrimPrefix(p.ImportPath, module)
		if below && strings.HasPrefix(path+"/", directory) || path == directory {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no package matches %s", pattern)
	}
	return found
}

// listAll lists all packages, once for all tests: each time takes a second of processor time.
var listAll = sync.OnceValues(func() ([]listed, error) {
	out, err := output(context.Background(), "go", "list", "-json=ImportPath,Imports,Deps", "./...")
	if err != nil {
		return nil, err
	}
	var all []listed
	for decode := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decode.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	out, err := output(t.Context(), name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	var errs bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, errs.String())
	}
	return out, nil
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

func anyPrefix(list []string, prefix string) bool {
	for _, l := range list {
		if strings.HasPrefix(l, prefix) {
			return true
		}
	}
	return false
}
