package build

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci"
)

// SourceStore stores packed sources where build runners can pull them.
type SourceStore interface {
	// Push stores a packed source in a repository and returns its digest. It does not send content
	// that is already stored.
	Push(ctx context.Context, repository string, source artifact.Artifact) (digest string, err error)
}

// Registry is the vendor's registry as a SourceStore.
type Registry struct {
	// Base is the host and the prefix of the product's repositories.
	Base artifact.Reference
	// Credential may push there.
	Credential oci.Credential
	// Client sends the requests.
	Client *http.Client
}

// Push stores a packed source. An error of the registry is an *oci.Error.
func (r Registry) Push(ctx context.Context, repository string, source artifact.Artifact) (string, error) {
	opened, err := oci.OpenClient(r.Base.Child(repository), r.Credential, r.Client)
	if err != nil {
		return "", err
	}
	return opened.Push(ctx, source)
}

// sourceLimits bounds one packed source.
var sourceLimits = artifact.Limits{Files: 20_000, FileBytes: 32 << 20, TotalBytes: 128 << 20}

// manifestFile is the only file of a packed source that is a text of the config.
const manifestFile = "manifest.yaml"

// pack makes the source artifact of a finding: its directories at their paths in the repository,
// without the leftovers of local Terraform runs, or its text. The annotations identify what it was
// made from, never the commit or the time.
func (f *candidate) pack() (artifact.Artifact, error) {
	recipe := f.recipe
	files := []artifact.File{{Path: manifestFile}}
	if recipe.Manifest != "" {
		files[0].Content = []byte(f.config.Manifest.Text)
	} else {
		var err error
		if files, err = artifact.ReadFS(f.tree, artifact.ReadOptions{Limits: sourceLimits, Skip: f.skip}); err != nil {
			if recipe.Docker != nil && errors.Is(err, artifact.ErrTooLarge) {
				err = fmt.Errorf("%w; list what the image does not need in .dockerignore", err)
			}
			return artifact.Artifact{}, fmt.Errorf("pack the source: %w", err)
		}
		if recipe.Kind == appconfig.KindActionSource {
			f.recipe.Scripts = scriptFiles(files)
		}
	}
	return artifact.Pack(artifact.MediaSource, files, map[string]string{
		artifact.AnnotationTree:   recipe.SourceDigest(),
		artifact.AnnotationKind:   recipe.Kind,
		artifact.AnnotationFormat: recipe.Format,
	}, sourceLimits)
}
