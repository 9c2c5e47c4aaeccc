// Package nuon_test checks the layout of the repository: which package may import which, what the
// programs link, and how long files and functions may be.
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

// allowed are the folders whose packages a folder's packages and tests may import, besides its own.
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

// heavy must not be linked into nuon: what needs a cluster, Helm, Terraform or a database runs in
// the other programs.
var heavy = []string{
	"helm.sh/helm", "k8s.io/client-go", "k8s.io/api", "sigs.k8s.io/controller-runtime", "github.com/kyverno",
	"github.com/fluxcd",
	"github.com/hashicorp/terraform-exec", "github.com/jackc/pgx", "github.com/open-policy-agent/opa/v1/rego",
	"github.com/open-policy-agent/opa/v1/topdown",
	"go.opentelemetry.io/otel", "github.com/prometheus/client_golang",
}

// allowedInTests are the imports of tests that neither allowed nor layers allows, and the reasons.
var allowedInTests = map[string]map[string]string{
	"reconciler/api/control": {
		"cli/appsync":            "TestSyncOverALossyLine runs `nuon sync` against the API",
		"cli/cmdenv":             "the same",
		"cli/console":            "the same",
		"cli/exitcode":           "the same",
		"reconciler/api/webhook": "the API mounts it, as in the program",
	},
	"reconciler/inputs": {
		"reconciler/jobs":    "the registration of a runner reseals inputs",
		"reconciler/runners": "the same",
	},
	"reconciler/jobs": {
		"reconciler/tfstate":  "a job that ends leaves its state",
		"reconciler/workflow": "the statuses of both fit",
	},
}

// layers are the packages of a program, the lowest first: a package imports only packages of lower
// layers. An empty path is the program itself.
var layers = map[string][][]string{
	"reconciler": {
		{"credentialscope", "installstack", "metrics", "queue", "refusal", "registry", "timing", "token"},
		{"cloudidentity", "installstack/azure", "installstack/cloudformation", "installstack/gcp",
			"installstack/stacktest", "store", "store/storetest/postgres"},
		{"cloudclaim"},
		{"appvariables", "inputs", "installstack/stackfiles", "observe", "release", "retention", "runnerprogram", "runners",
			"stackoutputs", "stackpublish", "store/storetest"},
		{"stackversion", "catalog", "jobs", "observe/observetest"},
		{"build", "installcheck", "joblog", "phonehome", "tfstate", "workflow"},
		{"garbage", "inspection", "installhealth", "installsecrets", "jobs/jobstest"},
		{"rollout"},
		{"breakglass", "preview"},
		// HTTP begins here.
		{"api/problem"},
		{"api/middleware", "api/ratelimit"},
		{"api/control", "api/runner", "api/webhook"},
		{""},
	},
	"runnerd": {
		{"untrusted"},
		{"apiclient", "apiclient/contacttest", "audit", "cloud/session", "jobenv", "kind/terraform/modules",
			"kind/terraform/modules/registrytest", "plainlines", "planpolicy", "policy", "secretstore", "spool", "subprocess",
			"timing", "transcript", "values"},
		{"cloud/aws", "cloud/azure", "cloud/gcp", "fault", "grant", "process", "runnerlog", "secretstore/aws",
			"secretstore/rest", "subprocess/childtest", "tfbinary", "values/valuestest"},
		{"cloud", "jobpod", "jobrole", "secretstore/azure", "secretstore/gcp"},
		{"job", "kind/terraform/providertest", "tfbinary/find", "tfbinary/tofutest"},
		// What runs in runnerd itself (runner), and what runs in its job processes (the others).
		{"cluster", "helmsdk/source", "runner", "sbom", "state", "transfer"},
		{"cluster/clustertest", "secretstore/kubernetes"},
		{"secretstore/jobstore"},
		{"action", "deploy", "helmsdk", "secretsync"},
		{"healthcheck", "podlogs", "kind/helm", "kind/image", "kind/kubernetes", "kind/terraform"},
		{"kind/docker", "podshell"},
		{""},
	},
}

// listed is the part of a package in the output of `go list -json` that the tests use.
type listed struct {
	ImportPath                string
	Imports, Deps             []string
	TestImports, XTestImports []string
}

// path returns a package's path in the repository.
func (l listed) path() string { return strings.TrimPrefix(l.ImportPath, module) }

