// Package sandboxes_test checks the sandboxes: that they have the variables and outputs on which apps rely, and that
// they can be applied, changed and destroyed in a simulated cloud.
package sandboxes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/pelletier/go-toml/v2"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

// public is the interface of a public sandbox, from contract.toml.
type public struct {
	Directory  string
	Variant    string
	Variables  map[string]string
	Outputs    map[string]any
	Exceptions map[string]string
}

// contract returns the public sandboxes by name, and what apps read.
func contract(t *testing.T) (sandboxes map[string]public, reads []string) {
	t.Helper()
	content, err := os.ReadFile("contract.toml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Reads     []string
		Sandboxes map[string]public
	}
	if err := toml.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Sandboxes) == 0 || len(file.Reads) == 0 {
		t.Fatal("contract.toml has no sandboxes or no reads")
	}
	return file.Sandboxes, file.Reads
}

// directories returns the sandboxes of this repository.
func directories(t *testing.T) (names []string) {
	t.Helper()
	found, err := filepath.Glob("*/versions.tf")
	if err != nil || len(found) == 0 {
		t.Fatalf("there are no sandboxes: %v", err)
	}
	for _, file := range found {
		names = append(names, filepath.Dir(file))
	}
	return names
}

// declared is a variable or an output as a sandbox declares it.
type declared struct {
	typ, initial string // the expressions of type and default; empty if there is none
	described    bool
}

// declarations returns the blocks of a kind, variable or output, in a sandbox.
func declarations(t *testing.T, dir, kind string) map[string]declared {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]declared{}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, problems := hclparse.NewParser().ParseHCL(content, name)
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		for _, block := range file.Body.(*hclsyntax.Body).Blocks {
			if block.Type != kind {
				continue
			}
			text := func(attribute string) string {
				if found, is := block.Body.Attributes[attribute]; is {
					return string(found.Expr.Range().SliceBytes(content))
				}
				return ""
			}
			all[block.Labels[0]] = declared{text("type"), text("default"), text("description") != ""}
		}
	}
	return all
}

// sameType reports whether a value of the public type fits a variable of the type: object types are written out here.
func sameType(public, typ string) bool {
	switch public {
	case "any":
		return true
	case "map(any)", "list(any)", "list(object)", "object":
		return strings.HasPrefix(typ, strings.TrimSuffix(strings.TrimSuffix(public, ")"), "any"))
	}
	return typ == public
}

// TestVariables checks that a sandbox has the variables of each public sandbox for which it stands in.
func TestVariables(t *testing.T) {
	sandboxes, _ := contract(t)
	for name, p := range sandboxes {
		has := declarations(t, p.Directory, "variable")
		for variable, form := range p.Variables {
			typ, initial, optional := strings.Cut(form, " = ")
			own, is := has[variable]
			var wrong string
			switch {
			case !is:
				wrong = "does not exist"
			case !sameType(typ, own.typ):
				wrong = fmt.Sprintf("is a %s, and must be a %s", own.typ, typ)
			case optional && own.initial != initial:
				wrong = fmt.Sprintf("has the default %q, and must have %q", own.initial, initial)
			}
			if reason := p.Exceptions[variable]; wrong != "" && reason == "" {
				t.Errorf("%s for %s: variable %s %s", p.Directory, name, variable, wrong)
			} else if wrong == "" && reason != "" {
				t.Errorf("%s for %s: variable %s is no exception", p.Directory, name, variable)
			}
		}
	}
}

// TestReads checks that the contract has what templates of public apps read.
func TestReads(t *testing.T) {
	sandboxes, reads := contract(t)
	has := map[string]bool{}
	for _, p := range sandboxes {
		for output, form := range p.Outputs {
			if p.Exceptions[output] != "" {
				continue
			}
			has[output] = true
			attributes, _ := form.([]any)
			for _, attribute := range attributes {
				name, _, _ := strings.Cut(attribute.(string), ": ")
				has[output+"."+name] = true
			}
		}
	}
	for _, path := range reads {
		if !has[path] {
			t.Errorf("apps read %s, and no sandbox of the contract has it", path)
		}
	}
}

// TestRequiredVariablesArePassed checks that an app has to set no variable of a sandbox: nuon passes what is required.
func TestRequiredVariablesArePassed(t *testing.T) {
	for _, dir := range directories(t) {
		cloud, _, _ := strings.Cut(dir, "-")
		if cloud == "local" {
			cloud = ""
		}
		for name, variable := range declarations(t, dir, "variable") {
			passed := func(v appconfig.PlatformVariable) bool {
				return v.Name == name && (v.Cloud == "" || v.Cloud == cloud)
			}
			if variable.initial == "" && !slices.ContainsFunc(appconfig.PlatformVariables(), passed) {
				t.Errorf("%s: an app has to set %s: give it a default", dir, name)
			}
		}
	}
}

// TestDescriptions checks that all variables and outputs are described.
func TestDescriptions(t *testing.T) {
	for _, dir := range directories(t) {
		for _, kind := range []string{"variable", "output"} {
			for name, d := range declarations(t, dir, kind) {
				if !d.described {
					t.Errorf("%s: %s %s has no description", dir, kind, name)
				}
			}
		}
	}
}

// TestNoModules checks that sandboxes call no modules, and so need no registry of modules.
func TestNoModules(t *testing.T) {
	for _, dir := range directories(t) {
		module, err := tfmodule.Read(os.DirFS("."), dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(module.Remote) > 0 || len(module.Dirs) != 1 {
			t.Errorf("%s calls modules: %v %v", dir, module.Remote, module.Dirs)
		}
	}
}

// TestCopies checks that what sandboxes of a cloud share is the same in all of them: each directory is complete, so
// that a vendor can copy it.
func TestCopies(t *testing.T) {
	for file, dirs := range map[string][]string{
		"network.tf":                            {"aws-eks", "aws-ecs", "aws-min"},
		"network_existing.tf":                   {"aws-eks", "aws-ecs", "aws-min"},
		"network_new.tf":                        {"aws-eks", "aws-ecs", "aws-min"},
		"registry.tf":                           {"aws-eks", "aws-ecs", "aws-min"},
		"variables_network.tf":                  {"aws-eks", "aws-ecs", "aws-min"},
		"zones.tf":                              {"aws-eks", "aws-min"},
		"variables_dns.tf":                      {"aws-eks", "aws-ecs", "aws-min", "azure-min"},
		"charts/objects/templates/objects.yaml": {"aws-eks", "gcp-gke"},
	} {
		first, err := os.ReadFile(filepath.Join(dirs[0], file))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs[1:] {
			other, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			// Azure has networks, not VPCs.
			if strings.ReplaceAll(string(other), "network only", "VPC only") !=
				strings.ReplaceAll(string(first), "network only", "VPC only") {
				t.Errorf("%s of %s and of %s differ", file, dirs[0], dir)
			}
		}
	}
}
