// Package azureidentity gets tokens of the identity that a program has on Azure: the workload identity of
// a pod, else the managed identity of the machine. It does not decide what a token is for.
package azureidentity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// The variables of the identity, as Azure's own libraries name them.
const (
	varClientID      = "AZURE_CLIENT_ID"
	varTenantID      = "AZURE_TENANT_ID"
	varTokenFile     = "AZURE_FEDERATED_TOKEN_FILE"
	varAuthority     = "AZURE_AUTHORITY_HOST"
	varMetadataHost  = "AZURE_POD_IDENTITY_AUTHORITY_HOST"
	metadataAddress  = "http://169.254.169.254"
	authorityAddress = "https://login.microsoftonline.com/"
)

// tokenTimeout bounds the request of a token.
const tokenTimeout = 15 * time.Second

// maxToken bounds the answer with a token, in bytes.
const maxToken = 64 << 10

// Identity gets tokens for one audience. It is safe for concurrent use.
type Identity struct {
	audience string
	mutex    sync.Mutex
	cached   string
}

// New returns the identity with tokens for an audience, such as https://vault.azure.net.
func New(audience string) *Identity { return &Identity{audience: audience} }

// Token returns the last token again, or a new one if there is none or renew is set.
func (i *Identity) Token(ctx context.Context, renew bool) (string, error) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.cached != "" && !renew {
		return i.cached, nil
	}
	ctx, stop := context.WithTimeout(ctx, tokenTimeout)
	defer stop()
	var err error
	if file := os.Getenv(varTokenFile); file != "" {
		i.cached, err = i.ofWorkload(ctx, file)
	} else {
		i.cached, err = i.ofMachine(ctx)
	}
	return i.cached, err
}

// ofWorkload exchanges the token of a service account.
func (i *Identity) ofWorkload(ctx context.Context, file string) (string, error) {
	assertion, err := os.ReadFile(file) //nolint:gosec // the environment of the program names it
	if err != nil {
		return "", err
	}
	authority := os.Getenv(varAuthority)
	if authority == "" {
		authority = authorityAddress
	}
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {os.Getenv(varClientID)}, "scope": {i.audience + "/.default"},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
		"client_assertion":      {strings.TrimSpace(string(assertion))},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(authority, "/")+"/"+
		url.PathEscape(os.Getenv(varTenantID))+"/oauth2/v2.0/token", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return readToken(request)
}

// ofMachine returns a token of the metadata service.
func (i *Identity) ofMachine(ctx context.Context) (string, error) {
	host := os.Getenv(varMetadataHost)
	if host == "" {
		host = metadataAddress
	}
	query := url.Values{"api-version": {"2018-02-01"}, "resource": {i.audience}}
	if client := os.Getenv(varClientID); client != "" {
		query.Set("client_id", client)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(host, "/")+
		"/metadata/identity/oauth2/token?"+query.Encode(), http.NoBody)
	if err != nil {
		return "", err
	}
	request.Header.Set("Metadata", "true")
	return readToken(request)
}

func readToken(request *http.Request) (string, error) {
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxToken))
	if err != nil {
		return "", err
	}
	var sent struct {
		AccessToken string `json:"access_token"`
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if err := json.Unmarshal(content, &sent); err != nil {
		return "", fmt.Errorf("%s answered %s without JSON", request.URL.Host, answer.Status)
	}
	switch reason := netguard.OneLine(sent.Error + " " + sent.Description); {
	case sent.AccessToken != "":
		return sent.AccessToken, nil
	case reason != "":
		return "", errors.New(reason)
	}
	return "", fmt.Errorf("%s answered %s without a token", request.URL.Host, answer.Status)
}
