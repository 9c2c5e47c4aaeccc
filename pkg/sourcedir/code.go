package sourcedir

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

// Kind is the kind of a component's code.
type Kind string

// The kinds of code.
const (
	Module        Kind = "module"
	Chart         Kind = "chart"
	Kustomization Kind = "kustomization"
	Scripts       Kind = "scripts"       // what the steps of actions run
	Context       Kind = "build context" // of an image
)

// Code locates the code of a component in its repository. Paths are slash paths from the root of
// the repository.
type Code struct {
	Kind      Kind
	Directory string
	Patches   []string // patch files for a kustomization
	// AnyFile is set for a kustomization that may read every file of the repository.
	AnyFile bool
	// Dockerfile is the path of the Dockerfile below the directory of a Context; empty for one that is
	// not in the repository.
	Dockerfile string
}

// Tree is a repository whose directories have git tree hashes. *gittree.Tree implements it.
type Tree interface {
	fs.FS
	// Hash returns the git tree hash of a directory, and false if the directory does not exist.
	Hash(dir string) (string, bool)
	// FileHash returns the git hash of a file or a link, and false if there is none.
	FileHash(name string) (string, bool)
}

// Source is one directory of a component's code.
type Source struct {
	Directory string `json:"directory"`
	Tree      string `json:"tree"` // git tree hash
}

// Sources returns the directories with their hashes. tree must be the tree in which they were
// found.
func (f Found) Sources(tree Tree, where string) ([]Source, error) {
	sources := make([]Source, 0, len(f.Directories))
	for _, dir := range f.Directories {
		hash, exists := tree.Hash(dir)
		if !exists {
			return nil, fmt.Errorf("there is no directory %s in %s; commit it", dir, where)
		}
		if f.ignored != nil {
			var err error
			if hash, err = f.contextHash(tree, dir); err != nil {
				return nil, err
			}
		}
		sources = append(sources, Source{Directory: dir, Tree: hash})
	}
	return sources, nil
}

// Found is the code that Find found in a repository.
type Found struct {
	Directories []string         // everything that belongs to the code, sorted
	Module      *tfmodule.Module // nil for other kinds
	// Dockerfile is the text of the Dockerfile of a Context, if that is in the repository.
	Dockerfile string

	kind    Kind
	ignored *ignoreFile // of a Context; nil without one
}

// MissingError reports that the directory of the code does not exist. Where names the repository in
// the message.
type MissingError struct {
	Code  Code
	Where string
}

func (e *MissingError) Error() string {
	config := "component's"
	if e.Code.Kind == Scripts {
		config = "action's"
	}
	return fmt.Sprintf("there is no directory %s in %s; commit the %s there, or correct the directory in the %s config",
		e.Code.Directory, e.Where, e.Code.Kind, config)
}

// Find reads the code from the tree of a repository; where names the repository in messages. Its
// errors are for the author of the code: they name the file and what to change.
func (c Code) Find(tree fs.FS, where string) (Found, error) {
	if !fs.ValidPath(c.Directory) || !isDirectory(tree, c.Directory) {
		return Found{}, &MissingError{Code: c, Where: where}
	}
	found, err := c.find(tree, where)
	found.kind = c.Kind
	return found, err
}

func (c Code) find(tree fs.FS, where string) (Found, error) {
	switch c.Kind {
	case Context:
		return c.context(tree, where)
	case Module:
		return c.module(tree)
	case Chart:
		dirs, err := chartDirectories(tree, c.Directory)
		return Found{Directories: dirs}, err
	case Scripts:
		dirs, err := scriptDirectories(tree, c.Directory)
		return Found{Directories: dirs}, err
	default:
		return c.kustomization(tree, where)
	}
}

func isDirectory(tree fs.FS, name string) bool {
	info, err := lstat(tree, name)
	return err == nil && info.IsDir()
}

func (c Code) module(tree fs.FS) (Found, error) {
	module, err := tfmodule.Read(tree, c.Directory)
	if err != nil {
		return Found{}, err
	}
	return Found{Directories: module.Dirs, Module: module}, nil
}

func (c Code) kustomization(tree fs.FS, where string) (Found, error) {
	dirs, err := kustomizeDirectories(tree, c.Directory)
	if err != nil {
		return Found{}, err
	}
	for _, patch := range c.Patches {
		if err := checkPatch(tree, patch, where); err != nil {
			return Found{}, err
		}
		dirs = append(dirs, path.Dir(patch))
	}
	if c.AnyFile {
		dirs = []string{"."}
	}
	slices.Sort(dirs)
	return Found{Directories: slices.Compact(dirs)}, nil
}

// checkPatch reports a patch file that does not exist.
func checkPatch(tree fs.FS, name, where string) error {
	info, err := fs.Stat(tree, name)
	switch {
	case !fs.ValidPath(name):
		return fmt.Errorf("the patch %s is outside of the repository; copy it into the repository", name)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no patch %s in %s; commit it, or correct kustomize.patches", name, where)
	case err != nil:
		return fmt.Errorf("read the patch %s: %w", name, err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("the patch %s is no file; name a file in kustomize.patches", name)
	}
	return nil
}

// Outside returns a filter that is true for paths that are neither in one of dirs nor on the way to
// one.
func Outside(dirs []string) func(name string, entry fs.DirEntry) bool {
	return func(name string, entry fs.DirEntry) bool {
		for _, dir := range dirs {
			if isBelow(name, dir) || entry.IsDir() && isBelow(dir, name) {
				return false
			}
		}
		return true
	}
}

// Skip returns the filter for packing or comparing the code: Outside and, for a module, also the files
// that a local Terraform run leaves behind, and for a Context what its ignore file lists.
func (f Found) Skip() func(name string, entry fs.DirEntry) bool {
	outside := Outside(f.Directories)
	switch {
	case f.kind == Module:
		return tfmodule.Outside(f.Directories)
	case f.ignored != nil:
		return func(name string, entry fs.DirEntry) bool { return outside(name, entry) || f.ignored.skips(name, entry) }
	}
	return outside
}

// isBelow reports whether a clean path is dir or inside of it.
func isBelow(name, dir string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}
