package image

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/registrylogin"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// TestEverythingOfAnImageIsCopied: all platforms, what refers to the image or to a platform, what refers to
// that, and the signatures under cosign's tags.
func TestEverythingOfAnImageIsCopied(t *testing.T) {
	r := newRig(t)
	amd, arm := r.platform("amd64", 300_000), r.platform("arm64", 200_000)
	index := r.index("1.4", amd, arm)
	sbom := r.attach(index, "sbom")
	signed := r.attach(sbom, "signature")
	provenance := r.attach(arm, "provenance")
	old := r.platform("signature", 100)
	tag := strings.Replace(index.Digest, ":", "-", 1) + ".sig"
	r.must(r.from.PutTag(t.Context(), old, tag))

	env := r.env("1.4")
	built, listed := r.mustBuild(env)
	var digests []string
	for _, m := range listed.Manifests {
		digests = append(digests, m.Digest)
	}
	want := []string{amd.Digest, arm.Digest, index.Digest, sbom.Digest, signed.Digest, provenance.Digest, old.Digest}
	slices.Sort(want)
	slices.Sort(digests)
	if diff := cmp.Diff(want, digests); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]image.Tag{{Name: tag, Digest: old.Digest}}, listed.Tags); diff != "" {
		t.Error(diff)
	}
	to := r.open(r.vendor, vendorName)
	for _, digest := range want {
		if _, err := to.Manifest(t.Context(), digest); err != nil {
			t.Error(err)
		}
	}
	for _, b := range listed.Blobs() {
		if there, err := to.HasBlob(t.Context(), b); !there || err != nil {
			t.Errorf("%s: %v %v", b.Digest, there, err)
		}
	}
	if refer, err := to.Referrers(t.Context(), index, 10); err != nil || !slices.Equal(refer, []string{sbom.Digest}) {
		t.Errorf("%v refer to the copy: %v", refer, err)
	}
	if listed.Repository != r.host()+"/"+sourceName || listed.Tag != "1.4" || listed.Digest != index.Digest ||
		listed.Annotations["by"] != "acme" || listed.Platform != nil {
		t.Errorf("%+v", listed)
	}
	resolved := api.ResolvedModule{Key: "image", Source: r.host() + "/" + sourceName, Constraint: "1.4", Version: "1.4",
		Repository: "oci://" + r.host() + "/" + sourceName, Tree: index.Digest, Directory: "."}
	record := api.ModuleResolution{Tool: "image", Modules: []api.ResolvedModule{resolved}}
	if diff := cmp.Diff(record, built.Modules); diff != "" {
		t.Error(diff)
	}
	if built.Bytes != listed.Bytes() || built.Bytes < 500_000 {
		t.Errorf("%d bytes", built.Bytes)
	}

	sent := r.stored.Load()
	again, _ := r.mustBuild(r.env("1.4"))
	if again.Artifact != built.Artifact || r.stored.Load() != sent {
		t.Errorf("again %v, and %d bytes were sent again", again.Artifact, r.stored.Load()-sent)
	}
}

// TestTheSameDigestIsBuiltAgain: a build with a resolution gets its digest, wherever the tag is now.
func TestTheSameDigestIsBuiltAgain(t *testing.T) {
	r := newRig(t)
	first := r.index("1.4", r.platform("amd64", 100))
	built, _ := r.mustBuild(r.env("1.4"))
	second := r.index("1.4", r.platform("arm64", 100))

	env := r.env("1.4")
	env.Spec.Build.Modules = built.Modules
	if _, listed := r.mustBuild(env); listed.Digest != first.Digest {
		t.Errorf("%s was built, want %s", listed.Digest, first.Digest)
	}
	env = r.env("1.4")
	env.Spec.Build.ResolveOnly = true
	resolved, err := r.build(env)
	if err != nil || resolved.Modules.Modules[0].Tree != second.Digest || resolved.Artifact.Digest != "" {
		t.Errorf("%+v %v", resolved, err)
	}
}

func TestResolve(t *testing.T) {
	r := newRig(t)
	one := r.index("1.4.0", r.platform("amd64", 10))
	two := r.index("v1.4.10", r.platform("arm64", 10))
	three := r.index("2.0.0-rc.1", r.platform("riscv64", 10))
	for _, tag := range []string{"latest", "1.5", "20260101", "1.4.9"} {
		r.must(r.from.PutTag(t.Context(), one, tag))
	}
	for name, test := range map[string]struct{ tag, policy, want string }{
		"a tag":                      {"latest", "", "latest " + one.Digest},
		"a digest":                   {three.Digest, "", " " + three.Digest},
		"a tag with a digest":        {"latest@" + two.Digest, "", "latest " + two.Digest},
		"the newest":                 {"", "~1.4.0", "v1.4.10 " + two.Digest},
		"no other tags":              {"", ">=1", "v1.4.10 " + two.Digest},
		"an early version on demand": {"", ">=2.0.0-0", "2.0.0-rc.1 " + three.Digest},
	} {
		t.Run(name, func(t *testing.T) {
			env := r.env(test.tag)
			env.Spec.Build.Image.UpdatePolicy, env.Spec.Build.ResolveOnly = test.policy, true
			built, err := r.build(env)
			if err != nil {
				t.Fatal(err)
			}
			if got := built.Modules.Modules[0]; got.Version+" "+got.Tree != test.want {
				t.Errorf("got %s %s, want %s", got.Version, got.Tree, test.want)
			}
		})
	}
	env := r.env("")
	env.Spec.Build.Image.UpdatePolicy = "^3"
	if _, err := r.build(env); err == nil || !strings.Contains(err.Error(),
		`none of its 7 tags is a version that "^3" allows`) {
		t.Error(err)
	}
}

