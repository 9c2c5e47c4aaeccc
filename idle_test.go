package nuon_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

const (
	configPackage = module + "pkg/appconfig"
	formatPackage = configPackage + "/format"
)

// describing are the packages that read configs to show, check or compare them as texts: to read a value
// there is not to use it.
var describing = []string{
	"cli/validate", "cli/diff", "cli/reference", "cli/initialize", "cli/graph", "cli/explain", "cli/schema", "cli/format",
	"reconciler/preview",
	"diff/app", "pkg/appconfig", "examples",
}

// whileReading are the keys that do their work when a config is read, so that nothing else has to use them.
var whileReading = map[string]string{
	"Metadata.RequireMirroredImages": "decides whether images from elsewhere are errors or warnings",
	"Metadata.Version":               "says which format the files are in",
	"Component.Type":                 "says of which kind the file is",
	"Component.Source":               "names a file whose keys are laid over this one's",
	"Sandbox.Source":                 "names a file whose keys are laid over this one's",
	"Runner.Source":                  "names a file whose keys are laid over this one's",
	"Inputs.Source":                  "names a file whose inputs are added",
	"Inputs.Sources":                 "names files whose inputs are added",
	"Inputs.Groups":                  "holds tables, whose keys are looked at one by one",
	"Inputs.Inputs":                  "holds tables, whose keys are looked at one by one",
	"KubernetesContexts.Contexts":    "holds tables, whose keys are looked at one by one",
	"Runner.Type":                    "says for which cloud roles, stacks, accounts and templates are checked",
	"Role.CloudPlatform":             "must be the cloud of the runner, for which the stack is rendered",
	"OperationRoles.Type":            "has one value, which says how the rules are read",
	"Stack.RunnerNestedTemplateURL":  "names a template that ours replaces, as docs/install-stacks.md says",
	"Secret.Default":                 "gets a warning, because what everyone can read in a file is no secret",
	"ECRImage.Region":                "is compared with the region in image_url",
	"GARImage.Region":                "is compared with the region in image_url",
	"GARImage.ProjectID":             "is compared with the project in image_url",
	"Sandbox.Type":                   "says whether Terraform makes the sandbox",
}

// TestConfigValuesAreUsedOrIdle: each value that a config can have is read by code that acts on it, or is
// marked as idle, so that validate warns of it and docs/config.md says so.
func TestConfigValuesAreUsedOrIdle(t *testing.T) {
	usage := readUsage(t)
	seen := map[string]bool{}
	for _, kind := range format.Kinds() {
		if !kind.NoEffectYet && !kind.OpenEnded && kind.Name != "full" {
			checkUsed(t, usage, kind.Type, seen)
		}
	}
	for name, why := range whileReading {
		if !seen[name] {
			t.Errorf("%s %s, it says here, and there is no such key", name, why)
		}
	}
}

// checkUsed checks each key of a struct of the format.
func checkUsed(t *testing.T, usage *usage, of reflect.Type, seen map[string]bool) {
	t.Helper()
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return
	}
	for i := range of.NumField() {
		field := of.Field(i)
		name := of.Name() + "." + field.Name
		switch {
		case field.Anonymous:
			checkUsed(t, usage, field.Type, seen)
			continue
		case seen[name], field.Type == reflect.TypeFor[format.Unsupported](), field.Type == reflect.TypeFor[format.Removed]():
			continue
		}
		seen[name] = true
		idle := slices.Contains(strings.Split(field.Tag.Get("config"), ","), "idle")
		used := usage.uses(of.Name(), field.Name) || whileReading[name] != ""
		if !used && !idle {
			t.Errorf("nothing uses %s (%s): use it, or mark it as idle in package format", name, field.Tag.Get("toml"))
		}
		if !idle {
			checkUsed(t, usage, field.Type, seen)
		}
	}
}

