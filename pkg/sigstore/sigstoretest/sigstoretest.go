// Package sigstoretest is a private Sigstore for tests: a certificate authority with a log of certificates, a
// transparency log and a timestamp authority, all in memory. It signs as cosign does, and with any fault that a test
// asks for.
package sigstoretest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/cryptobyte"
)

// Start is when the instance starts. Its authorities are valid for ten years.
var Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const years = 10 * 365 * 24 * time.Hour

// Instance is a private Sigstore.
type Instance struct {
	tb                         testing.TB
	root, intermediate, stamps issued
	log, certificates          *ecdsa.PrivateKey
}

// issued is a certificate with its key.
type issued struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// New makes an instance with new keys.
func New(tb testing.TB) *Instance {
	tb.Helper()
	i := &Instance{tb: tb}
	ca := func(name string) x509.Certificate {
		return x509.Certificate{Subject: pkix.Name{CommonName: name}, NotBefore: Start, NotAfter: Start.Add(years),
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	}
	i.root = i.issue(ca("root"), issued{})
	intermediate := ca("intermediate")
	intermediate.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}
	i.intermediate = i.issue(intermediate, i.root)
	i.stamps = i.issue(x509.Certificate{Subject: pkix.Name{CommonName: "timestamps"}, NotBefore: Start,
		NotAfter: Start.Add(years), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping}}, i.root)
	i.log, i.certificates = i.newKey(), i.newKey()
	return i
}

func (i *Instance) must(err error) {
	i.tb.Helper()
	if err != nil {
		i.tb.Fatal(err)
	}
}

func (i *Instance) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	i.must(err)
	return key
}

// issue issues a certificate for a new key; it is self-signed without an issuer.
func (i *Instance) issue(template x509.Certificate, by issued) issued {
	i.tb.Helper()
	made := issued{key: i.newKey()}
	if template.SerialNumber == nil {
		template.SerialNumber = big.NewInt(1)
	}
	if by.key == nil {
		by = issued{&template, made.key}
	}
	i.certify(&template, &made, by)
	return made
}

func (i *Instance) certify(template *x509.Certificate, made *issued, by issued) {
	i.tb.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, by.certificate, made.key.Public(), by.key)
	i.must(err)
	made.certificate, err = x509.ParseCertificate(der)
	i.must(err)
}

func (i *Instance) sign(key *ecdsa.PrivateKey, message []byte) []byte {
	sum := sha256.Sum256(message)
	made, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	i.must(err)
	return made
}

func (i *Instance) spki(key *ecdsa.PrivateKey) (der, id []byte) {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	i.must(err)
	sum := sha256.Sum256(der)
	return der, sum[:]
}

// TrustRoot returns the trusted_root.json of the instance, without some of its lists (tlogs, ctlogs,
// timestampAuthorities).
func (i *Instance) TrustRoot(without ...string) string {
	i.tb.Helper()
	valid := map[string]any{"start": Start}
	chain := func(chain ...issued) map[string]any {
		var raw []any
		for _, c := range chain {
			raw = append(raw, map[string]any{"rawBytes": c.certificate.Raw})
		}
		return map[string]any{"certChain": map[string]any{"certificates": raw}, "validFor": valid}
	}
	log := func(key *ecdsa.PrivateKey) map[string]any {
		der, id := i.spki(key)
		return map[string]any{"publicKey": map[string]any{"rawBytes": der, "validFor": valid,
			"keyDetails": "PKIX_ECDSA_P256_SHA_256"}, "logId": map[string]any{"keyId": id}, "hashAlgorithm": "SHA2_256",
			"baseUrl": "https://log.test"}
	}
	made := map[string]any{
		"mediaType":              "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
		"certificateAuthorities": []any{chain(i.intermediate, i.root)},
		"timestampAuthorities":   []any{chain(i.stamps, i.root)},
		"tlogs":                  []any{log(i.log)}, "ctlogs": []any{log(i.certificates)},
	}
	for _, key := range without {
		delete(made, key)
	}
	text, err := json.Marshal(made)
	i.must(err)
	return string(text)
}

