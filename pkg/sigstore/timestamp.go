package sigstore

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"math/big"
	"slices"
	"time"
)

// The types in the answer of a timestamp authority (RFC 3161, in a message of RFC 5652).
var (
	typeSignedData     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	typeTimestamp      = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
	attributeType      = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	attributeDigest    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
	timestampHashNames = map[string]string{
		"2.16.840.1.101.3.4.2.1": "sha256", "2.16.840.1.101.3.4.2.2": "sha384", "2.16.840.1.101.3.4.2.3": "sha512",
	}
)

// The parts of the answer that are read. Optional parts at the end of a sequence that are not named here are ignored.
type (
	timestampResponse struct {
		Status asn1.RawValue
		Token  contentInfo
	}
	contentInfo struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue `asn1:"explicit,tag:0"`
	}
	signedData struct {
		Version      int
		Algorithms   asn1.RawValue
		Content      encapsulated
		Certificates asn1.RawValue `asn1:"optional,tag:0"`
		Revoked      asn1.RawValue `asn1:"optional,tag:1"`
		Signers      []signerInfo  `asn1:"set"`
	}
	encapsulated struct {
		Type    asn1.ObjectIdentifier
		Content []byte `asn1:"explicit,tag:0"`
	}
	signerInfo struct {
		Version    int
		Signer     asn1.RawValue
		Digest     pkix.AlgorithmIdentifier
		Attributes asn1.RawValue `asn1:"tag:0"`
		Algorithm  pkix.AlgorithmIdentifier
		Signature  []byte
		Unsigned   asn1.RawValue `asn1:"optional,tag:1"`
	}
	attribute struct {
		Type   asn1.ObjectIdentifier
		Values asn1.RawValue `asn1:"set"`
	}
	timestampInfo struct {
		Version int
		Policy  asn1.ObjectIdentifier
		Imprint struct {
			Hash  pkix.AlgorithmIdentifier
			Value []byte
		}
		Serial *big.Int
		Time   time.Time `asn1:"generalized"`
	}
)

// verifyTimestamp verifies that a timestamp authority of the root stated that a signature existed, and returns when.
func (r *TrustRoot) verifyTimestamp(response, signature []byte) (time.Time, error) {
	unreadable := errors.New("its timestamp cannot be read")
	var answer timestampResponse
	if rest, err := asn1.Unmarshal(response, &answer); err != nil || len(rest) > 0 ||
		!answer.Token.Type.Equal(typeSignedData) {
		return time.Time{}, unreadable
	}
	var data signedData
	if _, err := asn1.Unmarshal(answer.Token.Content.Bytes, &data); err != nil ||
		!data.Content.Type.Equal(typeTimestamp) || len(data.Signers) != 1 {
		return time.Time{}, unreadable
	}
	var info timestampInfo
	if _, err := asn1.Unmarshal(data.Content.Content, &info); err != nil {
		return time.Time{}, unreadable
	}
	if !isDigest(timestampHashNames[info.Imprint.Hash.Algorithm.String()], info.Imprint.Value, signature) {
		return time.Time{}, errors.New("its timestamp is of another signature")
	}
	signed, err := data.Signers[0].signed(data.Content.Content)
	if err != nil {
		return time.Time{}, err
	}
	for _, a := range r.timestamps {
		if !a.valid.has(info.Time) || !made(a.chain[0], signed, data.Signers[0].Signature) {
			continue
		}
		if _, err := a.verifyChain(a.chain[0], info.Time, x509.ExtKeyUsageTimeStamping); err == nil {
			return info.Time, nil
		}
	}
	return time.Time{}, errors.New("no timestamp authority of the trust root signed its timestamp")
}

// signed returns the attributes that a timestamp authority signed, which have to have the type and the digest of the
// content.
func (s signerInfo) signed(content []byte) ([]byte, error) {
	// They are signed as a set, and sent under another tag.
	const set = 0x31
	encoded := bytes.Clone(s.Attributes.FullBytes)
	if len(encoded) == 0 {
		return nil, errors.New("its timestamp signs no attributes")
	}
	encoded[0] = set
	var attributes []attribute
	if rest, err := asn1.UnmarshalWithParams(encoded, &attributes, "set"); err != nil || len(rest) > 0 {
		return nil, errors.New("the attributes of its timestamp cannot be read")
	}
	typed, digested := false, false
	for _, a := range attributes {
		switch {
		case a.Type.Equal(attributeType):
			var of asn1.ObjectIdentifier
			_, err := asn1.Unmarshal(a.Values.Bytes, &of)
			typed = err == nil && of.Equal(typeTimestamp)
		case a.Type.Equal(attributeDigest):
			var sum []byte
			_, err := asn1.Unmarshal(a.Values.Bytes, &sum)
			digested = err == nil && isDigest(timestampHashNames[s.Digest.Algorithm.String()], sum, content)
		}
	}
	if !typed || !digested {
		return nil, errors.New("the signature of its timestamp is of other content")
	}
	return encoded, nil
}

// made reports whether the key of a certificate made a signature, with any of the usual hashes.
func made(c *x509.Certificate, message, signature []byte) bool {
	algorithms := []x509.SignatureAlgorithm{x509.ECDSAWithSHA256, x509.ECDSAWithSHA384, x509.ECDSAWithSHA512}
	switch c.PublicKeyAlgorithm {
	case x509.RSA:
		algorithms = []x509.SignatureAlgorithm{x509.SHA256WithRSA, x509.SHA384WithRSA, x509.SHA512WithRSA}
	case x509.Ed25519:
		algorithms = []x509.SignatureAlgorithm{x509.PureEd25519}
	}
	return slices.ContainsFunc(algorithms, func(a x509.SignatureAlgorithm) bool {
		return c.CheckSignature(a, message, signature) == nil
	})
}
