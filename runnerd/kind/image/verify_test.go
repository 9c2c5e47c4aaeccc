package image

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/oci/ocitest"
	"github.com/nuon-toolkit/nuon/pkg/sigstore/sigstoretest"
)

// signer signs as cosign does.
type signer struct {
	t    testing.TB
	key  crypto.Signer
	text string // the public key
}

func newSigner(t testing.TB, key crypto.Signer, err error) signer {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return signer{t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))}
}

func newECDSA(t testing.TB) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return newSigner(t, key, err)
}

func (s signer) sign(message []byte) []byte {
	s.t.Helper()
	sum := sha256.Sum256(message)
	content, options := sum[:], crypto.SignerOpts(crypto.SHA256)
	if _, is := s.key.(ed25519.PrivateKey); is {
		content, options = message, crypto.Hash(0)
	}
	made, err := s.key.Sign(rand.Reader, content, options)
	if err != nil {
		s.t.Fatal(err)
	}
	return made
}

// simple is a payload of cosign's own type.
func simple(digest string) []byte {
	return []byte(fmt.Sprintf(`{"critical":{"identity":{"docker-reference":"ghcr.io/acme/api"},`+
		`"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, digest))
}

// tagged pushes a signature under cosign's tag for a manifest.
func (r *rig) tagged(s signer, subject string, payload []byte) {
	r.t.Helper()
	layer := r.blob(mediaSimpleSigning, payload)
	layer["annotations"] = map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(s.sign(payload))}
	m := ocitest.Manifest(artifact.MediaImageManifest, map[string]any{
		"config": r.blob(mediaConfig, []byte("{}")), "layers": []any{layer}})
	r.must(r.from.PutTag(r.t.Context(), m, strings.Replace(subject, ":", "-", 1)+".sig"))
}

// bundled attaches a bundle of sigstore to a manifest.
func (r *rig) bundled(subject artifact.RawManifest, content map[string]any) {
	r.t.Helper()
	r.bundledAs("application/vnd.dev.sigstore.bundle.v0.3+json", subject, content)
}

// bundledAs attaches a bundle of a type.
func (r *rig) bundledAs(media string, subject artifact.RawManifest, content map[string]any) {
	r.t.Helper()
	content["mediaType"] = media
	encoded, err := json.Marshal(content)
	r.must(err)
	r.must(r.from.PutRawManifest(r.t.Context(), ocitest.Manifest(artifact.MediaImageManifest, map[string]any{
		"artifactType": media, "config": r.blob("application/vnd.oci.empty.v1+json", []byte("{}")),
		"layers": []any{r.blob(media, encoded)}, "subject": ocitest.Descriptor(subject)})))
}

// envelope is a bundle with a signed statement.
func envelope(s signer, predicate, digest string) map[string]any {
	payload := []byte(fmt.Sprintf(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],`+
		`"predicateType":%q,"predicate":{}}`, strings.TrimPrefix(digest, "sha256:"), predicate))
	message := fmt.Sprintf("DSSEv1 %d %s %d %s", len(statementType), statementType, len(payload), payload)
	return map[string]any{"dsseEnvelope": map[string]any{"payload": payload, "payloadType": statementType,
		"signatures": []any{map[string]any{"sig": s.sign([]byte(message))}}}}
}

