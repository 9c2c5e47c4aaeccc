package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	godigest "github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// This file reads and writes content that other programs made, such as container images.

// maxTags bounds the tags of a repository that are read, and maxPages the answers that list them, or
// that list what refers to an image.
const (
	maxTags  = 100_000
	maxPages = 1000
)

// manifestTypes are the types of manifests that are read and written.
var manifestTypes = []string{artifact.MediaIndex, artifact.MediaImageManifest, artifact.MediaDockerIndex,
	artifact.MediaDockerManifest}

func manifestDescriptor(m artifact.RawManifest) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: m.MediaType, Digest: godigest.Digest(m.Digest), Size: int64(len(m.Content))}
}

// Manifest fetches the manifest with a digest or a tag. It checks the digest, the size and the type.
// Errors are *Error.
func (r *Repository) Manifest(ctx context.Context, reference string) (artifact.RawManifest, error) {
	made, err := r.manifest(ctx, reference)
	if err != nil {
		return artifact.RawManifest{}, r.explain("pull", reference, err)
	}
	return made, nil
}

func (r *Repository) manifest(ctx context.Context, reference string) (artifact.RawManifest, error) {
	ctx = auth.AppendRepositoryScope(ctx, r.remote.Reference, auth.ActionPull)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url("manifests/"+reference), nil)
	if err != nil {
		return artifact.RawManifest{}, err
	}
	request.Header.Set("Accept", strings.Join(manifestTypes, ", "))
	response, err := r.remote.Client.Do(request)
	if err != nil {
		return artifact.RawManifest{}, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return artifact.RawManifest{}, errorResponse(response)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, artifact.MaxManifestBytes+1))
	if err != nil {
		return artifact.RawManifest{}, err
	}
	if len(content) > artifact.MaxManifestBytes {
		return artifact.RawManifest{}, fmt.Errorf("%w: the manifest has more than %d MiB", artifact.ErrTooLarge,
			artifact.MaxManifestBytes>>20)
	}
	made := artifact.RawManifest{Digest: sha256digest.Of(content), Content: content}
	claimed := response.Header.Get("Docker-Content-Digest")
	if sha256digest.Check(reference) == nil {
		claimed = reference
	}
	if made.MediaType, err = manifestType(response, content); err != nil {
		return artifact.RawManifest{}, err
	}
	if claimed != "" && claimed != made.Digest {
		return artifact.RawManifest{}, fmt.Errorf("%w: asked for %s, got bytes of %s", artifact.ErrDamaged, claimed,
			made.Digest)
	}
	return made, nil
}

// ErrNotRegistry is wrapped when a server answers with something else than a registry would, and
// ErrUnsupported when content is of a kind that nuon does not handle.
var (
	ErrNotRegistry = errors.New("it does not answer as a registry")
	ErrUnsupported = errors.New("unsupported content")
)

// manifestType returns the type of a manifest: the one in it, which must be that of the response.
func manifestType(response *http.Response, content []byte) (string, error) {
	stated, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	var inside struct {
		MediaType string `json:"mediaType"`
	}
	broken := json.Unmarshal(content, &inside)
	switch {
	case err == nil && (stated == "text/html" || stated == "text/plain" || broken != nil):
		return "", fmt.Errorf("%w: it sent %.60s instead of a manifest", ErrNotRegistry, stated)
	case broken != nil:
		return "", fmt.Errorf("%w: it sent no manifest", ErrNotRegistry)
	case err != nil || !slices.Contains(manifestTypes, stated):
		return "", fmt.Errorf("%w: manifests of type %.100q are not copied", ErrUnsupported, stated)
	case inside.MediaType != "" && inside.MediaType != stated:
		return "", fmt.Errorf("%w: the registry calls the manifest %.100q, and the manifest itself is %.100q",
			artifact.ErrDamaged, stated, inside.MediaType)
	}
	return stated, nil
}

// url returns the address of something in the repository.
func (r *Repository) url(below string) string {
	scheme := "https"
	if r.reference.PlainHTTP {
		scheme = "http"
	}
	return fmt.Sprintf("%s://%s/v2/%s/%s", scheme, r.remote.Reference.Host(), r.remote.Reference.Repository, below)
}

