package registrylogin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/oauth2/google/externalaccount"

	"github.com/nuon-toolkit/nuon/pkg/seal"
)

const (
	googleScope = "https://www.googleapis.com/auth/cloud-platform"
	// googleUser is the user name of access tokens.
	googleUser = "oauth2accesstoken"
	// impersonationURL is the service that issues tokens of service accounts.
	impersonationURL = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/"
	// awsTokenType is the type of the requests that prove an identity in AWS to Google.
	awsTokenType = "urn:ietf:params:aws:token-type:aws4_request"
)

// garLogin logs in to Google Artifact Registry.
type garLogin struct {
	identity Identity
	client   *http.Client
}

func (g garLogin) login(ctx context.Context) (login, error) {
	if g.client != nil {
		ctx = context.WithValue(ctx, oauth2.HTTPClient, g.client)
	}
	if g.identity.WorkloadProvider != "" {
		return g.federate(ctx)
	}
	found, err := google.FindDefaultCredentials(ctx, googleScope)
	if err != nil {
		return login{}, err
	}
	token, err := found.TokenSource.Token()
	if err != nil {
		return login{}, err
	}
	if g.identity.ServiceAccount != "" {
		return g.impersonate(ctx, token)
	}
	return googleLogin(token), nil
}

func googleLogin(token *oauth2.Token) login {
	return login{username: googleUser, password: seal.NewSecret([]byte(token.AccessToken)), expires: token.Expiry}
}

// federate exchanges this program's identity in AWS for a token.
func (g garLogin) federate(ctx context.Context) (login, error) {
	settings := externalaccount.Config{
		Audience: "//iam.googleapis.com/" + g.identity.WorkloadProvider, SubjectTokenType: awsTokenType,
		AwsSecurityCredentialsSupplier: awsIdentity{g.client}, Scopes: []string{googleScope},
	}
	if account := g.identity.ServiceAccount; account != "" {
		settings.ServiceAccountImpersonationURL = impersonationURL + url.PathEscape(account) + ":generateAccessToken"
	}
	source, err := externalaccount.NewTokenSource(ctx, settings)
	if err != nil {
		return login{}, err
	}
	token, err := source.Token()
	if err != nil {
		return login{}, fmt.Errorf("exchange the identity on AWS at workload identity provider %s: %w",
			g.identity.WorkloadProvider, err)
	}
	return googleLogin(token), nil
}

// awsIdentity is this program's identity in AWS, for the exchange.
type awsIdentity struct{ client *http.Client }

// AwsRegion returns the region of this program.
func (a awsIdentity) AwsRegion(ctx context.Context, _ externalaccount.SupplierOptions) (string, error) {
	found, err := loadAWS(ctx, a.client, config.WithEC2IMDSRegion())
	if err == nil && found.Region == "" {
		err = errors.New("the region is not known; set AWS_REGION")
	}
	return found.Region, err
}

// AwsSecurityCredentials returns the credentials of this program.
func (a awsIdentity) AwsSecurityCredentials(ctx context.Context, _ externalaccount.SupplierOptions) (
	*externalaccount.AwsSecurityCredentials, error) {
	settings, err := loadAWS(ctx, a.client)
	if err != nil {
		return nil, err
	}
	found, err := settings.Credentials.Retrieve(ctx)
	return &externalaccount.AwsSecurityCredentials{AccessKeyID: found.AccessKeyID,
		SecretAccessKey: found.SecretAccessKey, SessionToken: found.SessionToken}, err
}

// callTimeout bounds a request to a token service.
const callTimeout = 20 * time.Second

// maxAnswer bounds the answer of a token service, in bytes.
const maxAnswer = 64 << 10

// impersonate returns a login of the service account.
func (g garLogin) impersonate(ctx context.Context, own *oauth2.Token) (login, error) {
	body, err := json.Marshal(map[string]any{"scope": []string{googleScope}})
	if err != nil {
		return login{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		impersonationURL+url.PathEscape(g.identity.ServiceAccount)+":generateAccessToken", bytes.NewReader(body))
	if err != nil {
		return login{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	own.SetAuthHeader(request)
	var answer struct {
		AccessToken string    `json:"accessToken"`
		ExpireTime  time.Time `json:"expireTime"`
		Error       struct{ Message string }
	}
	status, err := call(g.client, request, &answer)
	if err != nil {
		return login{}, err
	}
	if answer.AccessToken == "" {
		return login{}, fmt.Errorf("act as service account %s: %s: %s", g.identity.ServiceAccount, status,
			answer.Error.Message)
	}
	return login{username: googleUser, password: seal.NewSecret([]byte(answer.AccessToken)), expires: answer.ExpireTime},
		nil
}

// call sends a request and reads the JSON of its answer. It follows no redirect, because requests have secrets.
func call(client *http.Client, request *http.Request, answer any) (status string, err error) {
	noRedirects := http.Client{Timeout: callTimeout}
	if client != nil {
		noRedirects = *client
	}
	noRedirects.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := noRedirects.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }() // only read
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return "", fmt.Errorf("%s answered %s without JSON", request.URL.Host, strings.TrimSpace(response.Status))
	}
	return response.Status, nil
}
