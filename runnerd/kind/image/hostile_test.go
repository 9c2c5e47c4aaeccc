package image

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// serve answers a request with a manifest.
func serve(w http.ResponseWriter, m artifact.RawManifest) {
	w.Header().Set("Content-Type", m.MediaType)
	w.Header().Set("Docker-Content-Digest", m.Digest)
	w.Header().Set("Content-Length", fmt.Sprint(len(m.Content)))
	_, _ = w.Write(m.Content)
}

// TestHostileImages: every image that cannot be copied is an error that names the image, what is wrong and
// what to do, and nothing of it becomes an artifact.
func TestHostileImages(t *testing.T) {
	many := func(n int) []any {
		var all []any
		for i := range n {
			all = append(all, map[string]any{"mediaType": artifact.MediaImageManifest, "size": 10,
				"digest": sha256digest.Of([]byte(fmt.Sprint(i)))})
		}
		return all
	}
	layer := func(with map[string]any) map[string]any {
		made := map[string]any{"mediaType": mediaLayer, "digest": sha256digest.Of(nil), "size": 0}
		for key, value := range with {
			made[key] = value
		}
		return made
	}
	image := func(r *rig, layers ...any) artifact.RawManifest {
		return ocitest.Manifest(artifact.MediaImageManifest, map[string]any{"config": r.blob(mediaConfig, []byte(`{"os":"linux"}`)),
			"layers": layers})
	}
	// tagged makes the source answer requests for the tag, or for the digest, with a manifest.
	tagged := func(r *rig, m artifact.RawManifest) {
		r.answer = func(w http.ResponseWriter, request *http.Request) bool {
			is := at(request, http.MethodGet, "/manifests/1.4") || at(request, http.MethodGet, "/manifests/"+m.Digest)
			if is {
				serve(w, m)
			}
			return is
		}
	}
	for name, test := range map[string]struct {
		prepare func(r *rig)
		want    []string
	}{
		"an index of 1,000 platforms": {func(r *rig) {
			tagged(r, ocitest.Manifest(artifact.MediaIndex, map[string]any{"manifests": many(1000)}))
		}, []string{"has 1000 platforms, at most 500 are copied", "name an image with fewer platforms"}},
		"a manifest of 10 MB": {func(r *rig) {
			tagged(r, ocitest.Manifest(artifact.MediaImageManifest, map[string]any{"padding": strings.Repeat("x", 10<<20)}))
		}, []string{"the manifest has more than 4 MiB"}},
		"a layer at a foreign address": {func(r *rig) {
			tagged(r, image(r, layer(map[string]any{"urls": []string{"https://evil.example/layer"}})))
		}, []string{"at an address outside of the registry (https://evil.example/layer)",
			"push the image with all of its layers"}},
		"a layer that must not be distributed": {func(r *rig) {
			tagged(r, image(r, layer(map[string]any{"mediaType": "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"})))
		}, []string{"outside of the registry"}},
		"a layer of a negative size": {func(r *rig) { tagged(r, image(r, layer(map[string]any{"size": -1}))) },
			[]string{"with -1 bytes"}},
		"a layer of all bytes there are": {func(r *rig) {
			tagged(r, image(r, layer(map[string]any{"size": 1 << 62}), layer(map[string]any{"size": 1 << 62})))
		}, []string{"an image may have 500 GiB"}},
		"a digest that is a path": {func(r *rig) { tagged(r, image(r, layer(map[string]any{"digest": "../../x"}))) },
			[]string{`"../../x", which is no digest`}},
		"an index with layers": {func(r *rig) {
			tagged(r, ocitest.Manifest(artifact.MediaIndex,
				map[string]any{"config": layer(nil), "layers": []any{layer(nil)}}))
		}, []string{"is not of its type"}},
		"an index with another size of a platform": {func(r *rig) {
			platform := ocitest.Descriptor(r.platform("amd64", 10))
			platform["size"] = 7
			tagged(r, ocitest.Manifest(artifact.MediaIndex, map[string]any{"manifests": []any{platform}}))
		}, []string{"with 7 bytes, and it has", "push the image again"}},
		"a manifest of an old form": {func(r *rig) {
			m := ocitest.Manifest("application/vnd.docker.distribution.manifest.v1+json", map[string]any{})
			tagged(r, m)
		}, []string{"manifests of type", "manifest.v1+json"}},
		"a type that the manifest denies": {func(r *rig) {
			m := image(r)
			m.MediaType = artifact.MediaIndex
			tagged(r, m)
		}, []string{"the manifest itself is", "nothing of it was used"}},
		"a digest that lies": {func(r *rig) {
			m := image(r)
			m.Digest = sha256digest.Of([]byte("other"))
			tagged(r, m)
		}, []string{"damaged", "nothing of it was used"}},
		"a list that names itself": {func(r *rig) {
			// Only a registry that lies can serve one: no content has its own digest.
			own := sha256digest.Of([]byte("own"))
			m := ocitest.Manifest(artifact.MediaIndex, map[string]any{"manifests": []any{
				map[string]any{"mediaType": artifact.MediaIndex, "digest": own, "size": 10}}})
			r.answer = func(w http.ResponseWriter, request *http.Request) bool {
				switch {
				case at(request, http.MethodGet, "/manifests/1.4"):
					serve(w, m)
				case at(request, http.MethodGet, "/manifests/"+own):
					serve(w, artifact.RawManifest{Digest: own, MediaType: m.MediaType, Content: m.Content})
				default:
					return false
				}
				return true
			}
		}, []string{"damaged"}},
		"a web page": {func(r *rig) {
			r.answer = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, "<html>Welcome</html>")
				return true
			}
		}, []string{"it sent text/html instead of a manifest", "check image_url"}},
		"a tag that vanished": {func(*rig) {}, []string{"does not have 1.4", "push it, or change the tag"}},
		"a lost blob": {func(r *rig) {
			p := r.platform("amd64", 1000)
			r.must(r.from.PutTag(r.t.Context(), p, "1.4"))
			named, err := parse(p)
			r.must(err)
			r.answer = func(w http.ResponseWriter, request *http.Request) bool {
				lost := at(request, http.MethodGet, "/blobs/"+named.Layers[0].Digest)
				if lost {
					w.WriteHeader(http.StatusNotFound)
				}
				return lost
			}
		}, []string{"the registry does not have sha256:"}},
		"a blob with other bytes": {func(r *rig) {
			p := r.platform("amd64", 1000)
			r.must(r.from.PutTag(r.t.Context(), p, "1.4"))
			named, err := parse(p)
			r.must(err)
			r.answer = func(w http.ResponseWriter, request *http.Request) bool {
				other := at(request, http.MethodGet, "/blobs/"+named.Layers[0].Digest)
				if other {
					_, _ = w.Write(make([]byte, 1000))
				}
				return other
			}
		}, []string{"the bytes are those of", "nothing of it was used"}},
		"throttled for longer than a build": {func(r *rig) {
			r.answer = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Retry-After", "21600")
				w.WriteHeader(http.StatusTooManyRequests)
				return true
			}
		}, []string{"allows no more requests now", "nuon credentials create NAME --image"}},
		"an address in a private network": {func(r *rig) { r.hosts = "" },
			[]string{"leads to this machine", "NUON_IMAGES_PRIVATE"}},
		"a redirect to a metadata service": {func(r *rig) {
			r.answer = func(w http.ResponseWriter, request *http.Request) bool {
				http.Redirect(w, request, "https://169.254.169.254/latest", http.StatusTemporaryRedirect)
				return true
			}
		}, []string{"leads to an address that is none of the internet"}},
		"a redirect to a signed address that is gone": {func(r *rig) {
			r.answer = func(w http.ResponseWriter, request *http.Request) bool {
				if request.URL.Query().Has("signature") {
					w.WriteHeader(http.StatusGone)
				} else {
					http.Redirect(w, request, "/store?signature=hidden-signature", http.StatusTemporaryRedirect)
				}
				return true
			}
		}, []string{"/store\": response status code 410"}},
		"a token service in a private network": {func(r *rig) {
			r.answer = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("WWW-Authenticate", `Bearer realm="https://localhost/token",service="x"`)
				w.WriteHeader(http.StatusUnauthorized)
				return true
			}
		}, []string{`bearer realm host "localhost" resolves to 127.0.0.1`}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			test.prepare(r)
			built, err := r.build(r.env("1.4"))
			for _, want := range append(test.want, "image "+r.host()+"/"+sourceName+":1.4") {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			if built.Artifact.Digest != "" {
				t.Errorf("it became artifact %s", built.Artifact.Digest)
			}
		})
	}
}

