package image

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/sigstore"
)

// The types of the layers that hold a signature: cosign's own, and the start of those of bundles of sigstore, which
// differ between versions (….v0.3+json, …+json;version=0.2).
const (
	mediaSimpleSigning = "application/vnd.dev.cosign.simplesigning.v1+json"
	mediaBundle        = "application/vnd.dev.sigstore.bundle"
)

const (
	// signatureAnnotation is where a layer of cosign's own type has its signature.
	signatureAnnotation = "dev.cosignproject.cosign/signature"
	// simpleSigningType is the type in such a layer.
	simpleSigningType = "cosign container image signature"
	// signPredicate is the predicate of a statement that signs an image. Other statements, such as those about how it
	// was built, are no signatures.
	signPredicate   = "https://sigstore.dev/cosign/sign/v1"
	statementPrefix = "https://in-toto.io/Statement/v"
	// statementType is the media type of a statement. Source: in-toto/attestation, spec/v1/envelope.md.
	statementType = "application/vnd.in-toto+json"
)

// maxSignatures bounds the signatures that are read of an image, maxSignature the bytes of each, and maxReasons what is
// said about them. Attestations in bundles can be larger; they are no signatures.
const (
	maxSignatures = 200
	maxSignature  = 1 << 20
	maxReasons    = 3
)

// authorities are those who may sign an image: keys, and identities of which a trust root vouches.
type authorities struct {
	keys       []sigstore.PublicKey
	identities []sigstore.Identity
	root       *sigstore.TrustRoot
}

// mustBeSigned reports whether an image is copied only with a signature.
func mustBeSigned(source api.ImageSource) bool { return len(source.Keys)+len(source.Identities) > 0 }

// authoritiesOf returns who may sign the image of a spec.
func authoritiesOf(source api.ImageSource) (authorities, error) {
	var a authorities
	for _, text := range source.Keys {
		if text == image.KeylessKey && len(source.Identities) > 0 {
			continue
		}
		key, err := sigstore.ParsePublicKey(text)
		if err != nil {
			return a, fmt.Errorf("a public key in verification.authorities: %w", err)
		}
		a.keys = append(a.keys, key)
	}
	if len(source.Identities) == 0 {
		return a, nil
	}
	for _, i := range source.Identities {
		a.identities = append(a.identities, sigstore.Identity(i))
	}
	var err error
	if a.root, err = sigstore.ParseTrustRoot(source.TrustedRoot); err != nil {
		return a, fmt.Errorf("verification.trusted_root: %w", err)
	}
	return a, nil
}

// verify returns an error unless an authority signed the image that was read. It fetches only the signatures.
func (w *walk) verify(ctx context.Context, source api.ImageSource) error {
	authorities, err := authoritiesOf(source)
	if err != nil {
		return err
	}
	var reasons []string
	found := 0
	for _, m := range w.image.Manifests {
		named, err := parse(w.raws[m.Digest])
		if err != nil {
			return err
		}
		for _, layer := range named.Layers {
			if layer.MediaType != mediaSimpleSigning && !strings.HasPrefix(layer.MediaType, mediaBundle) {
				continue
			}
			if found++; found > maxSignatures {
				return problemf("remove signatures that are not needed", "it has more than %d signatures", maxSignatures)
			}
			by, reason, err := w.verifyLayer(ctx, layer, authorities)
			if err != nil {
				return err
			}
			if by != "" {
				w.log.Info("signature of %s: %s of verification made it", w.image.Digest, by)
				return nil
			}
			if reason != "" && len(reasons) < maxReasons && !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
		}
	}
	return w.unsigned(found, reasons, authorities)
}

// verifyLayer returns which authority made the signature of the image that a layer holds. If none of them did, reason
// states what is wrong with it, if that is known.
func (w *walk) verifyLayer(ctx context.Context, layer descriptor, a authorities) (by, reason string, err error) {
	if layer.Size > maxSignature {
		return "", fmt.Sprintf("%s has %d bytes, and a signature has at most %d MiB", layer.Digest, layer.Size,
			maxSignature>>20), nil
	}
	s, found, err := w.signature(ctx, layer)
	if err != nil || !found {
		return "", "", err
	}
	by, reason = a.signed(s)
	return by, reason, nil
}

