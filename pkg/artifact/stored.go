package artifact

import (
	"fmt"
	"strings"
)

// This file names what a registry stores: repositories, blobs and manifests, also those of other programs.

// Reference names one repository of one registry.
type Reference struct {
	// Host is the registry's name and port, without a scheme: "127.0.0.1:7112".
	Host string
	// Repository is the path on that host: "dev/vendor/hello/network".
	Repository string
	// PlainHTTP selects HTTP without TLS. It is for the embedded registry only.
	PlainHTTP bool
}

// ParseReference parses "host/path", the format of the NUON_REGISTRY variable and the control API.
// It accepts no scheme, tag or digest.
func ParseReference(text string, plainHTTP bool) (Reference, error) {
	host, repository, found := strings.Cut(text, "/")
	if !found || host == "" || repository == "" || strings.Contains(text, "://") || strings.Contains(text, "@") {
		return Reference{}, fmt.Errorf(
			"%q is not a registry repository; write it as host/path, without scheme, tag or digest", text)
	}
	return Reference{Host: host, Repository: repository, PlainHTTP: plainHTTP}, nil
}

// Child returns the repository with that name below this one.
func (r Reference) Child(name string) Reference {
	r.Repository = strings.Trim(r.Repository+"/"+name, "/")
	return r
}

// String returns "host/repository".
func (r Reference) String() string { return r.Host + "/" + r.Repository }

// Blob identifies bytes that a registry stores.
type Blob struct {
	Digest string
	Size   int64 // bytes
}

// MaxManifestBytes bounds a manifest of an image. Registries accept at most 4 MiB.
const MaxManifestBytes = 4 << 20

// The types of manifests of images: those of the OCI, and the same of Docker.
const (
	MediaIndex          = "application/vnd.oci.image.index.v1+json"
	MediaImageManifest  = "application/vnd.oci.image.manifest.v1+json"
	MediaDockerIndex    = "application/vnd.docker.distribution.manifest.list.v2+json"
	MediaDockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
)

// RawManifest is a manifest as its registry stores it.
type RawManifest struct {
	Digest, MediaType string
	Content           []byte
}
