// Package token makes and reads the bearer tokens of the control plane: control tokens, registration tokens, runner keys and
// attempt tokens. A token names its org (and what else finds its row) in clear, so that the lookup runs under row-level security,
// and ends with 32 random bytes. Only its SHA-256 is kept; a lookup by that hash is the comparison, so no time tells how much of
// a guess was right. The package never stores anything and decides nobody's rights.
package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// Prefixes, one for each kind of token. They make a token recognisable to people and to secret scanners.
const (
	Control      = "nuon"  // parts: org
	Runner       = "nuonr" // parts: org, runner
	Registration = "nuong" // parts: org
	Attempt      = "nuona" // parts: org, job, attempt number
)

// secretBytes is how many random bytes a token ends with.
const secretBytes = 32

// longest is far above any token; what is longer is not looked at.
const longest = 512

// Mint makes a token `<prefix>_<part>.<part>.….<secret>` and the hash that is kept of it. The parts are ids or numbers: letters,
// digits, - and _. plain is a secret: it is shown once to whom it is for, and never logged or stored.
func Mint(prefix string, parts ...string) (plain string, hash []byte) {
	secret := make([]byte, secretBytes)
	// crypto/rand.Read never fails: the runtime ends the program where the system has no randomness.
	_, _ = rand.Read(secret)
	plain = prefix + "_" + strings.Join(append(parts, base64.RawURLEncoding.EncodeToString(secret)), ".")
	return plain, Hash(plain)
}

// Hash is what is kept of a token: the SHA-256 of all of it.
func Hash(plain string) []byte {
	sum := sha256.Sum256([]byte(plain))
	return sum[:]
}

// Parse takes a token apart and hashes it. ok says that it has the form of a token, not that anybody issued it: that is for the
// lookup of the hash. Parts hold nothing but letters, digits, - and _.
func Parse(plain string) (prefix string, parts []string, hash []byte, ok bool) {
	if len(plain) > longest {
		return "", nil, nil, false
	}
	prefix, rest, found := strings.Cut(plain, "_")
	if !found || !known(prefix) {
		return "", nil, nil, false
	}
	fields := strings.Split(rest, ".")
	secret, err := base64.RawURLEncoding.DecodeString(fields[len(fields)-1])
	if err != nil || len(secret) != secretBytes || len(fields) < 2 {
		return "", nil, nil, false
	}
	parts = fields[:len(fields)-1]
	for _, part := range parts {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			return "", nil, nil, false
		}
	}
	return prefix, parts, Hash(plain), true
}

func known(prefix string) bool {
	return prefix == Control || prefix == Runner || prefix == Registration || prefix == Attempt
}
