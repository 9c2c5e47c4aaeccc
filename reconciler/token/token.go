// Package token creates and parses the bearer tokens of the control plane: control tokens,
// registration tokens, runner keys, attempt tokens and claim tokens. A token contains its org (and
// what else identifies its row) in clear, so that the lookup runs under row-level security. It ends
// with 32 random bytes and a check: a keyed hash of everything before it, which only this control plane
// can compute. A token with a wrong check is rejected without a lookup, so a flood of guesses
// costs the database nothing. The check alone grants no access: the database stores only the
// token's SHA-256, and the lookup by that hash is the comparison, so timing does not reveal how
// much of a guess was right. The package stores nothing and makes no authorization decisions.
package token

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/id"
)

// Prefixes, one for each kind of token. They make a token recognizable to people and to secret
// scanners.
const (
	Control      = "nuon"  // parts: org
	Runner       = "nuonr" // parts: org, runner
	Registration = "nuong" // parts: org
	Attempt      = "nuona" // parts: org, job, attempt number
	Claim        = "nuonc" // parts: org, install; not a secret, see Keys.Derive
)

// secretBytes is the number of random bytes in a token, and checkBytes the length of the check
// after them. 80 bits cannot be guessed in any number of requests, and 42 bytes are exactly 56
// characters of base64.
const (
	secretBytes = 32
	checkBytes  = 10
)

// longest is far above any token; longer ones are rejected at once.
const longest = 512

// Keys create and check the tokens of one control plane. The zero value accepts none, and its Mint
// panics.
type Keys struct{ keys [][]byte }

// NewKeys returns Keys of these keys: the first creates tokens, and all of them check.
func NewKeys(keys ...[]byte) Keys { return Keys{keys} }

// Mint creates a token `<prefix>_<part>.<part>.….<secret>` and the hash to store. The parts are
// ids or numbers: letters, digits, - and _. plain is a secret: show it once to its owner, and
// never log or store it.
func (k Keys) Mint(prefix string, parts ...string) (plain string, hash []byte) {
	secret := make([]byte, secretBytes, secretBytes+checkBytes)
	// crypto/rand.Read never fails: the runtime aborts the program if the system has no randomness.
	_, _ = rand.Read(secret)
	clear := prefix + "_" + strings.Join(parts, ".") + "."
	secret = append(secret, check(k.keys[0], clear, secret)...)
	plain = clear + base64.RawURLEncoding.EncodeToString(secret)
	return plain, Hash(plain)
}

// Derive returns a token that is always the same for its prefix and parts, without random bytes. It
// shows that this control plane named the parts, and nothing else: it is made for places that others
// can read, and opens nothing alone.
func (k Keys) Derive(prefix string, parts ...string) string {
	clear := prefix + "_" + strings.Join(parts, ".") + "."
	mac := hmac.New(sha256.New, k.keys[0])
	mac.Write([]byte("derive "))
	mac.Write([]byte(clear))
	secret := mac.Sum(nil)
	return clear + base64.RawURLEncoding.EncodeToString(append(secret, check(k.keys[0], clear, secret)...))
}

// check returns the keyed hash at the end of a token.
func check(key []byte, clear string, secret []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(clear))
	mac.Write(secret)
	return mac.Sum(nil)[:checkBytes]
}

// Genuine reports whether this control plane created a token. The token may still be void.
func (k Keys) Genuine(plain string) bool {
	_, _, _, ok := k.Parse(plain)
	return ok
}

// Hash returns the hash of a token that the database stores: the SHA-256 of all of it.
func Hash(plain string) []byte {
	sum := sha256.Sum256([]byte(plain))
	return sum[:]
}

// Parse splits a token into its parts and hashes it. ok means that this control plane created it,
// not that it is valid: only the lookup of the hash shows that. Parts contain only letters,
// digits, - and _.
func (k Keys) Parse(plain string) (prefix string, parts []string, hash []byte, ok bool) {
	if len(plain) > longest {
		return "", nil, nil, false
	}
	prefix, rest, found := strings.Cut(plain, "_")
	if !found || !known(prefix) {
		return "", nil, nil, false
	}
	fields := strings.Split(rest, ".")
	last := fields[len(fields)-1]
	secret, err := base64.RawURLEncoding.DecodeString(last)
	if err != nil || len(secret) != secretBytes+checkBytes || len(fields) < 2 ||
		len(last) != base64.RawURLEncoding.EncodedLen(len(secret)) { // the decoder skips line breaks
		return "", nil, nil, false
	}
	parts = fields[:len(fields)-1]
	for _, part := range parts {
		if part == "" || strings.Trim(part, id.Letters) != "" {
			return "", nil, nil, false
		}
	}
	clear, random, found := plain[:strings.LastIndexByte(plain, '.')+1], secret[:secretBytes], false
	for _, key := range k.keys {
		found = found || hmac.Equal(check(key, clear, random), secret[secretBytes:])
	}
	if !found {
		return "", nil, nil, false
	}
	return prefix, parts, Hash(plain), true
}

func known(prefix string) bool {
	return prefix == Control || prefix == Runner || prefix == Registration || prefix == Attempt || prefix == Claim
}
