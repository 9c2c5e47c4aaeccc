package build

import (
	"cmp"
	"errors"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// BaseRecipe returns the recipe of a component as far as its config determines it, without the code in
// Sources.
func BaseRecipe(c *appconfig.Component) Recipe {
	shape := Recipe{Format: recipeFormat, Kind: c.Kind, Directory: "."}
	if c.Source != nil {
		shape.Directory = cmp.Or(c.Source.Directory, ".")
	}
	code, _ := c.Code()
	switch {
	case c.Terraform != nil:
		shape.TerraformVersion = c.Terraform.Version
	case c.Helm != nil && c.Source == nil && c.Helm.Repository != nil:
		shape.Chart = &Chart{
			Repository: c.Helm.Repository.RepoURL, Name: c.Helm.Repository.Chart, Version: c.Helm.Repository.Version,
		}
	case c.Image != nil:
		shape.Image = &Image{}
		shape.Image.Repository, shape.Image.Tag, shape.Image.UpdatePolicy = c.Image.Address()
		shape.Image.Keys, shape.Image.Identities, shape.Image.TrustedRoot = c.Image.Keys, c.Image.Identities,
			c.Image.TrustedRoot
	case c.Docker != nil:
		d := c.Docker
		shape.Docker = &Docker{Dockerfile: d.Dockerfile, Text: d.Contents, Target: d.Target, Args: d.Args,
			Platforms: d.Platforms, Secrets: d.Secrets}
	case c.Manifest != nil && c.Source == nil:
		shape.Manifest = sha256digest.Of([]byte(c.Manifest.Text))
	case c.Manifest != nil && c.Manifest.Kustomize != nil:
		k := c.Manifest.Kustomize
		shape.Kustomize = &Kustomize{EnableHelm: k.EnableHelm, LoadRestrictor: k.LoadRestrictor, Patches: code.Patches}
		shape.Directory = code.Directory
	}
	return shape
}

// inspect determines the recipe, or the problem.
func (f *candidate) inspect() {
	f.recipe = BaseRecipe(&f.config)
	if err := f.findSources(); err != nil {
		f.problem = err.Error()
		return
	}
	f.digest = f.recipe.Digest()
}

// findSources adds the directories of the component's code to its recipe.
func (f *candidate) findSources() error {
	if i := f.config.Image; i != nil && i.RequireSignature && (len(i.Keys)+len(i.Identities) == 0 ||
		len(i.Identities) > 0 && i.TrustedRoot == "") {
		// An app version of an earlier release of the program can be without them.
		return errors.New("verification.require_signature is true, and nobody may sign the image, or the trust root of " +
			"keyless signatures is missing; push the config again")
	}
	f.resolves = f.config.Image != nil
	if f.inline {
		return nil
	}
	found, err := f.app.FindCode(&f.config, f.tree, f.url)
	if err != nil {
		return err
	}
	if found.Module != nil && f.config.Kind == appconfig.KindSandbox {
		f.variables = appconfig.PassedVariables(found.Module)
	}
	f.resolves, f.skip = found.Module != nil && len(found.Module.Remote) > 0, found.Skip()
	if f.recipe.Docker != nil && f.recipe.Docker.Dockerfile != "" {
		f.recipe.Docker.Text = found.Dockerfile
	}
	f.recipe.Sources, err = found.Sources(f.tree, f.url)
	return err
}
