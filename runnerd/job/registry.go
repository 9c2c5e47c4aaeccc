package job

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/registrylogin"
)

// Registry is an artifact registry with this job's credential for it. The repositories
// of a spec are below Reference. A nil Registry means that the runner has none;
// its methods return an error.
type Registry struct {
	Reference  artifact.Reference
	Credential oci.Credential
	// Login, if set, replaces Credential: the runner's identity in the cloud of the registry.
	Login *registrylogin.Session
}

// Pull fetches an artifact and verifies its digest.
func (r *Registry) Pull(ctx context.Context, from api.ArtifactRef) (artifact.Artifact, error) {
	opened, err := r.Open(from.Repository)
	if err != nil {
		return artifact.Artifact{}, err
	}
	return opened.Pull(ctx, from.Digest)
}

// Push stores an artifact in a repository. It does not send again what the
// repository already has.
func (r *Registry) Push(ctx context.Context, name string, pushed artifact.Artifact) (api.ArtifactRef, error) {
	opened, err := r.Open(name)
	if err != nil {
		return api.ArtifactRef{}, err
	}
	digest, err := opened.Push(ctx, pushed)
	if err != nil {
		return api.ArtifactRef{}, err
	}
	return api.ArtifactRef{Repository: name, Digest: digest}, nil
}

// Open returns one of the repositories below Reference. It checks the name,
// which comes from a spec.
func (r *Registry) Open(name string) (*oci.Repository, error) {
	if r == nil {
		return nil, errors.New("this runner has no registry; start it with NUON_REGISTRY=host/path, and " +
			"NUON_REGISTRY_USERNAME and NUON_REGISTRY_PASSWORD where it asks for them")
	}
	if name == "" || path.Clean("/"+name) != "/"+name || strings.ContainsAny(name, "@:") {
		return nil, fmt.Errorf("%q is not the name of a repository; this is a bug in the control plane; report it", name)
	}
	if r.Login != nil {
		return oci.OpenClient(r.Reference.Child(name), oci.Renewed(r.Login.Credential),
			&http.Client{Transport: r.Login.Transport(nil)})
	}
	return oci.Open(r.Reference.Child(name), r.Credential)
}
