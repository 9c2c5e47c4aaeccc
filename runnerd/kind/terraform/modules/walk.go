package modules

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/filetree"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

// The files that Terraform writes and reads, relative to the component's directory.
const (
	modulesDir   = ".terraform/modules"
	manifestName = modulesDir + "/modules.json"
)

// place is a module that was found: a directory of the repository or of a package.
type place struct {
	tree fs.FS
	// pack is the package of tree; nil for the repository.
	pack *pack
	dir  string
	// key is the path of the call; empty for the root module. owner is the key of the call that
	// fetched the package.
	key, owner string
	// installed is the directory where Terraform finds the module, relative to the component's.
	installed string
	// via is the call that leads to it; nil for the root module.
	via *call
	// within are the identities of the modules that call it, from the root.
	within []string
}

// identity identifies the content of a module, to find modules that call themselves.
func (p place) identity() string {
	dir := p.dir
	if p.pack == nil {
		return "repository//" + dir
	}
	if real, err := p.pack.tree.Real(dir); err == nil {
		dir = real
	}
	return p.pack.digest + "//" + dir
}

// call is a module block that is followed.
type call struct {
	block tfmodule.Call
	key   string
	from  place
	// module and pack are set by fetchCall.
	module Module
	pack   *pack
}

// explain returns the error of a call with its position.
func (c *call) explain(err error) error {
	if err == nil {
		return nil
	}
	return &CallError{Key: c.key, Position: c.block.Position, Caller: c.from.owner, Name: c.block.Name,
		Source: c.block.Source, Err: err}
}

// walk collects the modules of a run.
type walk struct {
	run     *run
	result  *Result
	pending []*call // to be fetched
	count   int     // of calls
	entries []entry
	files   int
	bytes   int64
}

// entry is a line of the manifest (Terraform's internal/modsdir).
type entry struct {
	Key     string `json:"Key"`
	Source  string `json:"Source"`
	Version string `json:"Version,omitempty"`
	Dir     string `json:"Dir"`
}

