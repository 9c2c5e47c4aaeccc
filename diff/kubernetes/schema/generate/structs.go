package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// structs reads the Go types from which the published documents are generated, for the only
// fact that the documents omit: which fields are no pointers and are left out when they are
// zero. In those, zero equals absent; in a pointer (storageClassName) it does not.
type structs struct {
	// module returns the folder of a module of the release, by its name below k8s.io.
	module func(name string) (string, error)
	dirs   map[string]string
	// packages are the structs of the packages that were read, by folder and name.
	packages map[string]map[string]*ast.StructType
}

func newStructs(module func(string) (string, error)) *structs {
	return &structs{module: module, dirs: map[string]string{}, packages: map[string]map[string]*ast.StructType{}}
}

// omitted returns the fields of a definition, given by its full name
// (io.k8s.api.core.v1.PodSpec), that are left out when they are zero.
func (s *structs) omitted(definition string) (map[string]bool, error) {
	path, ok := strings.CutPrefix(definition, "io.k8s.")
	cut := strings.LastIndex(path, ".")
	if !ok || cut < 0 {
		return nil, fmt.Errorf("%s is of no known module", definition)
	}
	name := path[cut+1:]
	module, below, _ := strings.Cut(path[:cut], ".")
	dir, err := s.dir(module)
	if err != nil {
		return nil, err
	}
	types, err := s.read(filepath.Join(dir, strings.ReplaceAll(below, ".", "/")))
	if err != nil {
		return nil, err
	}
	if types[name] == nil {
		return nil, fmt.Errorf("%s has no Go type in %s", definition, dir)
	}
	fields := map[string]bool{}
	collect(types, types[name], fields)
	return fields, nil
}

func (s *structs) dir(module string) (string, error) {
	if dir, ok := s.dirs[module]; ok {
		return dir, nil
	}
	dir, err := s.module(module)
	s.dirs[module] = dir
	return dir, err
}

// collect adds the fields of a struct and of the structs of the same package that it embeds.
func collect(types map[string]*ast.StructType, s *ast.StructType, fields map[string]bool) {
	for _, f := range s.Fields.List {
		name, options := tagOf(f)
		_, pointer := f.Type.(*ast.StarExpr)
		if inline, ok := f.Type.(*ast.Ident); ok && len(f.Names) == 0 && name == "" && types[inline.Name] != nil {
			collect(types, types[inline.Name], fields)
		}
		if name != "" && !pointer && (strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")) {
			fields[name] = true
		}
	}
}

func tagOf(f *ast.Field) (name, options string) {
	if f.Tag == nil {
		return "", ""
	}
	text, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return "", ""
	}
	name, options, _ = strings.Cut(reflect.StructTag(text).Get("json"), ",")
	return name, options
}

func (s *structs) read(dir string) (map[string]*ast.StructType, error) {
	if types, ok := s.packages[dir]; ok {
		return types, nil
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: %w", dir, fs.ErrNotExist)
	}
	types := map[string]*ast.StructType{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			addStructs(d, types)
		}
	}
	s.packages[dir] = types
	return types, nil
}

func addStructs(d ast.Decl, types map[string]*ast.StructType) {
	g, ok := d.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range g.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		// A type from another package gets no fields here: less is known about it then.
		types[t.Name.Name] = &ast.StructType{Fields: &ast.FieldList{}}
		if s, ok := t.Type.(*ast.StructType); ok {
			types[t.Name.Name] = s
		}
	}
}