// usage is which fields of configs code reads. Fields are known by where they are declared, because a type
// made of another one shares its fields.
type usage struct {
	files  *token.FileSet
	format *types.Package
	read   map[string]bool        // by code that acts
	made   map[string][]*function // fields of an App, to what they are made of
	funcs  map[string]*function   // of package appconfig
	called map[string]bool        // functions of package appconfig that acting code calls
}

// function is what a function, or a part of one, reads and calls.
type function struct {
	reads, calls map[string]bool
	all          map[string]bool // with what is called; nil until it is asked for
	makes        bool            // it fills in fields of an App, each of which is noted with what it is made of
}

// uses reports whether acting code reads a field of the format, or one of an App that is made of it.
func (u *usage) uses(structure, field string) bool {
	object := u.format.Scope().Lookup(structure)
	if object == nil {
		return false
	}
	fields, ok := object.Type().Underlying().(*types.Struct)
	for i := range fields.NumFields() {
		if ok && fields.Field(i).Name() == field {
			return u.reaches(u.key(fields.Field(i)), map[string]bool{})
		}
	}
	return false
}

func (u *usage) reaches(key string, seen map[string]bool) bool {
	if u.read[key] {
		return true
	}
	if seen[key] {
		return false
	}
	seen[key] = true
	for app, makers := range u.made {
		for _, maker := range makers {
			if u.readBy(maker, true)[key] && u.reaches(app, seen) {
				return true
			}
		}
	}
	return false
}

// readBy returns what a function reads, or what it calls in package appconfig.
// A function that fills in fields of an App is left out where what is made of what is asked for: it reads for
// all of its fields.
func (u *usage) readBy(f *function, making bool) map[string]bool {
	if f.all != nil {
		return f.all
	}
	f.all = map[string]bool{}
	done := map[*function]bool{}
	for queue := []*function{f}; len(queue) > 0; queue = queue[1:] {
		one := queue[0]
		if one == nil || done[one] || making && one.makes {
			continue
		}
		done[one] = true
		maps.Copy(f.all, one.reads)
		for name := range one.calls {
			queue = append(queue, u.funcs[name])
		}
	}
	return f.all
}

// key names an object by its place.
func (u *usage) key(object types.Object) string {
	at := u.files.Position(object.Pos())
	_, file, _ := strings.Cut(filepath.ToSlash(at.Filename), "/pkg/appconfig/")
	return fmt.Sprintf("%s:%d %s", file, at.Line, object.Name())
}

// exported is a package that go list compiled.
type exported struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// readUsage type-checks the packages that use configs.
func readUsage(t *testing.T) *usage {
	t.Helper()
	packages := []string{configPackage}
	for _, p := range list(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		describes := slices.ContainsFunc(describing, func(dir string) bool {
			return name == dir ||
				strings.HasPrefix(name, dir+"/")
		})
		if !describes && (slices.Contains(p.Imports, configPackage) || slices.Contains(p.Imports, formatPackage)) {
			packages = append(packages, p.ImportPath)
		}
	}
	all := map[string]exported{}
	decode := json.NewDecoder(bytes.NewReader(run(t, "go", append([]string{"list", "-trimpath", "-export", "-deps",
		"-json=ImportPath,Dir,Export,GoFiles"}, packages...)...)))
	for {
		var p exported
		if err := decode.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
	u := &usage{files: token.NewFileSet(), read: map[string]bool{}, made: map[string][]*function{},
		funcs: map[string]*function{}, called: map[string]bool{}}
	imports := importer.ForCompiler(u.files, "gc", func(path string) (io.ReadCloser,
		error) {
		return os.Open(all[path].Export)
	})
	var err error
	if u.format, err = imports.Import(formatPackage); err != nil {
		t.Fatal(err)
	}
	for _, name := range packages {
		u.check(t, all[name], imports)
	}
	u.follow()
	if len(u.read) < 50 {
		t.Fatalf("found %d fields that code reads: this test sees nothing", len(u.read))
	}
	return u
}

// check reads one package.
func (u *usage) check(t *testing.T, p exported, imports types.Importer) {
	t.Helper()
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(u.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Uses: map[*ast.Ident]types.Object{},
		Defs: map[*ast.Ident]types.Object{}}
	if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, u.files, files, info); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if p.ImportPath != configPackage {
			u.note(info, file, u.read, u.called)
			continue
		}
		for _, declared := range file.Decls {
			if f, is := declared.(*ast.FuncDecl); is {
				noted := &function{reads: map[string]bool{}, calls: map[string]bool{}, makes: u.noteMade(info, f)}
				u.note(info, f, noted.reads, noted.calls)
				u.funcs[u.key(info.Defs[f.Name])] = noted
			}
		}
	}
}

