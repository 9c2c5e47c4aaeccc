package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// PlainHash returns the hash of a plain text value, as rows store it: that of its JSON.
func PlainHash(text string) string {
	raw, _ := json.Marshal(text) // a text always encodes
	return sha256digest.Of(raw)
}

// SealedHash returns the hash of a sealed value, as rows store it: that of the ciphertext, which says
// nothing about the value. A value that is sealed again has another hash.
func SealedHash(ciphertext []byte) string { return "sealed:" + hexSum(ciphertext) }

func hexSum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
