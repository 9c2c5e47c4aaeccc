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
	"strings"
)

// split returns the packages that patterns name, in the order of the patterns, in two lists: those
// to test with the race detector, and the others. With all, the first list has every package.
// Without, it has the packages of the product
//
//   - whose own code shares memory between goroutines: it starts goroutines, or uses a lock, an
//     atomic value or a channel, and
//   - whose code or tests run it in several goroutines, without which the race detector finds nothing.
//
// A package that only calls such packages is tested without the race detector: the memory is
// checked where it is shared. The same holds for the programs in examples, which are not part of
// the product, and run it as processes that the race detector cannot observe.
func split(patterns []string, all bool) (raced, others []string, err error) {
	cmd := exec.Command("go", append([]string{"list", "-json=Dir,ImportPath,Module,GoFiles,TestGoFiles,XTestGoFiles"},
		patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("list the packages: %w", err)
	}
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir, ImportPath                    string
			Module                             struct{ Path string }
			GoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			return raced, others, nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("read the output of go list: %w", err)
		}
		race := all
		if !all && !strings.HasPrefix(p.ImportPath, p.Module.Path+"/examples/") {
			own, err := concurrency(p.Dir, p.GoFiles)
			if err != nil {
				return nil, nil, err
			}
			tests, err := concurrency(p.Dir, slices.Concat(p.TestGoFiles, p.XTestGoFiles))
			if err != nil {
				return nil, nil, err
			}
			race = (own.starts || own.shares) && (own.starts || tests.starts)
		}
		if race {
			raced = append(raced, p.ImportPath)
		} else {
			others = append(others, p.ImportPath)
		}
	}
}

// use describes how files use goroutines.
type use struct {
	starts bool // a go statement, a group (Go), a parallel test (Parallel), a server (Serve, httptest)
	// a lock, an atomic value, a channel; not sync.Once and the like, which run a function only once
	shares bool
}

// concurrency returns how the files of a directory use goroutines.
func concurrency(dir string, files []string) (use, error) {
	var found use
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return use{}, err
		}
		for _, i := range file.Imports {
			found.starts = found.starts || i.Path.Value == `"net/http/httptest"`
			found.shares = found.shares || i.Path.Value == `"sync/atomic"`
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				found.starts = true
			case *ast.ChanType:
				found.shares = true
			case *ast.SelectorExpr:
				from, _ := n.X.(*ast.Ident)
				if from != nil && from.Name == "sync" {
					found.shares = found.shares || !strings.HasPrefix(n.Sel.Name, "Once")
				}
				found.starts = found.starts || slices.Contains([]string{"Go", "Parallel", "Serve", "ServeTLS", "ListenAndServe"},
					n.Sel.Name)
			}
			return true
		})
	}
	return found, nil
}
