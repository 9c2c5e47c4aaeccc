package module

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// access is VendorRegistry or InstallRegistry of job.Env.
type access func() (artifact.Reference, artifact.Credential, error)

func repository(registry access, name string) (*artifact.Repository, error) {
	reference, credential, err := registry()
	if err != nil {
		return nil, err
	}
	if name == "" || path.Clean("/"+name) != "/"+name || strings.ContainsAny(name, "@:") {
		return nil, fmt.Errorf("%q is not the name of a repository; this is a fault of the control plane, report it", name)
	}
	return artifact.Open(reference.Below(name), credential)
}

func pull(ctx context.Context, registry access, from api.ArtifactRef) (artifact.Artifact, error) {
	opened, err := repository(registry, from.Repository)
	if err != nil {
		return artifact.Artifact{}, err
	}
	return opened.Pull(ctx, from.Digest)
}

func push(ctx context.Context, registry access, name string, pushed artifact.Artifact) (api.ArtifactRef, error) {
	opened, err := repository(registry, name)
	if err != nil {
		return api.ArtifactRef{}, err
	}
	digest, err := opened.Push(ctx, pushed)
	if err != nil {
		return api.ArtifactRef{}, err
	}
	return api.ArtifactRef{Repository: name, Digest: digest}, nil
}