// TestSignatures: an image is copied only if one of the keys signed it, in any of the forms in which cosign stores
// signatures. Before that, nothing of it is stored.
func TestSignatures(t *testing.T) {
	own, other := newECDSA(t), newECDSA(t)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	rsaSigner := newSigner(t, rsaKey, err)
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	edSigner := newSigner(t, edKey, err)
	const foreign = "sha256:0123456789012345678901234567890123456789012345678901234567890123"
	const none, wrong = "it has no signature", "none of its 1 signatures"
	for name, test := range map[string]struct {
		sign func(r *rig, index artifact.RawManifest)
		want string // of the error
	}{
		"cosign's tag":     {func(r *rig, m artifact.RawManifest) { r.tagged(own, m.Digest, simple(m.Digest)) }, ""},
		"a key of RSA":     {func(r *rig, m artifact.RawManifest) { r.tagged(rsaSigner, m.Digest, simple(m.Digest)) }, ""},
		"a key of Ed25519": {func(r *rig, m artifact.RawManifest) { r.tagged(edSigner, m.Digest, simple(m.Digest)) }, ""},
		"a bundle": {func(r *rig, m artifact.RawManifest) {
			r.bundled(m, envelope(own, signPredicate, m.Digest))
		}, ""},
		"of the manifest":  {func(r *rig, m artifact.RawManifest) { r.bundled(m, messageOf(own, m)) }, ""},
		"none":             {func(*rig, artifact.RawManifest) {}, none},
		"of another key":   {func(r *rig, m artifact.RawManifest) { r.tagged(other, m.Digest, simple(m.Digest)) }, wrong},
		"of another image": {func(r *rig, m artifact.RawManifest) { r.tagged(own, m.Digest, simple(foreign)) }, wrong},
		"not a signature":  {func(r *rig, m artifact.RawManifest) { r.tagged(own, m.Digest, []byte("{}")) }, wrong},
		"a bundle of another": {func(r *rig, m artifact.RawManifest) {
			r.bundled(m, envelope(own, signPredicate, foreign))
		}, wrong},
		"provenance": {func(r *rig, m artifact.RawManifest) {
			r.bundled(m, envelope(own, "https://slsa.dev/provenance/v1", m.Digest))
		}, wrong},
		"of another manifest": {func(r *rig, m artifact.RawManifest) {
			r.bundled(m, messageOf(own, artifact.RawManifest{Content: []byte("x")}))
		}, wrong},
		"no bundle": {func(r *rig, m artifact.RawManifest) { r.bundled(m, map[string]any{"dsseEnvelope": 1}) }, wrong},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			index := r.index("1.4", r.platform("amd64", 100), r.platform("arm64", 100))
			test.sign(r, index)
			env := r.env("1.4")
			env.Spec.Build.Image.Keys = []string{own.text, rsaSigner.text, edSigner.text}
			if test.want == "" {
				r.mustBuild(env)
				return
			}
			_, err := r.build(env)
			for _, want := range []string{test.want, index.Digest, "image " + r.host() + "/" + sourceName + ":1.4",
				"cosign sign"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			if n := r.stored.Load(); n > 0 {
				t.Errorf("%d bytes of the image were stored", n)
			}
			env.Spec.Build.ResolveOnly = true
			if _, err := r.build(env); err == nil {
				t.Error("a refresh takes the image")
			}
		})
	}
}

// messageOf is a bundle with a signature of a manifest.
func messageOf(s signer, m artifact.RawManifest) map[string]any {
	return map[string]any{"messageSignature": map[string]any{"signature": s.sign(m.Content)}}
}

// TestSignaturesOfPlatforms: a signature of one platform is none of the image.
func TestSignaturesOfPlatforms(t *testing.T) {
	own, r := newECDSA(t), newRig(t)
	platform := r.platform("amd64", 100)
	r.index("1.4", platform)
	r.tagged(own, platform.Digest, simple(platform.Digest))
	env := r.env("1.4")
	env.Spec.Build.Image.Keys = []string{own.text}
	if _, err := r.build(env); err == nil || !strings.Contains(err.Error(), "none of its 1 signatures") {
		t.Errorf("got %v", err)
	}
	env.Spec.Build.Image.Tag = platform.Digest
	r.mustBuild(env)
}

// TestTagsThatLostTheirImage: an image that the registry has no more is an error that names what its tag does now.
func TestTagsThatLostTheirImage(t *testing.T) {
	r := newRig(t)
	first := r.index("1.4", r.platform("amd64", 100))
	built, _ := r.mustBuild(r.env("1.4"))
	r.answer = func(w http.ResponseWriter, request *http.Request) bool {
		lost := strings.HasSuffix(request.URL.Path, "/manifests/"+first.Digest)
		if lost {
			w.WriteHeader(http.StatusNotFound)
		}
		return lost
	}
	second := r.index("1.4", r.platform("arm64", 100))
	env := r.env("1.4")
	env.Spec.Build.Modules = built.Modules
	_, err := r.build(env)
	for _, want := range []string{"tag 1.4 was overwritten: it named " + first.Digest, "names " + second.Digest + " now",
		"nuon builds refresh"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	r.answer = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusNotFound)
		return true
	}
	if _, err := r.build(env); err == nil || !strings.Contains(err.Error(), "tag 1.4 vanished") {
		t.Errorf("got %v", err)
	}
}

