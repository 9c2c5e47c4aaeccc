// Package sha256digest names content by its SHA-256, in the form that OCI registries use. Artifacts, configs, build
// inputs, releases, approvals and hashes of plain values are named like this. Everything that stores or compares
// such a name calls it.
package sha256digest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const prefix = "sha256:"

// Of returns "sha256:" and the 64 hexadecimal digits of the hash of content.
func Of(content []byte) string {
	sum := sha256.Sum256(content)
	return prefix + hex.EncodeToString(sum[:])
}

// Check returns an error unless text has the form that Of returns. It accepts no other algorithm, so that each
// content has exactly one name.
func Check(text string) error {
	digits, found := strings.CutPrefix(text, prefix)
	if !found || len(digits) != 64 || strings.Trim(digits, "0123456789abcdef") != "" {
		return fmt.Errorf("%q is not a digest; one looks like sha256: followed by 64 hexadecimal digits", text)
	}
	return nil
}
