package cloudidentity

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// algorithms are those that the three clouds sign with.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES384}

// awsToken checks a token of sts:GetWebIdentityToken. Every account has its own issuer, and AWS alone
// signs for all of them and sets the claims.
func (v *Verifier) awsToken(ctx context.Context, raw, audience string) (Subject, error) {
	var claims struct {
		STS struct {
			Account   string `json:"aws_account"`
			Principal string `json:"principal_id"`
		} `json:"https://sts.amazonaws.com/"`
	}
	standard, err := v.verified(ctx, raw, audience, func(issuer string) string {
		if !awsIssuer.MatchString(issuer) {
			return ""
		}
		return issuer + "/.well-known/jwks.json"
	}, &claims)
	if err != nil {
		return Subject{}, err
	}
	m := iamRole.FindStringSubmatch(standard.Subject)
	if m == nil || !awsAccount.MatchString(claims.STS.Account) || m[1] != claims.STS.Account ||
		claims.STS.Principal != "" && claims.STS.Principal != standard.Subject {
		return Subject{}, ErrIdentity.With("%.200q is no role of the account in its token", standard.Subject)
	}
	return Subject{Cloud: AWS, Account: m[1], Name: m[2], Principal: standard.Subject}, nil
}

// gcpKeys is where the keys of Google's identity tokens are.
const gcpKeys = "https://www.googleapis.com/oauth2/v3/certs"

// gcpToken checks the identity token of a machine on GCP, in its full format.
func (v *Verifier) gcpToken(ctx context.Context, raw, audience string) (Subject, error) {
	var claims struct {
		Email    string `json:"email"`
		Verified bool   `json:"email_verified"`
		Google   struct {
			Machine struct {
				Project  string `json:"project_id"`
				Instance string `json:"instance_id"`
			} `json:"compute_engine"`
		} `json:"google"`
	}
	if _, err := v.verified(ctx, raw, audience, func(issuer string) string {
		if issuer != "https://accounts.google.com" {
			return ""
		}
		return gcpKeys
	}, &claims); err != nil {
		return Subject{}, err
	}
	m, machine := gcpEmail.FindStringSubmatch(claims.Email), claims.Google.Machine
	switch {
	case m == nil || !claims.Verified:
		return Subject{}, ErrIdentity.With("%.200q is no service account of a project", claims.Email)
	case !gcpProject.MatchString(machine.Project) || !gcpNumber.MatchString(machine.Instance):
		return Subject{}, ErrIdentity.With("the token is not of a machine; ask the metadata server for format=full")
	case m[2] != machine.Project:
		return Subject{}, ErrIdentity.With("the service account %.200q is of another project than the machine", claims.Email)
	}
	return Subject{Cloud: GCP, Account: machine.Project, Name: m[1], Machine: machine.Instance,
		Principal: claims.Email}, nil
}

// azureToken checks the access token of a managed identity on Azure. Azure cannot bind it to a nonce,
// so the caller must not accept it from two machines.
func (v *Verifier) azureToken(ctx context.Context, raw string) (Subject, error) {
	if v.options.AzureAudience == "" {
		return Subject{}, ErrIdentity.With("this control plane was started without --azure-audience")
	}
	var claims struct {
		Tenant   string `json:"tid"`
		Resource string `json:"xms_mirid"`
		Type     string `json:"idtyp"`
	}
	standard, err := v.verified(ctx, raw, v.options.AzureAudience, func(issuer string) string {
		tenant := strings.TrimSuffix(strings.TrimPrefix(issuer, "https://sts.windows.net/"), "/")
		if issuer != "https://sts.windows.net/"+tenant+"/" {
			tenant = strings.TrimSuffix(strings.TrimPrefix(issuer, "https://login.microsoftonline.com/"), "/v2.0")
			if issuer != "https://login.microsoftonline.com/"+tenant+"/v2.0" {
				return ""
			}
		}
		if !guid.MatchString(tenant) {
			return ""
		}
		return "https://login.microsoftonline.com/" + tenant + "/discovery/v2.0/keys"
	}, &claims)
	if err != nil {
		return Subject{}, err
	}
	m := azureID.FindStringSubmatch(claims.Resource)
	if m == nil || !guid.MatchString(claims.Tenant) || !strings.Contains(standard.Issuer, "/"+claims.Tenant+"/") ||
		claims.Type != "app" {
		return Subject{}, ErrIdentity.With("the token is not of a managed identity of a machine")
	}
	return Subject{Cloud: Azure, Account: strings.ToLower(m[1]), Tenant: claims.Tenant, Name: m[2],
		Principal: claims.Resource}, nil
}

