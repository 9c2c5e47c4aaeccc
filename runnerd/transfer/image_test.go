package transfer

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// imageRig is a rig whose vendor has an image with a signature, in a real registry.
type imageRig struct {
	*rig
	vendor    *oci.Repository
	image     image.Image
	root      artifact.RawManifest // of the image
	signature artifact.RawManifest
	ref       api.ArtifactRef
	kind      string // of the component; default container_image
	server    *httptest.Server
	served    atomic.Int64 // requests to the vendor
}

func newImageRig(t testing.TB) *imageRig {
	t.Helper()
	r := &imageRig{rig: newRig(t, 10)}
	registry := ocitest.Handler("")
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.served.Add(1)
		registry.ServeHTTP(w, request)
	}))
	t.Cleanup(r.server.Close)
	var err error
	if r.vendor, err = r.registryOf().Open(vendorRepository); err != nil {
		t.Fatal(err)
	}
	r.root = r.push(artifact.MediaImageManifest, map[string]any{"layers": []any{r.blob(strings.Repeat("layer", 100_000))}})
	r.signature = r.push(artifact.MediaImageManifest, map[string]any{"layers": []any{r.blob("signature")},
		"artifactType": "application/vnd.example.signature",
		"subject":      ocitest.Descriptor(r.root)})
	r.image.Repository, r.image.Tag, r.image.Digest = "ghcr.io/acme/api", "1.4", r.root.Digest
	r.image.Tags = []image.Tag{{Name: image.SignatureTags(r.root.Digest)[0], Digest: r.signature.Digest}}
	packed, err := r.image.Pack(nil)
	if err != nil {
		t.Fatal(err)
	}
	r.offer(packed)
	return r
}

// offer pushes an artifact to the vendor, which is what the next copy is of.
func (r *imageRig) offer(packed artifact.Artifact) {
	r.t.Helper()
	var err error
	if r.ref, err = r.registryOf().Push(r.t.Context(), vendorRepository, packed); err != nil {
		r.t.Fatal(err)
	}
}

func (r *imageRig) registryOf() *job.Registry {
	return &job.Registry{Reference: artifact.Reference{Host: strings.TrimPrefix(r.server.URL, "http://"), PlainHTTP: true}}
}

// blob pushes bytes to the vendor and returns their descriptor.
func (r *imageRig) blob(content string) map[string]any {
	r.t.Helper()
	return ocitest.PutBlob(r.t, r.vendor, "text/plain", []byte(content))
}

// push pushes a manifest to the vendor and adds it to the image.
func (r *imageRig) push(media string, keys map[string]any) artifact.RawManifest {
	r.t.Helper()
	keys["config"] = r.blob("{}")
	m := ocitest.Manifest(media, keys)
	if err := r.vendor.PutRawManifest(r.t.Context(), m); err != nil {
		r.t.Fatal(err)
	}
	listed := image.Manifest{Digest: m.Digest, MediaType: media, Size: int64(len(m.Content))}
	for _, d := range append(keys["layers"].([]any), keys["config"]) {
		d := d.(map[string]any)
		listed.Blobs = append(listed.Blobs, image.Blob{Digest: d["digest"].(string), Size: d["size"].(int64)})
	}
	r.image.Manifests = append(r.image.Manifests, listed)
	return m
}

// copy runs the handler once, to a repository of the install.
func (r *imageRig) copy(to string) error {
	env := r.env()
	env.Vendor, env.Spec.Sync.From, env.Spec.Sync.To = r.registryOf(), r.ref, to
	env.Spec.Sync.ComponentKind = cmp.Or(r.kind, appconfig.KindContainerImage)
	_, err := Sync{}.Run(r.t.Context(), env)
	return err
}

// TestAnImageIsCopiedToTheInstall: blobs, manifests, what refers to them, and tags.
func TestAnImageIsCopiedToTheInstall(t *testing.T) {
	r := newImageRig(t)
	if err := r.copy(installRepository); err != nil {
		t.Fatal(err)
	}
	to, err := r.env().Install.Open(installRepository)
	if err != nil {
		t.Fatal(err)
	}
	root, err := to.Manifest(t.Context(), "1.4-"+strings.TrimPrefix(r.image.Digest, "sha256:")[:12])
	if err != nil || root.Digest != r.image.Digest {
		t.Errorf("the tag names %s: %v", root.Digest, err)
	}
	signed, err := to.Manifest(t.Context(), r.image.Tags[0].Name)
	if err != nil || !bytes.Equal(signed.Content, r.signature.Content) {
		t.Errorf("the signature is %s: %v", signed.Content, err)
	}
	if refer, err := to.Referrers(t.Context(), root, 5); err != nil || fmt.Sprint(refer) != "["+r.signature.Digest+"]" {
		t.Errorf("%v refer to the image: %v", refer, err)
	}
	for _, b := range r.image.Blobs() {
		if there, err := to.HasBlob(t.Context(), b); err != nil || !there {
			t.Errorf("%s: %v %v", b.Digest, there, err)
		}
	}
	r.nothingLeft()

	sent := r.stored.Load()
	r.server.Close() // no request may be made to the vendor
	if err := r.copy(installRepository); err != nil || r.stored.Load() != sent {
		t.Errorf("again: %d bytes, %v", r.stored.Load()-sent, err)
	}
}

