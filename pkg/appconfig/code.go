package appconfig

import (
	"cmp"
	"path"

	"github.com/nuon-toolkit/nuon/pkg/sourcedir"
)

// Code returns where in the repository of its Source the code of a component is. It returns false for a component that is built
// from its config alone or is of a kind that nuon does not build, and for a manifest with a repository but no [kustomize].
func (c *Component) Code() (sourcedir.Code, bool) {
	if c.Source == nil {
		return sourcedir.Code{}, false
	}
	code := sourcedir.Code{Directory: cmp.Or(c.Source.Directory, ".")}
	switch {
	case c.Terraform != nil:
		code.Kind = sourcedir.Module
	case c.Helm != nil:
		code.Kind = sourcedir.Chart
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
