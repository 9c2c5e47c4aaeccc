package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxColumns is how wide a line of code may be, in runes; a tab counts as one.
const maxColumns = 120

// finding is one thing to change, on a line counted from 1.
type finding struct {
	line    int
	message string
}

// quoted matches what a text only quotes.
var quoted = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|“[^”]*”")

// checkProse returns the phrases to avoid in one line of prose.
func checkProse(line int, text string) []finding {
	text = quoted.ReplaceAllString(text, "")
	var found []finding
	for _, r := range phrases {
		if hit := r.phrase.FindString(text); hit != "" {
			found = append(found, finding{line, fmt.Sprintf("%q: use %s", hit, r.use)})
		}
	}
	return found
}

// checkMarkdown returns the findings of a page, outside its code blocks.
func checkMarkdown(content []byte) []finding {
	var found []finding
	fenced := false
	for i, line := range strings.Split(string(content), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if !fenced && !strings.HasPrefix(line, "    ") {
			found = append(found, checkProse(i+1, line)...)
		}
	}
	return found
}

// checkGo returns the findings of a Go file: in its comments, its names, its width and, below cli, its texts. A file
// that does not parse has one finding, the parser's.
func checkGo(name string, content []byte) []finding {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, content, parser.ParseComments)
	if err != nil {
		return []finding{{1, err.Error()}}
	}
	line := func(p token.Pos) int { return fset.Position(p).Line }

	var found []finding
	for _, group := range file.Comments {
		for _, c := range group.List {
			for i, text := range strings.Split(c.Text, "\n") {
				found = append(found, checkProse(line(c.Pos())+i, text)...)
			}
		}
	}
	found = append(found, checkDeclarations(file, line)...)
	if strings.HasPrefix(name, "cli/") && !strings.HasSuffix(name, "_test.go") {
		found = append(found, checkTexts(file, line)...)
	}
	return append(found, checkWidth(content, rawStrings(file, line))...)
}

// checkDeclarations returns the names to avoid among the package's declarations, and the doc comments of functions
// that begin with a verb for people.
func checkDeclarations(file *ast.File, line func(token.Pos) int) []finding {
	var found []finding
	name := func(id *ast.Ident) {
		if use, avoided := names[id.Name]; avoided {
			found = append(found, finding{line(id.Pos()), fmt.Sprintf("the name %s: use %s", id.Name, use)})
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name(d.Name)
			if d.Recv != nil && len(d.Recv.List[0].Names) > 0 && receivers[d.Recv.List[0].Names[0].Name] {
				found = append(found, finding{line(d.Pos()), "the receiver " + d.Recv.List[0].Names[0].Name +
					": use letters of the type"})
			}
			if d.Doc != nil && docVerbs.MatchString(d.Doc.List[0].Text) {
				verb := docVerbs.FindStringSubmatch(d.Doc.List[0].Text)[1]
				found = append(found, finding{line(d.Doc.Pos()), fmt.Sprintf("%q: use returns, reports, checks, reads or requires",
					verb)})
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					name(t.Name)
				}
			}
		}
	}
	return found
}

// checkTexts returns the phrases to avoid in a file's string literals.
func checkTexts(file *ast.File, line func(token.Pos) int) []finding {
	var found []finding
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			for i, text := range strings.Split(strings.Trim(l.Value, "\"`"), "\n") {
				found = append(found, checkProse(line(l.Pos())+i, text)...)
			}
		}
		return true
	})
	return found
}

// rawStrings returns the lines on which a raw string stands, which cannot be broken.
func rawStrings(file *ast.File, line func(token.Pos) int) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(l.Value, "`") {
			for i := line(l.Pos()); i <= line(l.End()); i++ {
				lines[i] = true
			}
		}
		return true
	})
	return lines
}

// directive matches a comment for a linter at the end of a line, with its reason, and a compiler directive.
var directive = regexp.MustCompile(`^//go:.*|\s*//(nolint|walltime)\b.*`)

// longWord matches a word that cannot be broken and makes a line wide alone, such as a URL or a digest.
var longWord = regexp.MustCompile(`\S{61,}`)

// checkWidth returns the lines beyond maxColumns, but for those in raw. A directive at the end of a line does not
// count, and a line with a long word may be as wide as the word makes it.
func checkWidth(content []byte, raw map[int]bool) []finding {
	var found []finding
	for i, text := range strings.Split(string(content), "\n") {
		n := utf8.RuneCountInString(directive.ReplaceAllString(text, ""))
		if n > maxColumns && !raw[i+1] && !longWord.MatchString(text) {
			found = append(found, finding{i + 1, fmt.Sprintf("%d columns: at most %d", n, maxColumns)})
		}
	}
	return found
}