// note collects the fields that code reads and the functions of package appconfig that it calls.
func (u *usage) note(info *types.Info, in ast.Node, reads, calls map[string]bool) {
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt: // what is assigned to is written
			for _, left := range n.Lhs {
				if selector, is := left.(*ast.SelectorExpr); is {
					u.note(info, selector.X, reads, calls)
				}
			}
			for _, right := range n.Rhs {
				u.note(info, right, reads, calls)
			}
			return false
		case *ast.SelectorExpr:
			if s := info.Selections[n]; s != nil && s.Kind() == types.FieldVal {
				reads[u.key(s.Obj())] = true
			}
		case *ast.Ident:
			if f, is := info.Uses[n].(*types.Func); is && f.Pkg() != nil && f.Pkg().Path() == configPackage {
				calls[u.key(f)] = true
			}
		}
		return true
	})
}

// noteMade collects what the fields of an App are made of in one function: what is read in the value that
// they get, in the functions that this calls, and in what the local variables in it were set to. It returns
// false if it found none.
func (u *usage) noteMade(info *types.Info, f *ast.FuncDecl) bool {
	locals := map[types.Object][]ast.Expr{}
	set := func(left, right ast.Expr) {
		if name, is := left.(*ast.Ident); is {
			object := info.Defs[name]
			if object == nil {
				object = info.Uses[name]
			}
			locals[object] = append(locals[object], right)
		}
	}
	made := map[*types.Var][]ast.Expr{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			set(n.Key, n.X)
			set(n.Value, n.X)
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				right := n.Rhs[min(i, len(n.Rhs)-1)]
				set(left, right)
				if selector, is := left.(*ast.SelectorExpr); is && info.Selections[selector] != nil {
					field := info.Selections[selector].Obj().(*types.Var) //nolint:forcetypeassert // only fields are assigned to
					made[field] = append(made[field], right)
				}
			}
		case *ast.KeyValueExpr:
			if name, is := n.Key.(*ast.Ident); is {
				if field, is := info.Uses[name].(*types.Var); is && field.IsField() {
					made[field] = append(made[field], n.Value)
				}
			}
		}
		return true
	})
	for field, values := range made {
		parts, calls, done := map[string]bool{}, map[string]bool{}, map[ast.Expr]bool{}
		for ; len(values) > 0; values = values[1:] {
			if done[values[0]] {
				continue
			}
			done[values[0]] = true
			u.note(info, values[0], parts, calls)
			ast.Inspect(values[0], func(n ast.Node) bool {
				if name, is := n.(*ast.Ident); is {
					values = append(values, locals[info.Uses[name]]...)
				}
				return true
			})
		}
		u.made[u.key(field)] = append(u.made[u.key(field)], &function{reads: parts, calls: calls})
	}
	return len(made) > 0
}

// follow adds what the functions of package appconfig read that acting code calls: but not Load and the
// digests, which read everything.
func (u *usage) follow() {
	for name := range u.called {
		_, called, _ := strings.Cut(name, " ")
		if f := u.funcs[name]; f != nil && called != "Load" && !strings.HasSuffix(called, "Digest") {
			maps.Copy(u.read, u.readBy(f, false))
		}
	}
}
