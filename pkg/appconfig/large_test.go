//go:build !race

package appconfig

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// Costly files of the largest allowed size must be processed quickly.
func TestHostileSizes(t *testing.T) {
	const size = 1<<20 - 100
	fill := func(line string) string { return strings.Repeat(line, size/len(line)) }
	var fullTable string
	for i := range 499 {
		fullTable += fmt.Sprintf("k%d=1\n", i)
	}
	var keys, chain strings.Builder
	for i := 0; keys.Len() < size-20; i++ {
		fmt.Fprintf(&keys, "k%d=1\n", i)
	}
	for i := range 19_000 {
		fmt.Fprintf(&chain, "{{.nuon.components.x%d.outputs.y}}", i)
	}
	for name, config := range map[string]files{
		"unknown keys":  {"metadata.toml": keys.String()},
		"many tables":   {"inputs.toml": strings.ReplaceAll(strings.ReplaceAll(keys.String(), "k", "[k"), "=1", "]")},
		"full tables":   {"actions/a.toml": action("") + fill("[[steps]]\n" + fullTable)[:size/4]},
		"inputs":        {"inputs.toml": fill("[[input]]\nname='x'\n")},
		"tables":        {"inputs.toml": fill("[[group]]\n[group.x.y.z]\n")},
		"open lists":    {"inputs.toml": "a=" + fill("[")},
		"inline tables": {"inputs.toml": "a=" + fill("{a=")},
		"long key": {"inputs.toml": "[" + strings.Repeat("k", size/2) + "]\n" + strings.Repeat("a=1\n", 10) +
			keys.String()[:size/3]},
		"long names":    {"components/a.toml": moduleFile(strings.Repeat("a", size-500), "")},
		"steps":         {"actions/a.toml": action("") + fill("[[steps]]\nname='s'\ncommand='c'\n")},
		"dangling refs": {"components/a.toml": moduleFile("a", "[vars]\nx = '"+chain.String()+"'")},
		"one large template": {"components/a.toml": moduleFile("a", "[vars]\nx = '"+strings.Repeat("{{.nuon.a}}", 80000)+
			"'")},
		"dependencies": {"components/a.toml": moduleFile("a", "dependencies = ["+strings.Repeat("'b',", 200000)+"]")},
	} {
		t.Run(name, func(t *testing.T) {
			var app *App
			var found Diagnostics
			testtime.CheckCPUCost(t, 2_000, func() { app, found = Load(small().and(config).fs(), Options{}) })
			if app != nil {
				t.Error("it was accepted")
			}
			if len(found) > maxDiagnostics+1 {
				t.Errorf("%d diagnostics", len(found))
			}
			t.Logf("%d diagnostics, first: %.150s", len(found), found[0])
		})
	}
}

// TestYAMLIsBounded: Load parses manifests up to a bound and reports nothing beyond it.
func TestYAMLIsBounded(t *testing.T) {
	for mebibytes, tells := range map[int]bool{2: true, 17: false} {
		dir := brokenBase(t)
		manifest := func(name, text string) {
			dir["components/"+name+".yaml"] = &fstest.MapFile{Data: []byte(text)}
			dir["components/"+name+".toml"] = &fstest.MapFile{Data: []byte("type = 'kubernetes_manifest'\nname = '" +
				name + "'\nnamespace = 'x'\nmanifest = './" + name + ".yaml'\n")}
		}
		for i := range mebibytes {
			manifest(fmt.Sprintf("m%02d", i),
				"apiVersion: v1\nkind: A\n"+strings.Repeat("#"+strings.Repeat("x", 1022)+"\n", 1023))
		}
		manifest("zz", "apiVersion: v1\n")
		if _, found := Load(dir, Options{}); strings.Contains(found.String(), "components/zz.yaml:1:1: error") != tells {
			t.Errorf("%d MiB: says:\n%s", mebibytes, found)
		}
	}
}
