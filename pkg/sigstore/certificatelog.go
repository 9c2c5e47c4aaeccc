package sigstore

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cryptobyteasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// extensionTimestamps is the extension of a certificate with the promises of logs of certificates (RFC 6962, 3.3).
var extensionTimestamps = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}

// The constants of RFC 6962 and RFC 5246 in such a promise.
const (
	timestampVersion = 0 // v1
	timestampType    = 0 // certificate_timestamp
	precertEntry     = 1
	keyIDBytes       = 32
)

// verifyCertificateLog verifies that a log of the root promised to list a certificate.
func (r *TrustRoot) verifyCertificateLog(leaf *x509.Certificate, chain []*x509.Certificate) error {
	const issuer = 2
	if len(chain) < issuer {
		return errors.New("its certificate issued itself")
	}
	signed, promises, err := splitCertificate(leaf)
	if err != nil {
		return err
	}
	var list, promise cryptobyte.String
	if !promises.ReadASN1(&promises, cryptobyteasn1.OCTET_STRING) || !promises.ReadUint16LengthPrefixed(&list) {
		return errors.New("its certificate has no promise of a log of certificates")
	}
	key := sha256.Sum256(chain[1].RawSubjectPublicKeyInfo)
	for range maxEntries {
		if !list.ReadUint16LengthPrefixed(&promise) {
			break
		}
		if r.verifyPromise(promise, signed, key[:]) {
			return nil
		}
	}
	return errors.New("no log of certificates that the trust root names promised to list its certificate")
}

// verifyPromise verifies the promise of a log to list the certificate with the signed content, issued by a key.
func (r *TrustRoot) verifyPromise(promise cryptobyte.String, signed, issuerKey []byte) bool {
	var (
		version, hash, algorithm uint8
		id                       []byte
		at                       uint64
		extensions, signature    cryptobyte.String
	)
	if !promise.ReadUint8(&version) || version != timestampVersion || !promise.ReadBytes(&id, keyIDBytes) ||
		!promise.ReadUint64(&at) || !promise.ReadUint16LengthPrefixed(&extensions) || !promise.ReadUint8(&hash) ||
		!promise.ReadUint8(&algorithm) || !promise.ReadUint16LengthPrefixed(&signature) {
		return false
	}
	log, known := r.certificateLogs[string(id)]
	if !known || !log.valid.has(time.UnixMilli(int64(at))) { //nolint:gosec // an overflow is not in the period
		return false
	}
	message := cryptobyte.NewBuilder(nil)
	message.AddUint8(timestampVersion)
	message.AddUint8(timestampType)
	message.AddUint64(at)
	message.AddUint16(precertEntry)
	message.AddBytes(issuerKey)
	message.AddUint24LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(signed) })
	message.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(extensions) })
	content, err := message.Bytes()
	return err == nil && log.key.Verify(content, signature)
}

// splitCertificate returns the signed content of a certificate without the promises of logs, which is what the logs
// signed, and these promises.
func splitCertificate(c *x509.Certificate) (signed []byte, promises cryptobyte.String, err error) {
	const extensionsTag = 3
	unreadable := errors.New("its certificate cannot be read")
	input, fields := cryptobyte.String(c.RawTBSCertificate), cryptobyte.String(nil)
	if !input.ReadASN1(&fields, cryptobyteasn1.SEQUENCE) {
		return nil, nil, unreadable
	}
	var before, kept []byte
	for !fields.Empty() {
		var element cryptobyte.String
		var tag cryptobyteasn1.Tag
		if !fields.ReadAnyASN1Element(&element, &tag) {
			return nil, nil, unreadable
		}
		if tag != cryptobyteasn1.Tag(extensionsTag).Constructed().ContextSpecific() {
			before = append(before, element...)
			continue
		}
		if kept, promises, err = splitExtensions(element, tag); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", unreadable, err)
		}
	}
	b := cryptobyte.NewBuilder(nil)
	b.AddASN1(cryptobyteasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(before)
		b.AddASN1(cryptobyteasn1.Tag(extensionsTag).Constructed().ContextSpecific(), func(b *cryptobyte.Builder) {
			b.AddASN1(cryptobyteasn1.SEQUENCE, func(b *cryptobyte.Builder) { b.AddBytes(kept) })
		})
	})
	signed, err = b.Bytes()
	return signed, promises, err
}

// splitExtensions returns the extensions of a certificate without the promises of logs, and the value of these.
func splitExtensions(
	element cryptobyte.String, tag cryptobyteasn1.Tag,
) (kept []byte, promises cryptobyte.String, err error) {
	malformed := errors.New("its extensions are malformed")
	var list cryptobyte.String
	if !element.ReadASN1(&element, tag) || !element.ReadASN1(&list, cryptobyteasn1.SEQUENCE) {
		return nil, nil, malformed
	}
	for !list.Empty() {
		var extension, fields cryptobyte.String
		var id asn1.ObjectIdentifier
		if !list.ReadASN1Element(&extension, cryptobyteasn1.SEQUENCE) {
			return nil, nil, malformed
		}
		fields = extension
		if !fields.ReadASN1(&fields, cryptobyteasn1.SEQUENCE) || !fields.ReadASN1ObjectIdentifier(&id) {
			return nil, nil, malformed
		}
		if !id.Equal(extensionTimestamps) {
			kept = append(kept, extension...)
			continue
		}
		if !fields.SkipOptionalASN1(cryptobyteasn1.BOOLEAN) || !fields.ReadASN1(&promises, cryptobyteasn1.OCTET_STRING) {
			return nil, nil, malformed
		}
	}
	return kept, promises, nil
}
