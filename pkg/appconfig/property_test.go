package appconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// graph draws an App whose components depend on each other at random, by lists and by templates.
func graph(t *rapid.T, acyclic bool) *App {
	n := rapid.IntRange(0, 8).Draw(t, "components")
	app := &App{Sandbox: &Component{Name: SandboxName, Kind: KindSandbox, Terraform: &Terraform{}}}
	for i := range n {
		c := Component{Name: fmt.Sprintf("c%d", i), Kind: KindTerraformModule, Terraform: &Terraform{}}
		for j := range n {
			if acyclic && j >= i || rapid.IntRange(0, 3).Draw(t, "edge") > 0 {
				continue
			}
			if rapid.Bool().Draw(t, "implied") {
				if c.Terraform.Vars == nil {
					c.Terraform.Vars = map[string]string{}
				}
				c.Terraform.Vars[fmt.Sprint("v", j)] = fmt.Sprintf("{{.nuon.components.c%d.outputs.x}}", j)
			} else {
				c.Dependencies = append(c.Dependencies, fmt.Sprintf("c%d", j))
			}
		}
		app.Components = append(app.Components, c)
	}
	return app
}

func TestOrderPutsDependenciesFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		app := graph(t, true)
		group := map[string]int{}
		for i, names := range app.Order() {
			if !slices.IsSorted(names) {
				t.Fatalf("group %v is not sorted", names)
			}
			for _, name := range names {
				group[name] = i
			}
		}
		if len(group) != len(app.Components) {
			t.Fatalf("%d of %d components are in the order", len(group), len(app.Components))
		}
		for _, c := range app.Components {
			earliest := 0
			for _, need := range app.DependsOn(c.Name) {
				earliest = max(earliest, group[need]+1)
			}
			if group[c.Name] != earliest {
				t.Fatalf("%s is in group %d, but could be in %d", c.Name, group[c.Name], earliest)
			}
		}
	})
}

// findCycle finds a cycle exactly when Order leaves out a component, and the path that it
// returns is closed.
func TestClosedPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		app := graph(t, false)
		var cycle []string
		done := map[string]bool{}
		for _, c := range app.Components {
			if cycle = findCycle(c.Name, app.DependsOn, done); cycle != nil {
				break
			}
		}
		ordered := 0
		for _, names := range app.Order() {
			ordered += len(names)
		}
		if (cycle != nil) != (ordered < len(app.Components)) {
			t.Fatalf("cycle %v, but %d of %d components can be ordered", cycle, ordered, len(app.Components))
		}
		if cycle == nil {
			return
		}
		if len(cycle) < 2 || cycle[0] != cycle[len(cycle)-1] {
			t.Fatalf("%v does not close", cycle)
		}
		for i := range len(cycle) - 1 {
			if !slices.Contains(app.DependsOn(cycle[i]), cycle[i+1]) {
				t.Fatalf("%v: %s does not depend on %s", cycle, cycle[i], cycle[i+1])
			}
		}
	})
}

// Comments, the order of keys and tables, the spelling of tables and file names do not change the
// digest.
func TestDigestIgnoresSpelling(t *testing.T) {
	one := small().and(files{
		"components/a.toml": moduleFile("a", `dependencies = ["b", "c"]`) + "[vars]\nx = \"1\"\ny = \"2\"\n",
		"components/b.toml": moduleFile("b", ""),
		"components/c.toml": moduleFile("c", ""),
		"actions/a.toml":    action(""),
		"installs/a.toml":   "name='a'\n",
	})
	two := small().and(files{
		"metadata.toml": "# why\nversion='v2'",
		"components/x/2.toml": "vars = { y = 2, x = '1' }\npublic_repo.branch='main'\n" +
			"public_repo.directory='./modules//x'\npublic_repo.repo='acme/infra'\ndependencies = ['c', 'b']\n" +
			"terraform_version='1.11.4'\ntype='terraform_module'\nname = 'a'\n",
		"components/9.toml":      moduleFile("b", "# hm"),
		"components/1.toml":      moduleFile("c", ""),
		"actions/something.toml": "timeout='5m'\n" + action(""),
	})
	a, b := mustLoad(t, one), mustLoad(t, two)
	if string(a.Canonical()) != string(b.Canonical()) || a.Digest() != b.Digest() {
		t.Errorf("the digests differ:\n%s", cmp.Diff(string(a.Canonical()), string(b.Canonical())))
	}
	if !strings.HasPrefix(a.Digest(), "sha256:") || len(a.Digest()) != len("sha256:")+64 {
		t.Errorf("Digest() = %q", a.Digest())
	}
	if a.Installs == nil {
		t.Error("Canonical took the installs away")
	}
}

