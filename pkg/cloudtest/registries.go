package cloudtest

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// How long logins to registries are valid, as in the clouds.
const (
	ecrLife    = 12 * time.Hour
	googleLife = time.Hour
	azureLife  = 3 * time.Hour
)

// logins are the passwords and tokens that the services of a cloud issued, with what each stands for.
type logins struct {
	mu     sync.Mutex
	issued map[string]issued
}

type issued struct {
	holder  string
	expires time.Time
}

func (l *logins) add(kind, holder string, expires time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.issued == nil {
		l.issued = map[string]issued{}
	}
	made := kind + randomHex(20)
	l.issued[made] = issued{holder, expires}
	return made
}

// holder returns who a password was issued to, or "" if it is not valid at a time.
func (l *logins) holder(password string, at time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found := l.issued[password]; at.Before(found.expires) {
		return found.holder
	}
	return ""
}

// ServeECR adds Amazon ECR: logins at its API, and the registry of all accounts, in which a repository must be created
// before something is pushed to it.
func (a *AWS) ServeECR(registry http.Handler) {
	e := &ecr{aws: a, registry: registry, repositories: map[string]bool{}}
	a.cloud.Handle("api.ecr.*.amazonaws.com", http.HandlerFunc(e.serveAPI))
	a.cloud.Handle("*.dkr.ecr.*.amazonaws.com", http.HandlerFunc(e.serveRegistry))
}

type ecr struct {
	aws      *AWS
	registry http.Handler
	logins   logins

	mu           sync.Mutex
	repositories map[string]bool
}

