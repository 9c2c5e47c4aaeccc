package tfmodule

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// maxModules is the maximum number of directories in one closure; real ones have tens.
const maxModules = 500

// Position is a place in a file of the tree.
type Position struct {
	// File is relative to the root of the tree, with slashes.
	File string
	// Line counts from 1.
	Line int
}

// String returns "file:line".
func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// RemoteSource is a call of a module outside of the tree: a registry address, a git URL, an
// absolute path, or an expression.
type RemoteSource struct {
	// Module is the label of the calling module block.
	Module string
	// Source and Version are as written; Version may be empty.
	Source, Version string
	// Position is the position of the module block.
	Position Position
}

// Provider is a provider requirement of one module of the closure.
type Provider struct {
	// Name is the module's local name for the provider, and Source its address, which is empty when
	// only a resource implies the provider.
	Name, Source string
	// Constraints are the version constraints as written.
	Constraints []string
	// Dir is the directory of the module that requires the provider.
	Dir string
}

// Backend is the backend that a root module declares for its state.
type Backend struct {
	// Kind is the backend's type, such as "s3", or "cloud".
	Kind string
	// Position is the position of the block.
	Position Position
}

// Variable is a variable that a root module declares.
type Variable struct {
	// Name is the name of the variable.
	Name string
	// Type is the type expression as written, such as "list(string)"; empty if any type is allowed.
	Type string
	// Description is the description from the module; it may be empty.
	Description string
	// Required is true if the variable has no default.
	Required bool
	// Sensitive is true if Terraform hides the value.
	Sensitive bool
	// Position is the position of the block.
	Position Position
}

// Module is a root module with everything that it reads inside its tree.
type Module struct {
	// Dir is the root module's directory, relative and clean; "." for the root.
	Dir string
	// Dirs are the directories of the module, sorted. Everything below one of them belongs to the
	// module, so none of them is below another.
	Dirs []string
	// Remote are the calls of modules outside of the tree, by position.
	Remote []RemoteSource
	// Providers are the requirements of all modules, by Dir and Name.
	Providers []Provider
	// Backend is the backend that the root module declares; nil if it declares none.
	Backend *Backend
	// Variables are the variables of the root module, by name.
	Variables []Variable
	// Outputs are the names of the root module's outputs, sorted.
	Outputs []string
	// Assigned are the names of the variables that are assigned in the files of the root module's
	// directory that Terraform loads automatically: terraform.tfvars and *.auto.tfvars, also as
	// .json. Sorted.
	Assigned []string
}

// Closure returns the Dirs and Remote of Read.
func Closure(fsys fs.FS, dir string) (dirs []string, remote []RemoteSource, err error) {
	module, err := Read(fsys, dir)
	if err != nil {
		return nil, nil, err
	}
	return module.Dirs, module.Remote, nil
}

// Read reads the module in dir of fsys and every local module that it calls. fsys is the whole tree
// (a repository), and dir is relative to it. A file system with symbolic links should be an
// fs.ReadLinkFS, as os.DirFS and os.Root.FS are. Errors name the file and, where known, the line.
func Read(fsys fs.FS, dir string) (*Module, error) {
	dir = path.Clean(dir)
	if !fs.ValidPath(dir) {
		return nil, fmt.Errorf("module directory %q leads out of the repository; name a directory inside it", dir)
	}
	reading := reader{tree: tree{fsys: fsys, read: new(int)}, module: &Module{Dir: dir}, seen: map[string]bool{}}
	if err := reading.visit(dir, ""); err != nil {
		return nil, err
	}
	if err := reading.addLinked(); err != nil {
		return nil, err
	}
	return reading.finish(), nil
}

// reader walks from module to module and visits each directory once, so cyclic calls end. Terraform
// reports them later.
type reader struct {
	tree   tree
	module *Module
	seen   map[string]bool
}