// TestAManifestThatRefersToNothingHere: what a registry lists as a reference and is none is not copied, so
// that references cannot form a circle.
func TestAManifestThatRefersToNothingHere(t *testing.T) {
	r := newRig(t)
	p := r.platform("amd64", 100)
	r.must(r.from.PutTag(t.Context(), p, "1.4"))
	sbom := r.attach(p, "sbom")
	other := r.attach(r.platform("arm64", 100), "other")
	r.answer = func(w http.ResponseWriter, request *http.Request) bool {
		if !strings.Contains(request.URL.Path, "/referrers/") {
			return false
		}
		// Everything refers to everything.
		serve(w, ocitest.Manifest(artifact.MediaIndex, map[string]any{
			"manifests": []any{ocitest.Descriptor(p), ocitest.Descriptor(sbom), ocitest.Descriptor(other)}}))
		return true
	}
	_, listed := r.mustBuild(r.env("1.4"))
	if len(listed.Manifests) != 2 || !strings.Contains(r.log.String(), other.Digest+" as a reference to") {
		t.Errorf("%+v\n%s", listed.Manifests, &r.log)
	}
}

// TestATagThatMovesDuringTheCopy: the digest that the tag had at first is copied, as a whole.
func TestATagThatMovesDuringTheCopy(t *testing.T) {
	r := newRig(t)
	platform := r.platform("amd64", 1000)
	first := r.index("1.4", platform)
	second := r.index("1.5", r.platform("arm64", 1000))
	var moved atomic.Bool
	r.answer = func(_ http.ResponseWriter, request *http.Request) bool {
		if at(request, http.MethodGet, "/manifests/"+platform.Digest) && !moved.Swap(true) {
			if err := r.from.PutTag(r.t.Context(), second, "1.4"); err != nil {
				t.Error(err)
			}
		}
		return false
	}
	built, listed := r.mustBuild(r.env("1.4"))
	if !moved.Load() || listed.Digest != first.Digest || built.Modules.Modules[0].Tree != first.Digest {
		t.Errorf("moved %v, got %s, want %s", moved.Load(), listed.Digest, first.Digest)
	}
}

