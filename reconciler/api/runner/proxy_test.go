package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/reconciler/api/runner"
	"github.com/nuon-toolkit/nuon/reconciler/dispatch"
	"github.com/nuon-toolkit/nuon/reconciler/dispatch/dispatchtest"
	"github.com/nuon-toolkit/nuon/reconciler/registry"
)

const vendorPrefix = "dev/vendor"

// vendor is a real registry with tokens, and how the reconciler reads it.
type vendor struct {
	runner.VendorRegistry
	host, push string
	asked      atomic.Int64
}

func (v *vendor) Open(ctx context.Context, repository, digest string, kind runner.BlobKind) (io.ReadCloser, int64, string, error) {
	v.asked.Add(1)
	return v.VendorRegistry.Open(ctx, repository, digest, kind)
}

func newVendor(t *testing.T) *vendor {
	t.Helper()
	signer, err := registry.NewSigner([]byte("0123456789abcdef0123456789abcdef"))
	must(t, err)
	opened, err := registry.New(registry.Options{Dir: t.TempDir(), Signer: signer})
	must(t, err)
	server := httptest.NewServer(opened)
	t.Cleanup(func() { server.Close(); _ = opened.Close() })
	pull := signer.Issue(vendorPrefix, []string{registry.ActionPull}, time.Now().Add(time.Hour))
	return &vendor{
		VendorRegistry: runner.VendorRegistry{
			Base: server.URL, Prefix: vendorPrefix,
			Credential: func(context.Context) (string, string, error) { return "nuon", pull, nil },
		},
		host: strings.TrimPrefix(server.URL, "http://"),
		push: signer.Issue(vendorPrefix, []string{registry.ActionPull, registry.ActionPush}, time.Now().Add(time.Hour)),
	}
}

// add pushes an artifact to a repository of the vendor's and gives its reference.
func (v *vendor) add(t *testing.T, repository, content string) (api.ArtifactRef, artifact.Artifact) {
	t.Helper()
	made := artifact.Wrap(artifact.MediaTerraform, []byte(content), nil)
	opened, err := artifact.Open(artifact.Reference{Host: v.host, Repository: vendorPrefix + "/" + repository, PlainHTTP: true}, artifact.Basic("nuon", v.push))
	must(t, err)
	digest, err := opened.Push(t.Context(), made)
	must(t, err)
	return api.ArtifactRef{Repository: repository, Digest: digest}, made
}

func (s served) pull(t *testing.T, ref api.ArtifactRef, credential artifact.Credential) (artifact.Artifact, error) {
	t.Helper()
	opened, err := artifact.Open(artifact.Reference{Host: strings.TrimPrefix(s.url, "http://"), Repository: ref.Repository, PlainHTTP: true}, credential)
	must(t, err)
	return opened.Pull(t.Context(), ref.Digest)
}

// plan starts a plan job whose module is an artifact.
func (s served) plan(t *testing.T, r dispatchtest.Runner, ref api.ArtifactRef) (api.AttemptRef, string) {
	t.Helper()
	s.Enqueue(t, r, dispatch.NewJob{Kind: "plan", Spec: api.JobSpec{Plan: api.PlanSpec{Deploy: api.DeploySpec{Artifact: ref}}}})
	return s.Start(t, r)
}