// visit reads one module directory. from describes the caller for messages; it is empty for the
// root.
func (r *reader) visit(dir, from string) error {
	if r.seen[dir] {
		return nil
	}
	if len(r.seen) >= maxModules {
		return fmt.Errorf("%smore than %d modules are called; split the component", from, maxModules)
	}
	r.seen[dir] = true
	if err := r.tree.checkDir(dir); err != nil {
		return fmt.Errorf("%s%w", from, err)
	}
	parsed, err := parseDir(r.tree, dir)
	if err != nil {
		return err
	}
	if parsed == nil {
		return fmt.Errorf("%sthere are no .tf files in %s; name the directory that has them", from, dir)
	}
	if dir == r.module.Dir {
		if err := r.root(parsed); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parsed.RequiredProviders)) {
		required := parsed.RequiredProviders[name]
		r.module.Providers = append(r.module.Providers,
			Provider{Name: name, Source: required.Source, Constraints: required.VersionConstraints, Dir: dir})
	}
	for _, name := range slices.Sorted(maps.Keys(parsed.ModuleCalls)) {
		called := parsed.ModuleCalls[name]
		at := Position{File: called.Pos.Filename, Line: called.Pos.Line}
		if err := r.call(dir, RemoteSource{Module: name, Source: called.Source, Version: called.Version,
			Position: at}); err != nil {
			return err
		}
	}
	return nil
}

// root records what only the root module's own declarations determine.
func (r *reader) root(parsed *parsedDir) (err error) {
	r.module.Backend = parsed.backend
	for _, name := range slices.Sorted(maps.Keys(parsed.Variables)) {
		v := parsed.Variables[name]
		r.module.Variables = append(r.module.Variables, Variable{
			Name: name, Type: v.Type, Description: v.Description, Required: v.Required, Sensitive: v.Sensitive,
			Position: Position{File: v.Pos.Filename, Line: v.Pos.Line},
		})
	}
	r.module.Outputs = slices.Sorted(maps.Keys(parsed.Outputs))
	r.module.Assigned, err = assignedIn(r.tree, r.module.Dir)
	return err
}

// call follows one module block, or records it if it refers to a module outside of the tree.
func (r *reader) call(dir string, called RemoteSource) error {
	if called.Source == "" {
		return fmt.Errorf("%s: module %q has no source; give it one, such as \"../shared\"",
			called.Position, called.Module)
	}
	if !isLocal(called.Source) {
		r.module.Remote = append(r.module.Remote, called)
		return nil
	}
	target := path.Join(dir, called.Source)
	if !fs.ValidPath(target) || strings.Contains(called.Source, `\`) {
		return fmt.Errorf("%s: module %q calls %q, which leads out of the repository; move that module into it",
			called.Position, called.Module, called.Source)
	}
	return r.visit(target, fmt.Sprintf("%s: module %q: ", called.Position, called.Module))
}

// isLocal implements Terraform's rule for local modules: a source without one of these prefixes is
// an address to fetch from, including "shared" and "/srv/shared".
func isLocal(source string) bool {
	return strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../") ||
		strings.HasPrefix(source, `.\`) || strings.HasPrefix(source, `..\`)
}

// addLinked adds the directories that symbolic links of the closure lead to, until no link leads
// out of it.
func (r *reader) addLinked() error {
	walked := map[string]bool{}
	for {
		var more []string
		for _, dir := range outermost(slices.Collect(maps.Keys(r.seen))) {
			if walked[dir] {
				continue
			}
			walked[dir] = true
			found, err := r.tree.linkedDirs(dir)
			if err != nil {
				return err
			}
			more = append(more, found...)
		}
		if len(more) == 0 {
			return nil
		}
		for _, dir := range more {
			r.seen[dir] = true
		}
		if len(r.seen) > maxModules {
			return fmt.Errorf("symbolic links of module %s lead to more than %d directories; split the component",
				r.module.Dir, maxModules)
		}
	}
}

func (r *reader) finish() *Module {
	r.module.Dirs = outermost(slices.Collect(maps.Keys(r.seen)))
	slices.SortStableFunc(r.module.Remote, func(a, b RemoteSource) int {
		return cmp.Or(cmp.Compare(a.Position.File, b.Position.File), cmp.Compare(a.Position.Line, b.Position.Line))
	})
	slices.SortStableFunc(r.module.Providers, func(a, b Provider) int {
		return cmp.Or(cmp.Compare(a.Dir, b.Dir), cmp.Compare(a.Name, b.Name))
	})
	return r.module
}

// outermost removes every directory that is below another one, and sorts the others.
func outermost(dirs []string) []string {
	var kept []string
	for _, dir := range dirs {
		inside := slices.ContainsFunc(dirs, func(other string) bool { return other != dir && isBelow(dir, other) })
		if !inside {
			kept = append(kept, dir)
		}
	}
	slices.Sort(kept)
	return kept
}

// isBelow reports whether name is dir or inside of it.
func isBelow(name, dir string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}
