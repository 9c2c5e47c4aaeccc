package ocitest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// PutBlob pushes content, unless the repository has it, and returns its descriptor for a manifest.
func PutBlob(t testing.TB, to *oci.Repository, media string, content []byte) map[string]any {
	t.Helper()
	b := artifact.Blob{Digest: sha256digest.Of(content), Size: int64(len(content))}
	exists, err := to.HasBlob(t.Context(), b)
	if err == nil && !exists {
		err = to.PutBlob(t.Context(), b, bytes.NewReader(content))
	}
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"mediaType": media, "digest": b.Digest, "size": b.Size}
}

// Manifest encodes a manifest with these keys.
func Manifest(media string, keys map[string]any) artifact.RawManifest {
	keys["schemaVersion"], keys["mediaType"] = 2, media
	content, _ := json.Marshal(keys) // plain values always encode
	return artifact.RawManifest{Digest: sha256digest.Of(content), MediaType: media, Content: content}
}

// Descriptor returns the descriptor of a manifest for another manifest.
func Descriptor(m artifact.RawManifest) map[string]any {
	return map[string]any{"mediaType": m.MediaType, "digest": m.Digest, "size": len(m.Content)}
}
