package nuon_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestUninstrumentedCodeIsSequential checks the packages that `make test` compiles without the race detector's instructions: they
// belong to others, and none of them starts a goroutine, so that a race can only begin outside of them.
func TestUninstrumentedCodeIsSequential(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(makefile), "\\\n", " ")
	line := regexp.MustCompile(`(?m)^UNINSTRUMENTED := (.+)$`).FindStringSubmatch(text)
	if line == nil {
		t.Fatal("the Makefile has no UNINSTRUMENTED")
	}

	for _, pattern := range strings.Fields(line[1]) {
		decoder := json.NewDecoder(strings.NewReader(string(run(t, "go", "list", "-e", "-json=ImportPath,Dir,GoFiles", pattern))))
		packages := 0
		for decoder.More() {
			var p struct {
				ImportPath, Dir string
				GoFiles         []string
			}
			if err := decoder.Decode(&p); err != nil {
				t.Fatal(err)
			}
			packages++
			if strings.HasPrefix(p.ImportPath+"/", module) {
				t.Errorf("%s is this repository's own", p.ImportPath)
			}
			for _, name := range p.GoFiles {
				if startsGoroutine(t, filepath.Join(p.Dir, name)) {
					t.Errorf("%s: %s starts a goroutine", p.ImportPath, name)
				}
			}
		}
		if packages == 0 {
			t.Errorf("no package matches %s", pattern)
		}
	}
}

// startsGoroutine reports whether a Go file has a go statement.
func startsGoroutine(t *testing.T, path string) (found bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(node ast.Node) bool {
		_, is := node.(*ast.GoStmt)
		found = found || is
		return !found
	})
	return found
}
