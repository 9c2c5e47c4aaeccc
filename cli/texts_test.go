package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// TestTexts compares testdata/texts.golden with the texts that the commands print: table
// headers, errors, and messages. The file exists to be read from top to bottom; the help
// is in docs/cli.md.
func TestTexts(t *testing.T) {
	var b strings.Builder
	b.WriteString("What the commands print, by package: table headers, errors, other texts. " +
		"See docs/cli.md for the help.\n")
	dirs, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range append([]string{"."}, dirs...) {
		writeTexts(t, &b, dir)
	}
	golden.Check(t, "testdata/texts.golden", b.String())
}

// writeTexts writes the texts of the package in dir, if there is one.
func writeTexts(t *testing.T, b *strings.Builder, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var found texts
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Walk(&found, parsed)
	}
	slices.Sort(found.errors)
	slices.Sort(found.others)
	if len(found.headers)+len(found.errors)+len(found.others) == 0 {
		return
	}
	fmt.Fprintf(b, "\n# %s\n", filepath.Base(filepath.Join("nuon", dir)))
	for _, section := range []struct {
		title string
		lines []string
	}{{"headers", found.headers}, {"errors", slices.Compact(found.errors)}, {"texts", slices.Compact(found.others)}} {
		if len(section.lines) > 0 {
			fmt.Fprintf(b, "\n## %s\n\n", section.title)
		}
		for _, line := range section.lines {
			b.WriteString(strings.ReplaceAll(strings.Trim(line, "\n"), "\n", "\n    ") + "\n")
		}
	}
}

// texts collects the texts of a package.
type texts struct{ headers, errors, others []string }

var (
	header      = regexp.MustCompile(`^[A-Z]+( [A-Z]+)*$`)
	errorMaker  = regexp.MustCompile(`^(Errorf|New|Usagef)$`)
	wordsBeside = regexp.MustCompile(`[A-Za-z]{2,}[,:;.]? [A-Za-z%]`)
	notPrinted  = regexp.MustCompile(`^(Short|Long|Example|Use|Aliases)$`)
	flagMaker   = regexp.MustCompile(`^(String|Bool|Int|Duration|StringArray|StringSlice)(Var)?P?$`)
)

// Visit collects table headers and the texts of calls, and leaves out the help.
func (x *texts) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.Field:
		return nil
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && notPrinted.MatchString(key.Name) {
			return nil
		}
	case *ast.CompositeLit:
		if words := allOf(n.Elts); len(words) > 1 && !slices.ContainsFunc(words, notHeader) {
			x.headers = append(x.headers, strings.Join(words, "  "))
			return nil
		}
	case *ast.CallExpr:
		name := ""
		if called, ok := n.Fun.(*ast.SelectorExpr); ok {
			name = called.Sel.Name
		}
		if flagMaker.MatchString(name) {
			return nil
		}
		if errorMaker.MatchString(name) && len(n.Args) > 0 {
			if text, ok := literal(n.Args[0]); ok {
				x.errors = append(x.errors, text)
				return nil
			}
		}
	case ast.Expr:
		if text, ok := literal(n); ok {
			if wordsBeside.MatchString(text) {
				x.others = append(x.others, text)
			}
			return nil
		}
	}
	return x
}

func notHeader(s string) bool { return !header.MatchString(s) }

// allOf returns the elements of a list if all of them are string literals.
func allOf(list []ast.Expr) []string {
	var all []string
	for _, e := range list {
		text, ok := literal(e)
		if !ok {
			return nil
		}
		all = append(all, text)
	}
	return all
}

// literal returns the value of a string literal, or of a sum of string literals.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, ok := literal(e.X)
		right, both := literal(e.Y)
		return left + right, ok && both && e.Op == token.ADD
	}
	return "", false
}
