package docker

import (
	"archive/tar"
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules/registrytest"
)

// basePassword opens the registry of the base image.
const basePassword = "hidden-base-password"

// privateBase pushes an image to a registry with a login, and returns its name, its digest and the digest of its
// layer.
func (r *rig) privateBase(server *registrytest.Server) (name, digest, layer string) {
	r.t.Helper()
	server.Handle("/v2/", ocitest.Handler(""))
	server.Require("/v2/", basePassword)
	repository, err := oci.OpenClient(artifact.Reference{Host: server.Host, Repository: "acme/base"},
		oci.Basic("acme", basePassword), &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: server.Roots, MinVersion: tls.VersionTLS12}}})
	r.must(err)
	put := func(media string, content []byte) map[string]any {
		b := artifact.Blob{Digest: sha256digest.Of(content), Size: int64(len(content))}
		r.must(repository.PutBlob(r.t.Context(), b, bytes.NewReader(content)))
		return map[string]any{"mediaType": media, "digest": b.Digest, "size": b.Size}
	}
	var files bytes.Buffer
	archive := tar.NewWriter(&files)
	r.must(archive.WriteHeader(&tar.Header{Name: "base.txt", Mode: 0o644, Size: 4}))
	_, err = archive.Write([]byte("base"))
	r.must(err)
	r.must(archive.Close())
	layer = sha256digest.Of(files.Bytes())
	config, err := json.Marshal(map[string]any{"os": "linux", "architecture": runtime.GOARCH,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{layer}}})
	r.must(err)
	content, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": artifact.MediaImageManifest,
		"config": put("application/vnd.oci.image.config.v1+json", config),
		"layers": []any{put("application/vnd.oci.image.layer.v1.tar", files.Bytes())}})
	r.must(err)
	m := artifact.RawManifest{Digest: sha256digest.Of(content), MediaType: artifact.MediaImageManifest, Content: content}
	r.must(repository.PutRawManifest(r.t.Context(), m))
	r.must(repository.PutTag(r.t.Context(), m, "1"))
	return server.Host + "/acme/base:1", m.Digest, layer
}

// TestBuildahPrivateBase: FROM pulls an image with the logins of the builder, which are not in the image, and fails
// without them. The provenance names the image by its digest.
func TestBuildahPrivateBase(t *testing.T) {
	r := buildahRig(t)
	server := registrytest.New(t)
	name, digest, layer := r.privateBase(server)
	r.environ = append(r.environ, "SSL_CERT_FILE="+server.CertificateFile())
	r.spec.Dockerfile = "FROM " + name + "\nCOPY . /srv/\n"
	if built, err := r.build(); err == nil || !strings.Contains(err.Error(), "buildah could not build the image") ||
		!strings.Contains(r.log.String(), name) {
		t.Fatalf("without a login: %v, %v\n%s", built, err, &r.log)
	}
	logins := filepath.Join(t.TempDir(), "auth.json")
	content, err := json.Marshal(map[string]any{"auths": map[string]any{server.Host: map[string]string{
		"auth": base64.StdEncoding.EncodeToString([]byte("acme:" + basePassword))}}})
	r.must(err)
	r.must(os.WriteFile(logins, content, 0o600))
	r.environ = append(r.environ, "REGISTRY_AUTH_FILE="+logins)
	_, listed := r.mustBuild()
	config := r.config(listed)
	var parsed struct {
		RootFS struct {
			Layers []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
	r.must(json.Unmarshal([]byte(config), &parsed))
	if len(parsed.RootFS.Layers) != 2 || !slices.Contains(parsed.RootFS.Layers, layer) {
		t.Errorf("the image has the layers %v, and its base %s", parsed.RootFS.Layers, layer)
	}
	from := r.provenance(listed).BuildDefinition.ResolvedDependencies
	if len(from) != 2 || from[1].Name != name || "sha256:"+from[1].Digest["sha256"] != digest {
		t.Errorf("the provenance names %+v, and the base is %s", from, digest)
	}
	if strings.Contains(config+r.log.String(), basePassword) {
		t.Error("the password of the registry is in the image or in the log")
	}
}
