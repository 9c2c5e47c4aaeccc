package build

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/image"
)

// validImage checks the form of a reported resolution of an image.
func validImage(configured Image, made api.ModuleResolution) error {
	if made.Tool != image.Tool || len(made.Modules) != 1 {
		return errors.New("the runner reported no image")
	}
	found := made.Modules[0]
	if field := invalidField(found); field != "" {
		return fmt.Errorf("the runner reported an invalid %s of the image", field)
	}
	tag, digest, err := image.ParseTag(configured.Tag)
	if configured.UpdatePolicy != "" {
		tag, digest, err = found.Version, "", nil
	}
	switch {
	case err != nil:
		return err
	case !isImage(found), found.Source != configured.Repository,
		found.Constraint != cmp.Or(configured.Tag, configured.UpdatePolicy), found.Version != tag,
		digest != "" && found.Tree != digest:
		return fmt.Errorf("the runner reported an image other than %s", &configured)
	}
	return nil
}

// isImage reports whether an entry of a resolution is an image.
func isImage(m api.ResolvedModule) bool {
	return m.Key == image.ResolutionKey && strings.HasPrefix(m.Repository, image.CredentialScheme+"://")
}

// startsFrom reports whether a build of a recipe can start from an earlier resolution: module calls
// always can, and an image if the config still names the same.
func (r Recipe) startsFrom(start *api.ModuleResolution) bool {
	switch {
	case start == nil:
		return false
	case r.Image == nil:
		return start.Tool != image.Tool
	}
	return validImage(*r.Image, *start) == nil
}

// describeImage describes a newer image as a sentence.
func describeImage(c api.ModuleChange) string {
	if c.Before.Version == c.After.Version && c.After.Version != "" {
		return fmt.Sprintf("tag %s of %s moved from %s to %s", c.After.Version, c.After.Source, c.Before.Tree, c.After.Tree)
	}
	return fmt.Sprintf("%s %s → %s (%s)", c.After.Source, c.Before.Version, c.After.Version, c.After.Tree)
}
