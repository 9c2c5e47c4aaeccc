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
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/api/runner"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/registry"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
)

const vendorPrefix = "dev/vendor"

// vendor is a real registry with tokens, and the reconciler's access to it.
type vendor struct {
	runner.VendorRegistry
	host, push string
	asked      atomic.Int64
}

func (v *vendor) Open(ctx context.Context, want runner.Wanted, from int64) (runner.Content, error) {
	v.asked.Add(1)
	return v.VendorRegistry.Open(ctx, want, from)
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
			Reader: oci.NewReader(strings.TrimPrefix(server.URL, "http://"), oci.Basic("nuon", pull), &http.Client{}),
		},
		host: strings.TrimPrefix(server.URL, "http://"),
		push: signer.Issue(vendorPrefix, []string{registry.ActionPull, registry.ActionPush}, time.Now().Add(time.Hour)),
	}
}

// add pushes an artifact to a repository of the vendor and returns its reference.
func (v *vendor) add(t *testing.T, repository, content string) (api.ArtifactRef, artifact.Artifact) {
	t.Helper()
	made := artifact.Wrap(artifact.MediaTerraform, []byte(content), nil)
	opened, err := oci.Open(artifact.Reference{
		Host: v.host, Repository: vendorPrefix + "/" + repository, PlainHTTP: true,
	}, oci.Basic("nuon", v.push))
	must(t, err)
	digest, err := opened.Push(t.Context(), made)
	must(t, err)
	return api.ArtifactRef{Repository: repository, Digest: digest}, made
}

func (s served) pull(t *testing.T, ref api.ArtifactRef, credential oci.Credential) (artifact.Artifact, error) {
	t.Helper()
	opened, err := oci.Open(artifact.Reference{
		Host: strings.TrimPrefix(s.url, "http://"), Repository: ref.Repository, PlainHTTP: true,
	}, credential)
	must(t, err)
	return opened.Pull(t.Context(), ref.Digest)
}

// callWith sends a GET with additional headers.
func (s served) callWith(t *testing.T, path, token string, header http.Header) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	must(t, err)
	request.Header = header.Clone()
	request.Header.Set("Authorization", "Bearer "+token)
	return do(t, request)
}

// sync starts a job that copies an artifact.
func (s served) sync(t *testing.T, r jobstest.Runner, ref api.ArtifactRef) (api.AttemptRef, string) {
	t.Helper()
	s.Enqueue(t, r, jobs.NewJob{Kind: "sync", Spec: api.JobSpec{Sync: api.SyncSpec{From: ref}}})
	return s.Start(t, r)
}

// TestAPlanReadsOnlyWhatItCopies checks that a plan that ran without a sync, or an action with code of a
// repository, reads the artifact that its spec names, and nothing else.
func TestAPlanReadsOnlyWhatItCopies(t *testing.T) {
	v := newVendor(t)
	s := serve(t, v)
	named, made := v.add(t, "acme/web", "the module")
	other, _ := v.add(t, "acme/web", "another version of the module")
	action := api.ActionSpec{Action: "check", Steps: []api.ActionStep{
		{Name: "inline", InlineContents: "#!/bin/sh"},
		{Name: "run", Source: api.ActionSource{Name: "actions:x", From: named}},
	}}
	for _, spec := range []api.JobSpec{
		{Kind: api.JobSpecKindPlan, Plan: api.PlanSpec{From: named}}, {Kind: api.JobSpecKindAction, Action: action},
	} {
		r := s.Runner(t, runners.KindInstall)
		s.Enqueue(t, r, jobs.NewJob{Kind: string(spec.Kind), Spec: spec})
		_, token := s.Start(t, r)
		for path, want := range map[string]int{
			"manifests/" + named.Digest:              200,
			"blobs/" + sha256digest.Of(made.Layer):   200,
			"manifests/" + other.Digest:              404,
			"blobs/" + sha256digest.Of([]byte("no")): 404,
		} {
			if a := s.call(t, "GET", "/v2/acme/web/"+path, token, nil); a.status != want {
				t.Errorf("%s: %s: %d %s, want %d", spec.Kind, path, a.status, a.body, want)
			}
		}
	}
}

