package registry

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The actions that a token may allow. Pushing needs both: the protocol asks what is there before it sends. There is no token that
// deletes.
const (
	ActionPull = "pull"
	ActionPush = "push"
)

// tokenPrefix makes a token recognisable to people and to secret scanners.
const tokenPrefix = "nuonreg_"

// maxTokenBytes is far above any token; what is longer is not looked at.
const maxTokenBytes = 4096

// Reasons for which a token opens nothing.
var (
	errNotOurs = errors.New("this is no token of this registry")
	errExpired = errors.New("the token has expired")
)

// Signer issues and verifies tokens. Every replica and every command that is given the same server key makes the same Signer. Its
// zero value issues nothing that verifies; use NewSigner.
type Signer struct {
	tokens  []byte
	uploads []byte
}

// NewSigner derives a Signer from a server key of at least 16 secret bytes.
func NewSigner(key []byte) (Signer, error) {
	if len(key) < 16 {
		return Signer{}, fmt.Errorf("make a registry signer: the server key has %d bytes, it needs at least 16", len(key))
	}
	tokens, err := hkdf.Key(sha256.New, key, nil, "nuon/v1/registry tokens", sha256.Size)
	if err != nil {
		return Signer{}, fmt.Errorf("make a registry signer: %w", err)
	}
	uploads, err := hkdf.Key(sha256.New, key, nil, "nuon/v1/registry uploads", sha256.Size)
	if err != nil {
		return Signer{}, fmt.Errorf("make a registry signer: %w", err)
	}
	return Signer{tokens: tokens, uploads: uploads}, nil
}

// String keeps the keys out of logs.
func (Signer) String() string { return "(registry signer)" }

// GoString keeps the keys out of %#v.
func (Signer) GoString() string { return "(registry signer)" }

// claims are what a token says. Short names: it travels with every request.
type claims struct {
	Prefix  string   `json:"p"`
	Actions []string `json:"a"`
	Expires int64    `json:"e"`
}

// Issue gives a token for the repositories at and below prefix, such as "dev/vendor", until expires. It is a secret; it is sent
// as the password of HTTP Basic with any user name, or as a bearer token. An empty prefix opens nothing.
func (s Signer) Issue(prefix string, actions []string, expires time.Time) string {
	// Strings and a number always marshal.
	said, _ := json.Marshal(claims{Prefix: strings.Trim(prefix, "/"), Actions: actions, Expires: expires.Unix()})
	body := base64.RawURLEncoding.EncodeToString(said)
	return tokenPrefix + body + "." + s.sign(body)
}

func (s Signer) sign(body string) string {
	mac := hmac.New(sha256.New, s.tokens)
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

// verify gives what a token says, when the Signer issued it and its time is not over.
func (s Signer) verify(token string, now time.Time) (claims, error) {
	body, found := strings.CutPrefix(token, tokenPrefix)
	if !found || len(token) > maxTokenBytes || len(s.tokens) == 0 {
		return claims{}, errNotOurs
	}
	body, signature, found := strings.Cut(body, ".")
	if !found || !hmac.Equal([]byte(signature), []byte(s.sign(body))) {
		return claims{}, errNotOurs
	}
	said, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return claims{}, errNotOurs
	}
	var read claims
	if err := json.Unmarshal(said, &read); err != nil {
		return claims{}, errNotOurs
	}
	if !now.Before(time.Unix(read.Expires, 0)) {
		return claims{}, errExpired
	}
	return read, nil
}

// allows tells whether the token opens repository for action.
func (c claims) allows(repository, action string) bool {
	if c.Prefix == "" || action != ActionPull && action != ActionPush {
		return false
	}
	inside := repository == c.Prefix || strings.HasPrefix(repository, c.Prefix+"/")
	return inside && slices.Contains(c.Actions, action)
}
