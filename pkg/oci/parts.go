package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	godigest "github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// This file copies an artifact from one registry to another in parts, so that its layer need not be
// in memory and the transfer can be resumed.

// Parts is an artifact without the bytes of its layer.
type Parts struct {
	// Digest is the digest of Manifest. It identifies the artifact.
	Digest string
	// Type is the artifact type of the manifest.
	Type artifact.Media
	// Manifest contains the exact bytes of the manifest.
	Manifest []byte
	// Layer identifies the only layer.
	Layer artifact.Blob
}

func blobDescriptor(b artifact.Blob) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: "application/octet-stream", Digest: godigest.Digest(b.Digest), Size: b.Size}
}

// Parts fetches the manifest of the artifact with that digest and checks it against the digest. It
// rejects manifests that nuon does not create, and layers above the limit. Errors are *Error.
func (r *Repository) Parts(ctx context.Context, digest string) (Parts, error) {
	if err := sha256digest.Check(digest); err != nil {
		return Parts{}, fmt.Errorf("look up in %s: %w", r.reference, err)
	}
	_, reader, err := r.remote.Manifests().FetchReference(ctx, digest)
	if err != nil {
		return Parts{}, r.explain("pull", digest, err)
	}
	manifest, err := readChecked(reader, digest, maxManifestBytes)
	if err != nil {
		return Parts{}, r.explain("pull", digest, fmt.Errorf("manifest: %w", err))
	}
	parts, err := partsOf(manifest, digest)
	if err == nil && parts.Layer.Size > r.limit() {
		err = fmt.Errorf("%w: the layer has %d bytes, at most %d are allowed", artifact.ErrTooLarge, parts.Layer.Size,
			r.limit())
	}
	if err != nil {
		return Parts{}, r.explain("pull", digest, err)
	}
	return parts, nil
}

func partsOf(manifest []byte, digest string) (Parts, error) {
	parsed, layer, err := artifact.ParseManifest(manifest)
	if err != nil {
		return Parts{}, err
	}
	return Parts{Digest: digest, Type: parsed.Type, Manifest: manifest, Layer: layer}, nil
}

// HasBlob reports whether the repository has the blob. Errors are *Error.
func (r *Repository) HasBlob(ctx context.Context, blob artifact.Blob) (bool, error) {
	exists, err := r.remote.Blobs().Exists(ctx, blobDescriptor(blob))
	if err != nil {
		return false, r.explain("look up", blob.Digest, err)
	}
	return exists, nil
}

// Fetch returns the bytes of a blob from offset, or from the start if the registry does not support
// ranges; at is the offset of the first returned byte. The bytes are not verified: the caller
// compares the digest of the whole blob. The caller closes body. Errors are *Error, also those of
// body.
func (r *Repository) Fetch(ctx context.Context, blob artifact.Blob, offset int64) (
	body io.ReadCloser, start int64, err error) {
	response, err := r.get(ctx, blob, offset)
	if err == nil && response.StatusCode == http.StatusRequestedRangeNotSatisfiable && offset > 0 {
		_ = response.Body.Close()
		response, err = r.get(ctx, blob, 0)
	}
	if err != nil {
		return nil, 0, r.explain("pull", blob.Digest, err)
	}
	if start, err = rangeStart(response, offset); err == nil && response.ContentLength >= 0 &&
		start+response.ContentLength != blob.Size {
		err = fmt.Errorf("%w: it has %d bytes there, and should have %d",
			artifact.ErrDamaged, start+response.ContentLength, blob.Size)
	}
	if err != nil {
		_ = response.Body.Close()
		return nil, 0, r.explain("pull", blob.Digest, err)
	}
	return &blobReader{ReadCloser: response.Body, repository: r, digest: blob.Digest}, start, nil
}

// get requests a blob from offset.
func (r *Repository) get(ctx context.Context, blob artifact.Blob, offset int64) (*http.Response, error) {
	ctx = auth.AppendRepositoryScope(ctx, r.remote.Reference, auth.ActionPull)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url("blobs/"+blob.Digest), nil)
	if err != nil {
		return nil, err
	}
	// Request the bytes without compression: an offset into a compressed response would point
	// elsewhere.
	request.Header.Set("Accept-Encoding", "identity")
	if offset > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	return r.remote.Client.Do(request)
}

// rangeStart returns the offset of the first byte of a response.
func rangeStart(response *http.Response, offset int64) (int64, error) {
	switch response.StatusCode {
	case http.StatusOK:
		return 0, nil
	case http.StatusPartialContent:
		contentRange := response.Header.Get("Content-Range")
		if !strings.HasPrefix(contentRange, fmt.Sprintf("bytes %d-", offset)) {
			return 0, fmt.Errorf("the registry was asked for the bytes from %d on, and returned the range %.60q", offset,
				contentRange)
		}
		return offset, nil
	}
	return 0, errorResponse(response)
}

// errorResponse converts an unsuccessful response to the error type of the registry client.
func errorResponse(response *http.Response) error {
	result := &errcode.ErrorResponse{Method: response.Request.Method, URL: response.Request.URL,
		StatusCode: response.StatusCode}
	var body struct {
		Errors errcode.Errors `json:"errors"`
	}
	if raw, err := io.ReadAll(io.LimitReader(response.Body, maxManifestBytes)); err == nil &&
		json.Unmarshal(raw, &body) == nil {
		result.Errors = body.Errors
	}
	return result
}

// blobReader is a body whose errors name the registry.
type blobReader struct {
	io.ReadCloser
	repository *Repository
	digest     string
}

// Read reads the next bytes.
func (b *blobReader) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.repository.explain("pull", b.digest, err)
	}
	return n, err
}

// PutBlob stores the bytes of a blob, which the registry checks against its digest. Errors are
// *Error.
func (r *Repository) PutBlob(ctx context.Context, blob artifact.Blob, content io.Reader) error {
	if err := r.remote.Blobs().Push(ctx, blobDescriptor(blob), content); err != nil {
		return r.explain("push", blob.Digest, err)
	}
	return nil
}

// PutManifest stores the manifest of an artifact whose layer is already in the registry. It does
// not send what the registry already has. Errors are *Error.
func (r *Repository) PutManifest(ctx context.Context, parts Parts) error {
	descriptor := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: godigest.Digest(parts.Digest),
		Size: int64(len(parts.Manifest))}
	if err := r.pushEmptyConfig(ctx); err != nil {
		return r.explain("push", parts.Digest, err)
	}
	exists, err := r.remote.Manifests().Exists(ctx, descriptor)
	if err != nil {
		return r.explain("look up", parts.Digest, err)
	}
	if exists {
		return nil
	}
	if err := r.remote.Manifests().Push(ctx, descriptor, bytes.NewReader(parts.Manifest)); err != nil {
		return r.explain("push", parts.Digest, err)
	}
	return nil
}
