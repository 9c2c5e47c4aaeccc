package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// division says how packages are tested. The lists have the order of the patterns that name the
// packages.
type division struct {
	raced, others []string // the packages to test with the race detector, and those to test without it
	// exempt are packages of raced with tests that the race detector excludes, and excluded are these
	// tests.
	exempt, excluded []string
}

// split divides the packages that patterns name. With all, every package is tested with the race
// detector. Without, these are the packages of the product
//
//   - whose own code shares memory between goroutines: it starts goroutines, or uses a lock, an
//     atomic value or a channel, and
//   - whose code or tests run it in several goroutines, without which the race detector finds nothing.
//
// A package that only calls such packages is tested without the race detector: the memory is
// checked where it is shared. The same holds for the programs in examples, which are not part of
// the product, and run it as processes that the race detector cannot observe.
//
// A test in a file with the build constraint !race runs without it in any case. That is for tests
// with so much data or so many cases that they take a minute with it, of code that other tests run
// with it.
func split(patterns []string, all bool) (d division, err error) {
	cmd := exec.Command("go", append([]string{"list", "-json=Dir,ImportPath,Module,GoFiles,TestGoFiles,XTestGoFiles"},
		patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return d, fmt.Errorf("list the packages: %w", err)
	}
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir, ImportPath                    string
			Module                             struct{ Path string }
			GoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			return d, nil
		} else if err != nil {
			return d, fmt.Errorf("read the output of go list: %w", err)
		}
		race := all
		if !all && !strings.HasPrefix(p.ImportPath, p.Module.Path+"/examples/") {
			own, err := concurrency(p.Dir, p.GoFiles)
			if err != nil {
				return d, err
			}
			tests, err := concurrency(p.Dir, slices.Concat(p.TestGoFiles, p.XTestGoFiles))
			if err != nil {
				return d, err
			}
			race = (own.starts || own.shares) && (own.starts || tests.starts)
		}
		if !race {
			d.others = append(d.others, p.ImportPath)
			continue
		}
		d.raced = append(d.raced, p.ImportPath)
		excluded, err := excludedTests(p.Dir, slices.Concat(p.TestGoFiles, p.XTestGoFiles))
		if err != nil {
			return d, err
		}
		if len(excluded) > 0 {
			d.exempt, d.excluded = append(d.exempt, p.ImportPath), append(d.excluded, excluded...)
		}
	}
}

// excludedTests returns the tests in those files of a directory that the race detector excludes.
func excludedTests(dir string, files []string) (tests []string, err error) {
	raced := build.Default
	raced.BuildTags = []string{"race"}
	for _, name := range files {
		if matches, err := raced.MatchFile(dir, name); err != nil {
			return nil, err
		} else if matches {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if is && f.Recv == nil && slices.ContainsFunc([]string{"Test", "Fuzz", "Example"}, func(prefix string) bool {
				return strings.HasPrefix(f.Name.Name, prefix)
			}) {
				tests = append(tests, f.Name.Name)
			}
		}
	}
	return tests, nil
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
