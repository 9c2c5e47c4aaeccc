package appconfig

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

// TestValuesAreBounded: a small file can take much memory, so the loader counts the values in all
// files, and those in an included file again for each file that includes it.
func TestValuesAreBounded(t *testing.T) {
	const want = "more than 100000 values"
	many := func(section string, values int) string {
		var b strings.Builder
		for i := range values {
			if i%450 == 0 {
				fmt.Fprintf(&b, "[[%s]]\n", section)
			}
			fmt.Fprintf(&b, "a%d=0\n", i)
		}
		return b.String()
	}
	dense, included := brokenBase(t), brokenBase(t)
	for i := range 8 {
		dense[fmt.Sprintf("actions/%d.toml", i)] = &fstest.MapFile{Data: []byte(many("steps", 30000))}
		included[fmt.Sprintf("components/c%d.toml", i)] = &fstest.MapFile{Data: []byte(
			strings.Replace(moduleFile(fmt.Sprintf("c%d", i), ""), "name", "source = '../shared/all.toml'\nname", 1))}
	}
	included["shared/all.toml"] = &fstest.MapFile{Data: []byte(strings.Repeat("[[var_file]]\ncontents='x'\n", 10000))}
	single := fstest.MapFS{"nuon.a.toml": {Data: []byte("[config_vars]\na = '" + strings.Repeat("x", 5000) +
		"'\n[sandbox.vars]\n")}}
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "v%d = '%s'\n", i, strings.Repeat("{{.a}}", 10))
	}
	single["nuon.a.toml"].Data = append(single["nuon.a.toml"].Data, b.String()...)
	for name, c := range map[string]struct {
		dir  fstest.MapFS
		want string
	}{
		"dense": {dense, want}, "included": {included, want}, "config_vars": {single,
			"the file with its config_vars is larger than 4194304 bytes"},
	} {
		if _, found := Load(c.dir, Options{}); strings.Count(found.String(), c.want) != 1 {
			said := found.String()
			t.Errorf("%s: says not once %q:\n%s", name, c.want, said[:min(len(said), 1000)])
		}
	}
}

// TestNothingIsWaitedFor: Load rejects a pipe in the place of a file, without blocking until
// something writes to it.
func TestNothingIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, maps.Clone(brokenBase(t))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "runner.toml", "components/api.toml"} {
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, found := Load(os.DirFS(dir), Options{})
	if got := found.String(); strings.Count(got, "it is not a regular file") != 3 {
		t.Errorf("says:\n%s", got)
	}
}

// TestPoliciesAreBounded: checking a megabyte of Rego takes a second, so the total size is bounded.
func TestPoliciesAreBounded(t *testing.T) {
	dir := brokenBase(t)
	var list strings.Builder
	for i := range 30 {
		name := fmt.Sprintf("policies/p%d.rego", i)
		fmt.Fprintf(&list, "[[policy]]\nname = 'p%d'\ntype = 'sandbox'\nengine = 'opa'\ncontents = './%s'\n", i, name)
		dir[name] = &fstest.MapFile{Data: []byte(fmt.Sprintf("package nuon # %d\n", i) +
			strings.Repeat("# a comment of a policy\n", 10000))}
	}
	dir["policies.toml"] = &fstest.MapFile{Data: []byte(list.String())}
	_, found := Load(dir, Options{})
	if got := found.String(); strings.Count(got, "policies and policy documents are larger than 4194304 "+
		"bytes together") != 1 {
		t.Errorf("says:\n%s", got)
	}
}
