package image

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/sigstore/sigstoretest"
)

// TestBundles: bundles of all versions are read, with one signature each.
func TestBundles(t *testing.T) {
	own, other := newECDSA(t), newECDSA(t)
	two := func(first, second signer, digest string) map[string]any {
		made, more := envelope(first, signPredicate, digest), envelope(second, signPredicate, digest)
		a, _ := made["dsseEnvelope"].(map[string]any)
		b, _ := more["dsseEnvelope"].(map[string]any)
		a["signatures"] = append(a["signatures"].([]any), b["signatures"].([]any)...)
		return made
	}
	const small = "application/vnd.dev.sigstore.bundle"
	for name, test := range map[string]struct {
		media   string
		content func(m artifact.RawManifest) map[string]any
		want    string // of the error
	}{
		"v0.1":            {small + "+json;version=0.1", nil, ""},
		"v0.2":            {small + "+json;version=0.2", nil, ""},
		"v0.3, as it was": {small + "+json;version=0.3", nil, ""},
		"v0.3":            {small + ".v0.3+json", nil, ""},
		"two signatures": {small + ".v0.3+json", func(m artifact.RawManifest) map[string]any {
			return two(other, own, m.Digest)
		}, "none of its 1 signatures"},
		"two equal signatures": {small + ".v0.3+json", func(m artifact.RawManifest) map[string]any {
			return two(own, own, m.Digest)
		}, "none of its 1 signatures"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			index := r.index("1.4", r.platform("amd64", 100))
			content := envelope(own, signPredicate, index.Digest)
			if test.content != nil {
				content = test.content(index)
			}
			r.bundledAs(test.media, index, content)
			env := r.env("1.4")
			env.Spec.Build.Image.Keys = []string{own.text}
			if test.want == "" {
				r.mustBuild(env)
			} else if _, err := r.build(env); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestLargeAttestations: what is too large for a signature is not read, and keeps nothing from being verified.
func TestLargeAttestations(t *testing.T) {
	own, r := newECDSA(t), newRig(t)
	index := r.index("1.4", r.platform("amd64", 100))
	large := envelope(own, signPredicate, index.Digest)
	large["ignored"] = strings.Repeat("a", 5<<20)
	r.bundled(index, large)
	env := r.env("1.4")
	env.Spec.Build.Image.Keys = []string{own.text}
	_, err := r.build(env)
	if want := "a signature has at most 1 MiB"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	r.bundled(index, envelope(own, signPredicate, index.Digest))
	r.mustBuild(env)
}

// TestOnlyIdentities: a spec that names signers by their identities requires a signature also without a key.
func TestOnlyIdentities(t *testing.T) {
	r := newRig(t)
	r.index("1.4", r.platform("amd64", 100))
	env := r.env("1.4")
	env.Spec.Build.Image.Identities = []api.SignerIdentity{{Issuer: "https://accounts.google.com", Subject: "a@b.test"}}
	env.Spec.Build.Image.TrustedRoot = sigstoretest.New(t).TrustRoot()
	for _, only := range []bool{true, false} {
		env.Spec.Build.ResolveOnly = only
		if _, err := r.build(env); err == nil || !strings.Contains(err.Error(), "it has no signature") {
			t.Errorf("resolve only %t: got %v", only, err)
		}
	}
}

// TestSignaturesOfIndexes: a signature of the image is none of one of its platforms, which is another image.
func TestSignaturesOfIndexes(t *testing.T) {
	own, r := newECDSA(t), newRig(t)
	platform := r.platform("amd64", 100)
	index := r.index("1.4", platform)
	r.bundled(platform, envelope(own, signPredicate, index.Digest))
	r.tagged(own, platform.Digest, simple(index.Digest))
	env := r.env(platform.Digest)
	env.Spec.Build.Image.Keys = []string{own.text}
	if _, err := r.build(env); err == nil || !strings.Contains(err.Error(), "none of its 2 signatures") {
		t.Errorf("got %v", err)
	}
}
