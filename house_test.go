// Package nuon_test holds what is true of the whole house: which room may import which.
package nuon_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
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
	"helm.sh/helm", "k8s.io/client-go", "k8s.io/api", "sigs.k8s.io/controller-runtime", "github.com/kyverno", "github.com/fluxcd",
	"github.com/hashicorp/terraform-exec", "github.com/jackc/pgx", "github.com/open-policy-agent/opa/v1/rego", "github.com/open-policy-agent/opa/v1/topdown",
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
			if to, ours := strings.CutPrefix(i, module+"pkg/"); ours && !leaf["pkg/"+to] && !contains(diffMayImport[from], "pkg/"+to) {
				t.Errorf("%s imports pkg/%s, which is not a leaf", from, to)
			}
		}
	}
}

// TestHelmIsBehindOnePackage: Helm 3 comes to its end, and what takes its place is to be written in one folder. Whatever talks to a
// cluster is the runner's alone.
func TestHelmIsBehindOnePackage(t *testing.T) {
	const home = "runnerd/helm"
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
			for _, h := range []string{"helm.sh/", "k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "github.com/fluxcd/"} {
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
	bin := filepath.Join(t.TempDir(), "nuon")
	t.Setenv("CGO_ENABLED", "0") // built as make build does, so that the build cache has it
	run(t, "go", "build", "-trimpath", "-o", bin, "./cli")
	lines := bufio.NewScanner(bytes.NewReader(run(t, "go", "version", "-m", bin)))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != "dep" {
			continue
		}
		for _, h := range heavy {
			if fields[1] == h || strings.HasPrefix(fields[1], h+"/") {
				t.Errorf("bin/nuon links the module %s", fields[1])
			}
		}
	}
}

func list(t *testing.T, pattern string) []listed {
	t.Helper()
	decode := json.NewDecoder(bytes.NewReader(run(t, "go", "list", "-json=ImportPath,Imports,Deps", pattern)))
	var all []listed
	for {
		var p listed
		if err := decode.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, errs.String())
	}
	return out
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