// TestABlobOfAnImageThatWasLostIsBroughtBack: a registry that lost a layer but has the manifests gets the
// layer again.
func TestABlobOfAnImageThatWasLostIsBroughtBack(t *testing.T) {
	r := newImageRig(t)
	if err := r.copy(installRepository); err != nil {
		t.Fatal(err)
	}
	lost := r.image.Blobs()[0]
	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete,
		r.install.URL+"/v2/"+installRepository+"/blobs/"+lost.Digest, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil || answer.StatusCode != http.StatusAccepted {
		t.Fatal(answer, err)
	}
	_ = answer.Body.Close()
	if err := r.copy(installRepository); err != nil {
		t.Fatal(err)
	}
	to, err := r.env().Install.Open(installRepository)
	if err != nil {
		t.Fatal(err)
	}
	if there, err := to.HasBlob(t.Context(), lost); err != nil || !there {
		t.Errorf("the blob is there: %v %v", there, err)
	}
}

// TestAnImageThatTheVendorLost: the error names the blob and what to do.
func TestAnImageThatTheVendorLost(t *testing.T) {
	r := newImageRig(t)
	r.image.Manifests[0].Blobs[0].Digest = sha256digest.Of([]byte("lost"))
	packed, err := r.image.Pack(nil)
	if err != nil {
		t.Fatal(err)
	}
	r.offer(packed)
	if err := r.copy(installRepository); err == nil || !strings.Contains(err.Error(), "does not have") ||
		!strings.Contains(err.Error(), "build web anew") {
		t.Errorf("got %v", err)
	}
}

// TestTheTagOfAnImageIsNeverMoved checks that a copy that a control plane requests cannot change what workloads run:
// the tag of an image keeps naming it, also if only the digits of the digest in the tag agree.
func TestTheTagOfAnImageIsNeverMoved(t *testing.T) {
	r := newImageRig(t)
	to, err := r.env().Install.Open(installRepository)
	if err != nil {
		t.Fatal(err)
	}
	other := ocitest.Manifest(artifact.MediaImageManifest, map[string]any{
		"config": ocitest.PutBlob(t, to, "text/plain", []byte("{}")), "layers": []any{}})
	if err := to.PutTag(t.Context(), other, r.image.InstallTag()); err != nil {
		t.Fatal(err)
	}
	if err := r.copy(installRepository); err == nil || !strings.Contains(err.Error(), "is never moved") {
		t.Errorf("got %v", err)
	}
	if named, err := to.Resolve(t.Context(), r.image.InstallTag()); err != nil || named != other.Digest {
		t.Errorf("the tag names %s, not %s: %v", named, other.Digest, err)
	}
	signatures := r.image.Tags[0].Name
	if err := to.PutTag(t.Context(), other, signatures); err != nil {
		t.Fatal(err)
	}
	if err := to.PutTag(t.Context(), r.root, r.image.InstallTag()); err != nil {
		t.Fatal(err)
	}
	if err := r.copy(installRepository); err != nil {
		t.Fatal(err)
	}
	if named, err := to.Resolve(t.Context(), signatures); err != nil || named != r.signature.Digest {
		t.Errorf("an image that was signed again keeps its old signature: %s, %v", named, err)
	}
}

// TestOnlyComponentsWithAnImageCopyOne checks that the kind of the job decides what is copied, which the runner's owner
// allows by kind, and not the artifact that the control plane names.
func TestOnlyComponentsWithAnImageCopyOne(t *testing.T) {
	r := newImageRig(t)
	for _, kind := range []string{appconfig.KindTerraformModule, appconfig.KindHelmChart, "unknown"} {
		r.kind = kind
		if err := r.copy(installRepository); err == nil || !strings.Contains(err.Error(), "nothing was copied") ||
			r.stored.Load() > 0 {
			t.Errorf("%s: %d bytes were stored, %v", kind, r.stored.Load(), err)
		}
	}
	r.kind = appconfig.KindDockerBuild
	if err := r.copy(installRepository); err != nil {
		t.Error(err)
	}
	r.offer(r.packed)
	if err := r.copy(installRepository); err == nil || !strings.Contains(err.Error(), "nothing was copied") {
		t.Errorf("a chart: %v", err)
	}
}