// TestKeylessImages: an image is copied if an identity of the config signed it without a key, under cosign's tag or in
// a bundle. The error about another one states who signed it.
func TestKeylessImages(t *testing.T) {
	const issuer, subject = "https://accounts.google.com", "ada@acme.test"
	instance, stranger := sigstoretest.New(t), sigstoretest.New(t)
	claim := func(message []byte) sigstoretest.Claim {
		return sigstoretest.Claim{Message: message, Issuer: issuer, Subject: subject}
	}
	tagged := func(r *rig, m artifact.RawManifest, by *sigstoretest.Instance, c sigstoretest.Claim) {
		r.tagKeyless(m.Digest, c.Message, by.Sign(c).Annotations())
	}
	for name, test := range map[string]struct {
		sign func(r *rig, m artifact.RawManifest)
		want string // of the error
	}{
		"cosign's tag": {func(r *rig, m artifact.RawManifest) { tagged(r, m, instance, claim(simple(m.Digest))) }, ""},
		"a bundle": {func(r *rig, m artifact.RawManifest) {
			made := envelope(newECDSA(t), signPredicate, m.Digest)
			e, _ := made["dsseEnvelope"].(map[string]any)
			payload, _ := e["payload"].([]byte)
			c := claim([]byte(fmt.Sprintf("DSSEv1 %d %s %d %s", len(statementType), statementType, len(payload), payload)))
			c.Payload, c.Kind = payload, "dsse/0.0.1"
			signed := instance.Sign(c)
			e["signatures"] = []any{map[string]any{"sig": signed.Value}}
			made["verificationMaterial"] = signed.Material()
			r.bundled(m, made)
		}, ""},
		"of the manifest": {func(r *rig, m artifact.RawManifest) {
			signed := instance.Sign(claim(m.Content))
			r.bundled(m, map[string]any{"messageSignature": map[string]any{"signature": signed.Value},
				"verificationMaterial": signed.Material()})
		}, ""},
		"another identity": {func(r *rig, m artifact.RawManifest) {
			c := claim(simple(m.Digest))
			c.Subject = "eve@evil.test"
			tagged(r, m, instance, c)
		}, `"eve@evil.test" of issuer "https://accounts.google.com" made it`},
		"another issuer": {func(r *rig, m artifact.RawManifest) {
			c := claim(simple(m.Digest))
			c.Issuer = "https://evil.test"
			tagged(r, m, instance, c)
		}, `"ada@acme.test" of issuer "https://evil.test" made it`},
		"another instance": {func(r *rig, m artifact.RawManifest) { tagged(r, m, stranger, claim(simple(m.Digest))) },
			"a transparency log that the trust root does not name"},
		"another image": {func(r *rig, m artifact.RawManifest) {
			tagged(r, m, instance, claim(simple("sha256:"+strings.Repeat("0", 64))))
		}, "none of its 1 signatures"},
		"another payload": {func(r *rig, m artifact.RawManifest) {
			r.tagKeyless(m.Digest, simple(m.Digest), instance.Sign(claim(simple("sha256:other"))).Annotations())
		}, "the key of its certificate did not make it"},
		"a key that is no identity": {func(r *rig, m artifact.RawManifest) {
			r.tagged(newECDSA(t), m.Digest, simple(m.Digest))
		}, "it has no certificate"},
		"none": {func(*rig, artifact.RawManifest) {}, "it has no signature"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			index := r.index("1.4", r.platform("amd64", 100))
			test.sign(r, index)
			env := r.env("1.4")
			env.Spec.Build.Image.Keys = []string{image.KeylessKey}
			env.Spec.Build.Image.Identities = []api.SignerIdentity{{Issuer: issuer, Subject: subject}}
			env.Spec.Build.Image.TrustedRoot = instance.TrustRoot()
			if test.want == "" {
				r.mustBuild(env)
				return
			}
			_, err := r.build(env)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			const renew = "renew verification.trusted_root"
			if signed := name != "none"; err != nil && strings.Contains(err.Error(), renew) != signed {
				t.Errorf("got %v, want %q: %t", err, renew, signed)
			}
			if n := r.stored.Load(); n > 0 {
				t.Errorf("%d bytes of the image were stored", n)
			}
		})
	}
}

// tagKeyless pushes a signature under cosign's tag for a manifest, with its proof in annotations.
func (r *rig) tagKeyless(subject string, payload []byte, annotations map[string]string) {
	r.t.Helper()
	layer := r.blob(mediaSimpleSigning, payload)
	layer["annotations"] = annotations
	m := ocitest.Manifest(artifact.MediaImageManifest, map[string]any{
		"config": r.blob(mediaConfig, []byte("{}")), "layers": []any{layer}})
	r.must(r.from.PutTag(r.t.Context(), m, strings.Replace(subject, ":", "-", 1)+".sig"))
}

// TestRunnersWithoutIdentities: what marks an image that identities may sign is no key, so a runner that knows no
// identities builds nothing.
func TestRunnersWithoutIdentities(t *testing.T) {
	r := newRig(t)
	r.index("1.4", r.platform("amd64", 100))
	env := r.env("1.4")
	env.Spec.Build.Image.Keys = []string{image.KeylessKey}
	if _, err := r.build(env); err == nil || !strings.Contains(err.Error(), "a public key in verification.authorities") {
		t.Errorf("got %v", err)
	}
}
