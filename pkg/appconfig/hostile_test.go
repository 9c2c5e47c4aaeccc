package appconfig

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Files of the largest allowed size, built to be costly, must be answered soon.
func TestHostileSizes(t *testing.T) {
	const size = 1<<20 - 100
	fill := func(line string) string { return strings.Repeat(line, size/len(line)) }
	var fullTable string
	for i := range maxKeys - 1 {
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
		"unknown keys":       {"metadata.toml": keys.String()},
		"many tables":        {"inputs.toml": strings.ReplaceAll(strings.ReplaceAll(keys.String(), "k", "[k"), "=1", "]")},
		"full tables":        {"actions/a.toml": action("") + fill("[[steps]]\n" + fullTable)[:size/4]},
		"inputs":             {"inputs.toml": fill("[[input]]\nname='x'\n")},
		"tables":             {"inputs.toml": fill("[[group]]\n[group.x.y.z]\n")},
		"open lists":         {"inputs.toml": "a=" + fill("[")},
		"inline tables":      {"inputs.toml": "a=" + fill("{a=")},
		"long key":           {"inputs.toml": "[" + strings.Repeat("k", size/2) + "]\n" + strings.Repeat("a=1\n", 10) + keys.String()[:size/3]},
		"long names":         {"components/a.toml": component(strings.Repeat("a", size-500), "")},
		"steps":              {"actions/a.toml": action("") + fill("[[steps]]\nname='s'\ncommand='c'\n")},
		"dangling refs":      {"components/a.toml": component("a", "[vars]\nx = '"+chain.String()+"'")},
		"one large template": {"components/a.toml": component("a", "[vars]\nx = '"+strings.Repeat("{{.nuon.a}}", 80000)+"'")},
		"dependencies":       {"components/a.toml": component("a", "dependencies = ["+strings.Repeat("'b',", 200000)+"]")},
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			app, found := Load(small().and(config).fs(), Options{})
			if app != nil {
				t.Error("it was accepted")
			}
			if len(found) > maxDiagnostics+1 {
				t.Errorf("%d diagnostics", len(found))
			}
			took := time.Since(begun)
			t.Logf("%s, %d diagnostics, first: %.150s", took, len(found), found[0])
			if took > time.Minute {
				t.Errorf("took %s", took)
			}
		})
	}
}
