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

// The actions that a token may allow. Pushing requires pulling, too: the protocol checks for existing blobs
// before it sends. Only the reconciler's own tokens for `nuon registry gc` allow deleting.
const (
	ActionPull   = "pull"
	ActionPush   = "push"
	ActionDelete = "delete"
)

// tokenPrefix makes a token recognizable to people and to secret scanners.
const tokenPrefix = "nuonreg_"

// maxTokenBytes is far above any token; longer ones are rejected at once.
const maxTokenBytes = 4096

// Reasons why a token is rejected.
var (
	errNotOurs = errors.New("this is not a token of this registry")
	errExpired = errors.New("the token has expired")
)

// Signer issues and verifies tokens. All Signers with the same server key are equivalent, in every
// replica and command. The zero value issues no valid tokens; use NewSigner.
type Signer struct {
	tokens  []byte
	uploads []byte
}

// NewSigner derives a Signer from a secret server key of at least 16 bytes.
func NewSigner(key []byte) (Signer, error) {
	if len(key) < 16 {
		return Signer{}, fmt.Errorf("make a registry signer: the server key has %d bytes, it needs at least 16",
			len(key))
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

// String hides the keys from logs.
func (Signer) String() string { return "(registry signer)" }

// GoString hides the keys from %#v.
func (Signer) GoString() string { return "(registry signer)" }

// claims are the content of a token. The names are short because it is part of every request.
type claims struct {
	Prefix  string   `json:"p"`
	Actions []string `json:"a"`
	Expires int64    `json:"e"`
}

// Issue returns a token for the repositories at and below prefix, such as "dev/vendor", until
// expires. The token is a secret. Clients send it as the password of HTTP Basic with any user
// name, or as a bearer token. With an empty prefix it allows nothing.
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

// verify returns the claims of a token that this Signer issued and that has not expired.
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

// allows reports whether the token allows the action on the repository.
func (c claims) allows(repository, action string) bool {
	if c.Prefix == "" || action != ActionPull && action != ActionPush && action != ActionDelete {
		return false
	}
	inside := repository == c.Prefix || strings.HasPrefix(repository, c.Prefix+"/")
	return inside && slices.Contains(c.Actions, action)
}
