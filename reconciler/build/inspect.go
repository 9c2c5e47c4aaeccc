package build

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

// problem is why a component cannot be built, in words that are its problem as they are.
type problem struct{ words string }

func (p *problem) Error() string { return p.words }

func problemf(format string, args ...any) error { return &problem{fmt.Sprintf(format, args...)} }

// Shape is the recipe of a component as far as its config says it: without the code, which its Sources name.
func Shape(c *appconfig.Component) Recipe {
	shape := Recipe{Format: recipeFormat, Kind: c.Kind, Directory: "."}
	if c.Source != nil {
		shape.Directory = cmp.Or(c.Source.Directory, ".")
	}
	switch {
	case c.Terraform != nil:
		shape.TerraformVersion = c.Terraform.Version
	case c.Helm != nil && c.Source == nil && c.Helm.Repository != nil:
		shape.Chart = &Chart{Repository: c.Helm.Repository.RepoURL, Name: c.Helm.Repository.Chart, Version: c.Helm.Repository.Version}
	case c.Manifest != nil && c.Source == nil:
		shape.Manifest = digestOfText(c.Manifest.Text)
	case c.Manifest != nil && c.Manifest.Kustomize != nil:
		k := c.Manifest.Kustomize
		shape.Kustomize = &Kustomize{EnableHelm: k.EnableHelm, LoadRestrictor: k.LoadRestrictor}
		for _, patch := range k.Patches {
			shape.Kustomize.Patches = append(shape.Kustomize.Patches, path.Join(shape.Directory, patch))
		}
		shape.Directory = path.Join(shape.Directory, k.Path)
	}
	return shape
}

// inspect works the recipe out, or the problem.
func (f *finding) inspect() {
	f.recipe = Shape(&f.config)
	var err error
	switch {
	case f.inline:
	case f.config.Terraform != nil:
		err = f.module()
	case f.config.Helm != nil:
		err = f.chart()
	default:
		err = f.kustomization()
	}
	if err != nil {
		f.problem = err.Error()
		return
	}
	f.digest = f.recipe.Digest()
}

// place says what is missing when the directory of the code is not there. what it should hold is for the words.
func (f *finding) place(what string) error {
	if _, there := f.tree.Hash(f.recipe.Directory); !there {
		return problemf("there is no directory %s in %s; commit the %s there, or correct the directory in the component's config", f.recipe.Directory, f.url, what)
	}
	return nil
}

// sources notes the directories that the code consists of.
func (f *finding) sources(dirs []string) error {
	for _, dir := range dirs {
		hash, there := f.tree.Hash(dir)
		if !there {
			return problemf("there is no directory %s in %s; commit it", dir, f.url)
		}
		f.recipe.Sources = append(f.recipe.Sources, Source{Directory: dir, Tree: hash})
	}
	return nil
}

// module is a Terraform module with those that it calls.
func (f *finding) module() error {
	if err := f.place("module"); err != nil {
		return err
	}
	dirs, remote, err := tfmodule.Closure(f.tree, f.recipe.Directory)
	if err != nil {
		return err
	}
	if len(remote) > 0 {
		first := remote[0]
		return problemf("%s: module %q is fetched from %q, which a deploy must not do; copy it into the repository and call it by a path such as ../%s",
			first.Position, first.Module, first.Source, first.Module)
	}
	return f.sources(dirs)
}

// chart is a chart of a repository with those beside it that it depends on.
func (f *finding) chart() error {
	if err := f.place("chart"); err != nil {
		return err
	}
	dirs, err := chartDirectories(f.tree, f.recipe.Directory)
	if err != nil {
		return err
	}
	return f.sources(dirs)
}

// kustomization is what kustomize makes the objects from.
func (f *finding) kustomization() error {
	if f.recipe.Kustomize == nil {
		return problemf("the config names a repository without [kustomize]; add it, or write the objects as manifest")
	}
	if err := f.place("kustomization"); err != nil {
		return err
	}
	dirs, err := kustomizeDirectories(f.tree, f.recipe.Directory)
	if err != nil {
		return err
	}
	for _, patch := range f.recipe.Kustomize.Patches {
		if err := f.patch(patch); err != nil {
			return err
		}
		dirs = append(dirs, path.Dir(patch))
	}
	if f.recipe.Kustomize.LoadRestrictor == "none" { // it may read any file of the repository
		dirs = []string{"."}
	}
	slices.Sort(dirs)
	return f.sources(slices.Compact(dirs))
}

// patch looks whether a file that is laid over a kustomization is there.
func (f *finding) patch(name string) error {
	info, err := fs.Stat(f.tree, name)
	switch {
	case !fs.ValidPath(name):
		return problemf("the patch %s is outside of the repository; copy it into the repository", name)
	case errors.Is(err, fs.ErrNotExist):
		return problemf("there is no patch %s in %s; commit it, or correct kustomize.patches", name, f.url)
	case err != nil:
		return fmt.Errorf("read the patch %s: %w", name, err)
	case !info.Mode().IsRegular():
		return problemf("the patch %s is no file; name a file in kustomize.patches", name)
	}
	return nil
}