func TestAnAttemptPullsWhatItsSpecNames(t *testing.T) {
	v := newVendor(t)
	s := serve(t, v)
	named, made := v.add(t, "acme/web", "the module")
	hidden, secret := v.add(t, "acme/web", "another module")
	elsewhere, _ := v.add(t, "acme/db", "the module of db")
	r := s.Runner(t, dispatch.RunnerInstall)
	ref, token := s.plan(t, r, named)
	for name, credential := range map[string]artifact.Credential{"bearer": artifact.Bearer(token), "basic": artifact.Basic("anybody", token)} {
		got, err := s.pull(t, named, credential)
		if err != nil || string(got.Layer) != string(made.Layer) {
			t.Errorf("%s: pulled %q, %v", name, got.Layer, err)
		}
	}
	layer := func(a artifact.Artifact) string { return artifact.Digest(a.Layer) }
	for name, path := range map[string]string{
		"another artifact":                 "/v2/acme/web/manifests/" + hidden.Digest,
		"another artifact's layer":         "/v2/acme/web/blobs/" + layer(secret),
		"another repository":               "/v2/acme/db/manifests/" + elsewhere.Digest,
		"the same layer, wrong repository": "/v2/acme/db/blobs/" + layer(made),
		"a tag":                            "/v2/acme/web/manifests/latest",
		"the tags":                         "/v2/acme/web/tags/list",
		"the catalog":                      "/v2/_catalog",
		"with the registry's prefix":       "/v2/dev/vendor/acme/web/manifests/" + named.Digest,
		"a layer as a manifest":            "/v2/acme/web/manifests/" + layer(made),
		"a digest of a kind nobody asked":  "/v2/acme/web/manifests/sha512:" + strings.Repeat("a", 128),
		"a path that climbs":               "/v2/acme/db/..%2fweb/manifests/" + named.Digest,
	} {
		if a := s.call(t, "GET", path, token, nil); a.status != 404 || !strings.Contains(string(a.body), "_UNKNOWN") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	head := s.call(t, "HEAD", "/v2/acme/web/blobs/"+layer(made), token, nil)
	if head.status != 200 || head.header.Get("Content-Length") != fmt.Sprint(len(made.Layer)) || head.header.Get("Docker-Content-Digest") != layer(made) || len(head.body) != 0 {
		t.Errorf("HEAD: %d %v %q", head.status, head.header, head.body)
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		if a := s.call(t, method, "/v2/acme/web/manifests/"+named.Digest, token, nil); a.status != 405 {
			t.Errorf("%s: %d %s", method, a.status, a.body)
		}
	}
	// Only as long as the attempt is at work.
	must(t, s.Dispatch.Result(t.Context(), r.Caller, ref, api.JobResult{Status: api.JobResultStatusFailed}))
	if a := s.call(t, "GET", "/v2/acme/web/manifests/"+named.Digest, token, nil); a.status != 404 {
		t.Errorf("after the end: %d %s", a.status, a.body)
	}
}

func TestThePingOpensToAttemptTokensOnly(t *testing.T) {
	v := newVendor(t)
	s := serve(t, v)
	named, _ := v.add(t, "acme/web", "the module")
	r := s.Runner(t, dispatch.RunnerInstall)
	_, token := s.plan(t, r, named)
	if a := s.call(t, "GET", "/v2/", token, nil); a.status != 200 || a.header.Get("Docker-Distribution-API-Version") != "registry/2.0" {
		t.Errorf("ping: %d %s", a.status, a.body)
	}
	for name, plain := range map[string]string{"none": "", "nonsense": "x", "a runner key": r.Key} {
		for _, path := range []string{"/v2/", "/v2/acme/web/manifests/" + named.Digest} {
			a := s.call(t, "GET", path, plain, nil)
			if a.status != 401 || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Basic ") || !strings.Contains(string(a.body), "UNAUTHORIZED") {
				t.Errorf("%s %s: %d %s", name, path, a.status, a.body)
			}
		}
	}
	// Another org's attempt that names the same repository in its own spec reaches it; one whose spec does not, does not.
	other := s.RunnerIn(t, s.AddOrg(t).ID, dispatch.RunnerInstall)
	_, elsewhere := s.plan(t, other, api.ArtifactRef{Repository: "other/web", Digest: named.Digest})
	if a := s.call(t, "GET", "/v2/acme/web/manifests/"+named.Digest, elsewhere, nil); a.status != 404 {
		t.Errorf("another org: %d %s", a.status, a.body)
	}
}

func TestAManifestIsReadOnce(t *testing.T) {
	v := newVendor(t)
	s := serve(t, v)
	named, made := v.add(t, "acme/web", "the module")
	_, token := s.plan(t, s.Runner(t, dispatch.RunnerInstall), named)
	for range 5 {
		s.ok(t, "GET", "/v2/acme/web/blobs/"+artifact.Digest(made.Layer), token, nil, nil)
	}
	if asked := v.asked.Load(); asked != 6 {
		t.Errorf("the vendor's registry was asked %d times for five layers, want one manifest and five layers", asked)
	}
}

// lying is a registry that gives other bytes than were asked for, or none.
type lying struct{ err error }

func (l lying) Open(context.Context, string, string, runner.BlobKind) (io.ReadCloser, int64, string, error) {
	return io.NopCloser(strings.NewReader(`{"config":{"digest":"sha256:` + strings.Repeat("a", 64) + `"}}`)), -1, "x", l.err
}

func TestARegistryThatFailsOrLies(t *testing.T) {
	named := api.ArtifactRef{Repository: "acme/web", Digest: "sha256:" + strings.Repeat("b", 64)}
	for name, test := range map[string]struct {
		err    error
		status int
	}{
		"refuses":                        {errors.New("401 with password hunter2"), http.StatusBadGateway},
		"does not have it":               {fmt.Errorf("read: %w", runner.ErrNoBlob), http.StatusNotFound},
		"lists layers in a forged index": {nil, http.StatusBadGateway},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, lying{test.err})
			_, token := s.plan(t, s.Runner(t, dispatch.RunnerInstall), named)
			a := s.call(t, "GET", "/v2/acme/web/blobs/sha256:"+strings.Repeat("a", 64), token, nil)
			if a.status != test.status || strings.Contains(string(a.body), "hunter2") {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
}

func TestTheVendorsRegistryAnswersInWords(t *testing.T) {
	v := newVendor(t)
	named, _ := v.add(t, "acme/web", "the module")
	wrong := v.VendorRegistry
	wrong.Credential = func(context.Context) (string, string, error) { return "nuon", "wrong", nil }
	if _, _, _, err := wrong.Open(t.Context(), named.Repository, named.Digest, runner.Manifests); err == nil || errors.Is(err, runner.ErrNoBlob) || !strings.Contains(err.Error(), "401") {
		t.Errorf("a wrong credential: %v", err)
	}
	if _, _, _, err := v.Open(t.Context(), named.Repository, "sha256:"+strings.Repeat("a", 64), runner.Layers); !errors.Is(err, runner.ErrNoBlob) {
		t.Errorf("what is not there: %v", err)
	}
	broken := errors.New("no key")
	wrong.Credential = func(context.Context) (string, string, error) { return "", "", broken }
	if _, _, _, err := wrong.Open(t.Context(), named.Repository, named.Digest, runner.Manifests); !errors.Is(err, broken) {
		t.Errorf("no credential: %v", err)
	}
}
