package cloudtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// issuer signs JSON web tokens.
type issuer struct {
	URL  string
	once sync.Once
	keys map[jose.SignatureAlgorithm]crypto.Signer
}

// signer returns the key for an algorithm. Keys are made when they are needed, because those of RSA are slow to make.
func (i *issuer) signer(algorithm jose.SignatureAlgorithm) crypto.Signer {
	i.once.Do(func() {
		small, _ := rsa.GenerateKey(rand.Reader, 2048) // no valid size fails
		curve, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
		i.keys = map[jose.SignatureAlgorithm]crypto.Signer{jose.RS256: small, jose.ES384: curve}
	})
	return i.keys[algorithm]
}

// sign returns a token with the given claims.
func (i *issuer) sign(algorithm jose.SignatureAlgorithm, claims any) string {
	key := jose.JSONWebKey{Key: i.signer(algorithm), KeyID: string(algorithm)}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		panic(err) // the keys above fit their algorithms
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		panic(err)
	}
	return token
}

// verify reads the claims of a token that the issuer signed. It does not check them.
func (i *issuer) verify(token string, claims any) error {
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return err
	}
	return parsed.Claims(i.signer(jose.RS256).Public(), claims)
}

// serveKeys writes the public keys.
func (i *issuer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	var set jose.JSONWebKeySet
	for _, algorithm := range []jose.SignatureAlgorithm{jose.RS256, jose.ES384} {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: i.signer(algorithm).Public(), KeyID: string(algorithm),
			Algorithm: string(algorithm), Use: "sig"})
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_ = json.NewEncoder(w).Encode(set) // the client sees an answer that is cut off
}

// EnableFederation makes sts:GetWebIdentityToken work in an account, and returns the issuer of its tokens.
func (a *AWS) EnableFederation(account string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.federation[account] == nil {
		a.federation[account] = &issuer{URL: "https://" + requestID() + ".tokens.sts.global.api.aws"}
	}
	return a.federation[account].URL
}

// SignToken returns a token of an account's issuer with any claims, as AWS itself would never sign them.
func (a *AWS) SignToken(account string, claims map[string]any) string {
	a.mu.Lock()
	i := a.federation[account]
	a.mu.Unlock()
	return i.sign(jose.ES384, claims)
}

// serveKeys serves the keys of the accounts' issuers.
func (a *AWS) serveKeys(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	var found *issuer
	for _, i := range a.federation {
		if i.URL == "https://"+r.Host {
			found = i
		}
	}
	a.mu.Unlock()
	if found == nil || r.URL.Path != "/.well-known/jwks.json" {
		http.NotFound(w, r)
		return
	}
	found.serveKeys(w, r)
}

// webIdentityToken answers sts:GetWebIdentityToken.
func (a *AWS) webIdentityToken(w http.ResponseWriter, s Session, v url.Values) error {
	a.mu.Lock()
	i := a.federation[s.Role.Account]
	a.mu.Unlock()
	if i == nil {
		return AWSError{403, "OutboundWebIdentityFederationDisabledException",
			"Outbound web identity federation is not enabled for your account"}
	}
	if !a.allows(s, "sts:GetWebIdentityToken", "*") {
		return a.Authorize(s, "sts:GetWebIdentityToken", "*")
	}
	audience, algorithm := listOf(v, "Audience", ""), jose.SignatureAlgorithm(v.Get("SigningAlgorithm"))
	seconds, err := strconv.Atoi(v.Get("DurationSeconds"))
	if v.Get("DurationSeconds") == "" {
		seconds, err = 300, nil
	}
	if err != nil || seconds < 60 || seconds > 3600 || len(audience) == 0 || len(audience) > 10 ||
		i.signer(algorithm) == nil {
		return AWSError{400, "ValidationError", "a parameter of GetWebIdentityToken is not valid"}
	}
	now := a.cloud.Now()
	expires := now.Add(time.Duration(seconds) * time.Second)
	var aud any = audience
	if len(audience) == 1 {
		aud = audience[0]
	}
	token := i.sign(algorithm, map[string]any{
		"iss": i.URL, "sub": s.Role.ARN(), "aud": aud, "iat": now.Unix(), "exp": expires.Unix(), "jti": requestID(),
		"https://sts.amazonaws.com/": map[string]any{
			"aws_account": s.Role.Account, "principal_id": s.Role.ARN(), "source_region": s.Region,
			"original_session_exp": s.Expires.Format(time.RFC3339),
		},
	})
	type result struct{ WebIdentityToken, Expiration string }
	writeXML(w, http.StatusOK, struct {
		XMLName  xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ GetWebIdentityTokenResponse"`
		Result   result   `xml:"GetWebIdentityTokenResult"`
		Metadata metadata `xml:"ResponseMetadata"`
	}{Result: result{token, expires.UTC().Format(time.RFC3339)}, Metadata: metadata{requestID()}})
	return nil
}
