package azure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/runnerd/cloud/session"
)

// managementAudience is that of Azure Resource Manager, for which every identity gets a token.
const managementAudience = "https://management.azure.com/"

// appServiceVersion is the version of the protocol of the job's endpoint, which is that of App Service.
const appServiceVersion = "2019-08-01"

// pauses are those between requests that the metadata service cannot answer now.
var pauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

var (
	identityForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{2,127}$`)
	groupForm    = lazyregexp.New(`^[\w().-]{1,90}$`)
	audienceForm = lazyregexp.New(`^[\x21-\x7e]{1,512}$`)
)

// issuer gets tokens of a user-assigned identity that the runner's machine has.
type issuer struct {
	request      session.Request
	metadata     string // address of the metadata service
	subscription string
	id           string // of the identity
	now          func() time.Time
}

var _ session.Issuer = (*issuer)(nil)

// Open finds the subscription and the resource group of the runner's machine. The identity is in that group, also if
// a job names another one.
func Open(ctx context.Context, request session.Request) (session.Issuer, error) {
	if !identityForm.MatchString(request.Role) {
		return nil, fmt.Errorf("%.80q is not the name of a managed identity", request.Role)
	}
	i := &issuer{request: request, metadata: metadataAddress(), now: time.Now}
	status, body, err := getMetadata(ctx, i.metadata+"/metadata/instance/compute?api-version=2021-01-01&format=json")
	var machine struct {
		Subscription string `json:"subscriptionId"`
		Group        string `json:"resourceGroupName"`
	}
	if err == nil && (status != http.StatusOK || json.Unmarshal(body, &machine) != nil) {
		err = fmt.Errorf("its metadata service answers %d: %.300q", status, body)
	}
	if err == nil && (!identityForm.MatchString(machine.Subscription) || !groupForm.MatchString(machine.Group)) {
		err = fmt.Errorf("its metadata service names the subscription %.60q and the resource group %.100q",
			machine.Subscription, machine.Group)
	}
	if err != nil {
		return nil, fmt.Errorf("find the resource group of this machine on Azure: %w", err)
	}
	i.subscription = machine.Subscription
	i.id = "/subscriptions/" + machine.Subscription + "/resourceGroups/" + machine.Group +
		"/providers/Microsoft.ManagedIdentity/userAssignedIdentities/" + request.Role
	return i, nil
}

// Identity returns the id of the managed identity.
func (i *issuer) Identity() string { return i.id }

// token is what both the metadata service and the job's endpoint answer.
type token struct {
	AccessToken string `json:"access_token"`
	ClientID    string `json:"client_id"`
	ExpiresIn   string `json:"expires_in"`
	ExpiresOn   string `json:"expires_on"`
	Resource    string `json:"resource"`
	TokenType   string `json:"token_type"`
}

// Issue gets a token for an audience. Azure itself decides how long it lasts, usually a day; what programs read ends
// at the end of the grant.
func (i *issuer) Issue(ctx context.Context, audience string) (session.Credentials, error) {
	if audience == "" {
		audience = managementAudience
	}
	made, err := i.fetch(ctx, audience)
	if err != nil {
		return session.Credentials{}, fmt.Errorf("act as %s: %w", i.request.Role, err)
	}
	seconds, err := strconv.ParseInt(made.ExpiresOn, 10, 64)
	if err != nil || made.AccessToken == "" {
		return session.Credentials{}, fmt.Errorf("act as %s: the metadata service returned no token with an end",
			i.request.Role)
	}
	expires := time.Unix(seconds, 0)
	if !i.request.Until.IsZero() && i.request.Until.Before(expires) {
		expires = i.request.Until
	}
	made.ExpiresOn = strconv.FormatInt(expires.Unix(), 10)
	made.ExpiresIn = strconv.FormatInt(max(0, int64(expires.Sub(i.now())/time.Second)), 10)
	content, err := json.Marshal(made)
	return session.Credentials{Content: content, Secrets: []string{made.AccessToken}, Expires: expires}, err
}

// fetch requests a token of this identity alone from the metadata service. It retries after a temporary error.
func (i *issuer) fetch(ctx context.Context, audience string) (made token, err error) {
	query := url.Values{"api-version": {"2018-02-01"}, "resource": {audience}, "msi_res_id": {i.id}}
	for try := 0; ; try++ {
		status, body, err := getMetadata(ctx, i.metadata+tokenPath+"?"+query.Encode())
		temporary := err == nil && (status == http.StatusNotFound || status == http.StatusGone ||
			status == http.StatusTooManyRequests || status >= http.StatusInternalServerError)
		switch {
		case err != nil:
			return made, &session.UnusableError{Err: fmt.Errorf("the metadata service cannot be reached: %w", err)}
		case temporary && try < len(pauses):
			select {
			case <-ctx.Done():
				return made, ctx.Err()
			case <-time.After(pauses[try]):
			}
		case temporary:
			return made, &session.UnusableError{Err: describe(status, body)}
		case status != http.StatusOK:
			return made, describe(status, body)
		default:
			if err := json.Unmarshal(body, &made); err != nil {
				return made, errors.New("the metadata service answered without a token")
			}
			return made, nil
		}
	}
}

// describe describes a refusal of the metadata service for a person.
func describe(status int, body []byte) error {
	var answer struct {
		Description string `json:"error_description"`
	}
	if json.Unmarshal(body, &answer) == nil && strings.Contains(answer.Description, "Identity not found") {
		return &session.UnusableError{Refused: true, Err: errors.New("the account does not allow it: the role is switched " +
			"off in the stack, or this machine was not given its identity")}
	}
	return fmt.Errorf("the metadata service answered %d: %.300q", status, body)
}

// Endpoint returns how libraries of Azure ask for tokens in App Service. Terraform's provider sends no header before
// version 4, so the address that it gets has the token of the job.
func (i *issuer) Endpoint() session.Endpoint {
	return session.Endpoint{TokenHeader: "X-IDENTITY-HEADER", TokenInPath: true, Audience: i.audience}
}

// audience reads what a program asks for. An identity that it names is refused unless it is that of the job.
func (i *issuer) audience(query url.Values) (string, error) {
	for _, name := range []string{"client_id", "object_id", "principal_id"} {
		if query.Get(name) != "" {
			return "", fmt.Errorf("this job acts as %s, and its programs choose no other identity: leave %s out",
				i.request.Role, name)
		}
	}
	for _, name := range []string{"mi_res_id", "msi_res_id"} {
		if id := query.Get(name); id != "" && !strings.EqualFold(id, i.id) {
			return "", fmt.Errorf("this job acts as %s, not as %.300q", i.id, id)
		}
	}
	resource := query.Get("resource")
	if !audienceForm.MatchString(resource) {
		return "", fmt.Errorf("%.80q is no resource that a token is for", resource)
	}
	return resource, nil
}

// Environ returns the variables by which Azure's libraries and Terraform's provider find the job's endpoint, and use
// no other identity.
func (i *issuer) Environ(endpoint, token string, _ session.Credentials) map[string]string {
	return map[string]string{
		"IDENTITY_ENDPOINT": endpoint, "IDENTITY_HEADER": token, "AZURE_TOKEN_CREDENTIALS": "ManagedIdentityCredential",
		"ARM_USE_MSI": "true", "ARM_USE_CLI": "false", "ARM_MSI_ENDPOINT": endpoint + "/" + token,
		"ARM_MSI_API_VERSION": appServiceVersion,
		"ARM_SUBSCRIPTION_ID": i.subscription, "AZURE_SUBSCRIPTION_ID": i.subscription,
	}
}
