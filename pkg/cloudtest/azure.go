package cloudtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Azure is the part of a cloud that stands for Azure: the keys of its tokens, and metadata services.
type Azure struct {
	cloud  *Cloud
	issuer *issuer // the keys are those of all tenants
	logins logins

	mu           sync.Mutex
	applications []AzureApplication
	identities   map[string]bool // by id, in lower case
	throttled    int             // requests for tokens that are answered with 429
}

// AzureMachine is a machine with a managed identity.
type AzureMachine struct {
	Tenant string
	// Resource is the id of the resource that has the identity, such as
	// /subscriptions/…/resourcegroups/…/providers/Microsoft.Compute/virtualMachineScaleSets/NAME.
	Resource string
	// UserData is the text that the machine was created with, in base64.
	UserData string
}

func newAzure(c *Cloud) *Azure {
	a := &Azure{cloud: c, issuer: &issuer{}, identities: map[string]bool{}}
	c.hosts["login.microsoftonline.com"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/oauth2/v2.0/token") {
			a.serveToken(w, r)
			return
		}
		if !strings.HasSuffix(r.URL.Path, "/discovery/v2.0/keys") {
			http.NotFound(w, r)
			return
		}
		a.issuer.serveKeys(w, r)
	})
	return a
}

// SignToken returns a token with any claims, as Azure itself would never sign them.
func (a *Azure) SignToken(claims map[string]any) string { return a.issuer.sign(jose.RS256, claims) }

// Token returns the access token of a machine's identity for a resource.
func (a *Azure) Token(m AzureMachine, audience string) string {
	now := a.cloud.Now()
	return a.SignToken(map[string]any{
		"iss": "https://sts.windows.net/" + m.Tenant + "/", "tid": m.Tenant, "aud": audience, "idtyp": "app", "ver": "1.0",
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(24 * time.Hour).Unix(), "xms_mirid": m.Resource,
		"uti": randomHex(11),
	})
}

// AddIdentity assigns a user-assigned identity to all machines.
func (a *Azure) AddIdentity(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.identities[strings.ToLower(id)] = true
}

// RemoveIdentity takes a user-assigned identity away. Its tokens remain valid, as in Azure.
func (a *Azure) RemoveIdentity(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.identities, strings.ToLower(id))
}

// Throttle makes metadata services refuse the next requests for tokens.
func (a *Azure) Throttle(requests int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.throttled = requests
}

// holder returns the machine or the user-assigned identity that a token is requested of, and the status and the error
// of a refusal.
func (a *Azure) holder(m AzureMachine, id string) (AzureMachine, int, string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.throttled > 0:
		a.throttled--
		return m, http.StatusTooManyRequests, "Too many requests"
	case id == "":
		return m, http.StatusOK, ""
	case !a.identities[strings.ToLower(id)]:
		return m, http.StatusBadRequest, "Identity not found"
	}
	return AzureMachine{Tenant: m.Tenant, Resource: id}, http.StatusOK, ""
}

// serveMachineToken answers a request for a token at the metadata service of a machine.
func (a *Azure) serveMachineToken(w http.ResponseWriter, q url.Values, m AzureMachine) {
	holder, status, refused := a.holder(m, q.Get("msi_res_id"))
	if q.Get("resource") == "" {
		status, refused = http.StatusBadRequest, "Required query variable 'resource' is missing"
	}
	if refused != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": "invalid_request", "error_description": refused})
		return
	}
	at := a.cloud.Now()
	writeJSON(w, map[string]string{"access_token": a.Token(holder, q.Get("resource")), "token_type": "Bearer",
		"client_id": holder.Resource, "resource": q.Get("resource"), "expires_in": "86399",
		"expires_on": fmt.Sprint(at.Add(24 * time.Hour).Unix()), "not_before": fmt.Sprint(at.Unix())})
}

// StartMachine starts the metadata service of a machine and returns its address, http://HOST:PORT.
func (a *Azure) StartMachine(m AzureMachine) (string, error) {
	running, err := a.RunMachine(m)
	return running.Address, err
}

// RunningAzureMachine is a machine with its metadata service.
type RunningAzureMachine struct {
	Address string // http://HOST:PORT

	mu       sync.Mutex
	userData string
}

// SetUserData changes the user data of the machine, as an update of its stack does.
func (r *RunningAzureMachine) SetUserData(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.userData = text
}

func (r *RunningAzureMachine) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.userData
}

// RunMachine starts the metadata service of a machine.
func (a *Azure) RunMachine(m AzureMachine) (*RunningAzureMachine, error) {
	running := &RunningAzureMachine{userData: m.UserData}
	address, err := a.cloud.servePlain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch {
		case r.Header.Get("Metadata") != "true":
			http.Error(w, `{"error":"invalid_request","error_description":"Required metadata header not specified"}`,
				http.StatusBadRequest)
		case r.URL.Path == "/metadata/instance/compute/userData" && q.Get("api-version") >= "2021-01-01" &&
			q.Get("format") == "text":
			_, _ = io.WriteString(w, running.text())
		case r.URL.Path == "/metadata/instance/compute" && q.Get("api-version") >= "2021-01-01":
			parts := strings.Split(m.Resource, "/") // /subscriptions/ID/resourcegroups/NAME/…
			writeJSON(w, map[string]string{"subscriptionId": parts[2], "resourceGroupName": parts[4]})
		case r.URL.Path != "/metadata/identity/oauth2/token" || q.Get("api-version") < "2018-02-01":
			http.NotFound(w, r)
		default:
			a.serveMachineToken(w, q, m)
		}
	}))
	running.Address = "http://" + address
	return running, err
}
