package image

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/image"
)

// The types of the layers that hold a signature: cosign's own, and bundles of sigstore.
const (
	mediaSimpleSigning = "application/vnd.dev.cosign.simplesigning.v1+json"
	mediaBundle        = "application/vnd.dev.sigstore.bundle."
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
	statementType   = "application/vnd.in-toto+json"
)

// maxSignatures bounds the signatures that are read of an image.
const maxSignatures = 200

// verify returns an error unless one of the keys signed the image that was read. It fetches only the signatures.
func (w *walk) verify(ctx context.Context, texts []string) error {
	var keys []image.PublicKey
	for _, text := range texts {
		key, err := image.ParsePublicKey(text)
		if err != nil {
			return fmt.Errorf("a public key in verification.authorities: %w", err)
		}
		keys = append(keys, key)
	}
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
			by, err := w.signedBy(ctx, layer, keys)
			if err != nil {
				return err
			}
			if by >= 0 {
				w.log.Info("signature of %s: authority %d of verification made it", w.image.Digest, by+1)
				return nil
			}
		}
	}
	remedy := "sign the image with the key of one of them: cosign sign --key KEY " + w.image.Repository + "@" +
		w.image.Digest
	if found == 0 {
		return problemf(remedy, "it has no signature, and verification requires one (%s)", w.image.Digest)
	}
	return problemf(remedy, "none of its %d signatures is one of %s by an authority of verification", found,
		w.image.Digest)
}

// signedBy returns which of the keys made the signature of the image that a layer holds, or -1.
func (w *walk) signedBy(ctx context.Context, layer descriptor, keys []image.PublicKey) (int, error) {
	var content []byte
	err := w.retry(ctx, func() (err error) {
		content, err = w.from.Blob(ctx, artifact.Blob{Digest: layer.Digest, Size: layer.Size})
		return err
	})
	if err != nil {
		return -1, err
	}
	var claims []claim
	if layer.MediaType == mediaSimpleSigning {
		claims = simpleSigning(content, layer.Annotations[signatureAnnotation], w.image.Digest)
	} else {
		claims = bundle(content, w.raws[w.image.Digest])
	}
	for _, c := range claims {
		if by := slices.IndexFunc(keys, func(k image.PublicKey) bool { return k.Verify(c.message, c.signature) }); by >= 0 {
			return by, nil
		}
	}
	return -1, nil
}

// claim is a message that states that an image is signed, and the signature of the message.
type claim struct{ message, signature []byte }

// simpleSigning returns what a layer of cosign's own type claims about an image, if it is about that image.
func simpleSigning(content []byte, signature, digest string) []claim {
	var payload struct {
		Critical struct {
			Type  string `json:"type"`
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
		} `json:"critical"`
	}
	decoded, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || json.Unmarshal(content, &payload) != nil || payload.Critical.Type != simpleSigningType ||
		payload.Critical.Image.Digest != digest {
		return nil
	}
	return []claim{{content, decoded}}
}

// bundle returns what a bundle claims about an image, if it is about that image: a signed statement, or a signature
// of the manifest itself.
func bundle(content []byte, root artifact.RawManifest) []claim {
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
	}
	if json.Unmarshal(content, &read) != nil {
		return nil
	}
	if read.Message != nil {
		return []claim{{root.Content, read.Message.Signature}}
	}
	e := read.Envelope
	if e == nil || e.PayloadType != statementType || !signs(e.Payload, root.Digest) {
		return nil
	}
	// What is signed is the type and the payload, each with its length (DSSE, PAE).
	var message bytes.Buffer
	fmt.Fprintf(&message, "DSSEv1 %d %s %d ", len(e.PayloadType), e.PayloadType, len(e.Payload))
	message.Write(e.Payload)
	var claims []claim
	for _, s := range e.Signatures[:min(len(e.Signatures), maxSignatures)] {
		claims = append(claims, claim{message.Bytes(), s.Sig})
	}
	return claims
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