// verified checks the signature, the audience and the times of a token, and reads its claims. keysOf
// returns where the keys of an issuer are, and nothing for one that is not accepted.
func (v *Verifier) verified(ctx context.Context, raw, audience string, keysOf func(issuer string) string, claims any) (
	jwt.Claims, error) {
	var standard jwt.Claims
	token, err := jwt.ParseSigned(raw, algorithms)
	if err != nil || len(token.Headers) != 1 {
		return standard, ErrIdentity.With("the token is no JSON web token signed with RS256 or ES384")
	}
	var unsafe jwt.Claims // only to find the key, by an issuer that is accepted
	if err := token.UnsafeClaimsWithoutVerification(&unsafe); err != nil {
		return standard, ErrIdentity.With("the claims of the token cannot be read")
	}
	address := keysOf(unsafe.Issuer)
	if address == "" {
		return standard, ErrIdentity.With("%.200q is no issuer of identity tokens of this cloud", unsafe.Issuer)
	}
	key, err := v.keys.find(ctx, address, token.Headers[0].KeyID)
	if err != nil {
		return standard, err
	}
	if err := token.Claims(key, &standard, claims); err != nil {
		return standard, ErrIdentity.With("the signature of the token is wrong")
	}
	now := v.options.Now()
	switch {
	case len(standard.Audience) != 1 || standard.Audience[0] != audience:
		return standard, ErrIdentity.With("the token is for the audience %.200q, not for %s", standard.Audience, audience)
	case standard.Expiry == nil || standard.IssuedAt == nil:
		return standard, ErrIdentity.With("the token has no times")
	case now.After(standard.Expiry.Time().Add(leeway)):
		return standard, ErrIdentity.With("the token has expired at %s", standard.Expiry.Time().UTC().Format(time.RFC3339))
	case standard.IssuedAt.Time().After(now.Add(leeway)) ||
		standard.NotBefore != nil && standard.NotBefore.Time().After(now.Add(leeway)):
		return standard, ErrIdentity.With("the token is of the future by our clock")
	case standard.Expiry.Time().Sub(standard.IssuedAt.Time()) > maxIssued:
		return standard, ErrIdentity.With("the token is valid for too long")
	}
	return standard, nil
}

// keyCache has the public keys of issuers.
type keyCache struct {
	fetch func(ctx context.Context, address string) ([]byte, error)
	now   func() time.Time

	mu   sync.Mutex
	sets map[string]*keySet
}

type keySet struct {
	keys    jose.JSONWebKeySet
	fetched time.Time
}

// find returns a key of an issuer. It fetches the keys when they are old, and when it does not know
// the key, but not more often than every maxRenewal.
func (c *keyCache) find(ctx context.Context, address, id string) (jose.JSONWebKey, error) {
	now := c.now()
	c.mu.Lock()
	set := c.sets[address]
	c.mu.Unlock()
	if set != nil && now.Sub(set.fetched) < keysLife {
		if key, found := set.key(id); found {
			return key, nil
		}
		if now.Sub(set.fetched) < maxRenewal {
			return jose.JSONWebKey{}, ErrIdentity.With("the issuer has no key %.80q", id)
		}
	}
	raw, err := c.fetch(ctx, address)
	if err != nil {
		return jose.JSONWebKey{}, err
	}
	set = &keySet{fetched: now}
	if err := json.Unmarshal(raw, &set.keys); err != nil {
		return jose.JSONWebKey{}, ErrUnavailable.With("the keys of the issuer cannot be read")
	}
	c.mu.Lock()
	if len(c.sets) >= maxIssuers {
		clear(c.sets)
	}
	c.sets[address] = set
	c.mu.Unlock()
	if key, found := set.key(id); found {
		return key, nil
	}
	return jose.JSONWebKey{}, ErrIdentity.With("the issuer has no key %.80q", id)
}

// key returns the public key with an id. Symmetric keys are none.
func (s *keySet) key(id string) (jose.JSONWebKey, bool) {
	for _, key := range s.keys.Key(id) {
		if id != "" && key.IsPublic() && key.Valid() {
			return key, true
		}
	}
	return jose.JSONWebKey{}, false
}
