package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/devcontract"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/registrylogin"
	"github.com/nuon-toolkit/nuon/reconciler/api/runner"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/garbage"
	"github.com/nuon-toolkit/nuon/reconciler/registry"
)

// vendorRegistry is the registry with the vendor's artifacts: the embedded one or the one in
// NUON_REGISTRY.
type vendorRegistry struct {
	reference artifact.Reference
	// credential returns user name and password at each use: the tokens of the embedded registry, and logins to
	// registries of clouds, expire. Both are empty for a registry that needs none.
	credential func(ctx context.Context) (username, password string, err error)
	client     *http.Client
	// deleter returns the credential that may delete; nil if credential may.
	deleter func(ctx context.Context) (username, password string, err error)
	// sweep frees the disk of the embedded registry.
	sweep func(ctx context.Context) (freed int64, err error)
}

// externalRegistry reads NUON_REGISTRY and the related variables. The reference is empty without
// them.
func externalRegistry(getenv func(string) string) (v vendorRegistry) {
	text := getenv("NUON_REGISTRY")
	if text == "" {
		return v
	}
	username, password := getenv("NUON_REGISTRY_USERNAME"), getenv("NUON_REGISTRY_PASSWORD")
	v.credential = func(context.Context) (string, string, error) { return username, password, nil }
	v.client = &http.Client{}
	// A malformed reference stays empty except for its text, which serve refuses.
	v.reference, _ = artifact.ParseReference(text, getenv("NUON_REGISTRY_PLAIN_HTTP") == "1")
	if v.reference.Host == "" {
		v.reference.Repository = text
	}
	if username == "" && password == "" && image.Cloud(v.reference.Host) != "" {
		session, err := registrylogin.New(v.reference.Host, registrylogin.Identity{}, nil)
		if err == nil { // it is a registry of a cloud
			v.credential, v.client.Transport = session.Credential, session.Transport(nil)
		}
	}
	return v
}

// serverTokenLife is how long each of the reconciler's own tokens for the embedded registry is valid.
const serverTokenLife = 10 * time.Minute

// embeddedRegistry returns the embedded registry as the reconciler itself uses it.
func embeddedRegistry(host string, signer registry.Signer, served *registry.Registry) vendorRegistry {
	credential := func(actions ...string) func(context.Context) (string, string, error) {
		return func(context.Context) (string, string, error) {
			return "reconciler", signer.Issue(devcontract.VendorNamespace, actions, time.Now().Add(serverTokenLife)), nil
		}
	}
	return vendorRegistry{
		reference:  artifact.Reference{Host: host, Repository: devcontract.VendorNamespace, PlainHTTP: true},
		credential: credential(registry.ActionPull, registry.ActionPush),
		client:     &http.Client{},
		deleter:    credential(registry.ActionPull, registry.ActionDelete),
		sweep:      served.Sweep,
	}
}

// garbage returns the registry for the deletion of what nothing needs.
func (v vendorRegistry) garbage() garbage.Registry {
	made := garbage.Registry{Base: v.reference, Client: v.client, Sweep: v.sweep}
	if image.ECRRegion(v.reference.Host) != "" {
		made.Unsupported = "Amazon ECR lets no client of the registry protocol delete: " +
			"give the repositories a lifecycle policy"
	}
	get := v.credential
	if v.deleter != nil {
		get = v.deleter
	}
	made.Credential = oci.Renewed(get)
	return made
}

// Check returns an error if the registry does not respond. A request for a credential is a
// response.
func (v vendorRegistry) Check(ctx context.Context) error {
	scheme := "https://"
	if v.reference.PlainHTTP {
		scheme = "http://"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+v.reference.Host+"/v2/", nil)
	if err != nil {
		return fmt.Errorf("query the registry: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("query the registry: %w; builds and deploys wait until it answers", err)
	}
	defer answer.Body.Close() //nolint:errcheck // nothing of it is read
	if answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusNotFound {
		return fmt.Errorf("the registry at %s answered %s; builds and deploys wait until it recovers",
			v.reference.Host, answer.Status)
	}
	return nil
}

// Push stores a packed source for build runners.
func (v vendorRegistry) Push(ctx context.Context, repository string, source artifact.Artifact) (string, error) {
	return build.Registry{Base: v.reference, Credential: oci.Renewed(v.credential), Client: v.client}.Push(ctx,
		repository, source)
}

// blobs returns the registry for use by the runner API.
func (v vendorRegistry) blobs() runner.VendorRegistry {
	scheme := "https://"
	if v.reference.PlainHTTP {
		scheme = "http://"
	}
	return runner.VendorRegistry{
		Base: scheme + v.reference.Host, Prefix: v.reference.Repository,
		Reader: oci.NewReader(v.reference.Host, oci.Renewed(v.credential), v.client),
	}
}