// TestAnswersThatEndAt99Percent: the rest is requested, and only that.
func TestAnswersThatEndAt99Percent(t *testing.T) {
	const size = 1_000_000
	r := newRig(t)
	p := r.platform("amd64", size)
	r.must(r.from.PutTag(t.Context(), p, "1.4"))
	named, err := parse(p)
	r.must(err)
	var content bytes.Buffer
	body, _, err := r.from.Fetch(t.Context(), artifact.Blob{Digest: named.Layers[0].Digest, Size: size}, 0)
	r.must(err)
	_, err = io.Copy(&content, body)
	r.must(err)
	var sent atomic.Int64
	r.answer = func(w http.ResponseWriter, request *http.Request) bool {
		if !at(request, http.MethodGet, "/blobs/"+named.Layers[0].Digest) {
			return false
		}
		from := 0
		if text := request.Header.Get("Range"); text != "" {
			if _, err := fmt.Sscanf(text, "bytes=%d-", &from); err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, size-1, size))
			w.Header().Set("Content-Length", fmt.Sprint(size-from))
			w.WriteHeader(http.StatusPartialContent)
		} else {
			w.Header().Set("Content-Length", fmt.Sprint(size))
		}
		part := max((size-from)*99/100, 1)
		n, _ := w.Write(content.Bytes()[from : from+part])
		sent.Add(int64(n))
		if from+part < size {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		return true
	}
	r.mustBuild(r.env("1.4"))
	if sent.Load() != size {
		t.Errorf("%d bytes were sent for %d", sent.Load(), size)
	}
}

// TestThrottling: the pause that a registry asks for is made.
func TestThrottling(t *testing.T) {
	r := newRig(t)
	r.index("1.4", r.platform("amd64", 1000))
	var throttled atomic.Int64
	r.answer = func(w http.ResponseWriter, _ *http.Request) bool {
		if throttled.Add(1) > 3 {
			return false
		}
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}
	r.mustBuild(r.env("1.4"))
}
