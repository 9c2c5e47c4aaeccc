package transfer

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/pkg/testbuffer"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// rig is a vendor's side that misbehaves, a real registry of an install, and
// a runner between them.
type rig struct {
	t    testing.TB
	root string
	log  testbuffer.Buffer
	// silence is the time without a byte after which a response is abandoned; by default never.
	silence time.Duration

	vendor *httptest.Server
	packed artifact.Artifact
	parts  oci.Parts

	layers atomic.Int64 // requests for the layer
	bytes  atomic.Int64 // of the layer that were sent
	// answer, if set, handles requests for the layer. It returns false to have
	// one handled normally.
	answer func(w http.ResponseWriter, r *http.Request) bool

	install *httptest.Server
	stored  atomic.Int64 // bytes of request bodies that the install's registry got
	// refuse, if set, handles a request to the install's registry when it returns true.
	refuse func(w http.ResponseWriter, r *http.Request) bool
}

const (
	vendorRepository  = "dev/builds/web"
	installRepository = "dev/installs/acme/artifacts/web"
)

// newRig returns a rig with an artifact whose layer has size bytes.
func newRig(t testing.TB, size int) *rig {
	t.Helper()
	r := &rig{t: t, root: t.TempDir()}
	layer := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(layer) // never fails
	r.packed = artifact.Wrap(artifact.MediaChart, layer, map[string]string{artifact.AnnotationKind: "helm_chart"})
	manifest, err := r.packed.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	r.parts = oci.Parts{Digest: r.packed.Digest(), Manifest: manifest,
		Layer: artifact.Blob{Digest: sha256digest.Of(layer), Size: int64(size)}}
	r.vendor = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.vendor.Close)
	r.install = httptest.NewServer(r.registry())
	t.Cleanup(r.install.Close)
	return r
}

// serve answers the vendor's side as the runner API does.
func (r *rig) serve(w http.ResponseWriter, request *http.Request) {
	_, token, _ := strings.Cut(request.Header.Get("Authorization"), "Bearer ")
	switch {
	case token != "attempt-token":
		w.WriteHeader(http.StatusUnauthorized)
	case request.URL.Path == "/v2/"+vendorRepository+"/manifests/"+r.parts.Digest:
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		w.Header().Set("Content-Length", fmt.Sprint(len(r.parts.Manifest)))
		_, _ = w.Write(r.parts.Manifest)
	case request.URL.Path == "/v2/"+vendorRepository+"/blobs/"+r.parts.Layer.Digest:
		r.layers.Add(1)
		counted := counting{w, &r.bytes}
		if r.answer == nil || !r.answer(counted, request) {
			http.ServeContent(counted, request, "", time.Time{}, bytes.NewReader(r.packed.Layer))
		}
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// counting counts the bytes that are written to a response.
type counting struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (c counting) Write(part []byte) (int, error) {
	n, err := c.ResponseWriter.Write(part)
	c.bytes.Add(int64(n))
	return n, err
}

// cut sends after bytes of the response, and breaks the connection.
func (r *rig) cut(w http.ResponseWriter, request *http.Request, after int) {
	var from int
	if said := request.Header.Get("Range"); said != "" {
		if _, err := fmt.Sscanf(said, "bytes=%d-", &from); err != nil {
			r.t.Error(err)
		}
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(r.packed.Layer)-1, len(r.packed.Layer)))
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(r.packed.Layer)-from))
	if from > 0 {
		w.WriteHeader(http.StatusPartialContent)
	}
	_, _ = w.Write(r.packed.Layer[from:min(from+after, len(r.packed.Layer))])
	if counted, is := w.(counting); is {
		_ = http.NewResponseController(counted.ResponseWriter).Flush()
	}
	panic(http.ErrAbortHandler)
}

// registry returns the handler of the install's registry.
func (r *rig) registry() http.Handler {
	registry := ocitest.Handler(r.t.TempDir())
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.stored.Add(max(request.ContentLength, 0))
		if r.refuse == nil || !r.refuse(w, request) {
			registry.ServeHTTP(w, request)
		}
	})
}

// env returns the Env that the job process passes to the handler.
func (r *rig) env() *job.Env {
	host := func(s *httptest.Server) artifact.Reference {
		return artifact.Reference{Host: strings.TrimPrefix(s.URL, "http://"), PlainHTTP: true}
	}
	secrets := &redact.Set{}
	at := timing.From(5 * time.Millisecond)
	at.LongPollSilence = cmp.Or(r.silence, testtime.Limit) // a busy machine may stall, too
	return &job.Env{
		Spec: api.JobSpec{Kind: api.JobSpecKindSync, Sync: api.SyncSpec{
			Component: "web", From: api.ArtifactRef{Repository: vendorRepository, Digest: r.parts.Digest}, To: installRepository,
		}},
		Root: r.root, Log: job.NewLog(&r.log, secrets), Redact: secrets, Timing: at,
		Vendor:  &job.Registry{Reference: host(r.vendor), Credential: oci.Bearer("attempt-token")},
		Install: &job.Registry{Reference: host(r.install)},
	}
}

// sync runs the handler once.
func (r *rig) sync() error {
	_, err := Sync{}.Run(r.t.Context(), r.env())
	return err
}

// copied fails unless the install's registry has the whole artifact, and no
// file of the copy is left.
func (r *rig) copied() {
	r.t.Helper()
	env := r.env()
	got, err := env.Install.Pull(r.t.Context(), api.ArtifactRef{Repository: installRepository, Digest: r.parts.Digest})
	if err != nil || !bytes.Equal(got.Layer, r.packed.Layer) {
		r.t.Fatalf("%d bytes, %v\n%s", len(got.Layer), err, &r.log)
	}
	r.nothingLeft()
}

func (r *rig) nothingLeft() {
	r.t.Helper()
	if left, err := filepath.Glob(filepath.Join(Dir(r.root), "*")); err != nil || len(left) > 0 {
		r.t.Errorf("left behind: %v %v", left, err)
	}
}

// file returns the path of the layer while it is copied.
func (r *rig) file() string {
	return filepath.Join(Dir(r.root), strings.ReplaceAll(r.parts.Layer.Digest, ":", "-"))
}

// away returns an address without a server.
func away(t *testing.T) artifact.Reference {
	t.Helper()
	listening, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listening.Close() }()
	return artifact.Reference{Host: listening.Addr().String(), PlainHTTP: true}
}
