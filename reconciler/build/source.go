package build

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// SourceStore keeps packed sources where build runners can pull them.
type SourceStore interface {
	// Push stores a packed source in a repository and gives its digest. What is there already is not sent again.
	Push(ctx context.Context, repository string, source artifact.Artifact) (digest string, err error)
}

// Registry is the vendor's registry as a SourceStore.
type Registry struct {
	// Base is the host and the prefix below which the product's repositories are.
	Base artifact.Reference
	// Credential may push there.
	Credential artifact.Credential
}

// Push stores a packed source. Errors are *artifact.Error when it was the registry that refused.
func (r Registry) Push(ctx context.Context, repository string, source artifact.Artifact) (string, error) {
	opened, err := artifact.Open(r.Base.Below(repository), r.Credential)
	if err != nil {
		return "", err
	}
	return opened.Push(ctx, source)
}

// sourceLimits bound one packed source.
var sourceLimits = artifact.Limits{Files: 20_000, FileBytes: 32 << 20, TotalBytes: 128 << 20}

// manifestFile is the one file of a packed source that is a text of the config.
const manifestFile = "manifest.yaml"

// pack makes the source artifact of what was found: its directories at their places in the repository, without what a local run of
// Terraform left behind, or its text. It carries what it was made from, never the commit or the time.
func (f *finding) pack() (artifact.Artifact, error) {
	recipe := f.recipe
	files := []artifact.File{{Path: manifestFile}}
	if recipe.Manifest != "" {
		files[0].Content = []byte(f.config.Manifest.Text)
	} else {
		code, _ := f.config.Code()
		var err error
		if files, err = artifact.ReadFS(f.tree, artifact.ReadOptions{Limits: sourceLimits, Skip: code.Skip(recipe.directories())}); err != nil {
			return artifact.Artifact{}, fmt.Errorf("pack the source: %w", err)
		}
	}
	return artifact.Pack(artifact.MediaSource, files, map[string]string{
		artifact.AnnotationTree:   recipe.SourceDigest(),
		artifact.AnnotationKind:   recipe.Kind,
		artifact.AnnotationFormat: recipe.Format,
	}, sourceLimits)
}