// own returns the paths of the packages of the repository in a list of imports.
func own(imports []string) []string {
	var paths []string
	for _, i := range imports {
		if path, ours := strings.CutPrefix(i, module); ours {
			paths = append(paths, path)
		}
	}
	return paths
}

// isHelper reports whether a package is for tests only, by its name.
func isHelper(path string) bool {
	return strings.HasSuffix(path, "test") || strings.HasPrefix(path, "pkg/test") || path == "pkg/golden"
}

// TestTopFolders checks the imports of packages and of their tests between the top folders.
func TestTopFolders(t *testing.T) {
	for _, p := range list(t, "./...") {
		from := p.path()
		folder, _, _ := strings.Cut(from, "/")
		may, known := allowed[folder]
		if !known {
			if from != strings.TrimSuffix(module, "/") {
				t.Errorf("%s is in no folder that this test knows", from)
			}
			continue
		}
		check := func(what string, imports []string) {
			for _, to := range own(imports) {
				target, _, _ := strings.Cut(to, "/")
				if target != folder && !contains(may, target) && (what == from || allowedInTests[from][to] == "") {
					t.Errorf("%s imports %s: %s may import only %v", what, to, folder, may)
				}
			}
		}
		check(from, p.Imports)
		check("a test of "+from, append(p.TestImports, p.XTestImports...))
	}
}

// TestLayers checks the imports of packages and of their tests inside each program. A test may also
// import helpers of any layer.
func TestLayers(t *testing.T) {
	for program, layers := range layers {
		layer := map[string]int{}
		for number, packages := range layers {
			for _, p := range packages {
				layer[strings.TrimSuffix(program+"/"+p, "/")] = number
			}
		}
		found := 0
		for _, p := range list(t, "./"+program+"/...") {
			from := p.path()
			at, known := layer[from]
			if !known {
				t.Errorf("%s is in no layer of %s", from, program)
				continue
			}
			found++
			above := func(to string) bool {
				number, inside := layer[to]
				return inside && number >= at && to != from
			}
			for _, to := range own(p.Imports) {
				if above(to) {
					t.Errorf("%s imports %s, which is in the same layer or a higher one", from, to)
				}
			}
			for _, to := range own(append(p.TestImports, p.XTestImports...)) {
				if above(to) && !isHelper(to) && allowedInTests[from][to] == "" {
					t.Errorf("a test of %s imports %s, which is in the same layer or a higher one", from, to)
				}
			}
		}
		if found != len(layer) {
			t.Errorf("the layers of %s have %d packages, and there are %d", program, len(layer), found)
		}
	}
}

// TestExceptionsAreUsed checks that each exception for tests is needed.
func TestExceptionsAreUsed(t *testing.T) {
	for from, exceptions := range allowedInTests {
		p := list(t, "./"+from)[0]
		imports := own(append(p.TestImports, p.XTestImports...))
		for to := range exceptions {
			if !contains(imports, to) {
				t.Errorf("no test of %s imports %s", from, to)
			}
		}
	}
}

// TestHelpersAreForTests checks that what is made for tests gets into no program.
func TestHelpersAreForTests(t *testing.T) {
	for _, p := range list(t, "./...") {
		from := p.path()
		if isHelper(from) || strings.HasPrefix(from, "examples/") {
			continue
		}
		for _, to := range own(p.Imports) {
			if isHelper(to) {
				t.Errorf("%s imports %s, which is for tests", from, to)
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
		from := p.path()
		for _, i := range p.Imports {
			if to, ours := strings.CutPrefix(i, module+"pkg/"); ours && !leaf["pkg/"+to] &&
				!contains(diffMayImport[from], "pkg/"+to) {
				t.Errorf("%s imports pkg/%s, which is not a leaf", from, to)
			}
		}
	}
}

// TestHelmIsBehindOnePackage checks that one folder imports Helm's SDK, because Helm 4 will replace
// it, and that the reconciler links nothing that talks to a cluster.
func TestHelmIsBehindOnePackage(t *testing.T) {
	const home = "runnerd/helmsdk"
	for _, p := range list(t, "./...") {
		from := p.path()
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

// TestGivenPackagesAreUsed checks that no package was replaced with code of our own.
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
	// The build information of the binary lists what is linked.
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
	out, err := output(context.Background(),
		"go", "list", "-json=ImportPath,Imports,Deps,TestImports,XTestImports", "./...")
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