// TestCredentials: a private registry gets the org's credential, and nobody else does.
func TestCredentials(t *testing.T) {
	r := newRig(t)
	r.index("1.4", r.platform("amd64", 100))
	r.answer = func(w http.ResponseWriter, request *http.Request) bool {
		if user, password, _ := request.BasicAuth(); user == "bot" && password == "hidden-token" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="acme"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	_, err := r.build(r.env("1.4"))
	for _, want := range []string{r.host() + "/" + sourceName + ":1.4", "refuses access",
		"nuon credentials create NAME --image " + r.host() + "/" + sourceName} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	r.credential = job.ModuleCredential{Username: "bot", Secret: seal.NewSecret([]byte("hidden-token"))}
	r.mustBuild(r.env("1.4"))
	if want := "oci://" + r.host() + "/" + sourceName; r.asked[0] != want {
		t.Errorf("asked for %s, want %s", r.asked[0], want)
	}
	if strings.Contains(r.log.String(), "hidden-token") {
		t.Error("the log has the token")
	}
}

// TestBlobsOfOtherImagesAreMounted: what another image of the vendor has is not sent.
func TestBlobsOfOtherImagesAreMounted(t *testing.T) {
	r := newRig(t)
	r.index("1.4", r.platform("amd64", 100_000))
	r.mustBuild(r.env("1.4"))
	sent := r.stored.Load()
	env := r.env("1.4")
	env.Spec.Build.Repository = "org/builds/worker"
	r.mustBuild(env)
	// The artifact itself is pushed without notes.
	if more := r.stored.Load() - sent; r.mounts.Load() != 2 || more > 5000 {
		t.Errorf("%d mounts, and %d bytes were sent", r.mounts.Load(), more)
	}
}

// TestAnInterruptedCopyContinues: blobs that arrived are not sent again by the next build.
func TestAnInterruptedCopyContinues(t *testing.T) {
	r := newRig(t)
	var platforms []artifact.RawManifest
	for i := range 6 {
		platforms = append(platforms, r.platform(fmt.Sprint("cpu", i), 100_000))
	}
	r.index("1.4", platforms...)
	r.refuse = func(w http.ResponseWriter, request *http.Request) bool {
		if request.Method != http.MethodPut || r.stored.Load() < 350_000 {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	if _, err := r.build(r.env("1.4")); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Fatal(err)
	}
	r.restartVendor() // what the broken build had sent may still arrive
	r.refuse = nil
	to := r.open(r.vendor, vendorName)
	missing := int64(0)
	for _, p := range platforms {
		named, err := parse(p)
		r.must(err)
		for _, b := range named.blobs() {
			there, err := to.HasBlob(t.Context(), artifact.Blob{Digest: b.Digest, Size: b.Size})
			r.must(err)
			if !there {
				missing += b.Size
			}
		}
	}
	r.stored.Store(0)
	built, _ := r.mustBuild(r.env("1.4"))
	list, err := r.env("").Vendor.Pull(t.Context(), built.Artifact)
	r.must(err)
	if got, want := r.stored.Load(), missing+int64(len(list.Layer))+2; missing >= 600_000 || got != want {
		t.Errorf("%d bytes were sent, want %d", got, want)
	}
}

// TestLoginsToClouds: an image in the registry of a cloud is copied with a login as whom the config names.
func TestLoginsToClouds(t *testing.T) {
	r := newRig(t)
	r.index("1.4", r.platform("amd64", 100))
	r.answer = func(w http.ResponseWriter, request *http.Request) bool {
		if user, password, _ := request.BasicAuth(); user == "AWS" && password == "s3cret" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="ecr"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	r.credential = job.ModuleCredential{Login: api.RegistryLogin{Cloud: "aws", Role: "arn:aws:iam::1:role/pull",
		ExternalID: "org_1"}}
	r.mustBuild(r.env("1.4"))
	want := []registrylogin.Identity{{Role: "arn:aws:iam::1:role/pull", ExternalID: "org_1"}}
	sameSecret := cmp.Comparer(func(a, b seal.Secret) bool { return a.IsZero() == b.IsZero() })
	if diff := cmp.Diff(want, r.logins, sameSecret); diff != "" {
		t.Error(diff)
	}
}