// Claim is what is signed, who signs it, and how it is recorded.
type Claim struct {
	Message []byte
	Payload []byte // of an envelope, of which Message is the encoding
	// Issuer and Subject are the identity of the signer; a subject with "://" is a URI.
	Issuer, Subject string
	Issued, Logged  time.Time // 0: Start plus an hour; the certificate is valid for ten minutes
	Kind            string    // of the entry; left out: hashedrekord/0.0.1

	// The faults: WithoutCertificateLog leaves the promise of the log of certificates out.
	WithoutCertificateLog bool
	// About is what the entry is about instead of the message.
	About []byte
	// Change changes the certificate before it is issued.
	Change func(template *x509.Certificate)
}

// Signed is a signature with its proof. Tests change what they need.
type Signed struct {
	Value       []byte
	Certificate []byte // DER
	// Entry is the entry of the log, as in a bundle, with a promise and a proof; nil for none.
	Entry     map[string]any
	Timestamp []byte // nil for none
}

// Sign signs a claim. The signature has an entry of the log and no timestamp.
func (i *Instance) Sign(c Claim) Signed {
	i.tb.Helper()
	at := Start.Add(time.Hour)
	if c.Issued.IsZero() {
		c.Issued = at
	}
	if c.Logged.IsZero() {
		c.Logged = c.Issued.Add(time.Minute)
	}
	signer := i.signer(c)
	s := Signed{Value: i.sign(signer.key, c.Message), Certificate: signer.certificate.Raw}
	s.Entry = i.Entry(c, s)
	return s
}

// signer issues the certificate of a signer.
func (i *Instance) signer(c Claim) issued {
	const validity = 10 * time.Minute
	issuer, err := asn1.MarshalWithParams(c.Issuer, "utf8")
	i.must(err)
	template := x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: c.Issued, NotAfter: c.Issued.Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 8}, Value: issuer}}}
	if strings.Contains(c.Subject, "://") {
		uri, err := url.Parse(c.Subject)
		i.must(err)
		template.URIs = []*url.URL{uri}
	} else {
		template.EmailAddresses = []string{c.Subject}
	}
	if c.Change != nil {
		c.Change(&template)
	}
	signer := issued{key: i.newKey()}
	i.certify(&template, &signer, i.intermediate)
	if !c.WithoutCertificateLog {
		template.ExtraExtensions = append(template.ExtraExtensions,
			i.listed(signer.certificate.RawTBSCertificate, c.Issued))
		i.certify(&template, &signer, i.intermediate)
	}
	return signer
}

// listed returns the extension with the promise of the log of certificates.
func (i *Instance) listed(signed []byte, at time.Time) pkix.Extension {
	issuer := sha256.Sum256(i.intermediate.certificate.RawSubjectPublicKeyInfo)
	_, id := i.spki(i.certificates)
	millis := uint64(at.UnixMilli()) //nolint:gosec // after 1970
	var message cryptobyte.Builder
	message.AddUint16(0)
	message.AddUint64(millis)
	message.AddUint16(1)
	message.AddBytes(issuer[:])
	message.AddUint24LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(signed) })
	message.AddUint16(0)
	var list cryptobyte.Builder
	list.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
		b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
			b.AddUint8(0)
			b.AddBytes(id)
			b.AddUint64(millis)
			b.AddUint16(0)
			b.AddUint16(4<<8 | 3) //nolint:mnd // SHA-256 and ECDSA
			b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
				b.AddBytes(i.sign(i.certificates, message.BytesOrPanic()))
			})
		})
	})
	value, err := asn1.Marshal(list.BytesOrPanic())
	i.must(err)
	return pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: value}
}

// Entry returns an entry of the log for a signature.
func (i *Instance) Entry(c Claim, s Signed) map[string]any {
	i.tb.Helper()
	about := c.About
	if about == nil {
		about = c.Message
	}
	body, err := json.Marshal(entryBody(c, s, about))
	i.must(err)
	_, id := i.spki(i.log)
	const index = 1000
	promised, err := json.Marshal(map[string]any{"body": body, "integratedTime": c.Logged.Unix(), "logIndex": index,
		"logID": hex.EncodeToString(id)})
	i.must(err)
	// The entry is the second of three of its tree.
	leaf := func(content []byte) []byte { return hash(0, content) }
	first, third := leaf([]byte("first")), leaf([]byte("third"))
	root := hash(1, hash(1, first, leaf(body)), third)
	text := fmt.Sprintf("log.test - 1\n3\n%s\n", base64.StdEncoding.EncodeToString(root))
	note := append(append([]byte{}, id[:4]...), i.sign(i.log, []byte(text))...)
	return map[string]any{
		"logIndex": "1000", "logId": map[string]any{"keyId": id}, "integratedTime": fmt.Sprint(c.Logged.Unix()),
		"canonicalizedBody": body,
		"inclusionPromise":  map[string]any{"signedEntryTimestamp": i.sign(i.log, promised)},
		"inclusionProof": map[string]any{"logIndex": "1", "treeSize": "3", "rootHash": root,
			"hashes": [][]byte{first, third}, "checkpoint": map[string]any{
				"envelope": text + "\n— log.test " + base64.StdEncoding.EncodeToString(note) + "\n",
			}},
	}
}

