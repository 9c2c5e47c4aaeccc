package appconfig

import (
	"cmp"
	"errors"
	"io/fs"
	"path"

	"github.com/nuon-toolkit/nuon/pkg/sourcedir"
)

// Code returns the location of a component's code in the repository of its Source. It returns
// false for a component that is built from its config alone or is of a kind that nuon does not
// build, and for a manifest with a repository but without [kustomize].
func (c *Component) Code() (sourcedir.Code, bool) {
	if c.Source == nil {
		return sourcedir.Code{}, false
	}
	code := sourcedir.Code{Directory: cmp.Or(c.Source.Directory, ".")}
	switch {
	case c.Kind == KindActionSource:
		code.Kind = sourcedir.Scripts
	case c.Terraform != nil:
		code.Kind = sourcedir.Module
	case c.Helm != nil:
		code.Kind = sourcedir.Chart
	case c.Docker != nil:
		code.Kind, code.Dockerfile = sourcedir.Context, c.Docker.Dockerfile
	case c.Manifest != nil && c.Manifest.Kustomize != nil:
		k := c.Manifest.Kustomize
		code.Kind, code.AnyFile = sourcedir.Kustomization, k.LoadRestrictor == "none"
		for _, patch := range k.Patches {
			code.Patches = append(code.Patches, path.Join(code.Directory, patch))
		}
		code.Directory = path.Join(code.Directory, k.Path)
	default:
		return sourcedir.Code{}, false
	}
	return code, true
}

// Sources returns the directories that a component is built from, each with its git tree hash, in
// the tree of its repository. where names the repository in messages. The error explains why the
// code cannot be built. The sources and the build settings in the config are the complete input
// of a build.
func (a *App) Sources(c *Component, tree sourcedir.Tree, where string) ([]sourcedir.Source, error) {
	found, err := a.FindCode(c, tree, where)
	if err != nil {
		return nil, err
	}
	return found.Sources(tree, where)
}

// FindCode reads the code that a component is built from, and checks that its config fits to it. The
// parameters and the error are those of Sources.
func (a *App) FindCode(c *Component, tree sourcedir.Tree, where string) (sourcedir.Found, error) {
	code, builds := c.Code()
	if !builds {
		return sourcedir.Found{}, errors.New("the config names a repository without [kustomize]; add it, " +
			"or write the objects as manifest")
	}
	found, err := code.Find(tree, where)
	if err != nil {
		return sourcedir.Found{}, err
	}
	if found.Module != nil {
		if problem := a.ModuleMismatch(c.Name, found.Module); problem != "" {
			return sourcedir.Found{}, errors.New(problem)
		}
	}
	if c.Kind == KindActionSource {
		if err := a.checkCommands(c, tree, where); err != nil {
			return sourcedir.Found{}, err
		}
	}
	return found, nil
}

// checkCommand returns an error if a command runs a file that its directory does not have.
func checkCommand(directory, command string, tree fs.FS, where string) error {
	file, err := CommandFile(directory, command)
	if err != nil || file == "" {
		return err
	}
	return sourcedir.CheckProgram(tree, file, where)
}
