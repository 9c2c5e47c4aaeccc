package nuon_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unguarded lists the files of the product that make connections without pkg/netguard, with the reason why nobody
// else chooses their addresses.
var unguarded = map[string]string{
	"pkg/oci/repository.go":                    "the registry that the owner of the program configured",
	"pkg/oci/throttle.go":                      "the base transport of such a registry",
	"pkg/azureidentity/azureidentity.go":       "the token services of Azure",
	"pkg/gitpack/remote.go":                    "the caller's transport",
	"pkg/netguard/transport.go":                "the guarded transport itself",
	"pkg/pgcluster/fetch.go":                   "the address from which the programs of Postgres are downloaded",
	"pkg/registrylogin/gcp.go":                 "the token services of clouds",
	"pkg/registrylogin/registrylogin.go":       "registries of clouds, by their hosts",
	"reconciler/cloudidentity/identity.go":     "the token services of clouds, by their hosts",
	"reconciler/registry.go":                   "the registry that the operator configured",
	"runnerd/apiclient/client.go":              "the control plane, and the proxy that the owner set",
	"runnerd/cloud/azure/identity.go":          "the metadata service of the machine",
	"runnerd/cloud/gcp/role.go":                "the metadata service of the machine",
	"runnerd/fault/proxy.go":                   "the control plane, in tests with faults",
	"runnerd/job/registry.go":                  "the registry of the install",
	"runnerd/kind/kubernetes/process.go":       "a transport that refuses every request",
	"runnerd/kind/terraform/modules/client.go": "a guarded transport of another file",
	"runnerd/secretstore/rest/rest.go":         "the secret store that the owner configured",
}

// connecting lists what a file uses that makes connections, by package.
var connecting = map[string][]string{
	"http": {"Client", "Transport", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"},
	"net":  {"Dial", "DialTimeout", "Dialer", "DialTCP"},
}

// TestConnectionsAreGuarded checks that what connects to an address which an app, a repository or a runner chose does
// it through pkg/netguard: every other file has a reason in the list.
func TestConnectionsAreGuarded(t *testing.T) {
	found := map[string]bool{}
	for _, root := range []string{"pkg", "diff", "reconciler", "runnerd"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.Contains(filepath.Dir(path), "test") {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if connects, guarded := connections(t, path, source); connects && !guarded {
				found[path] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for path := range found {
		if unguarded[path] == "" {
			t.Errorf("%s makes connections without netguard: use it, or add the reason to the list", path)
		}
	}
	for path := range unguarded {
		if !found[path] {
			t.Errorf("%s makes no unguarded connections: remove it from the list", path)
		}
	}
}

// connections reports whether a file makes connections, and whether it uses a transport of pkg/netguard.
func connections(t *testing.T, path string, source []byte) (connects, guarded bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if ast.IsGenerated(file) {
		return false, false
	}
	made := map[ast.Node]bool{} // types as such, such as in a parameter, connect to nothing
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.StarExpr:
			made[node.X] = false
		case *ast.CompositeLit:
			made[node.Type] = true
		case *ast.SelectorExpr:
			pkg, is := node.X.(*ast.Ident)
			if !is {
				return true
			}
			isType := slices.Contains([]string{"Client", "Transport", "Dialer"}, node.Sel.Name)
			if slices.Contains(connecting[pkg.Name], node.Sel.Name) && (!isType || made[node]) {
				connects = true
			}
			if pkg.Name == "netguard" && (node.Sel.Name == "NewTransport" || node.Sel.Name == "NewByHost") {
				guarded = true
			}
		}
		return true
	})
	return connects, guarded
}

func TestConnectionsAreFound(t *testing.T) {
	for source, want := range map[string]bool{
		"var c = &http.Client{}": true, "var c = http.Client{Timeout: 1}": true, "var c = http.DefaultClient": true,
		"func f() { http.Get(address) }": true, "var d = (&net.Dialer{}).DialContext": true,
		"var t = http.DefaultTransport.(*http.Transport).Clone()": true, "func f() { net.Dial(a, b) }": true,
		"func f(c *http.Client, t http.RoundTripper) {}": false, "type T struct{ *http.Transport }": false,
		"var s = http.Server{}": false, "var c = api.Client{}": false, "// http.DefaultClient": false,
		"var c = &http.Client{Transport: netguard.NewTransport(o)}":    false,
		"// Code generated by x. DO NOT EDIT.\nvar c = &http.Client{}": false,
	} {
		text := "package a\n\n" + source + "\n"
		if strings.HasPrefix(source, "// Code") {
			text = strings.Replace(source, "\n", "\n\npackage a\n\n", 1)
		}
		if connects, guarded := connections(t, "a.go", []byte(text)); (connects && !guarded) != want {
			t.Errorf("%s: connects %t, guarded %t", source, connects, guarded)
		}
	}
}
