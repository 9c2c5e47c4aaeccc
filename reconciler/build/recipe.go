package build

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/pkg/sourcedir"
)

// recipeFormat identifies the rules by which inputs are made. A change of what goes into an
// artifact changes recipeFormat, which rebuilds everything once.
const recipeFormat = "nuon.input.v1"

// Recipe is everything that a build of a component is made from: its kind, the build settings of
// its config, and the identity of its code. The place of the code (repository, branch, commit) is
// not part of it.
//
// The code is exactly one of Sources, a chart in a chart repository, the text of a manifest, or an
// image in a registry. The Sources of an image that is built are its context.
type Recipe struct {
	Format           string             `json:"format"`
	Kind             string             `json:"kind"`
	TerraformVersion string             `json:"terraform_version"` // of a Terraform module; empty for other kinds
	Directory        string             `json:"directory"`         // of the root module, chart or kustomization
	Sources          []sourcedir.Source `json:"sources"`           // all code of the component, sorted by directory
	Chart            *Chart             `json:"chart,omitempty"`
	Kustomize        *Kustomize         `json:"kustomize,omitempty"`
	Manifest         string             `json:"manifest,omitempty"` // digest of a text that is built unchanged
	Image            *Image             `json:"image,omitempty"`
	Docker           *Docker            `json:"docker,omitempty"`
	// Modules is the digest of the resolution that the builds start from; see component_inputs.resolution.
	Modules string `json:"modules,omitempty"`
	// Scripts are the files of a source of actions, for those who approve what runs. They are not part of the digest,
	// which has the trees that they are in.
	Scripts map[string]string `json:"scripts,omitempty"`
}

// Chart is a chart in a chart repository, as the config names it.
type Chart struct {
	Repository string `json:"repository"`
	Name       string `json:"chart"`
	Version    string `json:"version,omitempty"` // if empty, the newest version at the time of the build
}

// followsNewest reports whether the config leaves the version to the time of the build.
func (c *Chart) followsNewest() bool { return c != nil && c.Version == "" }

// String describes the chart for use in a sentence.
func (c *Chart) String() string {
	if c.followsNewest() {
		return fmt.Sprintf("the newest version of chart %s of %s", c.Name, c.Repository)
	}
	return fmt.Sprintf("chart %s %s of %s", c.Name, c.Version, c.Repository)
}

// Image is a container image, as the config names it.
type Image struct {
	Repository   string `json:"repository"`
	Tag          string `json:"tag,omitempty"`
	UpdatePolicy string `json:"update_policy,omitempty"` // instead of Tag
	// Keys are public keys, and Identities signers with certificates instead, of whom TrustedRoot vouches. One of
	// them must have signed the image; there are none if that does not matter.
	Keys        []string                   `json:"keys,omitempty"`
	Identities  []appconfig.SignerIdentity `json:"identities,omitempty"`
	TrustedRoot string                     `json:"trusted_root,omitempty"`
}

// source returns the image as a build runner gets it.
func (i *Image) source() api.ImageSource {
	s := api.ImageSource{Repository: i.Repository, Tag: i.Tag, UpdatePolicy: i.UpdatePolicy, Keys: i.Keys,
		TrustedRoot: i.TrustedRoot}
	for _, signer := range i.Identities {
		s.Identities = append(s.Identities, api.SignerIdentity(signer))
	}
	if len(s.Identities) > 0 {
		// A runner that knows no identities refuses this as a key, and builds nothing.
		s.Keys = append(slices.Clone(s.Keys), image.KeylessKey)
	}
	return s
}

// String describes the image for use in a sentence.
func (i *Image) String() string {
	if i.UpdatePolicy != "" {
		return fmt.Sprintf("the newest image %s that %q allows", i.Repository, i.UpdatePolicy)
	}
	return "image " + i.Repository + ":" + i.Tag
}

// Docker is how an image is built from its context.
type Docker struct {
	Dockerfile string            `json:"dockerfile,omitempty"` // its path below Directory; empty for one in the config
	Text       string            `json:"text"`
	Target     string            `json:"target,omitempty"`
	Args       map[string]string `json:"build_args,omitempty"`
	Platforms  []string          `json:"platforms,omitempty"`
	Secrets    []string          `json:"secrets,omitempty"` // their names
}

// fetched describes what a build fetches itself, for use in a sentence. It is empty for a build from
// packed source.
func (r Recipe) fetched() string {
	switch {
	case r.Chart != nil:
		return r.Chart.String()
	case r.Image != nil:
		return r.Image.String()
	}
	return ""
}

// Kustomize holds the options for kustomize, with paths relative to the repository.
type Kustomize struct {
	Patches        []string `json:"patches,omitempty"`
	EnableHelm     bool     `json:"enable_helm,omitempty"`
	LoadRestrictor string   `json:"load_restrictor"`
}

// Digest returns the digest of the recipe: "sha256:" and the hash of its JSON, which is canonical
// (fixed fields, sorted sources).
func (r Recipe) Digest() string {
	r.Scripts = nil
	return digestOf(r)
}

// SourceDigest returns the digest of the code alone.
func (r Recipe) SourceDigest() string {
	switch {
	case r.Chart != nil:
		return digestOf(r.Chart)
	case r.Manifest != "":
		return r.Manifest
	case r.Image != nil:
		return digestOf(r.Image)
	}
	return digestOf(r.Sources)
}

// directories returns the directories of the sources.
func (r Recipe) directories() []string {
	list := make([]string, len(r.Sources))
	for i, source := range r.Sources {
		list[i] = source.Directory
	}
	return list
}

// tree returns the tree hash of one of the directories.
func (r Recipe) tree(directory string) (string, bool) {
	for _, source := range r.Sources {
		if source.Directory == directory {
			return source.Tree, true
		}
	}
	return "", false
}

func digestOf(value any) string {
	// Strings in structs and slices always marshal.
	encoded, _ := json.Marshal(value)
	return sha256digest.Of(encoded)
}