// Resolve returns the digest of the manifest with a tag, or "" if there is none. Errors are *Error.
func (r *Repository) Resolve(ctx context.Context, tag string) (string, error) {
	found, err := r.remote.Manifests().Resolve(ctx, tag)
	if errors.Is(err, errdef.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", r.explain("look up", tag, err)
	}
	return found.Digest.String(), nil
}

// HasManifest reports whether the repository has the manifest. Errors are *Error.
func (r *Repository) HasManifest(ctx context.Context, m artifact.RawManifest) (bool, error) {
	exists, err := r.remote.Manifests().Exists(ctx, manifestDescriptor(m))
	if err != nil {
		return false, r.explain("look up", m.Digest, err)
	}
	return exists, nil
}

// PutRawManifest stores a manifest. What it names must be in the registry already. A registry without
// the referrers API gets the manifest into the list of what refers to its subject. Errors are *Error.
func (r *Repository) PutRawManifest(ctx context.Context, m artifact.RawManifest) error {
	if err := r.remote.Manifests().Push(ctx, manifestDescriptor(m), bytes.NewReader(m.Content)); err != nil {
		return r.explain("push", m.Digest, err)
	}
	return nil
}

// PutTag makes a tag name a manifest that the repository has. Errors are *Error.
func (r *Repository) PutTag(ctx context.Context, m artifact.RawManifest, tag string) error {
	if err := r.remote.Manifests().PushReference(ctx, manifestDescriptor(m), bytes.NewReader(m.Content), tag); err != nil {
		return r.explain("push", tag, err)
	}
	return nil
}

// Mount makes a blob of another repository of the registry a blob of this one, and reports whether the
// registry did so. Errors are *Error.
func (r *Repository) Mount(ctx context.Context, blob artifact.Blob, from artifact.Reference) (bool, error) {
	notMounted := errors.New("not mounted")
	upload := func() (io.ReadCloser, error) { return nil, notMounted }
	err := r.remote.Mount(ctx, blobDescriptor(blob), from.Repository, upload)
	if errors.Is(err, notMounted) {
		return false, nil
	}
	if err != nil {
		return false, r.explain("mount", blob.Digest, err)
	}
	return true, nil
}

// Tags returns the tags of the repository. Errors are *Error.
func (r *Repository) Tags(ctx context.Context) ([]string, error) {
	var all []string
	pages := 0
	err := r.remote.Tags(ctx, "", func(tags []string) error {
		all = append(all, tags...)
		if pages++; len(all) > maxTags || pages > maxPages {
			return fmt.Errorf("%w: the repository has more than %d tags", artifact.ErrTooLarge, maxTags)
		}
		return nil
	})
	if err != nil {
		return nil, r.explain("list the tags of", r.reference.Repository, err)
	}
	return all, nil
}

// withoutReferrers are the answers, besides 404, of registries without the referrers API.
var withoutReferrers = []int{http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotImplemented}

// Referrers returns the digests of the manifests that, as the registry says, refer to one, such as
// signatures. It reads the list by tag from a registry without the referrers API. Errors are *Error.
func (r *Repository) Referrers(ctx context.Context, m artifact.RawManifest, limit int) ([]string, error) {
	var all []string
	list := func() error {
		return r.remote.Referrers(ctx, manifestDescriptor(m), "", func(found []ocispec.Descriptor) error {
			for _, one := range found {
				all = append(all, one.Digest.String())
			}
			if len(all) > limit {
				return fmt.Errorf("%w: more than %d manifests refer to it", artifact.ErrTooLarge, limit)
			}
			return nil
		})
	}
	err := list()
	var refused *errcode.ErrorResponse
	if errors.As(err, &refused) && slices.Contains(withoutReferrers, refused.StatusCode) &&
		r.remote.SetReferrersCapability(false) == nil {
		err = list()
	}
	if err != nil {
		return nil, r.explain("list what refers to", m.Digest, err)
	}
	return all, nil
}

// maxSmallBlob bounds a blob that is read into memory.
const maxSmallBlob = 4 << 20

// Blob fetches a small blob and checks its digest. Errors are *Error.
func (r *Repository) Blob(ctx context.Context, blob artifact.Blob) ([]byte, error) {
	body, _, err := r.Fetch(ctx, blob, 0)
	if err != nil {
		return nil, err
	}
	content, err := readChecked(body, blob.Digest, maxSmallBlob)
	if err != nil {
		return nil, r.explain("pull", blob.Digest, err)
	}
	return content, nil
}
