package sigstoretest

import (
	"crypto/sha256"
	"encoding/asn1"
	"time"

	"golang.org/x/crypto/cryptobyte"
	tags "golang.org/x/crypto/cryptobyte/asn1"
)

// Timestamp returns the answer of the timestamp authority about a signature.
func (i *Instance) Timestamp(signature []byte, at time.Time) []byte {
	i.tb.Helper()
	info := i.info(signature, at)
	attributes := i.attributes(info)
	set := sequence(tags.SET, attributes)
	var b cryptobyte.Builder
	b.AddASN1(tags.SEQUENCE, func(b *cryptobyte.Builder) { // TimeStampResp
		b.AddASN1(tags.SEQUENCE, func(b *cryptobyte.Builder) { b.AddASN1Int64(0) })
		b.AddASN1(tags.SEQUENCE, func(b *cryptobyte.Builder) { // ContentInfo
			b.AddASN1ObjectIdentifier(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2})
			b.AddASN1(tagged(0), func(b *cryptobyte.Builder) {
				b.AddASN1(tags.SEQUENCE, func(b *cryptobyte.Builder) { // SignedData
					b.AddASN1Int64(3) //nolint:mnd // the version
					b.AddASN1(tags.SET, addSHA256)
					b.AddASN1(tags.SEQUENCE, func(b *cryptobyte.Builder) {
						b.AddASN1ObjectIdentifier(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4})
						b.AddASN1(tagged(0), func(b *cryptobyte.Builder) { b.AddASN1OctetString(info) })
					})
					b.AddASN1(tags.SET, func(b *cryptobyte.Builder) {
						b.AddASN1(tags.SEQUENCE, func(b *cryptobyte.Builder) { // SignerInfo
							b.AddASN1Int64(1)
							b.AddASN1(tags.SEQUENCE, func(b *cryptobyte.Builder) {
								b.AddBytes(i.stamps.certificate.RawIssuer)
								b.AddASN1BigInt(i.stamps.certificate.SerialNumber)
							})
							addSHA256(b)
							b.AddASN1(tagged(0), func(b *cryptobyte.Builder) { b.AddBytes(attributes) })
							b.AddASN1(tags.SEQUENCE, func(b *cryptobyte.Builder) {
								b.AddASN1ObjectIdentifier(asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2})
							})
							b.AddASN1OctetString(i.sign(i.stamps.key, set))
						})
					})
				})
			})
		})
	})
	return b.BytesOrPanic()
}

func tagged(n uint8) tags.Tag { return tags.Tag(n).Constructed().ContextSpecific() }

func sequence(tag tags.Tag, content []byte) []byte {
	var b cryptobyte.Builder
	b.AddASN1(tag, func(b *cryptobyte.Builder) { b.AddBytes(content) })
	return b.BytesOrPanic()
}

func addSHA256(b *cryptobyte.Builder) {
	b.AddASN1(tags.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1ObjectIdentifier(asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1})
	})
}

// info returns what the authority states: which signature existed when.
func (i *Instance) info(signature []byte, at time.Time) []byte {
	sum := sha256.Sum256(signature)
	var b cryptobyte.Builder
	b.AddASN1(tags.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1Int64(1)
		b.AddASN1ObjectIdentifier(asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 2})
		b.AddASN1(tags.SEQUENCE, func(b *cryptobyte.Builder) {
			addSHA256(b)
			b.AddASN1OctetString(sum[:])
		})
		b.AddASN1Int64(7) //nolint:mnd // a serial number
		b.AddASN1GeneralizedTime(at.UTC())
	})
	return b.BytesOrPanic()
}

// attributes returns the attributes that the authority signs: the type and the digest of the content.
func (i *Instance) attributes(content []byte) []byte {
	sum := sha256.Sum256(content)
	var b cryptobyte.Builder
	b.AddASN1(tags.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1ObjectIdentifier(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3})
		b.AddASN1(tags.SET, func(b *cryptobyte.Builder) {
			b.AddASN1ObjectIdentifier(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4})
		})
	})
	b.AddASN1(tags.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1ObjectIdentifier(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4})
		b.AddASN1(tags.SET, func(b *cryptobyte.Builder) { b.AddASN1OctetString(sum[:]) })
	})
	return b.BytesOrPanic()
}
