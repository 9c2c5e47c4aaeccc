package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// split returns the packages that patterns name, in the order of the patterns: those whose own code or tests may run in several
// goroutines, in which the race detector can find something, and the others.
func split(patterns []string) (concurrent, sequential []string, err error) {
	cmd := exec.Command("go", append([]string{"list", "-json=Dir,ImportPath,GoFiles,TestGoFiles,XTestGoFiles"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("list the packages: %w", err)
	}
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir, ImportPath                    string
			GoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			return concurrent, sequential, nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("read what go list prints: %w", err)
		}
		raced, err := startsGoroutines(p.Dir, slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles))
		if err != nil {
			return nil, nil, err
		}
		if raced {
			concurrent = append(concurrent, p.ImportPath)
		} else {
			sequential = append(sequential, p.ImportPath)
		}
	}
}

// startsGoroutines reports whether code in one of a directory's files starts a goroutine by itself (go), by a group (Go), by a test
// that runs beside others (Parallel) or by a server (Serve, httptest).
func startsGoroutines(dir string, files []string) (bool, error) {
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		found := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"net/http/httptest"` })
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				found = true
			case *ast.SelectorExpr:
				found = found || slices.Contains([]string{"Go", "Parallel", "Serve", "ServeTLS", "ListenAndServe"}, n.Sel.Name)
			}
			return !found
		})
		if found {
			return true, nil
		}
	}
	return false, nil
}
