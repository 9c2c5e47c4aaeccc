package cloudtest

import (
	"fmt"
	"io"
	"net/http"
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
	a := &Azure{cloud: c, issuer: &issuer{}}
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

// StartMachine starts the metadata service of a machine and returns its address, http://HOST:PORT.
func (a *Azure) StartMachine(m AzureMachine) (string, error) {
	address, err := a.cloud.servePlain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch {
		case r.Header.Get("Metadata") != "true":
			http.Error(w, `{"error":"invalid_request","error_description":"Required metadata header not specified"}`,
				http.StatusBadRequest)
		case r.URL.Path == "/metadata/instance/compute/userData" && q.Get("api-version") >= "2021-01-01" &&
			q.Get("format") == "text":
			_, _ = io.WriteString(w, m.UserData)
		case r.URL.Path != "/metadata/identity/oauth2/token" || q.Get("api-version") < "2018-02-01":
			http.NotFound(w, r)
		case q.Get("resource") == "":
			http.Error(w, `{"error":"invalid_request","error_description":"Required query variable 'resource' is missing"}`,
				http.StatusBadRequest)
		default:
			at := a.cloud.Now()
			writeJSON(w, map[string]string{"access_token": a.Token(m, q.Get("resource")), "token_type": "Bearer",
				"resource": q.Get("resource"), "expires_in": "86399", "expires_on": fmt.Sprint(at.Add(24 * time.Hour).Unix()),
				"not_before": fmt.Sprint(at.Unix())})
		}
	}))
	return "http://" + address, err
}