// TestOfAnImageOnlyItsContentIsServed checks that a sync reads the manifests and blobs that its artifact lists,
// and no others of the same repository.
func TestOfAnImageOnlyItsContentIsServed(t *testing.T) {
	v := newVendor(t)
	s := serve(t, v)
	opened, err := oci.Open(artifact.Reference{
		Host: v.host, Repository: vendorPrefix + "/acme/api", PlainHTTP: true,
	}, oci.Basic("nuon", v.push))
	must(t, err)
	blob := func(text string) artifact.Blob {
		b := artifact.Blob{Digest: sha256digest.Of([]byte(text)), Size: int64(len(text))}
		must(t, opened.PutBlob(t.Context(), b, strings.NewReader(text)))
		return b
	}
	push := func(layer artifact.Blob) artifact.RawManifest {
		content := fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,`+
			`"config":{"mediaType":"application/json","digest":%q,"size":%d},`+
			`"layers":[{"mediaType":"text/plain","digest":%q,"size":%d}]}`, artifact.MediaImageManifest,
			blob("{}").Digest, 2, layer.Digest, layer.Size)
		m := artifact.RawManifest{Digest: sha256digest.Of([]byte(content)), MediaType: artifact.MediaImageManifest,
			Content: []byte(content)}
		must(t, opened.PutRawManifest(t.Context(), m))
		return m
	}
	layer, otherLayer := blob("layer"), blob("another layer")
	listed, other := push(layer), push(otherLayer)
	packed, err := image.Image{Repository: "ghcr.io/acme/api", Tag: "1.4", Digest: listed.Digest,
		Manifests: []image.Manifest{{
			Digest: listed.Digest, MediaType: listed.MediaType, Size: int64(len(listed.Content)),
			Blobs: []image.Blob{{Digest: layer.Digest, Size: layer.Size}},
		}}}.Pack(nil)
	must(t, err)
	digest, err := opened.Push(t.Context(), packed)
	must(t, err)

	_, token := s.sync(t, s.Runner(t, runners.KindInstall), api.ArtifactRef{Repository: "acme/api", Digest: digest})
	for path, want := range map[string]int{
		"manifests/" + digest: 200, "blobs/" + sha256digest.Of(packed.Layer): 200,
		"manifests/" + listed.Digest: 200, "blobs/" + layer.Digest: 200,
		"manifests/" + other.Digest: 404, "blobs/" + otherLayer.Digest: 404,
		"blobs/" + listed.Digest: 404, "manifests/" + layer.Digest: 404,
	} {
		if a := s.call(t, "GET", "/v2/acme/api/"+path, token, nil); a.status != want {
			t.Errorf("%s: %d %s, want %d", path, a.status, a.body, want)
		}
	}
}

// Plans and applies read the install's own registry, regardless of what their spec names.
func TestOnlyASyncReadsTheVendorsRegistry(t *testing.T) {
	v := newVendor(t)
	s := serve(t, v)
	named, made := v.add(t, "acme/web", "the module")
	deploy := api.DeploySpec{Artifact: named}
	for kind, spec := range map[string]api.JobSpec{
		"plan": {Plan: api.PlanSpec{Deploy: deploy}}, "apply": {Apply: api.ApplySpec{Deploy: deploy, Bundle: named}},
		"build":  {Build: api.BuildSpec{Source: named, Repository: named.Repository}},
		"action": {Action: api.ActionSpec{Action: "migrate"}},
	} {
		r := s.Runner(t, map[bool]string{true: runners.KindBuild, false: runners.KindInstall}[kind == "build"])
		s.Enqueue(t, r, jobs.NewJob{Kind: kind, Spec: spec})
		_, token := s.Start(t, r)
		for _, path := range []string{"manifests/" + named.Digest, "blobs/" + sha256digest.Of(made.Layer)} {
			if a := s.call(t, "GET", "/v2/acme/web/"+path, token, nil); a.status != 404 {
				t.Errorf("%s: %s: %d %s", kind, path, a.status, a.body)
			}
		}
	}
}

// An interrupted download resumes, and only the rest is sent.
func TestALayerFromItsMiddleOn(t *testing.T) {
	v := newVendor(t)
	s := serve(t, v)
	named, made := v.add(t, "acme/web", "the module, in two halves")
	_, token := s.sync(t, s.Runner(t, runners.KindInstall), named)
	layer, half := "/v2/acme/web/blobs/"+sha256digest.Of(made.Layer), len(made.Layer)/2
	for said, want := range map[string]struct {
		status int
		body   string
	}{
		"":                               {200, string(made.Layer)},
		fmt.Sprintf("bytes=%d-", half):   {206, string(made.Layer[half:])},
		"bytes=0-":                       {200, string(made.Layer)},
		fmt.Sprintf("bytes=%d-", 1<<20):  {416, ""},
		"bytes=-5":                       {200, string(made.Layer)},
		"bytes=1-3,5-6":                  {200, string(made.Layer)},
		"bytes=-1-":                      {200, string(made.Layer)},
		"bytes=99999999999999999999999-": {200, string(made.Layer)},
		"lines=3-":                       {200, string(made.Layer)},
	} {
		a := s.callWith(t, layer, token, http.Header{"Range": {said}})
		if a.status != want.status || want.body != "" && string(a.body) != want.body {
			t.Errorf("%q: %d %q", said, a.status, a.body)
		}
		if a.status == 206 &&
			a.header.Get("Content-Range") != fmt.Sprintf("bytes %d-%d/%d", half, len(made.Layer)-1, len(made.Layer)) {
			t.Errorf("%q: %v", said, a.header)
		}
		if a.status == 200 && a.header.Get("Accept-Ranges") != "bytes" {
			t.Errorf("%q: %v", said, a.header)
		}
	}
	whole := s.callWith(t, "/v2/acme/web/manifests/"+named.Digest, token, http.Header{"Range": {"bytes=5-"}})
	if whole.status != 200 || sha256digest.Of(whole.body) != named.Digest {
		t.Errorf("a manifest comes in pieces: %d %q", whole.status, whole.body)
	}
}

// A part other than the requested one is refused.
func TestAPartThatWasNotAskedFor(t *testing.T) {
	for said, good := range map[string]bool{
		"bytes 4-9/10": true, "bytes 0-9/10": false, "bytes 5-9/10": false, "bytes 4-9/*": false, "": false,
		"bytes 4-9/3": false, "bytes 40-9/10": false,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", said)
			w.WriteHeader(http.StatusPartialContent)
		}))
		content, err := runner.VendorRegistry{Base: server.URL,
			Reader: oci.NewReader("127.0.0.1", oci.Credential{}, &http.Client{})}.Open(t.Context(),
			runner.Wanted{Repository: "r", Digest: "d", Kind: runner.Layers}, 4)
		if (err == nil) != good || good && (content.From != 4 || content.Size != 10) {
			t.Errorf("%q: %+v %v", said, content, err)
		}
		server.Close()
	}
}

func TestAnAttemptPullsWhatItsSpecNames(t *testing.T) {
	v := newVendor(t)
	s := serve(t, v)
	named, made := v.add(t, "acme/web", "the module")
	hidden, secret := v.add(t, "acme/web", "another module")
	elsewhere, _ := v.add(t, "acme/db", "the module of db")
	r := s.Runner(t, runners.KindInstall)
	ref, token := s.sync(t, r, named)
	for name, credential := range map[string]oci.Credential{
		"bearer": oci.Bearer(token), "basic": oci.Basic("anybody", token),
	} {
		got, err := s.pull(t, named, credential)
		if err != nil || string(got.Layer) != string(made.Layer) {
			t.Errorf("%s: pulled %q, %v", name, got.Layer, err)
		}
	}
	layer := func(a artifact.Artifact) string { return sha256digest.Of(a.Layer) }
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
	if head.status != 200 || head.header.Get("Content-Length") != fmt.Sprint(len(made.Layer)) ||
		head.header.Get("Docker-Content-Digest") != layer(made) || len(head.body) != 0 {
		t.Errorf("HEAD: %d %v %q", head.status, head.header, head.body)
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		if a := s.call(t, method, "/v2/acme/web/manifests/"+named.Digest, token, nil); a.status != 405 {
			t.Errorf("%s: %d %s", method, a.status, a.body)
		}
	}
	// Only as long as the attempt is at work.
	must(t, s.Jobs.Result(t.Context(), r.Caller, ref, api.JobResult{Status: api.JobResultStatusFailed}))
	if a := s.call(t, "GET", "/v2/acme/web/manifests/"+named.Digest, token, nil); a.status != 404 {
		t.Errorf("after the end: %d %s", a.status, a.body)
	}
}

func TestThePingOpensToAttemptTokensOnly(t *testing.T) {
	v := newVendor(t)
	s := serve(t, v)
	named, _ := v.add(t, "acme/web", "the module")
	r := s.Runner(t, runners.KindInstall)
	_, token := s.sync(t, r, named)
	if a := s.call(t, "GET", "/v2/", token, nil); a.status != 200 ||
		a.header.Get("Docker-Distribution-API-Version") != "registry/2.0" {
		t.Errorf("ping: %d %s", a.status, a.body)
	}
	for name, plain := range map[string]string{"none": "", "nonsense": "x", "a runner key": r.Key} {
		for _, path := range []string{"/v2/", "/v2/acme/web/manifests/" + named.Digest} {
			a := s.call(t, "GET", path, plain, nil)
			if a.status != 401 || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Basic ") ||
				!strings.Contains(string(a.body), "UNAUTHORIZED") {
				t.Errorf("%s %s: %d %s", name, path, a.status, a.body)
			}
		}
	}
	// Another org's attempt that names the same repository in its own spec reaches it; one whose
	// spec does not, does not.
	other := s.RunnerIn(t, s.AddOrg(t).ID, runners.KindInstall)
	_, elsewhere := s.sync(t, other, api.ArtifactRef{Repository: "other/web", Digest: named.Digest})
	if a := s.call(t, "GET", "/v2/acme/web/manifests/"+named.Digest, elsewhere, nil); a.status != 404 {
		t.Errorf("another org: %d %s", a.status, a.body)
	}
}

func TestAManifestIsReadOnce(t *testing.T) {
	v := newVendor(t)
	s := serve(t, v)
	named, made := v.add(t, "acme/web", "the module")
	_, token := s.sync(t, s.Runner(t, runners.KindInstall), named)
	for range 5 {
		s.ok(t, "GET", "/v2/acme/web/blobs/"+sha256digest.Of(made.Layer), token, nil, nil)
	}
	if asked := v.asked.Load(); asked != 6 {
		t.Errorf("the vendor's registry was asked %d times for five layers, want one manifest and five layers", asked)
	}
}

// lying is a registry that returns other bytes than requested, or none.
type lying struct{ err error }

func (l lying) Open(context.Context, runner.Wanted, int64) (runner.Content, error) {
	body := io.NopCloser(strings.NewReader(`{"config":{"digest":"sha256:` + strings.Repeat("a", 64) + `"}}`))
	return runner.Content{Body: body, Size: -1, MediaType: "x"}, l.err
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
			_, token := s.sync(t, s.Runner(t, runners.KindInstall), named)
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
	wrong.Reader = oci.NewReader(v.host, oci.Basic("nuon", "wrong"), &http.Client{})
	want := runner.Wanted{Repository: named.Repository, Digest: named.Digest, Kind: runner.Manifests}
	if _, err := wrong.Open(t.Context(), want, 0); err == nil || errors.Is(err, runner.ErrNoBlob) ||
		!strings.Contains(err.Error(), "401") {
		t.Errorf("a wrong credential: %v", err)
	}
	gone := runner.Wanted{
		Repository: named.Repository, Digest: "sha256:" + strings.Repeat("a", 64), Kind: runner.Layers,
	}
	if _, err := v.Open(t.Context(), gone, 0); !errors.Is(err, runner.ErrNoBlob) {
		t.Errorf("what is not there: %v", err)
	}
	broken := errors.New("no key")
	wrong.Reader = oci.NewReader(v.host, oci.Renewed(
		func(context.Context) (string, string, error) { return "", "", broken }), &http.Client{})
	if _, err := wrong.Open(t.Context(), want, 0); !errors.Is(err, broken) {
		t.Errorf("no credential: %v", err)
	}
}
