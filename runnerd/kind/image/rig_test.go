package image

import (
	"context"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/registrylogin"
	"github.com/nuon-toolkit/nuon/pkg/testbuffer"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

const (
	mediaConfig = "application/vnd.oci.image.config.v1+json"
	mediaLayer  = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// rig is a source registry that misbehaves, a vendor's registry, and a build runner between them.
type rig struct {
	t    testing.TB
	root string
	log  testbuffer.Buffer

	source *httptest.Server
	from   *oci.Repository // of the source, without the misbehavior
	// answer, if set, handles requests to the source. It returns false to have one handled normally.
	answer   func(w http.ResponseWriter, r *http.Request) bool
	requests atomic.Int64 // to the source

	vendor *httptest.Server
	stored atomic.Int64 // bytes of blobs that the vendor's registry got
	mounts atomic.Int64 // requests to mount a blob
	// refuse, if set, handles a request to the vendor's registry when it returns true.
	refuse func(w http.ResponseWriter, r *http.Request) bool

	credential job.ModuleCredential
	// logins are the identities for which a login was requested; each gets the user AWS with the password s3cret.
	logins []registrylogin.Identity
	asked  []string // addresses for which a credential was looked up
	hosts  string   // that may be private
}

const (
	sourceName = "acme/api"
	vendorName = "org/builds/api"
)

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, root: t.TempDir(), hosts: "127.0.0.1"}
	registry := ocitest.Handler(t.TempDir())
	r.source = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.requests.Add(1)
		if r.answer == nil || !r.answer(w, request) {
			registry.ServeHTTP(w, request)
		}
	}))
	t.Cleanup(r.source.Close)
	plain := httptest.NewServer(registry)
	t.Cleanup(plain.Close)
	r.from = r.open(plain, sourceName)
	stored := ocitest.Handler(t.TempDir())
	r.vendor = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPut && strings.Contains(request.URL.Path, "/blobs/") {
			r.stored.Add(max(request.ContentLength, 0))
		}
		if request.URL.Query().Has("mount") {
			r.mounts.Add(1)
		}
		if r.refuse == nil || !r.refuse(w, request) {
			stored.ServeHTTP(w, request)
		}
	}))
	t.Cleanup(r.vendor.Close)
	return r
}

// restartVendor starts the vendor's registry at a new address. Requests to the old one have ended when it returns.
func (r *rig) restartVendor() {
	r.vendor.Close()
	r.vendor = httptest.NewServer(r.vendor.Config.Handler)
	r.t.Cleanup(r.vendor.Close)
}

func (r *rig) open(server *httptest.Server, repository string) *oci.Repository {
	r.t.Helper()
	opened, err := oci.Open(artifact.Reference{Host: strings.TrimPrefix(server.URL, "http://"),
		Repository: repository, PlainHTTP: true}, oci.Credential{})
	r.must(err)
	return opened
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// host is that of the source, as a config writes it.
func (r *rig) host() string { return strings.TrimPrefix(r.source.URL, "https://") }

// env returns the Env of a build with the tag, or the policy if it has a space.
func (r *rig) env(tag string) *job.Env {
	secrets := &redact.Set{}
	at := timing.From(5 * time.Millisecond)
	at.LongPollSilence = testtime.Limit // a busy machine may stall, too
	return &job.Env{
		Spec: api.JobSpec{Kind: api.JobSpecKindBuild, Org: "org_1", Build: api.BuildSpec{
			Component: "api", ComponentKind: "container_image", Repository: vendorName,
			Image: api.ImageSource{Repository: r.host() + "/" + sourceName, Tag: tag},
		}},
		Root: r.root, Log: job.NewLog(&r.log, secrets), Redact: secrets, Timing: at,
		Vendor: &job.Registry{
			Reference: artifact.Reference{Host: strings.TrimPrefix(r.vendor.URL, "http://"), PlainHTTP: true},
		},
	}
}

// build runs the handler as the job process does.
func (r *rig) build(env *job.Env) (api.BuildResult, error) {
	r.t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(r.source.Certificate())
	b := Build{roots: roots, allowPrivate: netguard.AllowHosts(r.hosts)}
	b.credential = func(address string) job.ModuleCredential {
		r.asked = append(r.asked, address)
		return r.credential
	}
	b.login = func(_ string, as registrylogin.Identity) func(context.Context) (string, string, error) {
		r.logins = append(r.logins, as)
		return func(context.Context) (string, string, error) { return "AWS", "s3cret", nil }
	}
	result, err := b.Run(r.t.Context(), env)
	return result.Build, err
}

func (r *rig) mustBuild(env *job.Env) (api.BuildResult, image.Image) {
	r.t.Helper()
	built, err := r.build(env)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, &r.log)
	}
	packed, err := env.Vendor.Pull(r.t.Context(), built.Artifact)
	r.must(err)
	listed, err := image.Unpack(packed)
	r.must(err)
	return built, listed
}

// blob pushes bytes to the source and returns their descriptor.
func (r *rig) blob(media string, content []byte) map[string]any {
	r.t.Helper()
	return ocitest.PutBlob(r.t, r.from, media, content)
}

// platform pushes an image for one platform with a layer of size random bytes.
func (r *rig) platform(architecture string, size int) artifact.RawManifest {
	r.t.Helper()
	layer := make([]byte, size)
	seed := [32]byte{}
	copy(seed[:], architecture)
	_, _ = rand.NewChaCha8(seed).Read(layer) // never fails
	m := ocitest.Manifest(artifact.MediaImageManifest, map[string]any{
		"config": r.blob(mediaConfig, []byte(fmt.Sprintf(`{"os":"linux","architecture":%q}`, architecture))),
		"layers": []any{r.blob(mediaLayer, layer)},
	})
	r.must(r.from.PutRawManifest(r.t.Context(), m))
	return m
}

// index pushes an index of platforms with a tag.
func (r *rig) index(tag string, platforms ...artifact.RawManifest) artifact.RawManifest {
	r.t.Helper()
	var all []any
	for _, p := range platforms {
		all = append(all, ocitest.Descriptor(p))
	}
	m := ocitest.Manifest(artifact.MediaIndex,
		map[string]any{"manifests": all, "annotations": map[string]string{"by": "acme"}})
	r.must(r.from.PutTag(r.t.Context(), m, tag))
	return m
}

// attach pushes a manifest that refers to another.
func (r *rig) attach(subject artifact.RawManifest, content string) artifact.RawManifest {
	r.t.Helper()
	m := ocitest.Manifest(artifact.MediaImageManifest, map[string]any{
		"artifactType": "application/vnd.example." + content,
		"config":       r.blob("application/vnd.oci.empty.v1+json", []byte("{}")),
		"layers":       []any{r.blob("text/plain", []byte(content))}, "subject": ocitest.Descriptor(subject),
	})
	r.must(r.from.PutRawManifest(r.t.Context(), m))
	return m
}

// at reports whether a request is for something of the source.
func at(request *http.Request, method, suffix string) bool {
	return request.Method == method && strings.HasSuffix(request.URL.Path, suffix)
}