// unsigned returns the error about an image that no authority signed.
func (w *walk) unsigned(found int, reasons []string, a authorities) error {
	with := "--key KEY "
	if len(a.keys) == 0 {
		with = ""
	}
	remedy := "sign the image as one of them: cosign sign " + with + w.image.Repository + "@" + w.image.Digest
	if found == 0 {
		return problemf(remedy, "it has no signature, and verification requires one (%s)", w.image.Digest)
	}
	why := ""
	if len(reasons) > 0 {
		why = ": " + strings.Join(reasons, "; ")
	}
	if a.root != nil {
		remedy += ", or renew verification.trusted_root if Sigstore has new keys"
	}
	return problemf(remedy, "none of its %d signatures is one of %s by an authority of verification%s", found,
		w.image.Digest, why)
}

// signed returns which authority made a signature. If none of them did, reason states what is wrong with a keyless
// one.
func (a authorities) signed(s sigstore.Signature) (by, reason string) {
	for n, key := range a.keys {
		if key.Verify(s.Message, s.Value) {
			return fmt.Sprintf("public key %d", n+1), ""
		}
	}
	if a.root == nil {
		return "", ""
	}
	n, err := a.root.Verify(s, a.identities)
	if err != nil {
		return "", err.Error()
	}
	return fmt.Sprintf("keyless identity %d", n+1), ""
}

// signature returns the signature of the image that a layer holds, if it is one.
func (w *walk) signature(ctx context.Context, layer descriptor) (s sigstore.Signature, found bool, err error) {
	var content []byte
	err = w.retry(ctx, func() (err error) {
		content, err = w.from.Blob(ctx, artifact.Blob{Digest: layer.Digest, Size: layer.Size})
		return err
	})
	switch {
	case err != nil:
		return s, false, err
	case layer.MediaType == mediaSimpleSigning:
		s, found = simpleSigning(content, layer.Annotations, w.image.Digest)
	default:
		s, found = bundle(content, w.raws[w.image.Digest])
	}
	return s, found, nil
}

// simpleSigning returns the signature in a layer of cosign's own type, if it is about an image.
func simpleSigning(
	content []byte, annotations map[string]string, digest string,
) (s sigstore.Signature, found bool) {
	var payload struct {
		Critical struct {
			Type  string `json:"type"`
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
		} `json:"critical"`
	}
	decoded, err := base64.StdEncoding.DecodeString(annotations[signatureAnnotation])
	if err != nil || json.Unmarshal(content, &payload) != nil || payload.Critical.Type != simpleSigningType ||
		payload.Critical.Image.Digest != digest {
		return s, false
	}
	return sigstore.Signature{Message: content, Value: decoded, Material: sigstore.MaterialOf(annotations)}, true
}

// bundle returns the signature in a bundle, if it is about an image: of a statement, or of the manifest itself. An
// envelope with several signatures is no part of a bundle.
func bundle(content []byte, root artifact.RawManifest) (s sigstore.Signature, found bool) {
	var read struct {
		Envelope *struct {
			Payload     []byte `json:"payload"`
			PayloadType string `json:"payloadType"`
			Signatures  []struct {
				Sig []byte `json:"sig"`
			} `json:"signatures"`
		} `json:"dsseEnvelope"`
		Message *struct {
			Signature []byte `json:"signature"`
		} `json:"messageSignature"`
		Material *sigstore.Material `json:"verificationMaterial"`
	}
	if json.Unmarshal(content, &read) != nil {
		return s, false
	}
	if read.Message != nil {
		return sigstore.Signature{Message: root.Content, Value: read.Message.Signature, Material: read.Material}, true
	}
	e := read.Envelope
	if e == nil || e.PayloadType != statementType || len(e.Signatures) != 1 || !signs(e.Payload, root.Digest) {
		return s, false
	}
	// What is signed is the type and the payload, each with its length (DSSE, PAE).
	var message bytes.Buffer
	fmt.Fprintf(&message, "DSSEv1 %d %s %d ", len(e.PayloadType), e.PayloadType, len(e.Payload))
	message.Write(e.Payload)
	return sigstore.Signature{Message: message.Bytes(), Value: e.Signatures[0].Sig, Payload: e.Payload,
		Material: read.Material}, true
}

// signs reports whether a statement is one that signs an image.
func signs(payload []byte, digest string) bool {
	var statement struct {
		Type          string `json:"_type"`
		PredicateType string `json:"predicateType"`
		Subject       []struct {
			Digest map[string]string `json:"digest"`
		} `json:"subject"`
	}
	if json.Unmarshal(payload, &statement) != nil || !strings.HasPrefix(statement.Type, statementPrefix) ||
		statement.PredicateType != signPredicate {
		return false
	}
	for _, subject := range statement.Subject {
		if "sha256:"+subject.Digest["sha256"] == digest {
			return true
		}
	}
	return false
}
