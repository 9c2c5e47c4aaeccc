package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Comments returns the comments of the exported structs and maps in dir, and of the fields of the
// structs, without those of test files: one line each, sorted by name, in the form NAME<tab>TEXT.
func Comments(dir string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("read the types of the format: %w", err)
		}
		for _, d := range parsed.Decls {
			if types, ok := d.(*ast.GenDecl); ok && types.Tok == token.TYPE {
				lines = append(lines, typeLines(types)...)
			}
		}
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, "")), nil
}

// typeLines returns the lines of the types of one declaration.
func typeLines(d *ast.GenDecl) []string {
	var lines []string
	for _, spec := range d.Specs {
		t := spec.(*ast.TypeSpec)
		fields, isStruct := t.Type.(*ast.StructType)
		_, isMap := t.Type.(*ast.MapType)
		if !t.Name.IsExported() || !isMap && (!isStruct || !holdsKeys(fields)) {
			continue
		}
		lines = append(lines, line(t.Name.Name, withoutName(t.Name.Name, oneLine(d.Doc))))
		if isStruct {
			lines = append(lines, fieldLines(t.Name.Name, fields)...)
		}
	}
	return lines
}

// holdsKeys reports whether a struct is part of the format.
func holdsKeys(s *ast.StructType) bool {
	return slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool { return len(f.Names) == 0 || isKey(f) })
}

func isKey(f *ast.Field) bool { return f.Tag != nil && strings.Contains(f.Tag.Value, `toml:"`) }

// fieldLines returns the lines of the fields with a key and a comment.
func fieldLines(structName string, s *ast.StructType) []string {
	var lines []string
	for _, f := range s.Fields.List {
		if f.Doc == nil || !isKey(f) {
			continue
		}
		for _, name := range f.Names {
			lines = append(lines, line(structName+"."+name.Name, oneLine(f.Doc)))
		}
	}
	return lines
}

func line(name, text string) string { return name + "\t" + text + "\n" }

// oneLine returns a comment without its line breaks.
func oneLine(c *ast.CommentGroup) string {
	return string(bytes.Join(bytes.Fields([]byte(c.Text())), []byte(" ")))
}

// withoutName removes from the start of a type's comment what readers see anyway: the name and, for a
// kind of file, its path. The rest starts with a capital letter.
func withoutName(name, text string) string {
	rest, ok := strings.CutPrefix(text, name+" is ")
	if !ok {
		return text
	}
	where, what, ok := strings.Cut(rest, ": ")
	if ok && (strings.Contains(where, ".toml") || strings.HasPrefix(where, "a file below ")) {
		rest = what
	}
	first := []rune(rest)
	first[0] = unicode.ToUpper(first[0])
	return string(first)
}
