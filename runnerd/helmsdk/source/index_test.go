package source

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// TestTheIndexInPart: the entries parsed from the lines of one chart equal those from
// the whole index.
func TestTheIndexInPart(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.StringMatching(`[a-z][a-z0-9-]{0,5}`)
		index := map[string]any{"apiVersion": "v1", "generated": "2020"}
		entries := map[string][]map[string]any{}
		for range rapid.IntRange(1, 5).Draw(r, "charts") {
			key := name.Draw(r, "chart")
			for i := range rapid.IntRange(1, 3).Draw(r, "versions") {
				entries[key] = append(entries[key], map[string]any{
					"version": fmt.Sprintf("1.%d.0", i), "urls": []string{key + ".tgz"},
					"description": rapid.StringMatching(`([a-z][a-z: #"'-]{0,30}(\n[a-z: ]{0,9}[a-z])?)?`).Draw(r, "words"),
				})
			}
		}
		index["entries"] = entries
		content, err := yaml.Marshal(index)
		if err != nil {
			r.Fatal(err)
		}
		asked := name.Draw(r, "asked")
		if rapid.Bool().Draw(r, "there") {
			for asked = range entries {
				break
			}
		}
		whole, _, err := wholeEntries(content, asked)
		if err != nil {
			r.Fatal(err)
		}
		part, _, err := entriesOf(content, asked)
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(whole, part); diff != "" {
			r.Fatalf("%s\n%s", diff, content)
		}
	})
}

// TestALargeIndex: a large index is searched without being parsed as a whole.
func TestALargeIndex(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nentries:\n")
	for i := range 60_000 {
		fmt.Fprintf(&b, "  chart%d:\n  - version: 1.0.%d\n    description: %s\n    urls:\n    - x.tgz\n", i, i,
			strings.Repeat("x", 100))
	}
	found, names, err := entriesOf([]byte(b.String()), "chart4711")
	if err != nil || len(found) != 1 || found[0].Version != "1.0.4711" || len(names) != 60_000 {
		t.Fatalf("%v, %d names, %v", found, len(names), err)
	}
	missing, names, err := entriesOf([]byte(b.String()), "none")
	if err != nil || missing != nil || len(names) != 60_000 {
		t.Fatalf("%v, %d names, %v", missing, len(names), err)
	}
}

// TestAnIndexOfOneLargeChart: the parsed part of an index is bounded, even if all of
// it is one chart, and so are the collected names.
func TestAnIndexOfOneLargeChart(t *testing.T) {
	_, _, err := entriesOf([]byte("entries:\n  web:\n"+strings.Repeat("  - version: 1.0.0\n", maxParsed/19+1)), "web")
	refused(t, err, `"web"`, "at most")
	_, names, err := entriesOf([]byte("entries:\n"+strings.Repeat("  a:\n", maxParsed/5+1)), "web")
	if err != nil || len(names) != maxNames {
		t.Errorf("%d names, %v", len(names), err)
	}
}

func TestOtherFormsOfAnIndex(t *testing.T) {
	for name, content := range map[string]string{
		"JSON":   `{"entries":{"web":[{"version":"1.0.0","urls":["x"]}]}}`,
		"flow":   "entries: {web: [{version: 1.0.0, urls: [x]}]}",
		"quoted": "entries:\n  \"web\":\n    - {version: 1.0.0, urls: [x]}\n",
		"alias":  "base: &x [x]\nentries:\n  web:\n  - version: 1.0.0\n    urls: *x\n",
		"first":  "entries:\n    web:\n    - version: 1.0.0\n      urls: [x]\nother:\n  web: 2\n",
	} {
		t.Run(name, func(t *testing.T) {
			found, _, err := entriesOf([]byte(content), "web")
			if err != nil || len(found) != 1 || found[0].Version != "1.0.0" || found[0].URLs[0] != "x" {
				t.Errorf("%v, %v", found, err)
			}
		})
	}
}
