package runner

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/oci"
)

// VendorRegistry reads the vendor's OCI registry over HTTP with the reconciler's own credential. It
// never writes.
type VendorRegistry struct {
	// Base is the registry's URL without /v2: "http://127.0.0.1:7112".
	Base string
	// Prefix precedes the repositories that specs name, such as "dev/vendor"; may be empty.
	Prefix string
	// Reader sends the requests with the reconciler's credential.
	Reader *oci.Reader
}

var _ Blobs = VendorRegistry{}

// manifestTypes are the accepted media types of manifests.
const manifestTypes = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, " +
	"application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json"

// Open requests the bytes of a digest, starting at from. It returns ErrNoBlob if the registry does
// not have them.
func (v VendorRegistry) Open(ctx context.Context, want Wanted, from int64) (Content, error) {
	repository := strings.Trim(v.Prefix+"/"+want.Repository, "/")
	request, err := v.request(ctx, repository, want, from)
	if err != nil {
		return Content{}, err
	}
	answer, err := v.Reader.Do(request, repository)
	if err != nil {
		return Content{}, fmt.Errorf("read %s of the vendor's registry: %w", want.Digest, err)
	}
	content, err := contentOf(answer, from)
	if err != nil {
		_ = answer.Body.Close() // nothing of it is read
		return Content{}, fmt.Errorf("read %s: %w", request.URL.Path, err)
	}
	return content, nil
}

func (v VendorRegistry) request(
	ctx context.Context, repository string, want Wanted, from int64,
) (*http.Request, error) {
	address := strings.TrimRight(v.Base, "/") + "/v2/" + repository + "/" + string(want.Kind) + "/" + want.Digest
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("read %s of the vendor's registry: %w", want.Digest, err)
	}
	// Unmodified bytes: a transport that decompresses them would change their digest.
	request.Header.Set("Accept-Encoding", "identity")
	if want.Kind == Manifests {
		request.Header.Set("Accept", manifestTypes)
	}
	if from > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	return request, nil
}

// contentOf converts a response to a request for the bytes starting at from.
func contentOf(answer *http.Response, from int64) (Content, error) {
	content := Content{Body: answer.Body, Size: answer.ContentLength, MediaType: answer.Header.Get("Content-Type")}
	if content.MediaType == "" {
		content.MediaType = "application/octet-stream"
	}
	switch answer.StatusCode {
	case http.StatusOK:
		return content, nil
	case http.StatusPartialContent:
		said := answer.Header.Get("Content-Range")
		if n, err := fmt.Sscanf(said, fmt.Sprintf("bytes %d-%%d/%%d", from), new(int64), &content.Size); n != 2 ||
			err != nil || content.Size <= from {
			return Content{},
				fmt.Errorf("the vendor's registry was asked for the bytes from %d on, and returned the range %.60q", from, said)
		}
		content.From = from
		return content, nil
	case http.StatusRequestedRangeNotSatisfiable:
		return Content{}, errNoRange
	case http.StatusNotFound:
		return Content{}, ErrNoBlob
	}
	return Content{}, fmt.Errorf("the vendor's registry answered %s", answer.Status)
}
