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

// maxModules is how many directories one closure may have; real ones have tens.
const maxModules = 500

// Position is a place in a file of the tree.
type Position struct {
	// File is relative to the root of the tree, with slashes.
	File string
	// Line counts from 1.
	Line int
}

// String gives "file:line".
func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// RemoteSource is a module that is called from outside the tree: a registry address, a git URL, an absolute path, or an
// expression.
type RemoteSource struct {
	// Module is the label of the module block that calls it.
	Module string
	// Source and Version are as written; Version may be empty.
	Source, Version string
	// Position is that of the module block.
	Position Position
}

// Provider is what one module of the closure requires.
type Provider struct {
	// Name is the module's own name for it, Source its address; empty when only a resource implies it.
	Name, Source string
	// Constraints are version constraints as written.
	Constraints []string
	// Dir is the module that requires it.
	Dir string
}

// Backend is where a root module would keep its state by itself.
type Backend struct {
	// Kind is the backend's type, such as "s3", or "cloud".
	Kind string
	// Position is that of the block.
	Position Position
}

// Variable is one that a root module declares.
type Variable struct {
	// Name is also that of the value that it is given.
	Name string
	// Type is its type expression as written, such as "list(string)"; empty when it takes any.
	Type string
	// Description is in its author's words; it may be empty.
	Description string
	// Required says that it has no default.
	Required bool
	// Sensitive says that Terraform does not show it.
	Sensitive bool
	// Position is that of the block.
	Position Position
}

// Module is a root module with all that it reads inside its tree.
type Module struct {
	// Dir is the root module's directory, relative and clean; "." for the root.
	Dir string
	// Dirs are the directories that make up the module, sorted; whatever lies below one of them belongs to it, so none of them
	// lies below another.
	Dirs []string
	// Remote are the calls that leave the tree, by position.
	Remote []RemoteSource
	// Providers are the requirements of all modules, by Dir and Name.
	Providers []Provider
	// Backend is what the root module declares; nil when it does not.
	Backend *Backend
	// Variables are those of the root module, by name.
	Variables []Variable
	// Outputs are the names of the root module's outputs, sorted.
	Outputs []string
	// Assigned are the names of the variables that files of the root module's directory set, which Terraform loads without
	// being asked: terraform.tfvars and *.auto.tfvars, also as .json. Sorted.
	Assigned []string
}

// Closure gives the Dirs and Remote of Read.
func Closure(fsys fs.FS, dir string) (dirs []string, remote []RemoteSource, err error) {
	module, err := Read(fsys, dir)
	if err != nil {
		return nil, nil, err
	}
	return module.Dirs, module.Remote, nil
}

// Read reads the module in dir of fsys and every local module that it calls. fsys is the whole tree (a repository); dir is
// relative to it. A file system with symbolic links should be an fs.ReadLinkFS, as os.DirFS and os.Root.FS are. Errors name the
// file and the line where there is one.
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

// reader walks from module to module, each directory once, so calls that go in a circle end; that Terraform then refuses them is
// its own business.
type reader struct {
	tree   tree
	module *Module
	seen   map[string]bool
}

// visit reads one module directory; from says who calls it, empty for the root.
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
		r.module.Providers = append(r.module.Providers, Provider{Name: name, Source: required.Source, Constraints: required.VersionConstraints, Dir: dir})
	}
	for _, name := range slices.Sorted(maps.Keys(parsed.ModuleCalls)) {
		called := parsed.ModuleCalls[name]
		at := Position{File: called.Pos.Filename, Line: called.Pos.Line}
		if err := r.call(dir, RemoteSource{Module: name, Source: called.Source, Version: called.Version, Position: at}); err != nil {
			return err
		}
	}
	return nil
}

// root notes what only the root module's own declarations decide.
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

// call follows one module block, or notes it when it leaves the tree.
func (r *reader) call(dir string, called RemoteSource) error {
	if called.Source == "" {
		return fmt.Errorf("%s: module %q has no source; give it one, such as \"../shared\"", called.Position, called.Module)
	}
	if !isLocal(called.Source) {
		r.module.Remote = append(r.module.Remote, called)
		return nil
	}
	target := path.Join(dir, called.Source)
	if !fs.ValidPath(target) || strings.Contains(called.Source, `\`) {
		return fmt.Errorf("%s: module %q calls %q, which leads out of the repository; move that module into it", called.Position, called.Module, called.Source)
	}
	return r.visit(target, fmt.Sprintf("%s: module %q: ", called.Position, called.Module))
}

// isLocal is Terraform's own rule: anything that does not start like this is an address to fetch from, also "shared" and
// "/srv/shared".
func isLocal(source string) bool {
	return strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../") ||
		strings.HasPrefix(source, `.\`) || strings.HasPrefix(source, `..\`)
}

// addLinked adds the directories that symbolic links of the closure lead to, until no link leads out of it.
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
			return fmt.Errorf("symbolic links of module %s lead to more than %d directories; split the component", r.module.Dir, maxModules)
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

// outermost drops every directory that lies below another one, and sorts.
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

// isBelow says whether name is dir or lies in it.
func isBelow(name, dir string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}
