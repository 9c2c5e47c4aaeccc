// Package token makes and reads the bearer tokens of the control plane: control tokens, registration tokens, runner keys and
// attempt tokens. A token names its org (and what else finds its row) in clear, so that the lookup runs under row-level security,
// and ends with 32 random bytes and a check: a keyed hash of all before it, which only this control plane can make. What does not
// check out is refused without a lookup, so a flood of guesses costs the database nothing. The check opens nothing: only the token's
// SHA-256 is kept, and a lookup by that hash is the comparison, so no time tells how much of a guess was right. The package never
// stores anything and decides nobody's rights.
package token

import (
	"crypto/hmac"
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

// secretBytes is how many random bytes a token has, and checkBytes how many of its check follow them. 80 bits are not guessed in
// any number of requests, and 42 bytes are 56 characters of base64 without a bit to spare.
const (
	secretBytes = 32
	checkBytes  = 10
)

// longest is far above any token; what is longer is not looked at.
const longest = 512

// Keys make and check the tokens of one control plane. The zero Keys make no token and take none.
type Keys struct{ keys [][]byte }

// NewKeys gives the Keys of these keys: the first makes tokens, and all of them check.
func NewKeys(keys ...[]byte) Keys { return Keys{keys} }

// Mint makes a token `<prefix>_<part>.<part>.….<secret>` and the hash that is kept of it. The parts are ids or numbers: letters,
// digits, - and _. plain is a secret: it is shown once to whom it is for, and never logged or stored.
func (k Keys) Mint(prefix string, parts ...string) (plain string, hash []byte) {
	secret := make([]byte, secretBytes, secretBytes+checkBytes)
	// crypto/rand.Read never fails: the runtime ends the program where the system has no randomness.
	_, _ = rand.Read(secret)
	clear := prefix + "_" + strings.Join(parts, ".") + "."
	secret = append(secret, check(k.keys[0], clear, secret)...)
	plain = clear + base64.RawURLEncoding.EncodeToString(secret)
	return plain, Hash(plain)
}

// check is the keyed hash at the end of a token.
func check(key []byte, clear string, secret []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(clear))
	mac.Write(secret)
	return mac.Sum(nil)[:checkBytes]
}

// Genuine reports whether this control plane made a token. It may be void all the same.
func (k Keys) Genuine(plain string) bool {
	_, _, _, ok := k.Parse(plain)
	return ok
}

// Hash is what is kept of a token: the SHA-256 of all of it.
func Hash(plain string) []byte {
	sum := sha256.Sum256([]byte(plain))
	return sum[:]
}

// Parse takes a token apart and hashes it. ok says that this control plane made it, not that it opens anything: that is for the
// lookup of the hash. Parts hold nothing but letters, digits, - and _.
func (k Keys) Parse(plain string) (prefix string, parts []string, hash []byte, ok bool) {
	if len(plain) > longest {
		return "", nil, nil, false
	}
	prefix, rest, found := strings.Cut(plain, "_")
	if !found || !known(prefix) {
		return "", nil, nil, false
	}
	fields := strings.Split(rest, ".")
	secret, err := base64.RawURLEncoding.DecodeString(fields[len(fields)-1])
	if err != nil || len(secret) != secretBytes+checkBytes || len(fields) < 2 {
		return "", nil, nil, false
	}
	parts = fields[:len(fields)-1]
	for _, part := range parts {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
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
	return prefix == Control || prefix == Runner || prefix == Registration || prefix == Attempt
}