// visit reads the calls of a module. It follows local ones at once and appends the others to
// pending.
func (w *walk) visit(at place) error {
	explain := func(err error) error { return err }
	if at.via != nil {
		explain = at.via.explain
	} else {
		w.entries = append(w.entries, entry{Dir: "."})
	}
	identity := at.identity()
	if slices.Contains(at.within, identity) {
		return explain(problemf("take one of these calls out", "the module calls itself"))
	}
	if len(at.within) > w.run.limits.Depth {
		return explain(problemf("call fewer modules through others", "it is called through more than %d others",
			w.run.limits.Depth))
	}
	blocks, found, err := tfmodule.Calls(at.tree, at.dir)
	if err != nil && at.pack != nil {
		return explain(fmt.Errorf("the module cannot be read: %w", err))
	}
	if err != nil {
		return explain(err)
	}
	if !found {
		return explain(problemf("name the directory that has them", "there are no .tf files in %s",
			diagnostic.Quote(at.dir)))
	}
	at.within = append(slices.Clone(at.within), identity)
	for _, block := range blocks {
		if err := w.follow(at, block); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) follow(at place, block tfmodule.Call) error {
	made := &call{block: block, key: block.Name, from: at}
	if at.key != "" {
		made.key = at.key + "." + block.Name
	}
	if w.count++; w.count > w.run.limits.Calls {
		return made.explain(problemf("split the component", "more than %d modules are called", w.run.limits.Calls))
	}
	// The name becomes a part of a path.
	if !hclsyntax.ValidIdentifier(block.Name) || len(made.key) > 200 {
		return made.explain(problemf("use letters, digits, _ and -, and a shorter name", "this is no name of a module"))
	}
	if !block.IsLocal() {
		w.pending = append(w.pending, made)
		return nil
	}
	if block.Version != "" {
		return made.explain(problemf("remove version", "version is only for modules from a registry"))
	}
	dir := path.Join(at.dir, block.Source)
	if !fs.ValidPath(dir) || strings.Contains(block.Source, `\`) {
		return made.explain(outside(at))
	}
	if at.pack != nil {
		if _, err := at.pack.tree.Real(dir); errors.Is(err, filetree.ErrOutside) {
			return made.explain(outside(at))
		}
	}
	if info, err := fs.Stat(at.tree, dir); err != nil || !info.IsDir() {
		return made.explain(problemf("check the path", "there is no directory %s", diagnostic.Quote(dir)))
	}
	next := place{tree: at.tree, pack: at.pack, dir: dir, key: made.key, owner: at.owner,
		installed: path.Join(at.installed, block.Source), via: made, within: at.within}
	w.entries = append(w.entries, entry{Key: made.key, Source: block.Source, Dir: next.installed})
	return w.visit(next)
}

func outside(at place) error {
	if at.pack == nil {
		return problemf("move that module into the repository", "the path leads out of the repository")
	}
	return problemf("ask the owner of the package to fix it, or use another version",
		"the path leads out of the package")
}

// enter installs the package of a fetched call, and visits its module.
func (w *walk) enter(c *call) error {
	at := path.Join(modulesDir, c.key)
	for _, file := range c.pack.files {
		w.files++
		w.bytes += int64(len(file.Content))
		if err := w.run.limits.checkTotal(w.files, w.bytes); err != nil {
			return c.explain(err)
		}
		file.Path = path.Join(at, file.Path)
		w.result.Files = append(w.result.Files, file)
	}
	next := place{tree: c.pack.tree, pack: c.pack, dir: c.module.Directory, key: c.key, owner: c.key,
		installed: path.Join(at, c.module.Directory), via: c, within: c.from.within}
	w.entries = append(w.entries, entry{Key: c.key, Source: w.manifestSource(c), Version: c.module.Version,
		Dir: next.installed})
	w.result.Resolution.Modules = append(w.result.Resolution.Modules, c.module)
	return w.visit(next)
}

// manifestSource returns the source for the manifest. Terraform compares its normal form with that of
// the configuration.
func (w *walk) manifestSource(c *call) string {
	at, err := parseSource(c.block.Source, w.run.options.Tool)
	if err != nil || at.registry == nil {
		return c.block.Source
	}
	text := at.registry.String()
	if at.subdir != "" {
		text += "//" + at.subdir
	}
	return text
}

// finish sorts the result and adds the manifest.
func (w *walk) finish() error {
	w.result.Resolution.sort()
	if len(w.result.Resolution.Modules) == 0 {
		return nil
	}
	slices.SortFunc(w.entries, func(a, b entry) int { return cmp.Compare(a.Key, b.Key) })
	manifest, err := json.Marshal(struct{ Modules []entry }{w.entries})
	if err != nil {
		return fmt.Errorf("write %s: %w", manifestName, err)
	}
	w.result.Files = append(w.result.Files, artifact.File{Path: manifestName, Content: append(manifest, '\n')})
	slices.SortFunc(w.result.Files, func(a, b artifact.File) int { return cmp.Compare(a.Path, b.Path) })
	return nil
}

// withoutOwn leaves out git's own files, and those that a run of Terraform left in a package.
func withoutOwn(files []artifact.File) []artifact.File {
	return slices.DeleteFunc(slices.Clone(files), func(file artifact.File) bool {
		for step := range strings.SplitSeq(file.Path, "/") {
			if step == ".git" || step == ".terraform" {
				return true
			}
		}
		return false
	})
}

// joinSubdir joins the directory of a location and one below it; either may be empty.
func joinSubdir(outer, inner string) string {
	return strings.Trim(path.Join(outer, inner), "/")
}

// moduleDir returns the directory of a module in its package, without wildcards.
func moduleDir(in *pack, subdir string) (string, error) {
	wanted := joinSubdir(in.subdir, subdir)
	if wanted == "" {
		return ".", nil
	}
	dirs := []string{"."}
	for step := range strings.SplitSeq(wanted, "/") {
		var next []string
		for _, dir := range dirs {
			found, err := matchDirs(in.tree, dir, step)
			if err != nil {
				return "", err
			}
			next = append(next, found...)
		}
		dirs = next
	}
	switch len(dirs) {
	case 0:
		return "", problemf("check what follows // in the source", "the package has no directory %s",
			diagnostic.Quote(wanted))
	case 1:
		return dirs[0], nil
	}
	return "", problemf("write the directory without wildcards", "%d directories of the package match %s", len(dirs),
		diagnostic.Quote(wanted))
}

// matchDirs returns the directories in dir that match one step of a path with wildcards.
func matchDirs(tree *filetree.Tree, dir, step string) ([]string, error) {
	if !strings.ContainsAny(step, "*?[") {
		name := path.Join(dir, step)
		real, err := tree.Real(name)
		if errors.Is(err, filetree.ErrOutside) || errors.Is(err, filetree.ErrCircle) {
			return nil, problemf("ask the owner of the package to fix it", "the path of the module %s",
				oneLine(errors.Unwrap(err).Error()))
		}
		if err != nil || !tree.IsDir(real) {
			return nil, nil //nolint:nilerr // it is missing
		}
		return []string{name}, nil
	}
	real, err := tree.Real(dir)
	if err != nil {
		return nil, nil //nolint:nilerr // it is missing
	}
	var found []string
	for _, name := range tree.Names(real) {
		matches, err := path.Match(step, name)
		if err != nil {
			return nil, problemf("check what follows // in the source", "%s is no pattern", diagnostic.Quote(step))
		}
		if at, err := tree.Real(path.Join(real, name)); matches && err == nil && tree.IsDir(at) {
			found = append(found, path.Join(dir, name))
		}
	}
	return found, nil
}
