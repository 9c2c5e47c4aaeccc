package registrylogin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/nuon-toolkit/nuon/pkg/azureidentity"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

const (
	// azureUser is the user name of refresh tokens.
	azureUser     = "00000000-0000-0000-0000-000000000000"
	azureAudience = "https://containerregistry.azure.net"
	// azureLife is how long a refresh token is valid.
	azureLife = 3 * time.Hour
	// assertionLife is how long a statement that an application signs is valid.
	assertionLife = 10 * time.Minute
)

// acrLogin logs in to an Azure Container Registry.
type acrLogin struct {
	host     string
	identity Identity
	client   *http.Client
	own      *azureidentity.Identity
}

func newACRLogin(host string, as Identity, client *http.Client) acrLogin {
	return acrLogin{host: host, identity: as, client: client, own: azureidentity.New(azureAudience)}
}

func (a acrLogin) login(ctx context.Context) (login, error) {
	var token string
	var err error
	if a.identity.Client == "" {
		token, err = a.own.Token(ctx, true)
	} else {
		token, err = a.application(ctx)
	}
	if err != nil {
		return login{}, err
	}
	form := url.Values{"grant_type": {"access_token"}, "service": {a.host}, "access_token": {token}}
	if a.identity.Tenant != "" {
		form.Set("tenant", a.identity.Tenant)
	}
	var answer struct {
		RefreshToken string `json:"refresh_token"`
		Errors       []struct{ Code, Message string }
	}
	status, err := a.post(ctx, "https://"+a.host+"/oauth2/exchange", form, &answer)
	if err != nil {
		return login{}, err
	}
	if answer.RefreshToken == "" {
		reason := ""
		if len(answer.Errors) > 0 {
			reason = ": " + answer.Errors[0].Message
		}
		return login{}, fmt.Errorf("exchange the token at the registry: %s%s", status, reason)
	}
	return login{username: azureUser, password: seal.NewSecret([]byte(answer.RefreshToken)),
		expires: time.Now().Add(azureLife)}, nil
}

// application returns a token of the application.
func (a acrLogin) application(ctx context.Context) (string, error) {
	authority := cmp.Or(os.Getenv("AZURE_AUTHORITY_HOST"), "https://login.microsoftonline.com/")
	address := strings.TrimSuffix(authority, "/") + "/" + url.PathEscape(a.identity.Tenant) + "/oauth2/v2.0/token"
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {a.identity.Client},
		"scope": {azureAudience + "/.default"}}
	if a.identity.Certificate {
		signed, err := a.assertion(address)
		if err != nil {
			return "", err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", signed)
	} else {
		form.Set("client_secret", string(a.identity.Secret.Reveal()))
	}
	var answer struct {
		AccessToken string `json:"access_token"`
		Description string `json:"error_description"`
	}
	status, err := a.post(ctx, address, form, &answer)
	if err == nil && answer.AccessToken == "" {
		err = fmt.Errorf("log in as application %s: %s: %s", a.identity.Client, status, answer.Description)
	}
	return answer.AccessToken, err
}

// assertion signs the statement by which the application logs in with its certificate.
func (a acrLogin) assertion(audience string) (string, error) {
	content := a.identity.Secret.Reveal()
	pair, err := tls.X509KeyPair(content, content)
	if err != nil {
		return "", errors.New("the certificate of the application needs a certificate and its key, in PEM")
	}
	sum := sha256.Sum256(pair.Certificate[0])
	options := (&jose.SignerOptions{}).WithType("JWT").WithHeader("x5t#S256",
		base64.RawURLEncoding.EncodeToString(sum[:]))
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.PS256, Key: pair.PrivateKey}, options)
	if err != nil {
		return "", fmt.Errorf("the key of the application's certificate cannot sign: %w", err)
	}
	now := time.Now()
	return jwt.Signed(signer).Claims(jwt.Claims{Issuer: a.identity.Client, Subject: a.identity.Client,
		Audience: jwt.Audience{audience}, ID: id.New("ast"), NotBefore: jwt.NewNumericDate(now),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(assertionLife))}).Serialize()
}

func (a acrLogin) post(ctx context.Context, address string, form url.Values, answer any) (status string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return call(a.client, request, answer)
}