func mustLoad(t *testing.T, f files) *App {
	t.Helper()
	app, found := Load(f.fs(), Options{})
	if app == nil {
		t.Fatal(found)
	}
	return app
}

// A change of a deploy changes the digest of that component alone.
func TestDigestSeesChanges(t *testing.T) {
	base := small().and(files{
		"components/a.toml": moduleFile("a", "") + "[vars]\nx = \"1\"\n[env_vars]\nE = \"1\"\n[[var_file]]\ncontents = " +
			"\"./v\"\n",
		"components/v":      "v = 1",
		"components/b.toml": moduleFile("b", ""),
		"actions/a.toml":    action(""),
	})
	for name, test := range map[string]struct {
		change files
		config bool // whether the config digest changes
	}{
		"a variable": {files{"components/a.toml": strings.Replace(base["components/a.toml"], `x = "1"`, `x = "2"`, 1)},
			true},
		"the environment": {files{"components/a.toml": strings.Replace(base["components/a.toml"], `E = "1"`, `E = "2"`, 1)},
			true},
		"a referenced file": {files{"components/v": "v = 2"}, true},
		"the version": {files{"components/a.toml": strings.Replace(base["components/a.toml"], "1.11.4", "1.11.5", 1)},
			true},
		"a dependency": {files{"components/a.toml": "dependencies = [\"b\"]\n" + base["components/a.toml"]}, true},
		"the branch": {files{"components/a.toml": strings.Replace(base["components/a.toml"], `"main"`, `"next"`, 1)},
			false},
		"the retries":  {files{"components/a.toml": "max_auto_retries = 3\n" + base["components/a.toml"]}, false},
		"an action":    {files{"actions/a.toml": action("timeout='9s'")}, false},
		"the metadata": {files{"metadata.toml": "version='v2'\ndescription='x'"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := mustLoad(t, base), mustLoad(t, base.and(test.change))
			if before.Digest() == after.Digest() {
				t.Error("the digest of the app is the same")
			}
			for _, c := range []string{"a", "b"} {
				x, _ := before.Component(c)
				y, _ := after.Component(c)
				if changed := x.ConfigDigest() != y.ConfigDigest(); changed != (test.config && c == "a") {
					t.Errorf("the config digest of %s changed: %v", c, changed)
				}
			}
		})
	}
}

// Any App survives a JSON round trip, and its digest does not depend on the order of its parts.
func TestCanonicalIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		app := graph(t, false)
		shuffled := &App{Sandbox: app.Sandbox, Components: rapid.Permutation(app.Components).Draw(t, "order")}
		for i, c := range shuffled.Components {
			shuffled.Components[i].Dependencies = rapid.Permutation(c.Dependencies).Draw(t, "dependencies")
			shuffled.Components[i].Terraform = &Terraform{Vars: maps.Clone(c.Terraform.Vars)}
		}
		if app.Digest() != shuffled.Digest() {
			t.Fatalf("order changed the digest:\n%s\n%s", app.Canonical(), shuffled.Canonical())
		}
		for _, c := range app.Components {
			other, _ := shuffled.Component(c.Name)
			if c.ConfigDigest() != other.ConfigDigest() {
				t.Fatalf("order changed the config digest of %s", c.Name)
			}
		}
	})
}
