package build

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// recipeFormat names the rules by which inputs are made. A change of what goes into an artifact changes it, and builds everything
// once more.
const recipeFormat = "nuon.input.v1"

// Recipe is everything that a build of a component is made from: its kind, what its config says about building, and its code by
// identity. Where the code was found (repository, branch, commit) is no part of it.
type Recipe struct {
	Format           string   `json:"format"`
	Kind             string   `json:"kind"`
	TerraformVersion string   `json:"terraform_version"`
	Directory        string   `json:"directory"` // of the root module
	Sources          []Source `json:"sources"`   // all that the module consists of, sorted by directory
}

// Source is one directory of a component's code.
type Source struct {
	Directory string `json:"directory"`
	Tree      string `json:"tree"` // git tree hash
}

// Digest names the recipe: "sha256:" and the hash of its JSON, which has one form (fixed fields, sorted sources).
func (r Recipe) Digest() string { return digestOf(r) }

// SourceDigest names the code alone.
func (r Recipe) SourceDigest() string { return digestOf(r.Sources) }

// directories are those of the sources.
func (r Recipe) directories() []string {
	list := make([]string, len(r.Sources))
	for i, source := range r.Sources {
		list[i] = source.Directory
	}
	return list
}

// tree gives the tree hash of one of the directories.
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
	sum := sha256.Sum256(encoded)
	return "sha256:" + hex.EncodeToString(sum[:])
}
