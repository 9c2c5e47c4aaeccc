package oci

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// errNoDeletion is the cause of an error whose reason is NoDeletion.
var errNoDeletion = errors.New("it does not support the deletion of manifests")

// Delete deletes the manifest with a digest, and its tags. It succeeds if there is none. Errors are *Error; the
// reason is NoDeletion for a registry that lets no client delete.
func (r *Repository) Delete(ctx context.Context, digest string) error {
	if err := sha256digest.Check(digest); err != nil {
		return fmt.Errorf("delete from %s: %w", r.reference, err)
	}
	if err := r.deleteManifest(ctx, digest); err != nil {
		return r.explain("delete", digest, err)
	}
	return nil
}

func (r *Repository) deleteManifest(ctx context.Context, digest string) error {
	ctx = auth.AppendRepositoryScope(ctx, r.remote.Reference, auth.ActionPull, auth.ActionDelete)
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, r.url("manifests/"+digest), nil)
	if err != nil {
		return err
	}
	response, err := r.remote.Client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent, http.StatusNotFound:
		return nil
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return fmt.Errorf("%w: %w", errNoDeletion, errorResponse(response))
	}
	return errorResponse(response)
}
