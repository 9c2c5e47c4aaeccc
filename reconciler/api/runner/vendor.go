package runner

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// VendorRegistry reads the vendor's OCI registry over HTTP with the reconciler's own credential. It never writes.
type VendorRegistry struct {
	// Base is the registry's URL without /v2: "http://127.0.0.1:7112".
	Base string
	// Prefix is what lies before the repositories that specs name: "dev/vendor"; may be empty.
	Prefix string
	// Credential gives user name and password for each request; nil for a registry that asks for none.
	Credential func(ctx context.Context) (username, password string, err error)
	// Client speaks to the registry; nil means http.DefaultClient, whose redirects lose the password when they leave the host.
	Client *http.Client
}

var _ Blobs = VendorRegistry{}

// manifestTypes are the manifests that are asked for.
const manifestTypes = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json"

// Open asks for the bytes of a digest. ErrNoBlob when the registry does not have them.
func (v VendorRegistry) Open(ctx context.Context, repository, digest string, kind BlobKind) (io.ReadCloser, int64, string, error) {
	path := strings.Trim(v.Prefix+"/"+repository, "/")
	address := strings.TrimRight(v.Base, "/") + "/v2/" + path + "/" + string(kind) + "/" + digest
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, "", fmt.Errorf("read %s of the vendor's registry: %w", digest, err)
	}
	// The bytes as they are: a transport that unpacks them on the way would change their digest.
	request.Header.Set("Accept-Encoding", "identity")
	if kind == Manifests {
		request.Header.Set("Accept", manifestTypes)
	}
	if v.Credential != nil {
		username, password, err := v.Credential(ctx)
		if err != nil {
			return nil, 0, "", fmt.Errorf("credential of the vendor's registry: %w", err)
		}
		request.SetBasicAuth(username, password)
	}
	client := v.Client
	if client == nil {
		client = http.DefaultClient
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, 0, "", fmt.Errorf("read %s of the vendor's registry: %w", digest, err)
	}
	switch answer.StatusCode {
	case http.StatusOK:
		mediaType := answer.Header.Get("Content-Type")
		if mediaType == "" {
			mediaType = "application/octet-stream"
		}
		return answer.Body, answer.ContentLength, mediaType, nil
	case http.StatusNotFound:
		err = ErrNoBlob
	default:
		err = fmt.Errorf("the vendor's registry answered %s", answer.Status)
	}
	_ = answer.Body.Close() // nothing of it is read
	return nil, 0, "", fmt.Errorf("read %s/%s@%s: %w", path, kind, digest, err)
}