func hash(prefix byte, parts ...[]byte) []byte {
	h := sha256.New()
	h.Write([]byte{prefix})
	for _, part := range parts {
		h.Write(part)
	}
	return h.Sum(nil)
}

// entryBody returns the body of an entry of a kind.
func entryBody(c Claim, s Signed, about []byte) map[string]any {
	kind, version, _ := strings.Cut(c.Kind, "/")
	if kind == "" {
		kind, version = "hashedrekord", "0.0.1"
	}
	encoded := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate})
	raw := map[string]any{"keyDetails": "PKIX_ECDSA_P256_SHA_256",
		"x509Certificate": map[string]any{"rawBytes": s.Certificate}}
	if strings.HasPrefix(kind, "dsse") && c.About == nil {
		about = c.Payload
	}
	sum := sha256.Sum256(about)
	inHex := map[string]any{"algorithm": "sha256", "value": hex.EncodeToString(sum[:])}
	inBytes := map[string]any{"algorithm": "SHA2_256", "digest": sum[:]}
	var spec map[string]any
	switch kind + "/" + version {
	case "hashedrekord/0.0.1":
		spec = map[string]any{"data": map[string]any{"hash": inHex},
			"signature": map[string]any{"content": s.Value, "publicKey": map[string]any{"content": encoded}}}
	case "hashedrekord/0.0.2":
		spec = map[string]any{"hashedRekordV002": map[string]any{"data": inBytes,
			"signature": map[string]any{"content": s.Value, "verifier": raw}}}
	case "dsse/0.0.1":
		spec = map[string]any{"payloadHash": inHex, "envelopeHash": inHex,
			"signatures": []any{map[string]any{"signature": s.Value, "verifier": encoded}}}
	case "dsse/0.0.2":
		spec = map[string]any{"dsseV002": map[string]any{"payloadHash": inBytes,
			"signatures": []any{map[string]any{"content": s.Value, "verifier": raw}}}}
	}
	return map[string]any{"kind": kind, "apiVersion": version, "spec": spec}
}

// Material returns the proof as a bundle has it.
func (s Signed) Material() map[string]any {
	made := map[string]any{"certificate": map[string]any{"rawBytes": s.Certificate}}
	if s.Entry != nil {
		made["tlogEntries"] = []any{s.Entry}
	}
	if s.Timestamp != nil {
		made["timestampVerificationData"] = map[string]any{
			"rfc3161Timestamps": []any{map[string]any{"signedTimestamp": s.Timestamp}}}
	}
	return made
}

// Annotations returns the proof as cosign stores it in the annotations of a layer, with the promise of the log.
func (s Signed) Annotations() map[string]string {
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate})
	made := map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(s.Value),
		"dev.sigstore.cosign/certificate": string(certificate)}
	if s.Entry != nil {
		id, _ := s.Entry["logId"].(map[string]any)["keyId"].([]byte)
		text, _ := json.Marshal(map[string]any{
			"SignedEntryTimestamp": s.Entry["inclusionPromise"].(map[string]any)["signedEntryTimestamp"],
			"Payload": map[string]any{"body": s.Entry["canonicalizedBody"],
				"logIndex":       json.Number(s.Entry["logIndex"].(string)),
				"integratedTime": json.Number(s.Entry["integratedTime"].(string)), "logID": hex.EncodeToString(id)}})
		made["dev.sigstore.cosign/bundle"] = string(text)
	}
	if s.Timestamp != nil {
		text, _ := json.Marshal(map[string]any{"SignedRFC3161Timestamp": s.Timestamp})
		made["dev.sigstore.cosign/rfc3161timestamp"] = string(text)
	}
	return made
}
