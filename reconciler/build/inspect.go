package build

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// Shape is the recipe of a component as far as its config says it: without the code, which its Sources name.
func Shape(c *appconfig.Component) Recipe {
	shape := Recipe{Format: recipeFormat, Kind: c.Kind, Directory: "."}
	if c.Source != nil {
		shape.Directory = cmp.Or(c.Source.Directory, ".")
	}
	code, _ := c.Code()
	switch {
	case c.Terraform != nil:
		shape.TerraformVersion = c.Terraform.Version
	case c.Helm != nil && c.Source == nil && c.Helm.Repository != nil:
		shape.Chart = &Chart{Repository: c.Helm.Repository.RepoURL, Name: c.Helm.Repository.Chart, Version: c.Helm.Repository.Version}
	case c.Manifest != nil && c.Source == nil:
		shape.Manifest = digestOfText(c.Manifest.Text)
	case c.Manifest != nil && c.Manifest.Kustomize != nil:
		k := c.Manifest.Kustomize
		shape.Kustomize = &Kustomize{EnableHelm: k.EnableHelm, LoadRestrictor: k.LoadRestrictor, Patches: code.Patches}
		shape.Directory = code.Directory
	}
	return shape
}

// inspect works the recipe out, or the problem.
func (f *finding) inspect() {
	f.recipe = Shape(&f.config)
	if err := f.findSources(); err != nil {
		f.problem = err.Error()
		return
	}
	f.digest = f.recipe.Digest()
}

// findSources adds the directories of the component's code to its recipe.
func (f *finding) findSources() error {
	if f.inline {
		return nil
	}
	code, builds := f.config.Code()
	if !builds {
		return errors.New("the config names a repository without [kustomize]; add it, or write the objects as manifest")
	}
	found, err := code.Find(f.tree, f.url)
	if err != nil {
		return err
	}
	if found.Module != nil {
		if problem := f.app.ModuleProblem(f.config.Name, found.Module); problem != "" {
			return errors.New(problem)
		}
	}
	for _, dir := range found.Directories {
		hash, there := f.tree.Hash(dir)
		if !there {
			return fmt.Errorf("there is no directory %s in %s; commit it", dir, f.url)
		}
		f.recipe.Sources = append(f.recipe.Sources, Source{Directory: dir, Tree: hash})
	}
	return nil
}