func (e *ecr) serveAPI(w http.ResponseWriter, r *http.Request) {
	session, body, err := e.aws.Authenticate(r, "ecr")
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if err == nil {
		err = e.aws.Authorize(session, "ecr:"+action, "*")
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	var refused AWSError
	if errors.As(err, &refused) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": refused.Code, "message": refused.Message})
		return
	}
	switch action {
	case "GetAuthorizationToken":
		expires := e.aws.cloud.Now().Add(ecrLife)
		password := e.logins.add("ecr", session.ARN(), expires)
		writeJSON(w, map[string]any{"authorizationData": []any{map[string]any{
			"authorizationToken": base64.StdEncoding.EncodeToString([]byte("AWS:" + password)), "expiresAt": expires.Unix(),
		}}})
	case "CreateRepository":
		var request struct {
			RepositoryName string `json:"repositoryName"`
		}
		_ = json.Unmarshal(body, &request) // a name that cannot be read is empty
		e.mu.Lock()
		e.repositories[request.RepositoryName] = true
		e.mu.Unlock()
		writeJSON(w, map[string]any{"repository": map[string]string{"repositoryName": request.RepositoryName}})
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

func (e *ecr) serveRegistry(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	if user != "AWS" || e.logins.holder(password, e.aws.cloud.Now()) == "" {
		w.Header().Set("WWW-Authenticate", `Basic realm="https://`+r.Host+`/",service="ecr.amazonaws.com"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/"), "/blobs/")
	name, _, _ = strings.Cut(name, "/manifests/")
	e.mu.Lock()
	exists := e.repositories[name]
	e.mu.Unlock()
	if !exists && r.URL.Path != "/v2/" {
		w.WriteHeader(http.StatusNotFound)
		writeJSON(w, map[string]any{"errors": []any{map[string]string{"code": "NAME_UNKNOWN"}}})
		return
	}
	e.registry.ServeHTTP(w, r)
}

// ServeTokens adds the services of Google that issue access tokens: the exchange of identities in AWS, and tokens of
// service accounts. allows decides who may act as a service account.
func (g *GCP) ServeTokens(allows func(caller, account string) bool) {
	g.cloud.Handle("sts.googleapis.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // a field that cannot be read is empty
		var proof struct {
			Headers []struct{ Key, Value string }
		}
		subject := r.PostForm.Get("subject_token")
		if unescaped, err := url.QueryUnescape(subject); err != nil || json.Unmarshal([]byte(unescaped), &proof) != nil ||
			len(proof.Headers) == 0 {
			w.WriteHeader(http.StatusBadRequest)
			writeJSON(w, map[string]string{"error": "invalid_grant"})
			return
		}
		holder := "federated:" + r.PostForm.Get("audience")
		writeJSON(w, map[string]any{"access_token": g.logins.add("ya29.", holder, g.cloud.Now().Add(googleLife)),
			"issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "token_type": "Bearer",
			"expires_in": int(googleLife.Seconds())})
	}))
	g.cloud.Handle("iamcredentials.googleapis.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		account, issues := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v1/projects/-/serviceAccounts/"),
			":generateAccessToken")
		caller := g.TokenHolder(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		if !issues || caller == "" || !allows(caller, account) {
			w.WriteHeader(http.StatusForbidden)
			writeJSON(w, map[string]any{"error": map[string]any{"code": 403, "status": "PERMISSION_DENIED",
				"message": "Permission 'iam.serviceAccounts.getAccessToken' denied on resource " + account}})
			return
		}
		expires := g.cloud.Now().Add(googleLife)
		writeJSON(w, map[string]string{"accessToken": g.logins.add("ya29.", account, expires),
			"expireTime": expires.UTC().Format(time.RFC3339)})
	}))
}

// AccessToken returns an access token of a machine's service account.
func (g *GCP) AccessToken(m Machine) string {
	return g.logins.add("ya29.", m.ServiceAccount, g.cloud.Now().Add(googleLife))
}

// TokenHolder returns who has an access token, or "" if it is not valid.
func (g *GCP) TokenHolder(token string) string { return g.logins.holder(token, g.cloud.Now()) }

// AzureApplication is an application of a tenant that logs in with a secret or a certificate.
type AzureApplication struct {
	Tenant, Client, Secret string
	Certificate            *tls.Certificate
}

// ServeRegistries adds Azure Container Registries: the exchange of tokens for logins, and the tokens of applications.
func (a *Azure) ServeRegistries(applications ...AzureApplication) {
	a.mu.Lock()
	a.applications = applications
	a.mu.Unlock()
	a.cloud.Handle("*.azurecr.io", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // a field that cannot be read is empty
		holder := a.holderOf(r.PostForm.Get("access_token"))
		if r.URL.Path != "/oauth2/exchange" || r.PostForm.Get("service") != r.Host || holder == "" {
			w.WriteHeader(http.StatusUnauthorized)
			writeJSON(w, map[string]any{"errors": []any{map[string]string{"code": "UNAUTHORIZED",
				"message": "the token is not valid for this registry"}}})
			return
		}
		writeJSON(w, map[string]string{"refresh_token": a.logins.add("acr", holder, a.cloud.Now().Add(azureLife))})
	}))
}

// LoginHolder returns who logged in to a registry with a refresh token, or "" if it is not valid.
func (a *Azure) LoginHolder(password string) string { return a.logins.holder(password, a.cloud.Now()) }

// holderOf returns who has an access token for registries.
func (a *Azure) holderOf(token string) string {
	parsed, err := jose.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return ""
	}
	content, err := parsed.Verify(a.issuer.signer(jose.RS256).Public())
	var claims struct {
		Aud      string
		Resource string `json:"xms_mirid"`
		App      string `json:"appid"`
	}
	if err != nil || json.Unmarshal(content, &claims) != nil || claims.Aud != "https://containerregistry.azure.net" {
		return ""
	}
	return claims.Resource + claims.App
}

// serveToken issues the token of an application.
func (a *Azure) serveToken(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // a field that cannot be read is empty
	a.mu.Lock()
	applications := a.applications
	a.mu.Unlock()
	for _, one := range applications {
		if r.URL.Path != "/"+one.Tenant+"/oauth2/v2.0/token" || r.PostForm.Get("client_id") != one.Client ||
			!one.proves(r) {
			continue
		}
		writeJSON(w, map[string]any{"token_type": "Bearer", "expires_in": 3599, "access_token": a.SignToken(map[string]any{
			"aud": strings.TrimSuffix(r.PostForm.Get("scope"), "/.default"), "appid": one.Client, "tid": one.Tenant})})
		return
	}
	w.WriteHeader(http.StatusUnauthorized)
	writeJSON(w, map[string]string{"error": "invalid_client",
		"error_description": "AADSTS7000215: Invalid client secret provided."})
}

// proves reports whether a request has the application's secret, or a statement that its key signed.
func (a AzureApplication) proves(r *http.Request) bool {
	if a.Certificate == nil {
		return a.Secret != "" && r.PostForm.Get("client_secret") == a.Secret
	}
	parsed, err := jose.ParseSigned(r.PostForm.Get("client_assertion"), []jose.SignatureAlgorithm{jose.PS256})
	if err != nil {
		return false
	}
	_, err = parsed.Verify(a.Certificate.Leaf.PublicKey)
	return err == nil
}
