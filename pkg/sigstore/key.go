package sigstore

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// minRSA and minECDSA are the minimum sizes of keys, in bits, and maxBits is the maximum. A signature comes with a
// key, and a large one takes long to use.
const (
	minRSA   = 2048
	maxBits  = 16384
	minECDSA = 256
)

// PublicKey verifies signatures.
type PublicKey struct{ key crypto.PublicKey }

// ParsePublicKey parses a public key in PEM: ECDSA, Ed25519 or RSA, as cosign writes it.
func ParsePublicKey(text string) (PublicKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != "PUBLIC KEY" {
		return PublicKey{}, errors.New("it is no public key in PEM (-----BEGIN PUBLIC KEY-----)")
	}
	return parsePublicKey(block.Bytes)
}

func parsePublicKey(der []byte) (PublicKey, error) {
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return PublicKey{}, fmt.Errorf("it is no public key: %w", err)
	}
	return newPublicKey(key)
}

func newPublicKey(key crypto.PublicKey) (PublicKey, error) {
	switch k := key.(type) {
	case ed25519.PublicKey:
		return PublicKey{key}, nil
	case *ecdsa.PublicKey:
		return PublicKey{key}, checkSize(k.Curve.Params().BitSize, minECDSA, maxBits)
	case *rsa.PublicKey:
		return PublicKey{key}, checkSize(k.N.BitLen(), minRSA, maxBits)
	}
	return PublicKey{}, fmt.Errorf("keys of type %T are not supported; use ECDSA, Ed25519 or RSA", key)
}

func checkSize(bits, fewest, most int) error {
	switch {
	case bits < fewest:
		return fmt.Errorf("it has %d bits, and needs at least %d", bits, fewest)
	case bits > most:
		return fmt.Errorf("it has %d bits, and at most %d are supported", bits, most)
	}
	return nil
}

// Verify reports whether the key made a signature of a message. ECDSA signs the SHA-256, or the hash as long as its
// curve; RSA the SHA-256 (PKCS #1 v1.5); Ed25519 the message or its SHA-512.
func (k PublicKey) Verify(message, signature []byte) bool {
	short := sha256.Sum256(message)
	switch key := k.key.(type) {
	case *ecdsa.PublicKey:
		middle, long := sha512.Sum384(message), sha512.Sum512(message)
		switch {
		case ecdsa.VerifyASN1(key, short[:], signature):
			return true
		case key.Curve.Params().BitSize == 384: //nolint:mnd // P-384
			return ecdsa.VerifyASN1(key, middle[:], signature)
		case key.Curve.Params().BitSize > 384: //nolint:mnd // P-521
			return ecdsa.VerifyASN1(key, long[:], signature)
		}
	case ed25519.PublicKey:
		long := sha512.Sum512(message)
		return ed25519.Verify(key, message, signature) ||
			ed25519.VerifyWithOptions(key, long[:], signature, &ed25519.Options{Hash: crypto.SHA512}) == nil
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, short[:], signature) == nil
	}
	return false
}
